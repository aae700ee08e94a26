-- Only a store in PostgreSQL has several databases. The formats keep the same numbers.
SELECT 29;

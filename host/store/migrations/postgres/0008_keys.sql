-- The keys of what grows with every step hold the invocation, so that these tables can be divided by it
-- (docs/growing.md), and a step writes one index.

-- A row of a journal is found by its place in it; the number that counts all rows stays, for whoever reads them in the
-- order of the commits.
ALTER TABLE journal DROP CONSTRAINT journal_pkey;
ALTER TABLE journal ADD CONSTRAINT journal_pkey PRIMARY KEY USING INDEX journal_pages;
ALTER TABLE logs DROP CONSTRAINT logs_pkey;
ALTER TABLE logs ADD CONSTRAINT logs_pkey PRIMARY KEY (inv, n) INCLUDE (count);
DROP INDEX logs_pages;

-- Whoever appends holds the task of the invocation, and so does whoever removes a promise, which removes these rows
-- first. To look the promise up once more for each row finds nothing and costs a quarter of a step.
ALTER TABLE journal DROP CONSTRAINT journal_inv_fkey;
ALTER TABLE logs DROP CONSTRAINT logs_inv_fkey;

-- In SQLite the end of a journal lies in a table without an index while a claim appends to it. Here a row costs one index
-- entry beside those of the same journal, so nothing changes: both databases only go on with the same number.
SELECT 1;

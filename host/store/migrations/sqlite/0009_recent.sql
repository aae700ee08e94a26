-- What claims append lies here first, a row for each commit, and becomes one row of journal when the claim ends. Rows lie
-- in the order of the commits and nothing is looked up by anything, so there is no index, and no reference either: those
-- would cost more than the row. The table is emptied when it is long.
CREATE TABLE journal_recent (
    n         INTEGER PRIMARY KEY,
    inv       INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    end_seq   INTEGER NOT NULL,
    commands  INTEGER NOT NULL,
    notified  INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    finished  INTEGER NOT NULL,
    records   BLOB    NOT NULL
) STRICT;

-- Those that journal does not have yet, numbered as if they were behind its rows.
CREATE VIEW journal_ahead AS
SELECT n + (SELECT ifnull(max(n), 0) FROM journal) AS n, inv, first_seq, end_seq, commands, notified, at, finished, records
  FROM journal_recent recent
 WHERE first_seq >= ifnull((SELECT end_seq FROM journal WHERE inv = recent.inv ORDER BY first_seq DESC LIMIT 1), 0);

-- All of every journal, for whoever reads all of it.
CREATE VIEW journals AS
SELECT n, inv, first_seq, end_seq, commands, notified, at, finished, records FROM journal
 UNION ALL
SELECT n, inv, first_seq, end_seq, commands, notified, at, finished, records FROM journal_ahead;

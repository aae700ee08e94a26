-- The history of graph runs: each state that a node came to, once. Rows are only added; runs from before have none for what
-- happened then.
CREATE TABLE graph_facts (
    run       INTEGER NOT NULL REFERENCES promises (n),
    node      TEXT    NOT NULL,
    attempt   INTEGER NOT NULL CHECK (attempt >= 0),
    state     INTEGER NOT NULL CHECK (state BETWEEN 1 AND 6), -- 1 pending, 2 running, 3 waiting, 4 completed, 5 failed, 6 skipped
    at        INTEGER NOT NULL,
    reset     INTEGER CHECK (reset BETWEEN 1 AND 2), -- why the node is begun again: 1 cancelled, 2 failed
    begins_at INTEGER, -- of a failure: the next attempt does not begin before
    PRIMARY KEY (run, node, attempt, state),
    CHECK ((reset IS 2) = (begins_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER graph_facts_are_not_changed BEFORE UPDATE ON graph_facts
BEGIN SELECT RAISE(ABORT, 'the history of a graph run is never changed'); END;
-- They go with their run, whose task goes before them, and never without it.
CREATE TRIGGER graph_facts_are_not_deleted BEFORE DELETE ON graph_facts
WHEN EXISTS (SELECT 1 FROM tasks WHERE n = OLD.run)
BEGIN SELECT RAISE(ABORT, 'the history of a graph run is never deleted'); END;

-- What is counted of trees of executions, by the ids of their roots.
CREATE TABLE tree_counts (
    root       TEXT PRIMARY KEY,
    executions INTEGER NOT NULL,
    full_at_us INTEGER NOT NULL,                            -- the bucket of births: when it is full again
    killed     INTEGER NOT NULL CHECK (killed BETWEEN 0 AND 1) -- 1: the root was killed
) STRICT, WITHOUT ROWID;

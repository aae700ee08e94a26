-- What is counted of trees of executions, by the ids of their roots.
CREATE TABLE tree_counts (
    root       TEXT COLLATE "C" PRIMARY KEY,
    executions BIGINT   NOT NULL,
    full_at_us BIGINT   NOT NULL,                            -- the bucket of births: when it is full again
    killed     BIGINT   NOT NULL CHECK (killed BETWEEN 0 AND 1) -- 1: the root was killed
);

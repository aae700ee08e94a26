-- What happened to the nodes of graph runs. A node without a row has not begun; its output is the value of its attempt.
CREATE TABLE graph_nodes (
    run     INTEGER NOT NULL REFERENCES promises (n),
    node    TEXT    NOT NULL,
    state   INTEGER NOT NULL CHECK (state BETWEEN 1 AND 6), -- 1 pending, 2 running, 3 waiting, 4 completed, 5 failed, 6 skipped
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    PRIMARY KEY (run, node)
) STRICT, WITHOUT ROWID;

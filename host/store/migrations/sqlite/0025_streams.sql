-- Streams: append-only sequences that executions and clients write.
CREATE TABLE streams (
    id     TEXT    PRIMARY KEY,
    owner  TEXT,             -- the execution whose stream it is; NULL: none
    due_at INTEGER,          -- when the engine looks at it again; NULL: never
    detail TEXT    NOT NULL  -- JSON
) STRICT, WITHOUT ROWID;

CREATE INDEX streams_owner ON streams (owner) WHERE owner IS NOT NULL;
CREATE INDEX streams_due ON streams (due_at, id) WHERE due_at IS NOT NULL;

-- Their data, in the order of the positions.
CREATE TABLE stream_chunks (
    stream   TEXT    NOT NULL,
    position INTEGER NOT NULL CHECK (position >= 0),
    count    INTEGER NOT NULL CHECK (count > 0),
    records  INTEGER NOT NULL, -- length of the execution's journal after the append
    writer   TEXT,             -- the activity that appended; NULL: the workflow or a client
    data     BLOB    NOT NULL,
    PRIMARY KEY (stream, position)
) STRICT, WITHOUT ROWID;

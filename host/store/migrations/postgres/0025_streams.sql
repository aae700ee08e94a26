-- Streams: append-only sequences that executions and clients write.
CREATE TABLE streams (
    id     TEXT   COLLATE "C" PRIMARY KEY,
    owner  TEXT   COLLATE "C", -- the execution whose stream it is; NULL: none
    due_at BIGINT,             -- when the engine looks at it again; NULL: never
    detail TEXT   NOT NULL     -- JSON
);

CREATE INDEX streams_owner ON streams (owner) WHERE owner IS NOT NULL;
CREATE INDEX streams_due ON streams (due_at, id) WHERE due_at IS NOT NULL;

-- Their data, in the order of the positions.
CREATE TABLE stream_chunks (
    stream   TEXT   COLLATE "C" NOT NULL,
    position BIGINT NOT NULL CHECK (position >= 0),
    count    BIGINT NOT NULL CHECK (count > 0),
    records  BIGINT NOT NULL, -- length of the execution's journal after the append
    writer   TEXT   COLLATE "C", -- the activity that appended; NULL: the workflow or a client
    data     BYTEA  NOT NULL,
    PRIMARY KEY (stream, position)
);

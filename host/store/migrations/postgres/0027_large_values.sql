-- Large values: their content lies in chunks, each of which is stored once.
CREATE TABLE value_chunks (
    digest BYTEA  PRIMARY KEY CHECK (octet_length(digest) = 32), -- SHA-256 of the content
    bytes  BIGINT NOT NULL CHECK (bytes > 0),                    -- length of the content
    data   BYTEA  NOT NULL                                       -- the content, or an LZ4 block of it, which is shorter
);
-- It is compressed already.
ALTER TABLE value_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

-- Who contains a chunk.
CREATE TABLE value_uses (
    owner  TEXT COLLATE "C" NOT NULL, -- p and the number of a promise, j and the number of a journal, s and an entry of an object
    digest BYTEA NOT NULL REFERENCES value_chunks (digest),
    PRIMARY KEY (owner, digest)
);

-- Reader: whether a chunk is still used.
CREATE INDEX value_uses_digest ON value_uses (digest);

-- The length of a value whose column holds the list of its chunks; NULL: it holds the value.
ALTER TABLE promises ADD COLUMN param_bytes BIGINT;
ALTER TABLE promises ADD COLUMN value_bytes BIGINT;
ALTER TABLE object_state ADD COLUMN bytes BIGINT;

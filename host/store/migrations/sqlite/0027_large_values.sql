-- Large values: their content lies in chunks, each of which is stored once.
CREATE TABLE value_chunks (
    digest BLOB    PRIMARY KEY CHECK (length(digest) = 32), -- SHA-256 of the content
    bytes  INTEGER NOT NULL CHECK (bytes > 0),              -- length of the content
    data   BLOB    NOT NULL                                 -- the content, or an LZ4 block of it, which is shorter
) STRICT;

-- Who contains a chunk.
CREATE TABLE value_uses (
    owner  TEXT NOT NULL, -- p and the number of a promise, j and the number of a journal, s and an entry of an object
    digest BLOB NOT NULL REFERENCES value_chunks (digest),
    PRIMARY KEY (owner, digest)
) STRICT, WITHOUT ROWID;

-- Reader: whether a chunk is still used.
CREATE INDEX value_uses_digest ON value_uses (digest);

-- The length of a value whose column holds the list of its chunks; NULL: it holds the value.
ALTER TABLE promises ADD COLUMN param_bytes INTEGER;
ALTER TABLE promises ADD COLUMN value_bytes INTEGER;
ALTER TABLE object_state ADD COLUMN bytes INTEGER;

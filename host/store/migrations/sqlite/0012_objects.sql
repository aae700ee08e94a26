-- Whose turn it is with an object, and who comes last. Both are ids of promises; one that is gone has no turn.
CREATE TABLE lines (
    object TEXT PRIMARY KEY,
    holder TEXT,
    tail   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The state of objects, a row for each name of it.
CREATE TABLE object_state (
    object TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    kind   INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 1), -- 0 JSON, 1 bytes
    value  BLOB    NOT NULL,
    PRIMARY KEY (object, name)
) STRICT;

-- Functions of objects that only read, as a JSON list of `OBJECT/FUNCTION`. Modules from before have none.
ALTER TABLE modules ADD COLUMN shared TEXT NOT NULL DEFAULT '[]';

-- Whose turn it is with an object, and who comes last. Both are ids of promises; one that is gone has no turn.
CREATE TABLE lines (
    object TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C",
    tail   TEXT COLLATE "C" NOT NULL
);

-- The state of objects, a row for each name of it.
CREATE TABLE object_state (
    object TEXT     COLLATE "C" NOT NULL,
    name   TEXT     COLLATE "C" NOT NULL,
    kind   SMALLINT NOT NULL CHECK (kind BETWEEN 0 AND 1), -- 0 JSON, 1 bytes
    value  BYTEA    NOT NULL,
    PRIMARY KEY (object, name)
);

-- Functions of objects that only read, as a JSON list of `OBJECT/FUNCTION`. Modules from before have none.
ALTER TABLE modules ADD COLUMN shared TEXT NOT NULL DEFAULT '[]';

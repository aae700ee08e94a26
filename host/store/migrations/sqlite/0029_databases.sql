-- Only a store in PostgreSQL has several databases, and these tables stay empty here. Both kinds of database have the
-- same tables, so that a store can be moved.

CREATE TABLE shards (
    one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    store    INTEGER NOT NULL,
    database INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    map      TEXT    NOT NULL
) STRICT;

CREATE TABLE crossings (
    awaited  TEXT    NOT NULL,
    awaiter  TEXT    NOT NULL,
    consumed INTEGER NOT NULL CHECK (consumed IN (0, 1)),
    PRIMARY KEY (awaited, awaiter)
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
    gid       TEXT    NOT NULL PRIMARY KEY,
    committed INTEGER NOT NULL CHECK (committed IN (0, 1)),
    at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

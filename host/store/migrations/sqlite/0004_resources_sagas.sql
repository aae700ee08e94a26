-- Resources that are written under fencing tokens, leases on them, and the facts of sagas.

CREATE TABLE resources (
    name          TEXT    PRIMARY KEY,
    token         INTEGER NOT NULL CHECK (token >= 0),
    value_headers TEXT,             -- JSON, NULL for none
    value         BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE resource_leases (
    name     TEXT    PRIMARY KEY,
    token    INTEGER NOT NULL CHECK (token >= 0),
    holder   TEXT    NOT NULL,
    until_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a settlement said of a step of a saga, written with it. The invocation of a fact stays as long as the fact.
CREATE TABLE compensations (
    inv        INTEGER NOT NULL REFERENCES promises (n),
    saga       TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    fact       INTEGER NOT NULL CHECK (fact BETWEEN 1 AND 3), -- 1 registered, 2 completed, 3 failed
    promise    TEXT    NOT NULL, -- whose settlement it follows from
    compensate TEXT,
    unknown    INTEGER NOT NULL CHECK (unknown IN (0, 1)),
    at         INTEGER NOT NULL,
    PRIMARY KEY (inv, saga, seq, fact),
    CHECK ((fact = 1) = (compensate IS NOT NULL)),
    CHECK (unknown = 0 OR fact = 1)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER compensations_are_not_changed BEFORE UPDATE ON compensations
BEGIN SELECT RAISE(ABORT, 'the facts of sagas are never changed'); END;
CREATE TRIGGER compensations_are_not_deleted BEFORE DELETE ON compensations
BEGIN SELECT RAISE(ABORT, 'the facts of sagas are never deleted'); END;

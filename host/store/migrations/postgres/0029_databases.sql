-- A store of several databases. Each has one row that says which of them it is, and the map from shards to databases.
-- A store of one database has none.

CREATE TABLE shards (
    one      SMALLINT PRIMARY KEY CHECK (one = 1),
    store    BIGINT   NOT NULL, -- the same in all databases of the store
    database SMALLINT NOT NULL, -- this one's place in the map
    map      TEXT     NOT NULL  -- JSON, with the epoch
);

-- Callbacks between promises of different databases. Both databases have the row.
CREATE TABLE crossings (
    awaited  TEXT     COLLATE "C" NOT NULL,
    awaiter  TEXT     COLLATE "C" NOT NULL,
    consumed SMALLINT NOT NULL CHECK (consumed IN (0, 1)),
    PRIMARY KEY (awaited, awaiter)
);
-- Reader: what a task waits for.
CREATE INDEX crossings_awaiter ON crossings (awaiter);

-- The outcome of transactions over several databases, in the first of them. A prepared transaction without a row here
-- did not commit, and a row that says so keeps it from committing later.
CREATE TABLE decisions (
    gid       TEXT     COLLATE "C" PRIMARY KEY,
    committed SMALLINT NOT NULL CHECK (committed IN (0, 1)),
    at        BIGINT   NOT NULL
);

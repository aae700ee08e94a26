-- Resources that are written under fencing tokens, leases on them, and the facts of sagas.

CREATE TABLE resources (
    name          TEXT    COLLATE "C" PRIMARY KEY,
    token         BIGINT NOT NULL CHECK (token >= 0),
    value_headers TEXT,             -- JSON, NULL for none
    value         BYTEA   NOT NULL
);

CREATE TABLE resource_leases (
    name     TEXT    COLLATE "C" PRIMARY KEY,
    token    BIGINT NOT NULL CHECK (token >= 0),
    holder   TEXT    NOT NULL,
    until_at BIGINT NOT NULL
);

-- What a settlement said of a step of a saga, written with it. The invocation of a fact stays as long as the fact.
CREATE TABLE compensations (
    inv        BIGINT   NOT NULL REFERENCES promises (n),
    saga       TEXT     COLLATE "C" NOT NULL,
    seq        BIGINT   NOT NULL,
    fact       SMALLINT NOT NULL CHECK (fact BETWEEN 1 AND 3), -- 1 registered, 2 completed, 3 failed
    promise    TEXT     NOT NULL, -- whose settlement it follows from
    compensate TEXT,
    unknown    SMALLINT NOT NULL CHECK (unknown IN (0, 1)),
    at         BIGINT   NOT NULL,
    PRIMARY KEY (inv, saga, seq, fact),
    CHECK ((fact = 1) = (compensate IS NOT NULL)),
    CHECK (unknown = 0 OR fact = 1)
);

CREATE FUNCTION compensations_stay() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the facts of sagas are never changed or deleted'; END $$;
CREATE TRIGGER compensations_are_not_changed BEFORE UPDATE ON compensations
   FOR EACH ROW EXECUTE FUNCTION compensations_stay();
CREATE TRIGGER compensations_are_not_deleted BEFORE DELETE ON compensations
   FOR EACH ROW EXECUTE FUNCTION compensations_stay();

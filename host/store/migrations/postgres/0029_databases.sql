-- A store of several databases. Each has one row that says which of them it is, and the map from shards to databases.
-- A store of one database has none.

CREATE TABLE shards (
    one      SMALLINT PRIMARY KEY CHECK (one = 1),
    store    BIGINT   NOT NULL, -- the same in all databases of the store
    database SMALLINT NOT NULL, -- this one's place in the map
    epoch    BIGINT   NOT NULL, -- of the map
    map      TEXT     NOT NULL  -- JSON
);

-- The shard of a schedule, a resource or a limit, of a promise or a stream, and of an object, by their ids as the tables
-- have them. The rules are those of host/core/src/shard.rs.
CREATE FUNCTION shard_of_name(name TEXT) RETURNS INT LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT get_byte(sha256(convert_to(name, 'UTF8')), 0) $$;
CREATE FUNCTION shard_of(id TEXT) RETURNS INT LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT get_byte(sha256(convert_to(
              split_part(id, '/', 1) ||
              CASE WHEN strpos(split_part(id, '/', 2), '@') > 0 THEN '/' || split_part(id, '/', 2) ELSE '' END,
              'UTF8')), 0) $$;
CREATE FUNCTION shard_of_object(object TEXT) RETURNS INT LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
$$ SELECT shard_of(split_part(object, '@', 1) || '@' || coalesce(string_agg(
              CASE WHEN letter = '' THEN ''
                   WHEN letter IN ('%', '/') OR ascii(letter) < 32 OR ascii(letter) BETWEEN 127 AND 159
                   THEN '%' || lpad(upper(to_hex(ascii(letter))), 2, '0') ELSE letter END, '' ORDER BY place), ''))
     FROM regexp_split_to_table(substr(object, strpos(object, '@') + 1), '') WITH ORDINALITY AS letters (letter, place) $$;

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

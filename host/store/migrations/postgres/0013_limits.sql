-- Messages of the engine to itself: 5, an execution is not counted by a limit any more; its part is the limit's name.
ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check CHECK (kind BETWEEN 1 AND 5);

-- What is limited of a function, and what is counted of all its keys.
CREATE TABLE limits (
    name       TEXT COLLATE "C" PRIMARY KEY, -- MODULE/FUNCTION
    declared   TEXT, -- the rule of the module, as JSON
    chosen     TEXT, -- the rule of an operator, as JSON, which goes before that
    running    BIGINT NOT NULL CHECK (running >= 0),
    waiting    BIGINT NOT NULL CHECK (waiting >= 0),
    full_at_us BIGINT NOT NULL, -- when its bucket is full, in microseconds
    turn       BIGINT NOT NULL,
    joined     BIGINT NOT NULL,
    sweep      TEXT COLLATE "C", -- the last key that was looked at since the rule changed; empty: none was
    due_at     BIGINT
);
-- Reader: the timers.
CREATE INDEX limits_due ON limits (due_at) WHERE due_at IS NOT NULL;

-- What is counted of a key of a limit.
CREATE TABLE partitions (
    partition       TEXT COLLATE "C" PRIMARY KEY, -- MODULE/FUNCTION@KEY
    limit_name      TEXT COLLATE "C" NOT NULL,
    class           SMALLINT, -- it has its turn, with those of its class in the order of
    turn            BIGINT,
    look_at         BIGINT, -- or it is to be looked at then
    running         BIGINT NOT NULL CHECK (running >= 0),
    full_at_us      BIGINT NOT NULL,
    lanes           TEXT   NOT NULL, -- by priority: how many wait, and when it is their turn; JSON
    latest          TEXT COLLATE "C",
    not_before      BIGINT NOT NULL,
    debounced_since BIGINT,
    CHECK ((class IS NULL) = (turn IS NULL) AND (class IS NULL OR look_at IS NULL))
);
-- Reader: a round of admissions, for whose turn is next.
CREATE INDEX partitions_ready ON partitions (limit_name, class, turn, partition) WHERE class IS NOT NULL;
-- Reader: the same, for those that are to be looked at.
CREATE INDEX partitions_timed ON partitions (limit_name, look_at, partition) WHERE look_at IS NOT NULL;

-- Where executions stand behind their limits.
CREATE TABLE places (
    inv       BIGINT PRIMARY KEY REFERENCES promises (n),
    partition TEXT   COLLATE "C" NOT NULL,
    priority  SMALLINT NOT NULL,
    seq       BIGINT NOT NULL,
    state     SMALLINT NOT NULL CHECK (state BETWEEN 1 AND 4) -- 1 waiting, 2 admitted, 3 left, 4 expected
);
-- Reader: a round of admissions, for who came first.
CREATE INDEX places_waiting ON places (partition, priority, seq) WHERE state = 1;

-- The limits that a module declares, by function, as JSON. Modules from before have none.
ALTER TABLE modules ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';

-- Messages of the engine to itself: 5, an execution is not counted by a limit any more; its part is the limit's name.
CREATE TABLE outbox_of_five_kinds (
    source     INTEGER NOT NULL REFERENCES promises (n),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 5), -- 1 execute, 2 unblock, 3 event, 4 cancel children, 5 leave a limit
    part       TEXT    NOT NULL, -- the address of an unblock, the command's index of an event, the limit that is left, else empty
    next_at    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    message    BLOB    NOT NULL,
    PRIMARY KEY (source, kind, part)
) STRICT, WITHOUT ROWID;
INSERT INTO outbox_of_five_kinds SELECT source, kind, part, next_at, created_at, attempts, message FROM outbox;
DROP TABLE outbox;
ALTER TABLE outbox_of_five_kinds RENAME TO outbox;
-- Reader: the sender, looking for messages of one kind that are due.
CREATE INDEX outbox_due ON outbox (kind, next_at);
-- Reader: who reads events in the order in which they were published.
CREATE INDEX outbox_events ON outbox (created_at, source, CAST(part AS INTEGER)) WHERE kind = 3; -- 3: event

-- What is limited of a function, and what is counted of all its keys.
CREATE TABLE limits (
    name       TEXT    PRIMARY KEY, -- MODULE/FUNCTION
    declared   TEXT, -- the rule of the module, as JSON
    chosen     TEXT, -- the rule of an operator, as JSON, which goes before that
    running    INTEGER NOT NULL CHECK (running >= 0),
    waiting    INTEGER NOT NULL CHECK (waiting >= 0),
    full_at_us INTEGER NOT NULL, -- when its bucket is full, in microseconds
    turn       INTEGER NOT NULL,
    joined     INTEGER NOT NULL,
    sweep      TEXT, -- the last key that was looked at since the rule changed; empty: none was
    due_at     INTEGER
) STRICT, WITHOUT ROWID;
-- Reader: the timers.
CREATE INDEX limits_due ON limits (due_at) WHERE due_at IS NOT NULL;

-- What is counted of a key of a limit.
CREATE TABLE partitions (
    partition       TEXT    PRIMARY KEY, -- MODULE/FUNCTION@KEY
    limit_name      TEXT    NOT NULL,
    class           INTEGER, -- it has its turn, with those of its class in the order of
    turn            INTEGER,
    look_at         INTEGER, -- or it is to be looked at then
    running         INTEGER NOT NULL CHECK (running >= 0),
    full_at_us      INTEGER NOT NULL,
    lanes           TEXT    NOT NULL, -- by priority: how many wait, and when it is their turn; JSON
    latest          TEXT,
    not_before      INTEGER NOT NULL,
    debounced_since INTEGER,
    CHECK ((class IS NULL) = (turn IS NULL) AND (class IS NULL OR look_at IS NULL))
) STRICT, WITHOUT ROWID;
-- Reader: a round of admissions, for whose turn is next.
CREATE INDEX partitions_ready ON partitions (limit_name, class, turn, partition) WHERE class IS NOT NULL;
-- Reader: the same, for those that are to be looked at.
CREATE INDEX partitions_timed ON partitions (limit_name, look_at, partition) WHERE look_at IS NOT NULL;

-- Where executions stand behind their limits.
CREATE TABLE places (
    inv       INTEGER PRIMARY KEY REFERENCES promises (n),
    partition TEXT    NOT NULL,
    priority  INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    state     INTEGER NOT NULL CHECK (state BETWEEN 1 AND 4) -- 1 waiting, 2 admitted, 3 left, 4 expected
) STRICT;
-- Reader: a round of admissions, for who came first.
CREATE INDEX places_waiting ON places (partition, priority, seq) WHERE state = 1;

-- The limits that a module declares, by function, as JSON. Modules from before have none.
ALTER TABLE modules ADD COLUMN limits TEXT NOT NULL DEFAULT '{}';

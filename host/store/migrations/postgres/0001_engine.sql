-- The engine: promises and their tasks, who waits for whom, what is owed to the outside, journals, modules.
--
-- An id is stored once, in promises; everything else refers to it by n, which counts promises in the order of their
-- creation. Times are milliseconds since the epoch. A timer is a column of the row it belongs to: a pending promise is
-- due at timeout_at, a task at wake_at.
--
-- Texts are compared byte by byte, as the engine does. Two characters that PostgreSQL or the order would not bear are
-- written as two each: U+0000 as U+0001 U+0001, U+0001 as U+0001 U+0002.

CREATE TABLE modules (
    n           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest      BYTEA   NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    created_at  BIGINT NOT NULL,
    description TEXT    NOT NULL,
    component   BYTEA   NOT NULL
);

CREATE TABLE aliases (
    name   TEXT    COLLATE "C" PRIMARY KEY,
    module BIGINT NOT NULL REFERENCES modules (n)
);

-- The numbers of promises. One that was given and not used leaves a gap, which nobody minds.
CREATE SEQUENCE promises_n AS BIGINT;

CREATE TABLE promises (
    n             BIGINT PRIMARY KEY,
    id            TEXT    COLLATE "C" NOT NULL UNIQUE,
    state         SMALLINT NOT NULL CHECK (state BETWEEN 0 AND 4), -- 0 pending, then the numbers of Verdict
    created_at    BIGINT NOT NULL,
    timeout_at    BIGINT NOT NULL,
    settled_at    BIGINT,
    made_by       BIGINT REFERENCES promises (n),
    attached      SMALLINT NOT NULL CHECK (attached IN (0, 1)), -- 1: its maker is answerable for it
    target        TEXT,
    tags          TEXT    NOT NULL, -- JSON, all of them, the target included
    param_headers TEXT,    -- JSON, NULL for none
    param         BYTEA   NOT NULL,
    value_headers TEXT,
    value         BYTEA,
    CHECK ((state = 0) = (settled_at IS NULL)),
    CHECK (state <> 0 OR value IS NULL),
    CHECK (state <> 4 OR (settled_at = timeout_at AND value IS NULL)),
    CHECK (settled_at BETWEEN created_at AND timeout_at),
    CHECK (attached = 0 OR made_by IS NOT NULL),
    CHECK (value_headers IS NULL OR value IS NOT NULL)
);
-- Reader: deadlines that are due. 253402300799999 is "never".
CREATE INDEX promises_due ON promises (timeout_at, n) WHERE state = 0 AND timeout_at < 253402300799999;
-- Reader: the pending children of one that settled, in the order of their ids.
CREATE INDEX promises_children ON promises (made_by, id) WHERE state = 0 AND attached = 1;
-- Reader: the list of what one invocation made.
CREATE INDEX promises_made_by ON promises (made_by, n) WHERE made_by IS NOT NULL;

CREATE TABLE tasks (
    n              BIGINT PRIMARY KEY REFERENCES promises (n),
    state          SMALLINT NOT NULL CHECK (state BETWEEN 1 AND 5), -- the numbers of TaskStatus
    version        BIGINT NOT NULL,
    wake_at        BIGINT, -- pending: offered again; acquired: the end of the lease
    hosted         SMALLINT NOT NULL CHECK (hosted IN (0, 1)), -- 1: hosts execute it themselves
    pending_since  BIGINT,
    offered        SMALLINT CHECK (offered IN (0, 1)), -- pending: 1: may be taken now
    node           TEXT COLLATE "C",
    incarnation    BIGINT,
    nonce          BIGINT,
    ttl            BIGINT,
    halted         SMALLINT CHECK (halted BETWEEN 1 AND 6), -- the numbers of HaltReason
    module         BIGINT REFERENCES modules (n),
    attempt        BIGINT NOT NULL,
    last_heartbeat BIGINT,
    fulfilled_by   BIGINT,
    cancel         SMALLINT NOT NULL CHECK (cancel BETWEEN 0 AND 2), -- 0 none, 1 requested, 2 delivered
    signals        BIGINT NOT NULL,
    details        BYTEA   NOT NULL, -- what no statement looks at, encoded
    -- 1 pending, 2 acquired, 3 suspended, 4 halted, 5 fulfilled
    CHECK ((state IN (1, 2)) = (wake_at IS NOT NULL)),
    CHECK ((state = 1) = (pending_since IS NOT NULL)),
    CHECK ((state = 1) = (offered IS NOT NULL)),
    CHECK ((state = 2) = (node IS NOT NULL)),
    CHECK ((state = 2) = (incarnation IS NOT NULL)),
    CHECK ((state = 2) = (nonce IS NOT NULL)),
    CHECK ((state = 2) = (ttl IS NOT NULL)),
    CHECK ((state = 4) = (halted IS NOT NULL)),
    CHECK (fulfilled_by IS NULL OR state = 5)
)
-- Rows that are changed again and again: room for their next versions, and early cleaning.
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- Reader: leases and retries that are due.
CREATE INDEX tasks_due ON tasks (wake_at, n) WHERE wake_at < 253402300799999;
-- Reader: hosts looking for work, in the order of creation.
CREATE INDEX tasks_ready ON tasks (n) WHERE state = 1 AND hosted = 1 AND offered = 1;
-- Reader: a host that starts and looks for what its earlier lives hold.
CREATE INDEX tasks_held ON tasks (node) WHERE state = 2;
-- Reader: which modules unfinished executions run.
CREATE INDEX tasks_module ON tasks (module) WHERE state <> 5 AND module IS NOT NULL;

CREATE TABLE callbacks (
    awaited  BIGINT NOT NULL REFERENCES promises (n),
    awaiter  BIGINT NOT NULL REFERENCES tasks (n),
    consumed SMALLINT NOT NULL CHECK (consumed IN (0, 1)),
    PRIMARY KEY (awaited, awaiter),
    CHECK (awaited <> awaiter)
);
-- Reader: what a task waits for.
CREATE INDEX callbacks_awaiter ON callbacks (awaiter);

CREATE TABLE listeners (
    awaited BIGINT NOT NULL REFERENCES promises (n),
    address TEXT    COLLATE "C" NOT NULL,
    PRIMARY KEY (awaited, address)
);

CREATE TABLE outbox (
    source     BIGINT NOT NULL REFERENCES promises (n),
    kind       SMALLINT NOT NULL CHECK (kind BETWEEN 1 AND 4), -- 1 execute, 2 unblock, 3 event, 4 cancel children
    part       TEXT    COLLATE "C" NOT NULL, -- the address of an unblock, the command's index of an event, else empty
    next_at    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    message    BYTEA   NOT NULL,
    PRIMARY KEY (source, kind, part)
)
WITH (autovacuum_vacuum_scale_factor = 0.02);
-- Reader: the sender, looking for messages that are due.
CREATE INDEX outbox_due ON outbox (next_at);

-- One row is what one commit appended to one invocation; the last row of an invocation is the head of its journal.
-- Rows lie in the order of the commits, so that a commit writes neighbouring pages whichever invocations it touches.
CREATE TABLE journal (
    n         BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    inv       BIGINT NOT NULL REFERENCES promises (n),
    first_seq BIGINT NOT NULL,
    end_seq   BIGINT NOT NULL, -- the length of the journal after this row
    commands  BIGINT NOT NULL, -- the commands in the journal after this row
    notified  BIGINT NOT NULL, -- those of them whose outcome the guest was told
    at        BIGINT NOT NULL, -- of the last record
    finished  SMALLINT NOT NULL CHECK (finished IN (0, 1)),
    records   BYTEA   NOT NULL,
    CHECK (first_seq < end_seq)
);
-- Readers: the head of a journal, and its pages.
CREATE UNIQUE INDEX journal_pages ON journal (inv, first_seq);

-- What guests logged, a row for each commit that carried lines of an invocation.
CREATE TABLE logs (
    n     BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    inv   BIGINT NOT NULL REFERENCES promises (n),
    count BIGINT NOT NULL CHECK (count > 0),
    lines BYTEA   NOT NULL
);
-- Reader: the lines of one invocation, numbered by the counts before them.
CREATE INDEX logs_pages ON logs (inv, n, count);

-- The keys under which signals came, so that a repeated one is taken once.
CREATE TABLE signal_keys (
    inv    BIGINT NOT NULL REFERENCES promises (n),
    key    TEXT    COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (inv, key)
);

CREATE TABLE hosts (
    node        TEXT    COLLATE "C" PRIMARY KEY,
    incarnation BIGINT NOT NULL
);

-- For people: the states by name.
CREATE VIEW promise_states AS
SELECT n, id, target, created_at, timeout_at, settled_at,
       CASE state WHEN 0 THEN 'pending'  WHEN 1 THEN 'resolved'  WHEN 2 THEN 'rejected'
                  WHEN 3 THEN 'canceled' WHEN 4 THEN 'timed out' END AS state
  FROM promises;

CREATE VIEW task_states AS
SELECT tasks.n, promises.id, promises.target, tasks.version, tasks.node, tasks.wake_at, tasks.attempt,
       CASE tasks.state WHEN 1 THEN 'pending' WHEN 2 THEN 'acquired' WHEN 3 THEN 'suspended'
                        WHEN 4 THEN 'halted'  WHEN 5 THEN 'fulfilled' END AS state
  FROM tasks JOIN promises USING (n);

COMMENT ON TABLE hosts IS 'Segno: who has been a host of this database, and how often it started';

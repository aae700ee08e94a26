-- The engine: promises and their tasks, who waits for whom, what is owed to the outside, journals, modules.
--
-- An id is stored once, in promises; everything else refers to it by n, which counts promises in the order of their
-- creation. Times are milliseconds since the epoch. A timer is a column of the row it belongs to: a pending promise is
-- due at timeout_at, a task at wake_at.

CREATE TABLE modules (
    n           INTEGER PRIMARY KEY,
    digest      BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    created_at  INTEGER NOT NULL,
    description TEXT    NOT NULL,
    component   BLOB    NOT NULL
) STRICT;

CREATE TABLE aliases (
    name   TEXT    PRIMARY KEY,
    module INTEGER NOT NULL REFERENCES modules (n)
) STRICT, WITHOUT ROWID;

CREATE TABLE promises (
    n             INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    state         INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4), -- 0 pending, then the numbers of Verdict
    created_at    INTEGER NOT NULL,
    timeout_at    INTEGER NOT NULL,
    settled_at    INTEGER,
    made_by       INTEGER REFERENCES promises (n),
    attached      INTEGER NOT NULL CHECK (attached IN (0, 1)), -- 1: its maker is answerable for it
    target        TEXT,
    tags          TEXT    NOT NULL, -- JSON, all of them, the target included
    param_headers TEXT,    -- JSON, NULL for none
    param         BLOB    NOT NULL,
    value_headers TEXT,
    value         BLOB,
    CHECK ((state = 0) = (settled_at IS NULL)),
    CHECK (state <> 0 OR value IS NULL),
    CHECK (state <> 4 OR (settled_at = timeout_at AND value IS NULL)),
    CHECK (settled_at BETWEEN created_at AND timeout_at),
    CHECK (attached = 0 OR made_by IS NOT NULL),
    CHECK (value_headers IS NULL OR value IS NOT NULL)
) STRICT;
-- Reader: deadlines that are due. 253402300799999 is "never".
CREATE INDEX promises_due ON promises (timeout_at) WHERE state = 0 AND timeout_at < 253402300799999;
-- Reader: the pending children of one that settled, in the order of their ids.
CREATE INDEX promises_children ON promises (made_by, id) WHERE state = 0 AND attached = 1;
-- Reader: the list of what one invocation made.
CREATE INDEX promises_made_by ON promises (made_by, n) WHERE made_by IS NOT NULL;

CREATE TABLE tasks (
    n              INTEGER PRIMARY KEY REFERENCES promises (n),
    state          INTEGER NOT NULL CHECK (state BETWEEN 1 AND 5), -- the numbers of TaskStatus
    version        INTEGER NOT NULL,
    wake_at        INTEGER, -- pending: offered again; acquired: the end of the lease
    hosted         INTEGER NOT NULL CHECK (hosted IN (0, 1)), -- 1: hosts execute it themselves
    pending_since  INTEGER,
    offered        INTEGER CHECK (offered IN (0, 1)), -- pending: 1: may be taken now
    node           TEXT,
    incarnation    INTEGER,
    nonce          INTEGER,
    ttl            INTEGER,
    halted         INTEGER CHECK (halted BETWEEN 1 AND 6), -- the numbers of HaltReason
    module         INTEGER REFERENCES modules (n),
    attempt        INTEGER NOT NULL,
    last_heartbeat INTEGER,
    fulfilled_by   INTEGER,
    cancel         INTEGER NOT NULL CHECK (cancel BETWEEN 0 AND 2), -- 0 none, 1 requested, 2 delivered
    signals        INTEGER NOT NULL,
    details        BLOB    NOT NULL, -- what no statement looks at, encoded
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
) STRICT;
-- Reader: leases and retries that are due.
CREATE INDEX tasks_due ON tasks (wake_at) WHERE wake_at < 253402300799999;
-- Reader: hosts looking for work, in the order of creation.
CREATE INDEX tasks_ready ON tasks (n) WHERE state = 1 AND hosted = 1 AND offered = 1;
-- Reader: a host that starts and looks for what its earlier lives hold.
CREATE INDEX tasks_held ON tasks (node) WHERE state = 2;
-- Reader: which modules unfinished executions run.
CREATE INDEX tasks_module ON tasks (module) WHERE state <> 5 AND module IS NOT NULL;

CREATE TABLE callbacks (
    awaited  INTEGER NOT NULL REFERENCES promises (n),
    awaiter  INTEGER NOT NULL REFERENCES tasks (n),
    consumed INTEGER NOT NULL CHECK (consumed IN (0, 1)),
    PRIMARY KEY (awaited, awaiter),
    CHECK (awaited <> awaiter)
) STRICT, WITHOUT ROWID;
-- Reader: what a task waits for.
CREATE INDEX callbacks_awaiter ON callbacks (awaiter);

CREATE TABLE listeners (
    awaited INTEGER NOT NULL REFERENCES promises (n),
    address TEXT    NOT NULL,
    PRIMARY KEY (awaited, address)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    source     INTEGER NOT NULL REFERENCES promises (n),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 4), -- 1 execute, 2 unblock, 3 event, 4 cancel children
    part       TEXT    NOT NULL, -- the address of an unblock, the command's index of an event, else empty
    next_at    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    message    BLOB    NOT NULL,
    PRIMARY KEY (source, kind, part)
) STRICT, WITHOUT ROWID;
-- Reader: the sender, looking for messages that are due.
CREATE INDEX outbox_due ON outbox (next_at);

-- One row is what one commit appended to one invocation; the last row of an invocation is the head of its journal.
-- Rows lie in the order of the commits, so that a commit writes neighbouring pages whichever invocations it touches.
CREATE TABLE journal (
    n         INTEGER PRIMARY KEY,
    inv       INTEGER NOT NULL REFERENCES promises (n),
    first_seq INTEGER NOT NULL,
    end_seq   INTEGER NOT NULL, -- the length of the journal after this row
    commands  INTEGER NOT NULL, -- the commands in the journal after this row
    notified  INTEGER NOT NULL, -- those of them whose outcome the guest was told
    at        INTEGER NOT NULL, -- of the last record
    finished  INTEGER NOT NULL CHECK (finished IN (0, 1)),
    records   BLOB    NOT NULL,
    CHECK (first_seq < end_seq)
) STRICT;
-- Readers: the head of a journal, and its pages.
CREATE UNIQUE INDEX journal_pages ON journal (inv, first_seq);

-- What guests logged, a row for each commit that carried lines of an invocation.
CREATE TABLE logs (
    n     INTEGER PRIMARY KEY,
    inv   INTEGER NOT NULL REFERENCES promises (n),
    count INTEGER NOT NULL CHECK (count > 0),
    lines BLOB    NOT NULL
) STRICT;
-- Reader: the lines of one invocation, numbered by the counts before them.
CREATE INDEX logs_pages ON logs (inv, n, count);

-- The keys under which signals came, so that a repeated one is taken once.
CREATE TABLE signal_keys (
    inv    INTEGER NOT NULL REFERENCES promises (n),
    key    TEXT    NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (inv, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE hosts (
    node        TEXT    PRIMARY KEY,
    incarnation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

PRAGMA application_id = 0x5365676e; -- "Segn"

-- Schedules: what makes promises at the occurrences of a cron expression.
--
-- A schedule is found by its id, and nothing refers to it but the tag of what it made. The promise made last is named
-- and not referred to: it may have been removed since, and the schedule goes on.

CREATE TABLE schedules (
    id            TEXT     COLLATE "C" PRIMARY KEY,
    cron          TEXT    NOT NULL,
    promise_id    TEXT    NOT NULL, -- a template
    param_headers TEXT,             -- JSON, NULL for none
    param         BYTEA   NOT NULL,
    tags          TEXT    NOT NULL, -- JSON
    timeout       BIGINT   NOT NULL CHECK (timeout >= 0),
    overlap       SMALLINT NOT NULL CHECK (overlap BETWEEN 0 AND 2), -- 0 allow, 1 skip, 2 queue
    paused        SMALLINT NOT NULL CHECK (paused IN (0, 1)),
    created_at    BIGINT   NOT NULL,
    next_at       BIGINT   NOT NULL, -- 253402300799999: never
    last_at       BIGINT  ,
    last_id       TEXT,
    skipped       BIGINT   NOT NULL CHECK (skipped >= 0),
    CHECK (last_at < next_at)
);
-- Reader: schedules that are due.
CREATE INDEX schedules_due ON schedules (next_at, id) WHERE paused = 0 AND next_at < 253402300799999;

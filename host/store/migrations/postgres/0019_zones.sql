-- Schedules with a time zone and jitter, and why they left occurrences out; who holds the places of a limit.
--
-- What was there is in UTC and has no jitter; of what it left out only the number is known.

ALTER TABLE schedules ADD COLUMN zone TEXT; -- a name of the IANA database, NULL for UTC
ALTER TABLE schedules ADD COLUMN jitter BIGINT NOT NULL DEFAULT 0 CHECK (jitter BETWEEN 0 AND 86400000);
-- The next occurrence where there is jitter: next_at is then the instant at which its promise is made.
ALTER TABLE schedules ADD COLUMN nominal_at BIGINT CHECK (nominal_at <= next_at);
ALTER TABLE schedules ADD COLUMN skips TEXT; -- JSON by reason: count, last instant, explanation

-- Reader: who was admitted by a limit, for those who wait behind it.
CREATE INDEX places_admitted ON places (partition, seq) WHERE state = 2;

-- A number drawn anew by every transaction that writes the row: a host that appends under a claim compares it.
ALTER TABLE tasks ADD COLUMN stamp BIGINT NOT NULL DEFAULT 0;

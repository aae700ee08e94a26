-- Used on PostgreSQL only, where several hosts write: here the column keeps exports the same.
ALTER TABLE tasks ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;

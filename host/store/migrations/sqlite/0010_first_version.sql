-- The version at which tasks are born: above that of every task that was removed, so that an id which begins anew never
-- grants a claim again. No row: nothing was removed yet, and tasks are born at version 0. It only rises.
CREATE TABLE first_version (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL CHECK (version > 0)
) STRICT;

-- Budgets of executions, by the ids of those that hold them.
CREATE TABLE budgets (
    account TEXT COLLATE "C" PRIMARY KEY,
    units   TEXT NOT NULL   -- JSON: by unit, its limit and what is spent of it, in millionths
);

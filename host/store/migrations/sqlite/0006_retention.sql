-- Reader: removing a module that nobody refers to, and the foreign key's own check. The index of 0001 knows unfinished
-- executions only; those that have ended keep their module for replays until they are removed themselves.
CREATE INDEX tasks_of_module ON tasks (module) WHERE module IS NOT NULL;

-- Facts of sagas go with their invocation, whose task goes before them, and never without it.
DROP TRIGGER compensations_are_not_deleted;
CREATE TRIGGER compensations_are_not_deleted BEFORE DELETE ON compensations
WHEN EXISTS (SELECT 1 FROM tasks WHERE n = OLD.inv)
BEGIN SELECT RAISE(ABORT, 'the facts of sagas are never deleted'); END;

-- Reader: removing a module that nobody refers to, and the foreign key's own check. The index of 0001 knows unfinished
-- executions only; those that have ended keep their module for replays until they are removed themselves.
CREATE INDEX tasks_of_module ON tasks (module) WHERE module IS NOT NULL;

-- Facts of sagas go with their invocation, whose task goes before them, and never without it.
CREATE FUNCTION compensations_stay_with_their_invocation() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
  IF EXISTS (SELECT 1 FROM tasks WHERE n = OLD.inv) THEN
    RAISE EXCEPTION 'the facts of sagas are never changed or deleted';
  END IF;
  RETURN OLD;
END $$;
DROP TRIGGER compensations_are_not_deleted ON compensations;
CREATE TRIGGER compensations_are_not_deleted BEFORE DELETE ON compensations
   FOR EACH ROW EXECUTE FUNCTION compensations_stay_with_their_invocation();

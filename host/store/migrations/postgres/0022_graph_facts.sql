-- The history of graph runs: each state that a node came to, once. Rows are only added; runs from before have none for what
-- happened then.
CREATE TABLE graph_facts (
    run       BIGINT   NOT NULL REFERENCES promises (n),
    node      TEXT     COLLATE "C" NOT NULL,
    attempt   BIGINT   NOT NULL CHECK (attempt >= 0),
    state     SMALLINT NOT NULL CHECK (state BETWEEN 1 AND 6), -- 1 pending, 2 running, 3 waiting, 4 completed, 5 failed, 6 skipped
    at        BIGINT   NOT NULL,
    reset     SMALLINT CHECK (reset BETWEEN 1 AND 2), -- why the node is begun again: 1 cancelled, 2 failed
    begins_at BIGINT, -- of a failure: the next attempt does not begin before
    PRIMARY KEY (run, node, attempt, state),
    CHECK ((reset IS NOT DISTINCT FROM 2) = (begins_at IS NOT NULL))
);

CREATE FUNCTION graph_facts_stay() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN
  -- They go with their run, whose task goes before them, and never without it.
  IF TG_OP = 'UPDATE' OR EXISTS (SELECT 1 FROM tasks WHERE n = OLD.run) THEN
    RAISE EXCEPTION 'the history of a graph run is never changed or deleted';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER graph_facts_are_not_changed BEFORE UPDATE ON graph_facts
   FOR EACH ROW EXECUTE FUNCTION graph_facts_stay();
CREATE TRIGGER graph_facts_are_not_deleted BEFORE DELETE ON graph_facts
   FOR EACH ROW EXECUTE FUNCTION graph_facts_stay();

-- Workers outside are told of the recorded steps of a tree when they take its task.

-- Reader: the promises of a branch that no module's invocation made, in the order of their ids. Tags are JSON that is
-- written in one way only; a hash keeps rows of the index short.
CREATE INDEX promises_branch
    ON promises (md5(substring(tags from '"branch":("([^"\\]|\\.)*")')), id)
 WHERE made_by IS NULL AND position('"branch":"' in tags) > 0;

-- Workers outside are told of the recorded steps of a tree when they take its task.

-- Reader: the promises of a branch that no module's invocation made, in the order of their ids.
CREATE INDEX promises_branch ON promises (json_extract(tags, '$.branch'), id)
 WHERE made_by IS NULL AND json_extract(tags, '$.branch') IS NOT NULL;

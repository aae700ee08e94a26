-- The tree of calls is shown across worlds. What a function made under its claim refers to it (`promises_made_by`); what
-- workers outside made says so in a tag.

-- Reader: the promises that name this one as their parent, in the order of their creation.
CREATE INDEX promises_parent ON promises (json_extract(tags, '$.parent'))
 WHERE made_by IS NULL AND json_extract(tags, '$.parent') IS NOT NULL;

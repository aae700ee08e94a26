-- The tree of calls is shown across worlds. What a function made under its claim refers to it (`promises_made_by`); what
-- workers outside made says so in a tag.

-- Reader: the promises that name this one as their parent, in the order of their creation. As for branches, a hash of
-- the tag keeps rows of the index short.
CREATE INDEX promises_parent
    ON promises (md5(substring(tags from '"parent":("([^"\\]|\\.)*")')), n)
 WHERE made_by IS NULL AND position('"parent":"' in tags) > 0;

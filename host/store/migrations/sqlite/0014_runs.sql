-- The one run of the key of an object, where its function runs once a key; the id of a promise, for as long as that is there.
ALTER TABLE lines ADD COLUMN run TEXT;

-- Functions of objects that run once a key, as a JSON list of `OBJECT/FUNCTION`. Modules from before have none.
ALTER TABLE modules ADD COLUMN runs TEXT NOT NULL DEFAULT '[]';

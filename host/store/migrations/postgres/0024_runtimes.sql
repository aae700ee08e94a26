-- The component that runs a module which consists of sources. NULL: the module is a component itself.
ALTER TABLE modules ADD COLUMN runtime BYTEA REFERENCES modules (digest);
CREATE INDEX modules_runtime ON modules (runtime) WHERE runtime IS NOT NULL;

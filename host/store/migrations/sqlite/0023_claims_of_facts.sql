-- The claim under which a fact of a graph run was written: a clock may be set back between two claims, and never within one.
ALTER TABLE graph_facts ADD COLUMN claim INTEGER NOT NULL DEFAULT 0; -- 0: written by a version that did not say

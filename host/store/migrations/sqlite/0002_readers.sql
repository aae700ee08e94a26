-- Indexes for new readers: the sender asks for one kind of message at a time, clients read events, figures count.

DROP INDEX outbox_due;
-- Readers: the sender, looking for messages of one kind that are due; whoever counts the messages of each kind.
CREATE INDEX outbox_due ON outbox (kind, next_at);
-- Reader: clients that read events, in the order in which they were published.
CREATE INDEX outbox_events ON outbox (created_at, source, CAST(part AS INTEGER)) WHERE kind = 3; -- 3: event
-- Reader: whoever counts the executions that wait for a person.
CREATE INDEX tasks_halted ON tasks (n) WHERE state = 4; -- 4: halted

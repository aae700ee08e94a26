-- The sender asks for each kind of message it can deliver; kinds that nobody delivers here lie still and cost no look.

DROP INDEX outbox_due;
-- Reader: the sender, looking for messages of one kind that are due. 253402300799999 is "never": nobody takes it.
CREATE INDEX outbox_due ON outbox (kind, next_at) WHERE next_at < 253402300799999;

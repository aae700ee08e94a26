//! Defects in streams.

use super::Mutation;

const CLAIMED: &str = "an_activity_appends_under_its_claim_to_the_stream_of_its_workflow";
const ONCE: &str = "a_batch_of_a_producer_is_stored_once_and_in_order";
const RECORDED: &str = "a_workflow_appends_with_its_records_once";
const FORKED: &str = "a_fork_of_an_execution_shares_what_was_written_by_then";
const GROWS: &str = "a_stream_grows_until_it_is_closed";
const GONE: &str = "a_fork_has_the_beginning_and_goes_its_own_way";
const RATE: &str = "a_stream_takes_the_bytes_of_its_rate_and_no_more";
const OF_OBJECT: &str = "the_stream_of_an_object_outlives_its_executions";

pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation {
        what: "an attempt that lost its claim appends",
        file: "transition/streams/append.rs",
        says: "self.claimed(claim)?;",
        would_say: "",
        tests: CLAIMED,
        killer: CLAIMED,
    },
    Mutation {
        what: "an activity appends to the stream of any execution",
        file: "transition/streams/append.rs",
        says: "if owner.as_ref() != Some(&claim.id) && owner != maker {",
        would_say: "if owner.as_ref() != Some(&claim.id) && owner != maker && false {",
        tests: CLAIMED,
        killer: CLAIMED,
    },
    Mutation {
        what: "a batch that is sent again is stored again",
        file: "transition/streams/append.rs",
        says: "if *seq <= known.seq {",
        would_say: "if *seq < known.seq {",
        tests: ONCE,
        killer: ONCE,
    },
    Mutation {
        what: "something is appended after the end",
        file: "transition/streams/append.rs",
        says: "return Err(StreamRefusal::Closed { id: new.id.clone(), tail: stream.tail }.into());",
        would_say: "",
        tests: GROWS,
        killer: GROWS,
    },
    Mutation {
        what: "items of recorded commands are appended again",
        file: "transition/fence.rs",
        says: "actions.iter().filter(|action| recorded.contains(&action.index.0));",
        would_say: "actions.iter();",
        tests: RECORDED,
        killer: RECORDED,
    },
    Mutation {
        what: "an item is recorded that cannot be stored",
        file: "transition/fence.rs",
        says: "draft.may_append_items(&claim.id, items())?;",
        would_say: "let _ = items;",
        tests: RECORDED,
        killer: RECORDED,
    },
    Mutation {
        what: "a fork has what an open activity wrote, which runs again",
        file: "transition/streams/forked.rs",
        says: ".filter(|writer| self.completed.contains(writer))?;",
        would_say: "?;",
        tests: FORKED,
        killer: FORKED,
    },
    Mutation {
        what: "a fork in the middle of a commit lacks what its records appended",
        file: "transition/streams/forked.rs",
        says: "let count = self.partial.min(chunk.count);",
        would_say: "let count = 0;",
        tests: FORKED,
        killer: FORKED,
    },
    Mutation {
        what: "a fork counts the appends of whole commits twice",
        file: "transition/streams/forked.rs",
        says: "let whole = whole.max().unwrap_or(0);",
        would_say: "let whole = whole.max().unwrap_or(0).min(0);",
        tests: FORKED,
        killer: FORKED,
    },
    Mutation {
        what: "an append that is too fast is stored",
        file: "transition/streams/append.rs",
        says: "draft.check_rate(&stream, &new.items)?;",
        would_say: "let _ = draft.check_rate(&stream, &new.items);",
        tests: RATE,
        killer: RATE,
    },
    Mutation {
        what: "the items of a workflow are not counted for the rate",
        file: "transition/streams/append.rs",
        says: "self.count_rate(&mut stream, &joined);",
        would_say: "",
        tests: RATE,
        killer: RATE,
    },
    Mutation {
        what: "a shared function writes a stream of its object",
        file: "transition/streams/append.rs",
        says: "self.may_write_held_stream(invocation, object, &item.name)?;",
        would_say: "let _ = self.may_write_held_stream(invocation, object, &item.name);",
        tests: OF_OBJECT,
        killer: OF_OBJECT,
    },
    Mutation {
        what: "a client ends all streams of an object by settling their promise",
        file: "transition/promises.rs",
        says: "match ObjectId::of_streams(id) {",
        would_say: "match ObjectId::of_streams(id).filter(|_| false) {",
        tests: OF_OBJECT,
        killer: OF_OBJECT,
    },
    Mutation {
        what: "a client cancels the promise of the streams of an object",
        file: "transition/cancel.rs",
        says: "may_settle(invocation)?;",
        would_say: "",
        tests: OF_OBJECT,
        killer: OF_OBJECT,
    },
    Mutation {
        what: "an execution takes the id of the streams of an object",
        file: "transition/create.rs",
        says: "} else if ObjectId::of_streams(&new.id).is_some() {",
        would_say: "} else if false {",
        tests: OF_OBJECT,
        killer: OF_OBJECT,
    },
    Mutation {
        what: "a deleted stream makes room while forks of it exist",
        file: "transition/streams/remove.rs",
        says: "if stream.forks > 0 {",
        would_say: "if false {",
        tests: GONE,
        killer: GONE,
    },
    Mutation {
        what: "a stream does not count its bytes",
        file: "transition/streams/mod.rs",
        says: "stream.bytes += bytes;",
        would_say: "",
        tests: GROWS,
        killer: "a_stream_has_its_data",
    },
    Mutation {
        what: "a stream stays when its execution is removed",
        file: "view/promises.rs",
        says: "self.lookups.streams.remove(id);",
        would_say: "",
        tests: "a_client_writes_the_stream_of_an_execution_but_does_not_end_it",
        killer: "a_stream_belongs_to_an_execution_that_exists",
    },
    Mutation {
        what: "a source does not count its forks",
        file: "transition/streams/create.rs",
        says: "source.forks = source.forks.saturating_add(1);",
        would_say: "",
        tests: GONE,
        killer: "a_source_counts_its_forks",
    },
];

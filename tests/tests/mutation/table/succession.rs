//! Defects in workflows that continue as new, and in the signals that they received.

use super::Mutation;

const TAKES_OVER: &str = "the_next_generation_takes_over_id_labels_deadline_and_unread_signals";
const HAPPENS: &str = "what_happens_to_the_invocation_happens_to_its_newest_generation";
const ANSWERED: &str = "updates_that_nobody_was_told_of_are_answered_by_the_next_generation";

pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation {
        what: "a signal that was told is not counted as heard",
        file: "transition/append.rs",
        says: "task.inbox.heard = task.inbox.heard.map(|heard| heard.saturating_add(1));",
        would_say: "",
        tests: TAKES_OVER,
        killer: "heard_signals_are_recorded",
    },
    Mutation {
        what: "the end of the newest generation is not the end of the invocation",
        file: "transition/succession.rs",
        says: "self.settle(&continued, settlement.clone(), None);",
        would_say: "let _ = (&continued, settlement);",
        tests: TAKES_OVER,
        killer: "invocation_ends_with_its_newest_generation",
    },
    Mutation {
        what: "what a generation did not read is lost",
        file: "transition/succession.rs",
        says: "told.extend(heard..task.signals);",
        would_say: "",
        tests: TAKES_OVER,
        killer: TAKES_OVER,
    },
    Mutation {
        what: "what a generation was told and did not read is lost",
        file: "transition/succession.rs",
        says: "unread.iter().copied().filter(|n| *n < heard).collect()",
        would_say: "unread.iter().copied().filter(|n| *n < heard && false).collect()",
        tests: TAKES_OVER,
        killer: TAKES_OVER,
    },
    Mutation {
        what: "whoever names the invocation means its first generation",
        file: "transition/succession.rs",
        says: "self.task(&first).and_then(Task::newest).unwrap_or(first)",
        would_say: "self.task(&first).and_then(Task::newest).filter(|_| false).unwrap_or(first)",
        tests: TAKES_OVER,
        killer: TAKES_OVER,
    },
    Mutation {
        what: "handing over twice makes two generations",
        file: "transition/succession.rs",
        says: "None => task.newest().filter(|_| task.state == TaskState::Suspended),",
        would_say: "None => task.newest().filter(|_| false),",
        tests: TAKES_OVER,
        killer: TAKES_OVER,
    },
    Mutation {
        what: "a request to stop that was not told is lost between generations",
        file: "transition/succession.rs",
        says: "self.put_task(Task { cancel: CancelState::Requested, ..made });",
        would_say: "self.put_task(made);",
        tests: HAPPENS,
        killer: HAPPENS,
    },
    Mutation {
        what: "a generation that handed a request to stop on has missed it",
        file: "transition/succession.rs",
        says: "self.put_task(Task { cancel: CancelState::None, ..task.clone() });",
        would_say: "",
        tests: HAPPENS,
        killer: HAPPENS,
    },
    Mutation {
        what: "an answer is cancelled with the generation that its update was sent to",
        file: "transition/succession.rs",
        says: "is_next || (heard..task.signals).any(|n| parent.answer(n) == *child)",
        would_say: "{ let _ = heard; is_next }",
        tests: ANSWERED,
        killer: ANSWERED,
    },
    Mutation {
        what: "an update that nobody was told of is not answered by the next generation",
        file: "transition/succession.rs",
        says: "if name.starts_with(update::SIGNAL) {",
        would_say: "if false {",
        tests: ANSWERED,
        killer: ANSWERED,
    },
];

//! Defects in budgets.

use super::Mutation;

const ONCE: &str = "an_attempt_is_counted_once_and_its_outcome_is_charged_once";
const SPENT: &str = "nothing_begins_when_a_unit_is_spent_until_its_limit_is_raised";
const NESTED: &str = "a_budget_below_another_spends_both";
const RELEASED: &str = "an_attempt_that_fails_is_charged_with_its_release";
const CLAIM: &str = "only_a_claim_charges";
const REFUSED: &str = "a_budget_that_cannot_be_held_is_refused";
const OUTSIDE: &str = "an_external_worker_takes_no_call_beyond_the_budget";
const MADE: &str = "a_worker_that_creates_what_it_takes_is_counted";
const SUSPENDED: &str = "an_attempt_goes_on_after_a_suspension_and_a_retry_is_another";
const GONE: &str = "a_budget_goes_with_its_tree";

pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation {
        what: "an attempt whose reply was lost is counted again",
        file: "transition/budgets.rs",
        says: "if task.progress.seq == 0 {",
        would_say: "if task.progress.seq < 9 {",
        tests: ONCE,
        killer: ONCE,
    },
    Mutation {
        what: "an outcome is not charged",
        file: "transition/chain.rs",
        says: "self.charge_outcome(&settled);",
        would_say: "",
        tests: ONCE,
        killer: ONCE,
    },
    Mutation {
        what: "an outcome from outside is charged",
        file: "transition/chain.rs",
        says: "        if by.is_some() {\n            self.charge_outcome",
        would_say: "        {\n            self.charge_outcome",
        tests: CLAIM,
        killer: CLAIM,
    },
    Mutation {
        what: "an attempt begins although a unit is spent",
        file: "transition/budgets.rs",
        says: "self.has_left(accounts)?;",
        would_say: "",
        tests: SPENT,
        killer: SPENT,
    },
    Mutation {
        what: "a failed attempt costs nothing",
        file: "transition/budgets.rs",
        says: "    draft.spend(&accounts, costs);\n    Ok(Reply::Done)",
        would_say: "    let _ = costs;\n    Ok(Reply::Done)",
        tests: RELEASED,
        killer: RELEASED,
    },
    Mutation {
        what: "what has a budget of its own spends nothing of that above it",
        file: "transition/budgets.rs",
        says: "for account in accounts.iter().filter(|_| !costs.is_empty()) {",
        would_say: "for account in accounts.iter().take(1).filter(|_| !costs.is_empty()) {",
        tests: NESTED,
        killer: NESTED,
    },
    Mutation {
        what: "an external worker takes calls beyond the budget",
        file: "transition/tasks.rs",
        says: "if !draft.begin_outside(&claim.id)? {",
        would_say: "if false {",
        tests: OUTSIDE,
        killer: OUTSIDE,
    },
    Mutation {
        what: "a worker that creates what it takes is not counted",
        file: "transition/tasks.rs",
        says: "if draft.begin_outside(&new.id)? {",
        would_say: "{",
        tests: MADE,
        killer: MADE,
    },
    Mutation {
        what: "an attempt is counted again after each suspension",
        file: "transition/budgets.rs",
        says: "if goes_on { task.progress.seq.min(1) } else { 0 }",
        would_say: "if goes_on { 0 } else { 0 }",
        tests: SUSPENDED,
        killer: SUSPENDED,
    },
    Mutation {
        what: "a retry of an external worker is not counted",
        file: "transition/requeue.rs",
        says: "let task = self.without_attempt(task);\n        let (retry_at",
        would_say: "let (retry_at",
        tests: SUSPENDED,
        killer: SUSPENDED,
    },
    Mutation {
        what: "an attempt goes on after a halt",
        file: "transition/requeue.rs",
        says: "let task = self.without_attempt(task);\n        let note",
        would_say: "let note",
        tests: SUSPENDED,
        killer: SUSPENDED,
    },
    Mutation {
        what: "a client names the accounts that its execution draws on",
        file: "transition/budgets.rs",
        says: "tags.remove(tags::ACCOUNTS);",
        would_say: "",
        tests: REFUSED,
        killer: REFUSED,
    },
    Mutation {
        what: "a budget stays when its tree is removed",
        file: "transition/prune.rs",
        says: "draft.delta.budgets = accounts.map(|id| (id.clone(), None)).collect();",
        would_say: "drop(accounts);",
        tests: GONE,
        killer: "an_account_is_an_execution",
    },
    Mutation {
        what: "an account is opened without its budget",
        file: "transition/budgets.rs",
        says: "self.delta.budgets.insert(new.id.clone(), Some(Budget::new(&limits)));",
        would_say: "let _ = Budget::new(&limits);",
        tests: ONCE,
        killer: "an_account_has_a_budget",
    },
];

//! Step invariants: properties of the rows before and after a command.

mod chain;
mod journals;
mod rows;
mod shared;
mod tasks;
mod view;

use super::{Violations, limits};

pub(super) use view::CheckedStep;

pub(super) type StepPredicate = (&'static str, fn(&CheckedStep<'_>) -> Violations);

pub const STEP_PREDICATES: &[StepPredicate] = &[
    ("rows_are_not_lost", rows::rows_are_not_lost),
    ("nothing_is_born_in_a_killed_tree", rows::nothing_is_born_in_a_killed_tree),
    ("settled_record_never_changes", rows::settled_record_never_changes),
    ("birth_never_changes", rows::birth_never_changes),
    (
        "version_rises_only_when_a_claim_changes_hands",
        tasks::version_rises_only_when_a_claim_changes_hands,
    ),
    ("first_version_is_above_what_is_gone", tasks::first_version_is_above_what_is_gone),
    ("lease_changes_only_with_its_claim", tasks::lease_changes_only_with_its_claim),
    ("only_admitted_edges", tasks::only_admitted_edges),
    ("linear_chain", chain::linear_chain),
    ("wake_has_a_cause", chain::wake_has_a_cause),
    ("fulfilled_task_never_changes", tasks::fulfilled_task_never_changes),
    ("module_is_pinned", tasks::module_is_pinned),
    ("overdue_only_settles", chain::overdue_only_settles),
    ("unblock_discharges_a_listener", chain::unblock_discharges_a_listener),
    ("event_is_owed_with_its_record", chain::event_is_owed_with_its_record),
    ("retry_moves_forward", tasks::retry_moves_forward),
    ("records_are_never_rewritten", journals::records_are_never_rewritten),
    ("facts_are_never_rewritten", journals::facts_are_never_rewritten),
    ("graph_nodes_move_forward", journals::graph_nodes_move_forward),
    ("graph_history_is_never_rewritten", journals::graph_history_is_never_rewritten),
    ("turns_go_in_order", shared::turns_go_in_order),
    ("state_is_written_by_its_holder", shared::state_is_written_by_its_holder),
    ("a_run_leaves_nothing", rows::a_run_leaves_nothing),
    ("admissions_are_within_bounds", limits::admissions_are_within_bounds),
    ("admissions_go_in_order", limits::admissions_go_in_order),
    ("tokens_strictly_rise", shared::tokens_strictly_rise),
    ("schedules_go_only_when_deleted", shared::schedules_go_only_when_deleted),
    ("schedules_move_forward", shared::schedules_move_forward),
];

//! Orders with every expected outcome.

use segno_core::time::Millis;
use segno_demo::{
    clients::PlannedOrder,
    order::{DemoOrder, ExpectedOutcome},
    rng::DemoRng,
};

/// Time that a forgotten order waits for its approval.
pub const APPROVAL_TIMEOUT: Millis = Millis(3_000);

/// Orders with every fate, placed between the first fault and the last.
pub fn planned_orders(
    orders: usize,
    faults: usize,
    payments: &str,
    chance: &mut DemoRng,
) -> Vec<PlannedOrder> {
    let fate = |number| match number % 10 {
        3 => ExpectedOutcome::Rejected,
        6 => ExpectedOutcome::Forgotten,
        9 => ExpectedOutcome::TooDear,
        _ => ExpectedOutcome::Approved,
    };
    let plan = |number| PlannedOrder {
        order: DemoOrder::new(number, fate(number), payments, APPROVAL_TIMEOUT),
        phase: number * faults / orders,
        place_after: chance.length(0, 300),
        decide_after: chance.length(0, 2_000),
    };
    (0..orders).map(plan).collect()
}

//! A slow scan of all unfinished executions, which counts those that are stuck.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::time::Millis;
use segno_store::{InvocationFilter, StoreError};

use super::{STATES, StuckReason, look};
use crate::{host::Host, recovery::NextTurn};

/// Maximum number of executions checked in one turn.
pub const PAGE: u32 = 500;
/// The delay between two turns of a round.
pub const PERIOD: Millis = Millis(2_000);
/// The delay between two rounds.
pub const ROUND_PAUSE: Millis = Millis(60_000);

/// The position of the round, and the counts so far.
#[derive(Debug, Default)]
pub struct StuckRound {
    /// The state being scanned, as an index into [`STATES`].
    state: usize,
    after: Option<i64>,
    found: BTreeMap<StuckReason, u64>,
}

/// Checks one page. The counts are published at the end of the round.
///
/// # Errors
/// The store did not answer.
pub async fn turn(host: Host, round: Arc<Mutex<StuckRound>>) -> Result<NextTurn, StoreError> {
    let (state, after) = {
        let round = round.lock().unwrap_or_else(PoisonError::into_inner);
        (round.state, round.after)
    };
    let state = STATES.get(state).map(|state| (*state).to_owned());
    let filter = InvocationFilter { state, after, limit: PAGE, ..InvocationFilter::default() };
    let page = host.store.read().list(&filter).await?;
    let found = look(&*host.store, &page.items, host.env.clock.now()).await?;
    let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
    for stuck in found.into_iter().flatten() {
        *round.found.entry(stuck.reason).or_default() += 1;
    }
    round.after = page.next;
    if page.next.is_some() {
        return Ok(NextTurn::After(PERIOD));
    }
    round.state += 1;
    if round.state < STATES.len() {
        return Ok(NextTurn::After(PERIOD));
    }
    let round = std::mem::take(&mut *round);
    for reason in StuckReason::ALL {
        let count = round.found.get(&reason).copied().unwrap_or_default();
        host.metrics.gauges.stuck(reason.name(), count);
    }
    Ok(NextTurn::After(ROUND_PAUSE))
}

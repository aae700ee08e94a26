//! The consumer of events. It checks that each event arrives, and that none is delivered again
//! after its acknowledgement.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use segno_api::model::EventQuery;

use super::outside::{Hopeless, Outside};

/// Maximum number of events in one request.
const PAGE: u32 = 200;

/// Events published, received and acknowledged so far.
#[derive(Debug, Default)]
pub struct Events {
    state: Mutex<State>,
    complete: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    acknowledged: BTreeSet<String>,
    expected: BTreeSet<String>,
}

impl Events {
    /// Records that the flow's first commands publish `count` events.
    pub fn expect(&self, flow: &str, count: u64) {
        self.state().expected.extend((0..count).map(|number| format!("{flow}/{number}")));
    }

    /// Records that no further events are published.
    pub fn no_more(&self) {
        self.complete.store(true, Ordering::Relaxed);
    }

    /// Number of acknowledged events.
    pub fn acknowledged(&self) -> u64 {
        self.state().acknowledged.len() as u64
    }

    /// Reads events until publishing has ended and all expected events have arrived. Only one
    /// request is in flight at a time, so an acknowledged event must not be read again.
    ///
    /// # Errors
    /// [`Hopeless`] if some events never arrive.
    pub async fn consume(&self, outside: &Outside) -> Result<(), Hopeless> {
        loop {
            let query =
                EventQuery { limit: Some(PAGE), wait_ms: Some(200), ..EventQuery::default() };
            let page =
                outside.ask("reading events", &[], async |host| host.events(&query).await).await?;
            let ids: Vec<String> = page.events.into_iter().map(|event| event.id).collect();
            for id in &ids {
                if self.state().acknowledged.contains(id) {
                    outside.findings.add(format!("event `{id}` was acknowledged and came again"));
                }
            }
            if !ids.is_empty() {
                let taken = async |host: &segno_client::Client| host.acknowledge(ids.clone()).await;
                outside.ask("acknowledging events", &[], taken).await?;
                self.state().acknowledged.extend(ids);
                continue;
            }
            if self.complete.load(Ordering::Relaxed) {
                let missing = self.missing();
                let Some(first) = missing.first() else { return Ok(()) };
                let why = format!("{} events are missing, `{first}` is one", missing.len());
                outside.pause("reading events", &why).await?;
            }
        }
    }

    fn missing(&self) -> Vec<String> {
        let state = self.state();
        state.expected.difference(&state.acknowledged).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

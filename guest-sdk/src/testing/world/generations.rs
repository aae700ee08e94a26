//! Workflows that continue as new.

use super::TestWorld;
use crate::{
    bindings::segno::workflow::types as wit, journal::GenerationStart,
    testing::recorder::TestRecord,
};

/// The id of the first generation, and the number of this one.
pub(in crate::testing) fn generation(id: &str) -> (&str, u32) {
    let parts = id.rsplit_once("/g/");
    let parts = parts.and_then(|(first, number)| Some((first, number.parse().ok()?)));
    parts.unwrap_or((id, 1))
}

impl TestWorld<'_> {
    /// The id of the newest generation of an invocation.
    pub(super) fn newest(&self, id: &str) -> String {
        let (first, _) = generation(id);
        self.newest.get(first).map_or(first, String::as_str).to_owned()
    }

    /// Begins the next generation of an invocation that has ended. It receives the signals that
    /// this one never received.
    pub(super) fn continue_as_new(&mut self, id: &str, next: GenerationStart) {
        let running = self.invocations.get_mut(id).expect("it has just ended");
        let (entry, parent) = (running.entry, running.parent.take());
        let unread = unread_signals(&running.recorder.records());
        let (first, number) = generation(id);
        let id = format!("{first}/g/{}", number + 1);
        self.newest.insert(first.to_owned(), id.clone());
        self.begin(id, entry, next.input, parent);
        for signal in unread {
            // The generation may have ended by now.
            let newest = self.newest(first);
            self.tell(&newest, wit::Event::Signal(signal));
        }
    }
}

fn unread_signals(records: &[TestRecord]) -> Vec<wit::Signal> {
    let signals = records.iter().filter_map(|record| match record {
        TestRecord::Told { event: wit::Event::Signal(signal), .. } => Some(signal),
        _ => None,
    });
    let signals: Vec<&wit::Signal> = signals.collect();
    let numbers = records.iter().filter_map(|record| match record {
        TestRecord::Unread(numbers) => Some(numbers),
        _ => None,
    });
    numbers.flatten().filter_map(|number| Some((*signals.get(*number as usize)?).clone())).collect()
}

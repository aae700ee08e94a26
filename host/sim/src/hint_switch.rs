//! Commit hints of a store that outlives its hosts.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{effect::Effect, view::View};
use segno_store::Hints;

/// Passes hints to the incarnation that is up, and loses them while there is none.
#[derive(Default)]
pub struct HintSwitch(Mutex<Option<Arc<dyn Hints>>>);

impl HintSwitch {
    /// Sets the receiver of hints. `None`: hints are lost.
    pub fn set(&self, receiver: Option<Arc<dyn Hints>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = receiver;
    }
}

impl Hints for HintSwitch {
    fn committed(&self, effects: &[Effect], state: &View) {
        if let Some(receiver) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            receiver.committed(effects, state);
        }
    }
}

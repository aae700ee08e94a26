//! What operators change of a service that is registered.

use segno_core::time::Millis;
use segno_restate::manifest::Service;

use super::retention::ServiceRetention;

/// What operators may change of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Whether clients may call it.
    pub public: Option<bool>,
    /// Without a frame for so long, its deployment is asked to suspend.
    pub inactivity: Option<Millis>,
    /// After that, an attempt is given up when it takes so long.
    pub abort: Option<Millis>,
    /// How long what has ended is kept.
    pub retention: ServiceRetention,
}

impl Change {
    /// A change of a service holds for its handlers.
    pub(super) fn apply(self, service: &mut Service) {
        let millis = |length: Millis| u64::try_from(length.0).unwrap_or_default();
        if let Some(public) = self.public {
            service.ingress_private = Some(!public);
        }
        if let Some(length) = self.inactivity {
            service.inactivity_timeout = Some(millis(length));
            service.handlers.iter_mut().for_each(|handler| handler.inactivity_timeout = None);
        }
        if let Some(length) = self.abort {
            service.abort_timeout = Some(millis(length));
            service.handlers.iter_mut().for_each(|handler| handler.abort_timeout = None);
        }
        self.retention.apply(service);
    }
}

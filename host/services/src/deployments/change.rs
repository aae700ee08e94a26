//! Changes that operators make to a registered service.

use segno_core::time::Millis;
use segno_restate::manifest::Service;

use super::retention::ServiceRetention;

/// A change of a service by an operator. `None` leaves a setting as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceChange {
    /// True if clients may call the service.
    pub public: Option<bool>,
    /// The time without a frame after which the deployment is asked to suspend.
    pub inactivity: Option<Millis>,
    /// The time after that request until the attempt is aborted.
    pub abort: Option<Millis>,
    /// The retention periods of ended invocations.
    pub retention: ServiceRetention,
}

impl ServiceChange {
    /// Applies the change to the service and all its handlers.
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

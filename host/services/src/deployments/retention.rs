//! The retention of ended invocations, from the manifest of their service or from an operator's
//! change. The deployment with which an invocation began counts, so the retention is fixed when the
//! invocation is accepted.

use segno_core::time::Millis;
use segno_restate::manifest::{ManifestHandler, Service};

use super::{Deployment, HandlerConcurrency, kind};

/// The retention periods of a service or handler. `None`: no setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServiceRetention {
    /// The retention of calls with an idempotency key.
    pub idempotency: Option<Millis>,
    /// The retention of runs of workflows.
    pub completion: Option<Millis>,
    /// The retention of all invocations, for their journals.
    pub journal: Option<Millis>,
}

impl ServiceRetention {
    /// The settings of a service for its handlers.
    pub fn of(service: &Service) -> Self {
        Self {
            idempotency: millis(service.idempotency_retention),
            completion: run_of(service).and_then(|run| millis(run.workflow_completion_retention)),
            journal: millis(service.journal_retention),
        }
    }

    /// The settings of a handler itself.
    pub fn of_handler(handler: &ManifestHandler) -> Self {
        Self {
            idempotency: millis(handler.idempotency_retention),
            completion: millis(handler.workflow_completion_retention),
            journal: millis(handler.journal_retention),
        }
    }

    /// Applies an operator's settings to all handlers.
    pub(super) fn apply(self, service: &mut Service) {
        let given = |length: Millis| Some(u64::try_from(length.0).unwrap_or_default());
        if let Some(length) = self.idempotency {
            service.idempotency_retention = given(length);
            service.handlers.iter_mut().for_each(|handler| handler.idempotency_retention = None);
        }
        if let Some(length) = self.journal {
            service.journal_retention = given(length);
            service.handlers.iter_mut().for_each(|handler| handler.journal_retention = None);
        }
        let run = run_of(service).map(|run| run.name.clone());
        let run = service.handlers.iter_mut().find(|handler| Some(&handler.name) == run.as_ref());
        if let Some((run, length)) = run.zip(self.completion) {
            run.workflow_completion_retention = given(length);
        }
    }
}

impl Deployment {
    /// The retention periods that apply to an invocation. `None`: the default for services without
    /// a setting. The longest applies, since an invocation is removed as a whole.
    pub fn keeps(
        service: &Service,
        handler: &ManifestHandler,
        has_key: bool,
    ) -> Vec<Option<Millis>> {
        let (all, own) = (ServiceRetention::of(service), ServiceRetention::of_handler(handler));
        let journal = own.journal.or(all.journal);
        match kind(service, handler) {
            HandlerConcurrency::Run => vec![own.completion, journal],
            _ if has_key => vec![own.idempotency.or(all.idempotency), journal],
            HandlerConcurrency::Plain
            | HandlerConcurrency::Exclusive
            | HandlerConcurrency::Shared => vec![journal],
        }
    }
}

fn run_of(service: &Service) -> Option<&ManifestHandler> {
    service.handlers.iter().find(|handler| kind(service, handler) == HandlerConcurrency::Run)
}

/// A length of a manifest.
pub(super) fn millis(given: Option<u64>) -> Option<Millis> {
    given.map(|ms| Millis(i64::try_from(ms).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(json: &str) -> Service {
        serde_json::from_str(json).expect("a service")
    }

    #[test]
    fn the_handler_goes_before_its_service_and_a_key_or_a_run_counts_as_well() {
        let cart = service(
            r#"{ "name": "Cart", "ty": "VIRTUAL_OBJECT", "journalRetention": 1, "idempotencyRetention": 2, "handlers": [
                { "name": "add", "journalRetention": 3 }, { "name": "total", "ty": "SHARED", "idempotencyRetention": 4 }
            ] }"#,
        );
        let sign = service(
            r#"{ "name": "Sign", "ty": "WORKFLOW", "handlers": [
                { "name": "run", "workflowCompletionRetention": 5 }, { "name": "look", "ty": "SHARED" }
            ] }"#,
        );
        let ms = |length: i64| Some(Millis(length));
        for (service, handler, has_key, keeps) in [
            (&cart, 0, false, vec![ms(3)]),
            (&cart, 0, true, vec![ms(2), ms(3)]),
            (&cart, 1, true, vec![ms(4), ms(1)]),
            (&sign, 0, false, vec![ms(5), None]),
            (&sign, 0, true, vec![ms(5), None]),
            (&sign, 1, true, vec![None, None]),
        ] {
            let handler = &service.handlers[handler];
            let found = Deployment::keeps(service, handler, has_key);
            assert_eq!(found, keeps, "{} {has_key}", handler.name);
        }
    }

    #[test]
    fn what_operators_say_holds_for_all_handlers() {
        let mut sign = service(
            r#"{ "name": "Sign", "ty": "WORKFLOW", "handlers": [
                { "name": "run", "journalRetention": 9 }, { "name": "look", "ty": "SHARED", "idempotencyRetention": 9 }
            ] }"#,
        );
        let said = ServiceRetention {
            idempotency: Some(Millis(1)),
            completion: Some(Millis(2)),
            journal: Some(Millis(3)),
        };
        said.apply(&mut sign);
        assert_eq!(ServiceRetention::of(&sign), said);
        let [run, look] = &sign.handlers[..] else { panic!("two handlers") };
        let keeps = |handler| Deployment::keeps(&sign, handler, true);
        assert_eq!(keeps(run), [Some(Millis(2)), Some(Millis(3))]);
        assert_eq!(keeps(look), [Some(Millis(1)), Some(Millis(3))]);
    }
}

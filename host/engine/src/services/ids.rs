//! The ids of invocations of services, and of what belongs to a key.
//!
//! ```text
//! restate:SERVICE/[KEY/]HANDLER/i/IDEMPOTENCY     called with an idempotency key
//! restate:WORKFLOW/WORKFLOW@KEY/HANDLER           the run of a workflow: one a key
//! restate:WORKFLOW/WORKFLOW@KEY/p/NAME            a promise of a workflow
//! inv_…                                           any other that came from outside
//! INVOCATION/INDEX                                any other that an invocation called
//! ```
//! A key has `%2F` for each slash and `%25` for each percent sign there.

use segno_core::{
    address::service_alias,
    id::{ObjectId, PromiseId},
};

/// A handler of a service, for a key if it has keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called<'a> {
    /// The service.
    pub service: &'a str,
    /// The key; none: it has no keys.
    pub key: Option<&'a str>,
    /// The handler.
    pub handler: &'a str,
}

impl Called<'_> {
    /// The address of the handler.
    pub fn address(&self) -> String {
        format!("{}{}", segno_core::address::SERVICE_SCHEME, self.path())
    }

    /// The address without its scheme.
    pub fn path(&self) -> String {
        let Self { service, key, handler } = self;
        match key {
            Some(key) => format!("{service}/{key}/{handler}"),
            None => format!("{service}/{handler}"),
        }
    }

    /// The name of the handler in its deployment.
    pub fn function(&self) -> String {
        format!("{}/{}", self.service, self.handler)
    }

    /// The invocation with this idempotency key.
    pub fn idempotent(&self, key: &str) -> PromiseId {
        PromiseId::new(format!("{}/i/{key}", self.named()))
    }

    /// The run of this workflow and key; none: it has no key.
    pub fn run(&self) -> Option<PromiseId> {
        Some(self.object()?.run(self.handler))
    }

    /// The object or the workflow, for its key.
    pub fn object(&self) -> Option<ObjectId> {
        let alias = service_alias(self.service);
        Some(ObjectId::new(format!("{alias}/{}@{}", self.service, self.key?)))
    }

    fn named(&self) -> String {
        let Self { key, handler, .. } = self;
        let service = service_alias(self.service);
        match key {
            Some(key) => {
                format!("{service}/{}/{handler}", key.replace('%', "%25").replace('/', "%2F"))
            }
            None => format!("{service}/{handler}"),
        }
    }
}

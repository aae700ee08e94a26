//! The [`Guests`] of a host that runs no modules.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{id::Digest, invocation::EngineFacts};

use crate::{
    ActivityContext, ActivityHost, Failure, FunctionDescription, GuestError, Guests, HttpRequest,
    HttpResponse, Outbound, Outcome, Payload, Workflow,
};

/// Knows no module and sends no request: for read-only hosts and for tests.
#[derive(Debug)]
pub struct NoGuests;

#[async_trait]
impl Guests for NoGuests {
    fn engine_facts(&self) -> EngineFacts {
        EngineFacts::default()
    }

    async fn describe(&self, module: Digest) -> Result<Arc<Vec<FunctionDescription>>, GuestError> {
        Err(GuestError::NoSuchModule(module))
    }

    async fn instantiate(
        &self,
        module: Digest,
        _facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        Err(GuestError::NoSuchModule(module))
    }

    async fn perform(
        &self,
        module: Digest,
        _name: &str,
        _function: &str,
        _input: Payload,
        _context: ActivityContext,
        _host: Arc<dyn ActivityHost>,
    ) -> Result<Outcome, GuestError> {
        Err(GuestError::NoSuchModule(module))
    }
}

#[async_trait]
impl Outbound for NoGuests {
    async fn send(&self, module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        self.allows(module, &request.url)?;
        unreachable!("nothing is allowed")
    }

    fn allows(&self, _module: &str, _url: &str) -> Result<(), Failure> {
        Err(Failure { code: 403, message: "this host lets nothing out".to_owned(), details: None })
    }
}

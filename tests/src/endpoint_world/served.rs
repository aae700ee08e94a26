//! The endpoint of a world, and the service that its component calls.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::id::Digest;
use segno_endpoint::{Endpoint, ServiceOffer};
use segno_env::Env;
use segno_guest::{Failure, HttpRequest, HttpResponse, Outbound};

use super::clock::VirtualClock;
use crate::guests;

/// Answers the requests of guests from the body and the idempotency key.
type Answers = dyn Fn(&HttpRequest) -> Result<HttpResponse, Failure> + Send + Sync;

pub(super) struct Service(pub(super) Box<Answers>);

#[async_trait]
impl Outbound for Service {
    async fn send(&self, _module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        (self.0)(&request)
    }

    fn allows(&self, _module: &str, _url: &str) -> Result<(), Failure> {
        Ok(())
    }
}

/// Serves a component as the module `module`.
pub(super) async fn served(
    module: &str,
    component: &Arc<[u8]>,
    clock: &Arc<VirtualClock>,
    outbound: Arc<dyn Outbound>,
) -> Endpoint {
    let wasm = guests::engine(std::slice::from_ref(component));
    let report = wasm.inspect(component.clone()).await.expect("the component is valid");
    let offer = ServiceOffer::new(module, module, &report).expect("it makes services");
    let env = Env { clock: clock.clone(), ..Env::system() };
    Endpoint::new(wasm, outbound, env, offer, Digest::of(component))
}

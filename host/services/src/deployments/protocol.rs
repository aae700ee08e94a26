//! Services as a protocol of the host: runs their invocations and answers questions about them.

use std::sync::Arc;

use async_trait::async_trait;
use segno_core::{
    address::{Address, SERVICE_SCHEME},
    id::PromiseId,
    invocation::{FieldValue, RequestField},
};
use segno_engine::{
    claim::{Claimed, Target},
    metrics::ClaimEnd,
    protocols::Protocol,
};
use serde_json::Value as Json;

use super::{
    Services,
    frames::{FRAME, shown_frame},
    ids::HandlerTarget,
};
use crate::run;

#[async_trait]
impl Target for Services {
    async fn run(self: Arc<Self>, claimed: Claimed) -> ClaimEnd {
        run::run(self, claimed).await
    }
}

impl Protocol for Services {
    fn takes(&self, target: &str) -> bool {
        target.starts_with(SERVICE_SCHEME)
    }

    fn run_of(&self, address: &Address) -> Option<PromiseId> {
        let called = HandlerTarget::of(address)?;
        called.key.is_some().then(|| called.run())
    }

    fn shown(&self, field: &RequestField) -> Option<Json> {
        match &field.value {
            FieldValue::Inline(bytes) if *field.name == *FRAME => Some(shown_frame(bytes)),
            _ => None,
        }
    }

    fn alias_taken(&self) {
        self.forget();
    }
}

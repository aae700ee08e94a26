//! The imports for streams in activities, which append at once.

use segno_core::stream::is_json;

use super::{ActivityState, for_workflows};
use crate::{
    Failure, Payload,
    bindings::segno::workflow::{activity_streams, streams},
    contract::size,
    streams::check,
    trap::check_size,
};

impl streams::Host for ActivityState {
    fn append(&mut self, _: String, _: String, _: Payload) -> wasmtime::Result<u32> {
        Err(for_workflows("streams.append"))
    }

    fn close(&mut self, _: String, _: String) -> wasmtime::Result<u32> {
        Err(for_workflows("streams.close"))
    }
}

impl activity_streams::Host for ActivityState {
    async fn kept(&mut self, name: String) -> wasmtime::Result<Result<u64, Failure>> {
        self.budget.check_time()?;
        self.budget.waited();
        if let Err(failure) = self.append_undecided(Some(&name)).await {
            return Ok(Err(failure));
        }
        Ok(self.host.stream_kept(&name).await)
    }

    async fn append(
        &mut self,
        name: String,
        content_type: String,
        item: Payload,
    ) -> wasmtime::Result<Result<(), Failure>> {
        self.budget.check_time()?;
        let limit = self.budget.limits().output_bytes;
        check_size(size(&item), limit, || format!("item of the stream `{name}`"))?;
        if let Err(message) = check(&name, &content_type) {
            return Ok(Err(Failure { code: 400, message, details: None }));
        }
        self.budget.waited();
        // A secret cannot lie across two messages.
        if self.secrets.is_empty() || is_json(&content_type) {
            let item = self.secrets.hide_in(item);
            return Ok(self.host.stream_append(&name, &content_type, item).await);
        }
        Ok(self.append_bytes(&name, &content_type, item).await)
    }
}

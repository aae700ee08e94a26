//! The imports for blobs in activities.

use super::ActivityState;
use crate::{Failure, bindings::segno::workflow::blobs, blobs::no_blobs, trap::check_size};

impl blobs::Host for ActivityState {
    async fn create(&mut self, content_type: String) -> wasmtime::Result<Result<u32, Failure>> {
        self.budget.check_time()?;
        self.budget.waited();
        Ok(match self.host.blobs() {
            Some(blobs) => blobs.create(&content_type).await,
            None => Err(no_blobs()),
        })
    }

    async fn write(
        &mut self,
        writer: u32,
        piece: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        self.budget.check_time()?;
        let limit = self.budget.limits().output_bytes;
        check_size(piece.len(), limit, || format!("piece for the blob of writer {writer}"))?;
        let mut end = self.undecided.of_blob(writer);
        if let Some(name) = self.secrets.found_after(&mut end, &piece) {
            let message = format!(
                "the blob contains the secret `{name}`, and blobs are stored: leave it out"
            );
            return Ok(Err(Failure { code: 422, message, details: None }));
        }
        self.budget.waited();
        let Some(blobs) = self.host.blobs() else { return Ok(Err(no_blobs())) };
        let written = blobs.write(writer, &piece).await;
        self.undecided.set_blob(writer, if written.is_ok() { end } else { Vec::new() });
        Ok(written)
    }

    async fn finish(&mut self, writer: u32) -> wasmtime::Result<Result<String, Failure>> {
        self.budget.check_time()?;
        self.undecided.set_blob(writer, Vec::new());
        self.budget.waited();
        Ok(match self.host.blobs() {
            Some(blobs) => blobs.finish(writer).await,
            None => Err(no_blobs()),
        })
    }

    async fn abandon(&mut self, writer: u32) -> wasmtime::Result<()> {
        self.undecided.set_blob(writer, Vec::new());
        if let Some(blobs) = self.host.blobs() {
            blobs.abandon(writer).await;
        }
        Ok(())
    }

    async fn read(
        &mut self,
        reference: String,
        offset: u64,
        length: u64,
    ) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        self.budget.check_time()?;
        self.budget.waited();
        let length = length.min(self.budget.limits().output_bytes as u64);
        Ok(match self.host.blobs() {
            Some(blobs) => blobs.read(&reference, offset, length).await,
            None => Err(no_blobs()),
        })
    }
}

//! A source of components that were made accessible.

use std::sync::Arc;

use anyhow::anyhow;
use async_trait::async_trait;
use segno_core::{id::Digest, source_module::SourceModule};

use super::rewrite::rewrite;
use crate::ComponentSource;

/// The components of another source, made accessible, under the same digests.
pub(crate) struct AccessibleSource(pub(crate) Arc<dyn ComponentSource>);

#[async_trait]
impl ComponentSource for AccessibleSource {
    async fn component(&self, digest: Digest) -> anyhow::Result<Option<Arc<[u8]>>> {
        let Some(component) = self.0.component(digest).await? else { return Ok(None) };
        if SourceModule::is_meant(&component) {
            return Ok(Some(component));
        }
        let rewritten = tokio::task::spawn_blocking(move || rewrite(&component)).await?;
        let rewritten =
            rewritten.map_err(|why| anyhow!("no snapshot can be made of its instances: {why}"))?;
        Ok(Some(rewritten.into()))
    }
}

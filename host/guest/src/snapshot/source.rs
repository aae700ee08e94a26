//! A source of components that were made accessible.

use std::sync::Arc;

use anyhow::anyhow;
use async_trait::async_trait;
use segno_core::{id::Digest, source_module::SourceModule};

use super::{initializer::Initialization, rewrite::rewrite};
use crate::ComponentSource;

/// The components of another source, made accessible, under the same digests.
pub(crate) struct AccessibleSource {
    pub(crate) source: Arc<dyn ComponentSource>,
    pub(crate) initialization: Initialization,
}

#[async_trait]
impl ComponentSource for AccessibleSource {
    async fn component(&self, digest: Digest) -> anyhow::Result<Option<Arc<[u8]>>> {
        let Some(component) = self.source.component(digest).await? else { return Ok(None) };
        if SourceModule::is_meant(&component) {
            return Ok(Some(component));
        }
        let initialization = self.initialization;
        let rewritten =
            tokio::task::spawn_blocking(move || rewrite(&component, initialization)).await?;
        let rewritten =
            rewritten.map_err(|why| anyhow!("no snapshot can be made of its instances: {why}"))?;
        Ok(Some(rewritten.into()))
    }
}

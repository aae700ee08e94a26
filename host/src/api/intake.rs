//! The check of uploads, as a trait: the API does not know wasmtime.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::model::ModuleDescription;

/// Says what a component needs and offers, or what is wrong with it.
#[async_trait]
pub trait Intake: Send + Sync + 'static {
    /// Checks `component`.
    async fn inspect(&self, component: Arc<[u8]>) -> Result<ModuleDescription, Rejected>;
}

/// Why a component cannot be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// Stable, in kebab case, for example `not-wasm`.
    pub code: String,
    /// What is wrong and what to do.
    pub message: String,
    /// The report as far as it got.
    pub report: Option<Value>,
}

//! The retention that a protocol gives its own trees.

use std::collections::BTreeMap;

use async_trait::async_trait;
use segno_core::{id::PromiseId, promise::Promise, time::Millis};
use segno_store::StoreError;

use super::rules::RetentionPeriod;

/// The retention periods of a protocol's trees, for trees that no rule of the operator matches.
#[async_trait]
pub trait KeepRule: Send + Sync {
    /// Sets the retention period of ended invocations that have no setting.
    fn keep_silent(&self, keep: RetentionPeriod);

    /// Lower bound of the retention periods that [`KeepRule::keeps`] returns. `None` if the
    /// protocol has no trees.
    ///
    /// # Errors
    /// The store did not answer.
    async fn least(&self) -> Result<Option<Millis>, StoreError>;

    /// The retention periods of those `roots` that belong to the protocol. Roots without a setting
    /// get `silent`.
    ///
    /// # Errors
    /// The store did not answer.
    async fn keeps(
        &self,
        silent: RetentionPeriod,
        roots: &[&Promise],
    ) -> Result<BTreeMap<PromiseId, RetentionPeriod>, StoreError>;
}

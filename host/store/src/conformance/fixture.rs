//! The module of the scripts, and their promises.

use std::sync::Arc;

use segno_core::{
    command::Command,
    id::Digest,
    promise::NewPromise,
    time::Timestamp,
    value::{Tags, Value},
};

use super::admissions;
use crate::{NewModule, Store, StoreError};

/// The component of the module with the scripts' functions.
const COMPONENT: &[u8] = b"component";
/// The digest of [`COMPONENT`].
pub(crate) const MODULE: Digest = Digest([
    0x69, 0x85, 0xca, 0x1f, 0x4d, 0xaa, 0x5a, 0x58, 0x4a, 0x28, 0xea, 0xe0, 0x43, 0xa2, 0x39, 0xcb,
    0x96, 0x68, 0x9a, 0xf1, 0x33, 0x7e, 0xa1, 0x3a, 0xfb, 0x63, 0xe0, 0x0c, 0x2b, 0xf5, 0x12, 0xfa,
]);

/// Stores the module, and gives it the alias that the scripts call.
pub(crate) async fn deploy(store: &dyn Store) -> Result<(), StoreError> {
    let (component, now) = (Arc::from(COMPONENT), Timestamp(1_000));
    let module = NewModule::plain(MODULE, component, now);
    store.modules().put(NewModule { facts: admissions::facts(), ..module }).await?;
    let command = Command::Deploy { alias: "shop".into(), module: MODULE };
    store.execute(vec![command]).await.map(drop)
}

/// A promise of the scripts.
pub(crate) fn new(id: &str, tags: &[(&str, &str)], timeout_at: Timestamp) -> NewPromise {
    let tags: Tags =
        tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    NewPromise { id: id.into(), param: Value::of(id.as_bytes()), tags, timeout_at }
}

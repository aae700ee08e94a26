//! Fuzzing of uploaded components.

use std::sync::{Arc, LazyLock};

use segno_guest::Wasm;
use tokio::runtime::{Builder, Runtime};

use crate::guests;

/// Checks an upload: parses, compiles, links and describes it.
pub(super) fn upload(bytes: &[u8]) {
    static ENGINE: LazyLock<(Runtime, Arc<Wasm>)> = LazyLock::new(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        (runtime.expect("a runtime"), guests::engine(&[]))
    });
    let (runtime, engine) = &*ENGINE;
    // Either answer is fine. A refusal must have a message.
    if let Err(invalid) = runtime.block_on(engine.inspect(bytes.into())) {
        assert!(!invalid.to_string().is_empty());
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    vec![guests::component("hello"), b"\0asm\x0d\0\x01\0".to_vec(), b"\0asm\x01\0\0\0".to_vec()]
}

//! Wraps a core module as a component that implements the contract.

use wasmparser::{Parser, Payload};
use wit_component::ComponentEncoder;

use crate::report::ComponentReport;

/// The interface that every component exports, without its version.
const FUNCTIONS: &str = "segno:workflow/functions@";

/// Reason why a module cannot become a component.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// The module was compiled for WASI preview 1, which workflows do not have.
    #[error(
        "it imports `wasi_snapshot_preview1`, which no workflow has: build for wasm32-unknown-unknown, \
         and keep files, sockets and clocks to activities"
    )]
    Wasi,
    /// The module imports JavaScript functions.
    #[error(
        "it imports `{0}`, which only a JavaScript page has: a dependency is compiled for the browser; \
         turn off its feature `js`, `wasm-bindgen` or `wasmbind`"
    )]
    JavaScript(String),
    /// The module exports no durable functions.
    #[error(
        "it exports no durable functions: mark at least one with `#[segno::workflow]` or `#[segno::activity]`"
    )]
    NoFunctions,
    /// The module is invalid, or its imports and exports do not match its own description.
    #[error("{0}")]
    Invalid(String),
}

/// Wraps `module` as a component and validates it.
///
/// # Errors
/// Fails if the module imports functions that no host provides, exports no durable functions, or is
/// invalid.
pub fn componentize(module: &[u8]) -> Result<Vec<u8>, ComponentError> {
    check_imports(module)?;
    let encoded = encode(module).map_err(|error| ComponentError::Invalid(format!("{error:#}")))?;
    let report = ComponentReport::of(&encoded)
        .map_err(|error| ComponentError::Invalid(error.to_string()))?;
    if report.exports.iter().any(|name| name.starts_with(FUNCTIONS)) {
        Ok(encoded)
    } else {
        Err(ComponentError::NoFunctions)
    }
}

fn encode(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    encoder.module(module)?.validate(true);
    encoder.encode()
}

fn check_imports(module: &[u8]) -> Result<(), ComponentError> {
    let invalid = |error: wasmparser::BinaryReaderError| ComponentError::Invalid(error.to_string());
    for payload in Parser::new(0).parse_all(module) {
        let Payload::ImportSection(section) = payload.map_err(invalid)? else {
            continue;
        };
        for import in section.into_imports() {
            let from = import.map_err(invalid)?.module;
            if from == "wasi_snapshot_preview1" {
                return Err(ComponentError::Wasi);
            }
            if from.starts_with("__wbindgen") {
                return Err(ComponentError::JavaScript(from.to_owned()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with at most one import: a function of the module `from`.
    fn module(from: Option<&str>) -> Vec<u8> {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        if let Some(from) = from {
            bytes.extend(b"\x01\x04\x01\x60\x00\x00");
            let length = |text: &[u8]| u8::try_from(text.len()).unwrap();
            let import =
                [&[1, length(from.as_bytes())], from.as_bytes(), b"\x01f\x00\x00"].concat();
            bytes.extend([2, length(&import)]);
            bytes.extend(import);
        }
        bytes
    }

    fn refusal(from: Option<&str>) -> String {
        componentize(&module(from)).unwrap_err().to_string()
    }

    #[test]
    fn imports_that_no_workflow_has_are_named() {
        let wasi = refusal(Some("wasi_snapshot_preview1"));
        assert!(wasi.contains("`wasi_snapshot_preview1`"), "{wasi}");
        let page = refusal(Some("__wbindgen_placeholder__"));
        assert!(page.contains("`__wbindgen_placeholder__`"), "{page}");
        let other = refusal(Some("kernel32"));
        assert!(other.contains("kernel32"), "{other}");
    }

    #[test]
    fn a_module_without_functions_of_ours_is_refused() {
        assert!(matches!(componentize(&module(None)), Err(ComponentError::NoFunctions)));
    }

    #[test]
    fn bytes_that_are_no_module_are_refused() {
        assert!(matches!(componentize(b"\0asm nonsense"), Err(ComponentError::Invalid(_))));
    }
}

//! Describes a component from its bytes alone.

use serde::Serialize;
use sha2::{Digest, Sha256};
use wasmparser::{Encoding, Parser, Payload};

/// The content of a component, without its functions: only an engine that calls `describe` knows
/// those.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentReport {
    /// The size of the component, in bytes.
    pub size: usize,
    /// The SHA-256 of the component in hexadecimal, its permanent name.
    pub digest: String,
    /// The imported interfaces, in the order of the component.
    pub imports: Vec<String>,
    /// The exported interfaces, in the order of the component.
    pub exports: Vec<String>,
}

/// The panic message of Rust's standard library on targets without a clock. A module contains it
/// only if one of its exports can reach the panic.
const NO_CLOCK: &[u8] = b"time not implemented on this platform";

/// True if code of the component can call `SystemTime::now` or `Instant::now`, which panic there.
pub fn panics_on_clock(component: &[u8]) -> bool {
    memchr::memmem::find(component, NO_CLOCK).is_some()
}

/// Reason why a component cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The bytes are a WebAssembly core module.
    #[error("this is a core module and not a component; `segno build` makes components")]
    CoreModule,
    /// The bytes are not WebAssembly, or are damaged.
    #[error("this is not a valid component")]
    Invalid(#[from] wasmparser::BinaryReaderError),
}

impl ComponentReport {
    /// Parses `component`, without checking its functions.
    ///
    /// # Errors
    /// Fails if the bytes are not a component.
    pub fn of(component: &[u8]) -> Result<Self, ReportError> {
        let (mut imports, mut exports) = (Vec::new(), Vec::new());
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload? {
                Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                    return Err(ReportError::CoreModule);
                }
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(Self { size: component.len(), digest: digest(component), imports, exports })
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component that imports the empty interface `a:b/c` and exports it as `d:e/f`.
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0\
        \x07\x03\x01\x42\x00\
        \x0a\x0a\x01\x00\x05a:b/c\x05\x00\
        \x0b\x0b\x01\x00\x05d:e/f\x05\x00\x00";

    #[test]
    fn imports_exports_size_and_digest_are_reported() {
        let report = ComponentReport::of(COMPONENT).unwrap();
        assert_eq!(report.imports, ["a:b/c"]);
        assert_eq!(report.exports, ["d:e/f"]);
        assert_eq!(report.size, COMPONENT.len());
        assert_eq!(report.digest.len(), 64);
        assert_ne!(report.digest, ComponentReport::of(b"\0asm\x0d\0\x01\0").unwrap().digest);
    }

    #[test]
    fn a_core_module_and_a_text_are_refused_each_in_its_way() {
        assert!(matches!(ComponentReport::of(b"\0asm\x01\0\0\0"), Err(ReportError::CoreModule)));
        assert!(matches!(ComponentReport::of(b"hello"), Err(ReportError::Invalid(_))));
    }

    #[test]
    fn the_digest_is_that_of_the_published_test_vector() {
        assert_eq!(
            digest(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}

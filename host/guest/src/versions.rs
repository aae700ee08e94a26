//! The versions of the contract that this host serves. What a newer one adds are interfaces; those
//! of the older ones stay as they are, under both names.

/// From the oldest.
pub(super) const VERSIONS: [&str; 2] = ["0.1.0", "0.2.0"];

/// The package of the contract.
pub(super) const PACKAGE: &str = "segno:workflow";

/// The full name of an interface.
pub(super) fn interface(name: &str, version: &str) -> String {
    format!("{PACKAGE}/{name}@{version}")
}

/// Whether components may import this interface of the contract in this version. Versions that
/// differ in their last number only are the same.
pub(super) fn imports(name: &str, version: &str) -> bool {
    let is_new = match version.rsplit_once('.') {
        Some(("0.1", _)) => false,
        Some(("0.2", _)) => ["state", "object-promises", "signals", "generations"].contains(&name),
        _ => return false,
    };
    is_new || ["types", "journal", "sagas", "activity", "configuration", "files"].contains(&name)
}

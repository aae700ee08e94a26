//! The contract versions that this host serves. A newer version adds interfaces; those of older
//! versions stay unchanged, under both names.

/// All served versions, oldest first.
pub(super) const VERSIONS: [&str; 2] = ["0.1.0", "0.2.0"];

/// The package of the contract.
pub(super) const PACKAGE: &str = "segno:workflow";

/// The full name of an interface.
pub(super) fn interface(name: &str, version: &str) -> String {
    format!("{PACKAGE}/{name}@{version}")
}

/// Returns true if components may import this contract interface in this version. Versions that
/// differ only in their last number are equivalent.
pub(super) fn imports(name: &str, version: &str) -> bool {
    let is_new = match version.rsplit_once('.') {
        Some(("0.1", _)) => false,
        Some(("0.2", _)) => [
            "state",
            "object-promises",
            "signals",
            "generations",
            "streams",
            "activity-streams",
            "blobs",
            "costs",
            "http-bodies",
        ]
        .contains(&name),
        _ => return false,
    };
    is_new || ["types", "journal", "sagas", "activity", "configuration", "files"].contains(&name)
}

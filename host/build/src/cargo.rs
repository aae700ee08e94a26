//! Cargo and rustc for builds: found as usual, but without the environment's build settings.

use std::{env, ffi::OsString, path::PathBuf, process::Command};

/// Variables that would change what is compiled, how, or into which folder.
const OVERRIDES: [&str; 16] = [
    "CARGO_BUILD_RUSTC",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CARGO_MAKEFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
    "MAKEFLAGS",
    "RUSTC_BOOTSTRAP",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// The cargo that runs this process, else the one on the path, without [`OVERRIDES`].
pub(super) fn cargo() -> Command {
    let mut command = Command::new(cargo_program());
    for name in OVERRIDES {
        command.env_remove(name);
    }
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PROFILE_") {
            command.env_remove(name);
        }
    }
    command
}

/// The name or path of cargo.
pub(super) fn cargo_program() -> OsString {
    env::var_os("CARGO").filter(|path| !path.is_empty()).unwrap_or_else(|| "cargo".into())
}

/// The compiler that cargo would use.
pub(super) fn active_rustc() -> PathBuf {
    env::var_os("RUSTC")
        .filter(|path| !path.is_empty())
        .map_or_else(|| "rustc".into(), PathBuf::from)
}

/// The folder in which cargo keeps the sources of crates, if known.
pub(super) fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| etcetera::home_dir().ok().map(|home| home.join(".cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_the_surrounding_build_are_taken_away() {
        let cargo = cargo();
        let removed: Vec<_> =
            cargo.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC_WRAPPER"] {
            assert!(removed.contains(&name.as_ref()), "{name}");
        }
    }
}

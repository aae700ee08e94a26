//! Finds cargo and rustc for builds as usual, but ignores the environment's build settings.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Variables that would change the compiled code, its flags or the output folder.
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

/// The cargo that runs this process, otherwise the one on the path, without [`OVERRIDES`].
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

/// Cargo's home folder, with the sources of crates, if known.
pub(super) fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| etcetera::home_dir().ok().map(|home| home.join(".cargo")))
}

/// The program through which cargo would call the compiler in `folder`, such as `sccache`: from the
/// environment, otherwise from the nearest configuration. `None` if the name is empty.
pub(super) fn rustc_wrapper(folder: &Path) -> Option<OsString> {
    let named = ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"].into_iter().find_map(env::var_os);
    let home = cargo_home();
    let wrapper = named.or_else(|| configured_wrapper(folder, home.as_deref()))?;
    (!wrapper.is_empty()).then_some(wrapper)
}

/// `build.rustc-wrapper` of the configuration files that apply in `folder`.
fn configured_wrapper(folder: &Path, home: Option<&Path>) -> Option<OsString> {
    let own = folder.ancestors().map(|folder| folder.join(".cargo"));
    let files = own.chain(home.map(Path::to_owned));
    files.flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(name))).find_map(
        |file| {
            let table: toml::Table = fs::read_to_string(&file).ok()?.parse().ok()?;
            let wrapper = table.get("build")?.get("rustc-wrapper")?.as_str()?.to_owned();
            // A bare name is looked up on the path; a path is relative to the parent folder of
            // `.cargo`.
            match file.parent()?.parent() {
                Some(folder) if wrapper.contains('/') => Some(folder.join(wrapper).into()),
                _ => Some(wrapper.into()),
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_of_the_nearest_configuration_is_found() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home/.cargo");
        let write = |path: &Path, wrapper: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("[build]\nrustc-wrapper = \"{wrapper}\"\n")).unwrap();
        };
        let (flow, other) = (root.path().join("work/flow"), root.path().join("other"));
        write(&home.join("config.toml"), "sccache");
        write(&root.path().join("work/.cargo/config.toml"), "bin/wrap");
        let found = |folder: &Path| configured_wrapper(folder, Some(&home));
        assert_eq!(found(&other), Some("sccache".into()));
        assert_eq!(found(&flow), Some(root.path().join("work/bin/wrap").into()));
        assert_eq!(configured_wrapper(&other, None), None);
    }

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

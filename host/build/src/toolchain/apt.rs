//! Queries Debian's package tools, and downloads packages without installing them.
//!
//! The system's package list may be old, and refreshing it requires root. If it has no recent
//! enough compiler, a private list is downloaded into the cache: apt reads the system's sources and
//! keys, and writes nothing outside of the cache.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::std_library::failed;
use crate::{BuildProgress, process};

/// Time limit of queries; downloads have none.
const LIMIT: Duration = Duration::from_secs(60);

/// The oldest Rust release whose library can be built this way.
const OLDEST: (u32, u32) = (1, 87);

/// apt, with the system's package list or a private one.
pub(super) struct Apt {
    options: Vec<String>,
}

impl Apt {
    /// apt with the system's list.
    pub(super) fn system() -> Self {
        // Under root, apt would download as another user, who may not write to the cache.
        Self { options: vec!["APT::Sandbox::User=root".to_owned()] }
    }

    /// apt with a private list, which is downloaded into `folder`.
    pub(super) fn private(folder: &Path, progress: &dyn BuildProgress) -> Result<Self, String> {
        let (state, archives) = (folder.join("state"), folder.join("cache"));
        for needed in [state.join("lists/partial"), archives.join("archives/partial")] {
            fs::create_dir_all(&needed).map_err(failed(&needed))?;
        }
        let mut apt = Self::system();
        apt.options.push(format!("Dir::State={}", state.display()));
        apt.options.push("Dir::State::status=/var/lib/dpkg/status".to_owned());
        apt.options.push(format!("Dir::Cache={}", archives.display()));
        progress.step("apt-get update (into a folder of our own)");
        apt.run("apt-get", &["update", "-qq"], folder, None, progress)?;
        Ok(apt)
    }

    /// The version of `package` that would be installed. `None` if there is none.
    pub(super) fn candidate(
        &self,
        package: &str,
        progress: &dyn BuildProgress,
    ) -> Result<Option<String>, String> {
        let answer =
            self.run("apt-cache", &["policy", package], Path::new("/"), Some(LIMIT), progress)?;
        Ok(candidate(&answer))
    }

    /// The dependencies of `package` at `version`, in Debian's notation.
    pub(super) fn depends(
        &self,
        package: &str,
        version: &str,
        progress: &dyn BuildProgress,
    ) -> Result<String, String> {
        let exact = format!("{package}={version}");
        let answer =
            self.run("apt-cache", &["show", &exact], Path::new("/"), Some(LIMIT), progress)?;
        let depends = answer.lines().find_map(|line| line.strip_prefix("Depends: "));
        depends
            .map(str::to_owned)
            .ok_or_else(|| format!("the package list does not say what {package} needs"))
    }

    /// Downloads packages into `folder`, unpacks them below `root`, and removes the downloads.
    pub(super) fn unpack(
        &self,
        packages: &[String],
        folder: &Path,
        root: &Path,
        progress: &dyn BuildProgress,
    ) -> Result<(), String> {
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let mut arguments = vec!["download", "-qq"];
        arguments.extend(packages.iter().map(String::as_str));
        self.run("apt-get", &arguments, folder, None, progress)?;
        for package in downloads(folder)? {
            let mut command = Command::new("dpkg");
            command.arg("-x").arg(&package).arg(root);
            answer("dpkg", process::run(&mut command, None, &|line| progress.line(line)))?;
        }
        fs::remove_dir_all(folder).map_err(failed(folder))
    }

    fn run(
        &self,
        program: &str,
        arguments: &[&str],
        directory: &Path,
        limit: Option<Duration>,
        progress: &dyn BuildProgress,
    ) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env("LC_ALL", "C");
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        let name = format!("{program} {}", arguments[0]);
        answer(&name, process::run(&mut command, limit, &|line| progress.line(line)))
    }
}

fn answer(
    name: &str,
    ended: Result<process::ToolOutput, process::ToolProcessError>,
) -> Result<String, String> {
    match ended {
        Ok(finished) if finished.success => Ok(finished.stdout),
        Ok(finished) => Err(format!("`{name}` failed: {}", finished.last_words())),
        Err(error) => Err(error.to_string()),
    }
}

fn downloads(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(failed(folder))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|ending| ending == "deb")).collect())
}

fn candidate(policy: &str) -> Option<String> {
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// Parses the release: `(1, 96)` for `1.96.0+dfsg1-1~deb12u2`.
pub(super) fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', '+', '-', '~']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Checks the version of Debian's compiler; the error gives the reason.
pub(super) fn good_enough(candidate: Option<String>) -> Result<String, String> {
    let Some(version) = candidate else {
        return Err("the package list has no rustc-web".to_owned());
    };
    if release(&version).is_some_and(|release| release >= OLDEST) {
        Ok(version)
    } else {
        let (major, minor) = OLDEST;
        Err(format!(
            "the package list offers rustc-web {version}, and {major}.{minor} or newer is needed"
        ))
    }
}

/// Parses the LLVM release: `22` for `libc6 (>= 2.34), libllvm22 (>= 1:22.1.0~rc1)`.
pub(super) fn llvm_release(depends: &str) -> Option<&str> {
    let (_, after) = depends.split_once("libllvm")?;
    let end = after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len());
    Some(&after[..end]).filter(|digits| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candidate_is_read_from_the_policy() {
        let policy = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n  Version table:\n";
        assert_eq!(candidate(policy).as_deref(), Some("1.96.0+dfsg1-1~deb12u2"));
        assert_eq!(candidate("rustc-web:\n  Installed: (none)\n  Candidate: (none)\n"), None);
        assert_eq!(candidate(""), None);
    }

    #[test]
    fn a_release_is_compared_by_numbers_and_not_by_letters() {
        for (version, good) in [
            ("1.96.0+dfsg1-1~deb12u2", true),
            ("1.87.0+dfsg1-1", true),
            ("1.100.0-1", true),
            ("1.85.0+dfsg3-1~deb12u3", false),
            ("1.9.0-1", false),
            ("unknown", false),
        ] {
            assert_eq!(good_enough(Some(version.to_owned())).is_ok(), good, "{version}");
        }
    }

    #[test]
    fn what_is_offered_and_what_is_needed_are_both_named() {
        assert_eq!(
            good_enough(Some("1.85.0+dfsg3-1".to_owned())).unwrap_err(),
            "the package list offers rustc-web 1.85.0+dfsg3-1, and 1.87 or newer is needed"
        );
        assert_eq!(good_enough(None).unwrap_err(), "the package list has no rustc-web");
    }

    #[test]
    fn llvm_is_the_one_that_the_library_needs() {
        assert_eq!(
            llvm_release("libc6 (>= 2.34), libgcc-s1, libllvm22 (>= 1:22.1.0~rc1), zlib1g"),
            Some("22")
        );
        assert_eq!(llvm_release("libllvm19"), Some("19"));
        assert_eq!(llvm_release("libc6"), None);
    }
}

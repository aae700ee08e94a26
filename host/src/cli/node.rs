//! The default name of a host: the machine's name, with a suffix that distinguishes several hosts
//! on one machine.

use std::{fs, io, path::Path};

use segno_env::{Runtime as _, SystemRuntime};

/// Name of the file with the suffix, in a data directory.
const FILE: &str = "node";

/// The name of the host with this data directory. It stays the same as long as the directory is not
/// moved.
pub(super) fn name(data: &Path) -> io::Result<String> {
    fs::create_dir_all(data)?;
    let file = data.join(FILE);
    let own = match fs::read_to_string(&file) {
        Ok(own) if !own.trim().is_empty() => own.trim().to_owned(),
        Ok(_) => draw(&file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => draw(&file)?,
        Err(error) => return Err(error),
    };
    Ok(format!("{}-{own}", machine()))
}

fn draw(file: &Path) -> io::Result<String> {
    let own = format!("{:08x}", SystemRuntime.nonce() >> 32);
    fs::write(file, format!("{own}\n"))?;
    Ok(own)
}

fn machine() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| fs::read_to_string("/etc/hostname"))
        .unwrap_or_default();
    match name.trim() {
        "" => "host".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_with_its_directory_and_differs_between_directories() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let name_of = |dir: &tempfile::TempDir| name(dir.path()).unwrap();
        assert_eq!(name_of(&one), name_of(&one));
        assert_ne!(name_of(&one), name_of(&two));
    }
}

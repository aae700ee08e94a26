//! The library that is loaded into a host before all others (`preload.c`), and the file that
//! controls it.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
};

const SOURCE: &str = include_str!("preload.c");

/// A built library, with its control file.
#[derive(Debug)]
pub struct Preload {
    library: PathBuf,
    control: PathBuf,
    file: File,
    offset_ms: i64,
}

impl Preload {
    /// Builds the library in `folder` with the system's C compiler.
    ///
    /// # Errors
    /// If there is no C compiler, or it rejects the source. The error has the compiler's output.
    pub fn build(folder: &Path) -> io::Result<Self> {
        let (source, library) = (folder.join("preload.c"), folder.join("preload.so"));
        std::fs::write(&source, SOURCE)?;
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-o"])
            .arg(&library)
            .arg(&source)
            .arg("-ldl")
            .output()?;
        if !built.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&built.stderr).into_owned()));
        }
        let control = folder.join("control");
        std::fs::write(&control, [0; 16])?;
        let file = File::options().write(true).open(&control)?;
        Ok(Self { library, control, file, offset_ms: 0 })
    }

    /// Environment variables of a host for faults in the directory `data`.
    pub fn environment(&self, data: &Path) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        vec![
            ("LD_PRELOAD".to_owned(), text(&self.library)),
            ("CHAOS_CONTROL".to_owned(), text(&self.control)),
            ("CHAOS_DATA".to_owned(), text(data)),
        ]
    }

    /// Moves the clock by `by_ms` milliseconds, in addition to earlier moves.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn move_clock(&mut self, by_ms: i64) -> io::Result<()> {
        self.offset_ms += by_ms;
        self.file.write_all_at(&self.offset_ms.to_le_bytes(), 0)
    }

    /// Current offset of the clock, in milliseconds.
    pub fn offset_ms(&self) -> i64 {
        self.offset_ms
    }

    /// Makes the disk appear full from now on, or no longer full.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn fill_disk(&self, full: bool) -> io::Result<()> {
        self.file.write_all_at(&i64::from(full).to_le_bytes(), 8)
    }
}

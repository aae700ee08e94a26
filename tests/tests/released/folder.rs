//! The files of a released version.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};

use super::SEGNO;

/// Tables without rows: the workload has no sagas and no graphs yet, and the first version of tasks
/// only rises when trees are removed.
const UNUSED: [&str; 4] = ["compensations", "first_version", "graph_facts", "graph_nodes"];

/// Number of rows in each table.
pub(super) type Rows = BTreeMap<String, u64>;

/// A folder `tests/released/VERSION`.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Folders of all versions, the oldest first.
    pub(super) fn all() -> Vec<Self> {
        let all = fs::read_dir(released()).expect("released versions are kept");
        let mut all: Vec<_> = all.map(|entry| entry.expect("it can be read").path()).collect();
        all.sort();
        assert!(!all.is_empty(), "released versions are kept");
        all.into_iter().map(Self).collect()
    }

    /// Creates the folder of the present version.
    pub(super) fn of_this_version() -> Self {
        let folder = released().join(env!("CARGO_PKG_VERSION"));
        fs::create_dir_all(&folder).expect("the folder can be made");
        Self(folder)
    }

    pub(super) fn version(&self) -> String {
        self.0.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub(super) fn export(&self) -> PathBuf {
        self.0.join("store.segno")
    }

    pub(super) fn rows(&self) -> Rows {
        let text = fs::read(self.0.join("rows.json")).expect("the rows were counted");
        serde_json::from_slice(&text).expect("they are numbers")
    }

    /// Stores the number of rows in each table. Each table must have some, so that the folder is
    /// worth keeping.
    pub(super) fn keep_rows(&self, rows: &Rows) {
        let empty = rows.iter().filter(|(_, rows)| **rows == 0).map(|(table, _)| table.as_str());
        assert_eq!(empty.collect::<Vec<_>>(), UNUSED, "every table that a host writes has rows");
        let text = serde_json::to_string_pretty(rows).expect("numbers are JSON");
        fs::write(self.0.join("rows.json"), text + "\n").expect("it can be written");
    }

    /// Stores the files of a database that its host left behind, including the write-ahead log.
    pub(super) fn pack_database(&self, data: &Path) {
        let mut packed = 0;
        for file in fs::read_dir(data).expect("a host wrote there") {
            let path = file.expect("it can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // The index of the log is recreated by the next process that opens the database.
            if name.starts_with("segno.db") && !name.ends_with("-shm") {
                let bytes = fs::read(&path).expect("it can be read");
                self.pack(&name, &bytes);
                packed += 1;
            }
        }
        assert_eq!(packed, 2, "a database and its log");
    }

    pub(super) fn unpack_database(&self, data: &Path) {
        for name in ["segno.db", "segno.db-wal"] {
            fs::write(data.join(name), self.unpack(name)).expect("it can be written");
        }
    }

    pub(super) fn dump(&self) -> String {
        String::from_utf8(self.unpack("postgres.sql")).expect("a dump is text")
    }

    pub(super) fn keep_dump(&self, dump: &str) {
        self.pack("postgres.sql", dump.as_bytes());
    }

    fn pack(&self, name: &str, bytes: &[u8]) {
        let path = self.0.join(format!("{name}.lz4"));
        fs::write(path, compress_prepend_size(bytes)).expect("it can be written");
    }

    fn unpack(&self, name: &str) -> Vec<u8> {
        let path = self.0.join(format!("{name}.lz4"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        decompress_size_prepended(&bytes).expect("it is what was packed")
    }
}

fn released() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("released")
}

/// Writes an export, and returns its row counts.
pub(super) fn export(store: &str, file: &Path) -> Rows {
    let _ = fs::remove_file(file);
    let said = segno(&["export", "--json", "--store", store, &file.display().to_string()]);
    let said: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    serde_json::from_value(said["tables"].clone()).expect("it has the rows of each table")
}

/// Row counts of a store.
pub(super) fn rows(store: &str, place: &Path) -> Rows {
    export(store, &place.join("again.segno"))
}

/// Checks that a store is sound, or has an earlier format, which only a host upgrades.
pub(super) fn looks_sound(store: &str) {
    let said = Command::new(SEGNO).args(["doctor", "--store", store]).output();
    let said = said.expect("the command runs");
    let errors = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() || errors.contains("start a host on it once"), "{errors}");
}

/// Output of the command.
pub(super) fn segno(arguments: &[&str]) -> String {
    let output = Command::new(SEGNO).args(arguments).output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "segno {arguments:?}: {}\n{said}\n{errors}", output.status);
    said
}

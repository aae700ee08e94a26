//! `segno-sdk` for pip and uv, as a wheel.
//!
//! ```text
//! segno_sdk/…                                 the sources
//! segno_sdk-VERSION.dist-info/METADATA        name, version, requirements; below them the README
//! segno_sdk-VERSION.dist-info/WHEEL           the version of the format
//! segno_sdk-VERSION.dist-info/entry_points.txt  the plugin of pytest
//! segno_sdk-VERSION.dist-info/licenses/LICENSE
//! segno_sdk-VERSION.dist-info/RECORD          path, digest and size of each file
//! ```

use std::collections::BTreeMap;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{LICENSE, SdkPackage, files, zip};

static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdks/python/src/segno_sdk");
const MANIFEST: &str = include_str!("../../../../sdks/python/pyproject.toml");
const README: &str = include_str!("../../../../sdks/python/README.md");

const WHEEL: &str =
    "Wheel-Version: 1.0\nGenerator: segno\nRoot-Is-Purelib: true\nTag: py3-none-any\n";

#[derive(Deserialize)]
struct PythonManifest {
    project: PythonProject,
}

/// The table `[project]`. Fields that the wheel cannot express are refused, so that a new one is
/// not forgotten.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PythonProject {
    name: String,
    version: String,
    description: String,
    #[serde(rename = "readme")]
    _readme: String,
    requires_python: String,
    license: String,
    classifiers: Vec<String>,
    dependencies: Vec<String>,
    entry_points: BTreeMap<String, BTreeMap<String, String>>,
}

impl PythonProject {
    fn of_sdk() -> Self {
        let manifest: PythonManifest = toml::from_str(MANIFEST).expect("the manifest is complete");
        manifest.project
    }

    fn metadata(&self) -> String {
        let mut fields = vec![
            ("Metadata-Version", "2.4"),
            ("Name", &self.name),
            ("Version", &self.version),
            ("Summary", &self.description),
            ("License-Expression", &self.license),
            ("License-File", "LICENSE"),
            ("Requires-Python", &self.requires_python),
            ("Description-Content-Type", "text/markdown"),
        ];
        fields.extend(self.classifiers.iter().map(|text| ("Classifier", &**text)));
        fields.extend(self.dependencies.iter().map(|text| ("Requires-Dist", &**text)));
        let fields = fields.into_iter().map(|(name, value)| format!("{name}: {value}\n"));
        format!("{}\n{README}", fields.collect::<String>())
    }

    fn entry_points(&self) -> String {
        let group = |(name, entries): (&String, &BTreeMap<String, String>)| {
            let lines = entries.iter().map(|(entry, target)| format!("{entry} = {target}\n"));
            format!("[{name}]\n{}", lines.collect::<String>())
        };
        self.entry_points.iter().map(group).collect()
    }
}

pub(super) fn package() -> SdkPackage {
    let project = PythonProject::of_sdk();
    let base = format!("{}-{}", project.name.replace('-', "_"), project.version);
    let info = format!("{base}.dist-info");
    let sources = files(&SOURCES, &["py", "typed"]).into_iter();
    let mut entries: Vec<(String, Vec<u8>)> =
        sources.map(|(path, bytes)| (format!("segno_sdk/{path}"), bytes.to_vec())).collect();
    entries.extend(
        [
            ("METADATA", project.metadata()),
            ("WHEEL", WHEEL.to_owned()),
            ("entry_points.txt", project.entry_points()),
            ("licenses/LICENSE", LICENSE.to_owned()),
        ]
        .map(|(name, text)| (format!("{info}/{name}"), text.into_bytes())),
    );
    let list = format!("{info}/RECORD");
    let mut record: String = entries.iter().map(|(path, bytes)| recorded(path, bytes)).collect();
    record += &format!("{list},,\n");
    entries.push((list, record.into_bytes()));
    SdkPackage { file: format!("{base}-py3-none-any.whl"), bytes: zip::archive(&entries) }
}

/// A line of `RECORD`.
fn recorded(path: &str, bytes: &[u8]) -> String {
    let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
    format!("{path},sha256={digest},{}\n", bytes.len())
}

#[cfg(test)]
mod tests {
    use std::{path::Path, process::Command};

    use super::*;

    /// Compares the wheel with its own lists, unpacks it and imports the package.
    const READS: &str = r"
import base64, csv, hashlib, io, sys, zipfile
from email.parser import Parser
wheel = zipfile.ZipFile(sys.argv[1])
assert wheel.testzip() is None
names = wheel.namelist()
info = next(name for name in names if name.endswith('/METADATA')).rsplit('/', 1)[0]
metadata = Parser().parsestr(wheel.read(f'{info}/METADATA').decode())
records = list(csv.reader(io.StringIO(wheel.read(f'{info}/RECORD').decode())))
assert [record[0] for record in records] == names, 'RECORD names every file'
for path, digest, size in records[:-1]:
    own = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(path)).digest()).rstrip(b'=').decode()
    assert (digest, int(size)) == (f'sha256={own}', len(wheel.read(path))), path
print(metadata['Name'], metadata['Version'], metadata['Requires-Python'])
print(len([name for name in names if name.startswith('segno_sdk/')]))
wheel.extractall(sys.argv[2])
sys.path.insert(0, sys.argv[2])
import segno_sdk.testing
";

    #[test]
    fn the_wheel_has_all_sources_and_python_reads_it() {
        if std::env::var_os("SEGNO_CLIENTS").is_none() {
            return eprintln!("skipped: Python reads the wheel with SEGNO_CLIENTS=1");
        }
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdks/python/src/segno_sdk");
        let folder = tempfile::tempdir().unwrap();
        let package = package();
        assert_eq!(package.file, "segno_sdk-0.1.0-py3-none-any.whl");
        let path = folder.path().join(&package.file);
        std::fs::write(&path, &package.bytes).unwrap();
        let mut python = Command::new("python3");
        let read = python.args(["-c", READS]).arg(&path).arg(folder.path()).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        let sources = ["py", "typed"].map(|kind| crate::packages::count(&own, kind));
        let expected = format!("segno-sdk 0.1.0 >=3.11\n{}\n", sources[0] + sources[1]);
        assert_eq!(String::from_utf8_lossy(&read.stdout), expected);
    }
}

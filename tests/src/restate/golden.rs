//! Transcripts of scenes, recorded from the original server: `tests/restate/golden/SCENE.txt`, and
//! `SCENE@SDK.txt` for an SDK with other answers. For answers of this runtime that differ, for
//! reasons in docs/how-to/restate.md, `tests/restate/differs/` has its own files under the same
//! names. `SEGNO_GOLDEN=write` writes them. If the original server does not support an SDK, this
//! runtime's answers to the SDK's successor are expected ([`Sdk::like`]), and `differs/` has the
//! differences.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Played, SCRIPTS, SDKS, Sdk};

/// Faults of these scenes on this runtime: scenes that ended early, and transcripts that differ.
///
/// # Panics
/// If a scene has no golden transcript.
pub fn faults(sdk: &Sdk, played: Vec<Played>) -> Vec<String> {
    faults_by(sdk, played, differences)
}

/// The same on the original server, where no transcript may differ.
///
/// # Panics
/// If a scene has no golden transcript.
pub fn faults_of_original(sdk: &Sdk, played: Vec<Played>) -> Vec<String> {
    faults_by(sdk, played, |scene, sdk, transcript| {
        let golden = read(&of_original(scene, sdk));
        (golden != transcript).then(|| told(scene, sdk, &golden, transcript))
    })
}

fn faults_by(
    sdk: &Sdk,
    played: Vec<Played>,
    differences: impl Fn(&str, &Sdk, &str) -> Option<String>,
) -> Vec<String> {
    let fault = |Played { scene, transcript }: Played| match transcript {
        Ok(transcript) => differences(scene, sdk, &transcript),
        Err(why) => Some(format!("{scene} with {} ended early:\n{why}", sdk.name)),
    };
    played.into_iter().filter_map(fault).collect()
}

/// Difference between a transcript and the golden one. `None` if they are equal.
fn differences(scene: &str, sdk: &Sdk, transcript: &str) -> Option<String> {
    let original = of_original(scene, sdk);
    let differs = differs(scene, sdk);
    let golden = read(if differs.exists() { &differs } else { &original });
    if golden == transcript {
        return None;
    }
    if std::env::var("SEGNO_GOLDEN").is_ok_and(|mode| mode == "write") {
        if read(&original) == transcript {
            let _ = fs::remove_file(&differs);
        } else {
            fs::create_dir_all(differs.parent()?).expect("the folder can be written");
            fs::write(&differs, transcript).expect("the folder can be written");
        }
        return None;
    }
    Some(told(scene, sdk, &golden, transcript))
}

fn told(scene: &str, sdk: &Sdk, golden: &str, transcript: &str) -> String {
    let (golden, transcript): (Vec<_>, Vec<_>) =
        (golden.lines().collect(), transcript.lines().collect());
    format!("{scene} with {}:\n{}", sdk.name, compared(&golden, &transcript))
}

/// File with the answers of the original server, or with this runtime's answers to an SDK that this
/// one is like.
fn of_original(scene: &str, sdk: &Sdk) -> PathBuf {
    let likes = sdk.likes().flat_map(|like| [differs(scene, like), own(scene, like)]);
    let mut originals = [own(scene, sdk)].into_iter().chain(likes).chain([common(scene)]);
    let original = originals.find(|file| file.exists());
    original.unwrap_or_else(|| panic!("there is no golden transcript of {scene}"))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("golden transcripts can be read")
}

/// Writes a transcript. The first SDK's transcript is the common one. Another SDK's is written if
/// it differs.
///
/// # Panics
/// If the folder cannot be written.
pub fn record(scene: &str, sdk: &Sdk, transcript: &str) {
    let is_standard = sdk.name == SDKS[0].name;
    let standard = fs::read_to_string(common(scene)).ok();
    if is_standard || standard.is_none() {
        fs::create_dir_all(folder()).expect("the folder can be written");
        fs::write(common(scene), transcript).expect("the folder can be written");
    } else if standard.as_deref() == Some(transcript) {
        let _ = fs::remove_file(own(scene, sdk));
    } else {
        fs::write(own(scene, sdk), transcript).expect("the folder can be written");
    }
}

fn folder() -> PathBuf {
    Path::new(SCRIPTS).join("golden")
}

fn common(scene: &str) -> PathBuf {
    folder().join(format!("{scene}.txt"))
}

fn own(scene: &str, sdk: &Sdk) -> PathBuf {
    folder().join(format!("{scene}@{}.txt", sdk.name))
}

/// Path of this runtime's own transcript, if it differs.
fn differs(scene: &str, sdk: &Sdk) -> PathBuf {
    Path::new(SCRIPTS).join("differs").join(format!("{scene}@{}.txt", sdk.name))
}

/// Both transcripts, line by line. Lines in only one of them are marked.
fn compared(golden: &Vec<&str>, transcript: &Vec<&str>) -> String {
    // Lengths of the longest common subsequences of the remaining lines of both.
    let mut common = vec![vec![0; transcript.len() + 1]; golden.len() + 1];
    for (g, golden) in golden.iter().enumerate().rev() {
        for (t, transcript) in transcript.iter().enumerate().rev() {
            common[g][t] = if golden == transcript {
                common[g + 1][t + 1] + 1
            } else {
                common[g + 1][t].max(common[g][t + 1])
            };
        }
    }
    let (mut g, mut t) = (0, 0);
    let mut lines = Vec::new();
    while g < golden.len() || t < transcript.len() {
        if golden.get(g) == transcript.get(t) {
            lines.push(format!("          {}", golden[g]));
            (g, t) = (g + 1, t + 1);
        } else if t == transcript.len() || g < golden.len() && common[g + 1][t] >= common[g][t + 1]
        {
            lines.push(format!("expected: {}", golden[g]));
            g += 1;
        } else {
            lines.push(format!("answered: {}", transcript[t]));
            t += 1;
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::{SCRIPTS, SDKS, compared, differs, read};
    use crate::restate::scenes::{self, ADMIN, CONNECTED, SCENES, SUITES};

    /// Names of scenes in the last column of the table of docs/how-to/restate.md with the header
    /// `head`.
    fn named(head: &str) -> BTreeSet<String> {
        let manual = Path::new(SCRIPTS).join("../../docs/how-to/restate.md");
        let manual = fs::read_to_string(manual).expect("the manual is there");
        let table = manual.lines().skip_while(|line| *line != head);
        let rows = table.skip(2).take_while(|line| line.starts_with('|'));
        let last_cells = rows.filter_map(|row| row.strip_suffix('|')?.rsplit_once('|'));
        let names = last_cells.flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2));
        names.map(str::to_owned).collect()
    }

    /// Checks that the table of docs/how-to/restate.md names exactly the scenes whose answers
    /// differ with the first SDK.
    #[test]
    fn the_manual_names_each_scene_that_differs() {
        let named = named("| subject | here | scenes |");
        let end = format!("@{}.txt", SDKS[0].name);
        let kept = fs::read_dir(Path::new(SCRIPTS).join("differs")).expect("the folder is there");
        let kept: BTreeSet<String> = kept
            .filter_map(|file| {
                file.ok()?.file_name().to_str()?.strip_suffix(&end).map(str::to_owned)
            })
            .collect();
        assert_eq!(named, kept, "what the manual names, and what differs");
    }

    /// Checks that the table of docs/how-to/restate.md names only existing scenes, and all scenes
    /// that were written for it.
    #[test]
    fn the_manual_names_the_scenes_of_the_originals_cases() {
        let named = named("| class | cases | scenes |");
        let all: BTreeSet<_> = scenes::all().map(|scene| scene.name.to_owned()).collect();
        let unknown: Vec<_> = named.difference(&all).collect();
        assert!(unknown.is_empty(), "there are no scenes {unknown:?}");
        let unnamed = SUITES.iter().map(|scene| scene.name).filter(|name| !named.contains(*name));
        assert_eq!(unnamed.collect::<Vec<_>>(), [""; 0], "what the manual does not name");
    }

    /// Checks that the table of docs/how-to/restate.md has the right numbers of scenes for each
    /// SDK: all, and those answered word for word.
    #[test]
    fn the_manual_counts_the_scenes_of_each_sdk() {
        let manual = read(&Path::new(SCRIPTS).join("../../docs/how-to/restate.md"));
        for sdk in SDKS {
            let scenes = [SCENES, CONNECTED, ADMIN].into_iter().flatten();
            let suited: Vec<_> = scenes.filter(|scene| scene.suits(sdk)).collect();
            let same = suited.iter().filter(|scene| !differs(scene.name, sdk).exists()).count();
            let row = format!("| `{}` | {} | {same} |", sdk.name, suited.len());
            assert!(manual.contains(&row), "docs/how-to/restate.md has no row {row}");
        }
    }

    #[test]
    fn what_only_one_has_is_marked() {
        let (golden, transcript) = (vec!["a", "b", "c"], vec!["a", "x", "c", "d"]);
        let expected = "          a\nexpected: b\nanswered: x\n          c\nanswered: d";
        assert_eq!(compared(&golden, &transcript), expected);
    }
}

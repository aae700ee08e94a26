//! Whether SQLite's write-ahead log is whole, looked at before SQLite opens it: a log that is
//! damaged or cut off is read by SQLite up to that place, without a word.
//!
//! ```text
//! segno.db-wal   header of 32 bytes: magic, version, page size, sequence, salt (8 bytes), checksum (8)
//!                frames: page number, size of the database after a commit or 0, salt (8), checksum (8), the page
//! segno.db-shm   the log's index, shared by processes: among others how many frames were committed, under which
//!                salt, and how many of them were carried over into the database
//! ```
//!
//! A commit is acknowledged after its frames were synced, so these are no accidents of a crash: a
//! committed frame behind a broken one; fewer frames than the index has seen of the same log; a log
//! that is gone, empty, unreadable or another one while the index has frames that were not carried
//! over; a log that is gone while the mark of the database says that it has one
//! ([`in_use`](super::in_use)). The index is written without a sync, so it is believed only while
//! the machine has run on.
//!
//! Nothing tells these: a log that was cut between two commits or emptied, where the index is gone as
//! well or the machine was started again; one that was removed after the host had stopped in good
//! order.
//!
//! The formats are SQLite's, which keeps them stable ("WAL-mode File Format" in its documentation).

use std::{
    fs::File,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use super::in_use::InUseMark;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC_LITTLE: u32 = 0x377f_0682;
const MAGIC_BIG: u32 = 0x377f_0683;

/// What is missing from a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loss {
    /// The log.
    pub(super) file: PathBuf,
    /// Frames of commits that can be read: they are what the database goes on with.
    pub(super) readable: u64,
    /// What shows that there were more.
    pub(super) evidence: Evidence,
}

/// What shows that a log is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A frame is broken, and this later one belongs to a commit.
    Damaged {
        /// The broken one, from 1.
        broken: u64,
        /// The later one.
        committed: u64,
    },
    /// The number of frames of this log that the index has.
    Cut {
        /// Frames.
        seen: u64,
    },
    /// The log is not there, or has nothing of what it had.
    Replaced {
        /// What is in its place.
        by: Instead,
        /// Frames that were committed and not carried over; `None` if no index has their number.
        missing: Option<u64>,
    },
}

/// What is in the place of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instead {
    Nothing,
    EmptyFile,
    /// A file that does not begin as a log does.
    Noise,
    /// The log of another database, or of another time.
    OtherLog,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, readable, evidence } = self;
        write!(out, "the write-ahead log `{}` ", file.display())?;
        match evidence {
            Evidence::Damaged { broken, committed } => {
                write!(
                    out,
                    "is damaged at frame {broken}, and frame {committed} behind it was committed"
                )?;
            }
            Evidence::Cut { seen } => write!(out, "was cut off: {seen} frames were committed")?,
            Evidence::Replaced { by, missing } => {
                out.write_str(match by {
                    Instead::Nothing => "is gone",
                    Instead::EmptyFile => "is empty",
                    Instead::Noise => "does not begin as a log does",
                    Instead::OtherLog => "is another one",
                })?;
                match missing {
                    Some(missing) => write!(
                        out,
                        ", and {missing} frames of it were committed and not carried over"
                    )?,
                    None => out.write_str(
                        ", and the host that had it did not stop in good order (nothing is lost if another program, \
                         such as sqlite3, opened the database since and carried the log over)",
                    )?,
                }
            }
        }
        write!(
            out,
            "; only {readable} can be read, and what was acknowledged after them is lost. Stop the host, restore a backup \
             or check what is left with `segno doctor`, and check the disk"
        )
    }
}

/// What is missing from the log of `database`, which has this mark; nothing of a log that is whole,
/// or that was carried over.
///
/// # Errors
/// The files cannot be read.
pub(super) fn loss(database: &Path, mark: Option<&InUseMark>) -> io::Result<Option<Loss>> {
    let file = log_of(database);
    let index = Index::read(&beside(database, "-shm"))?;
    let is_fresh = mark.is_some_and(InUseMark::is_of_this_boot);
    let believed = index.filter(|_| mark.is_none() || is_fresh);
    let replaced = |by: Instead, is_certain: bool| {
        let missing = believed.map(Index::missing);
        let is_lost = missing.map_or(is_certain, |missing| missing > 0);
        let evidence = Evidence::Replaced { by, missing };
        Ok(is_lost.then(|| Loss { file: file.clone(), readable: 0, evidence }))
    };
    let mut log = match File::open(&file) {
        Ok(log) => BufReader::with_capacity(1 << 20, log),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return replaced(Instead::Nothing, mark.is_some());
        }
        Err(error) => return Err(error),
    };
    let mut header = [0; HEADER];
    if !filled(&mut log, &mut header)? {
        // It is empty as well once it was carried over and cut.
        return match log.get_ref().metadata()?.len() {
            0 => replaced(Instead::EmptyFile, false),
            _ => replaced(Instead::Noise, true),
        };
    }
    let Some(frames) = Frames::of(&header) else { return replaced(Instead::Noise, true) };
    // The index has the salt of a new log before the log has it, and no frames of it then.
    if is_fresh && index.is_some_and(|index| index.salt != frames.salt && index.missing() > 0) {
        return replaced(Instead::OtherLog, true);
    }
    let read = frames.read(&mut log)?;
    let readable = read.committed;
    if let Some((broken, committed)) = read.broken.zip(read.committed_behind) {
        let evidence = Evidence::Damaged { broken, committed };
        return Ok(Some(Loss { file, readable, evidence }));
    }
    let seen = index.filter(|index| index.salt == frames.salt).map(|index| index.committed);
    let cut = seen.filter(|seen| *seen > readable);
    Ok(cut.map(|seen| Loss { file, readable, evidence: Evidence::Cut { seen } }))
}

/// The log of a database.
pub(super) fn log_of(database: &Path) -> PathBuf {
    beside(database, "-wal")
}

/// A file that goes with a database.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// How the frames of one log are written.
struct Frames {
    page_bytes: usize,
    salt: [u8; 8],
    big_endian: bool,
    sum: (u32, u32),
}

/// What came of reading them.
#[derive(Default)]
struct Read {
    /// Frames up to the last commit that can be read.
    committed: u64,
    /// The first frame that cannot be.
    broken: Option<u64>,
    /// A frame behind it, of the same log, that ends a commit.
    committed_behind: Option<u64>,
}

impl Frames {
    /// None: the header is not one, so SQLite takes the log for empty.
    fn of(header: &[u8; HEADER]) -> Option<Self> {
        let magic = big(header, 0);
        if magic != MAGIC_LITTLE && magic != MAGIC_BIG {
            return None;
        }
        let big_endian = magic == MAGIC_BIG;
        let sum = summed((0, 0), &header[..HEADER - 8], big_endian);
        if sum != (big(header, 24), big(header, 28)) {
            return None;
        }
        let page_bytes = usize::try_from(big(header, 8)).ok()?;
        let salt = header[16..24].try_into().expect("eight bytes");
        Some(Self { page_bytes, salt, big_endian, sum })
    }

    fn read(&self, log: &mut impl io::Read) -> io::Result<Read> {
        let mut frame = vec![0; FRAME_HEADER + self.page_bytes];
        let (mut read, mut sum) = (Read::default(), self.sum);
        for number in 1.. {
            if !filled(log, &mut frame)? {
                break;
            }
            // Frames of an earlier log may lie behind this one's.
            if frame[8..16] != self.salt {
                read.broken.get_or_insert(number);
                continue;
            }
            let ends_commit = big(&frame, 4) != 0;
            if read.broken.is_none() {
                sum = summed(
                    summed(sum, &frame[..8], self.big_endian),
                    &frame[FRAME_HEADER..],
                    self.big_endian,
                );
                if sum == (big(&frame, 16), big(&frame, 20)) {
                    if ends_commit {
                        read.committed = number;
                    }
                    continue;
                }
                read.broken = Some(number);
            } else if ends_commit {
                read.committed_behind = Some(number);
            }
        }
        Ok(read)
    }
}

/// What the index of a log says of it.
#[derive(Debug, Clone, Copy)]
struct Index {
    salt: [u8; 8],
    /// Frames that were committed.
    committed: u64,
    /// Those of them that the database has.
    carried_over: u64,
}

impl Index {
    /// `None`: there is none, or it was not finished.
    fn read(index: &Path) -> io::Result<Option<Self>> {
        let mut header = [0; 100];
        let whole = match File::open(index) {
            Ok(mut index) => filled(&mut index, &mut header)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        // The salt stands as in the log, numbers as the machine has them.
        let native =
            |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let sum = summed((0, 0), &header[..40], cfg!(target_endian = "big"));
        let is_finished = whole && header[12] != 0 && sum == (native(40), native(44));
        Ok(is_finished.then(|| Self {
            salt: header[32..40].try_into().expect("eight bytes"),
            committed: native(16).into(),
            carried_over: native(96).into(),
        }))
    }

    /// Frames that are in the log alone.
    fn missing(self) -> u64 {
        self.committed.saturating_sub(self.carried_over)
    }
}

/// Fills `bytes`; false where the file ends before.
fn filled(file: &mut impl io::Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn big(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// SQLite's checksum, continued over `bytes`: of pairs of words, in the order of bytes that the log
/// names.
fn summed((mut one, mut two): (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().expect("four bytes");
        if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        one = one.wrapping_add(word(&pair[..4])).wrapping_add(two);
        two = two.wrapping_add(word(&pair[4..])).wrapping_add(one);
    }
    (one, two)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    const PAGE: usize = 4_096;
    const FRAME: usize = FRAME_HEADER + PAGE;

    /// A database as a killed process leaves it, after `commits` of one row each.
    fn killed(folder: &Path, commits: usize) -> PathBuf {
        let (live, dead) = (folder.join("live.db"), folder.join("dead.db"));
        let connection = Connection::open(&live).expect("it opens");
        let begin = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA page_size = 4096; \
                     PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT);";
        connection.execute_batch(begin).expect("a table");
        for number in 0..commits as i64 {
            connection
                .execute("INSERT INTO t VALUES (?1, hex(randomblob(2000)))", [number])
                .expect("a row");
        }
        for suffix in ["", "-wal", "-shm"] {
            std::fs::copy(beside(&live, suffix), beside(&dead, suffix)).expect("a copy");
        }
        dead
    }

    fn change(database: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let log = beside(database, "-wal");
        let mut bytes = std::fs::read(&log).expect("a log");
        change(&mut bytes);
        std::fs::write(&log, bytes).expect("it is written");
    }

    fn evidence(database: &Path) -> Option<Evidence> {
        let mark = InUseMark::of(database);
        loss(database, mark.as_ref()).expect("the files can be read").map(|loss| loss.evidence)
    }

    /// Rows that SQLite finds.
    fn rows(database: &Path) -> usize {
        let connection = Connection::open(database).expect("it opens");
        let count = connection.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0));
        count.expect("a count") as usize
    }

    #[test]
    fn a_log_as_a_killed_process_leaves_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = killed(folder.path(), 20);
        assert_eq!(evidence(&database), None);
        // A commit that was on its way, which is part of a frame, or a frame that ends none.
        change(&database, |log| log.extend_from_within(HEADER..HEADER + FRAME / 2));
        assert_eq!(evidence(&database), None);
        assert_eq!(rows(&database), 20);
        assert_eq!(evidence(&database), None, "it was carried over and is empty or gone");
    }

    #[test]
    fn frames_of_an_earlier_log_behind_its_end_are_none_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let (earlier, later) = (folder.path().join("e"), folder.path().join("l"));
        for folder in [&earlier, &later] {
            std::fs::create_dir(folder).expect("a folder");
        }
        let old = std::fs::read(beside(&killed(&earlier, 20), "-wal")).expect("a log");
        let database = killed(&later, 3);
        change(&database, |log| log.extend(&old[log.len()..]));
        assert_eq!(evidence(&database), None);
    }

    #[test]
    fn a_broken_frame_before_a_committed_one_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = killed(folder.path(), 20);
        change(&database, |log| log[HEADER + 7 * FRAME + 100] ^= 1);
        let Some(Evidence::Damaged { broken, committed }) = evidence(&database) else {
            panic!("nothing is said of a broken frame")
        };
        assert_eq!(broken, 8);
        assert!(committed > broken);
        let said = loss(&database, None).expect("it can be read").expect("a loss").to_string();
        assert!(said.contains("frame 8") && said.contains("segno doctor"), "{said}");
        assert!(rows(&database) < 20, "SQLite goes on with what is left");
    }

    #[test]
    fn a_log_that_was_cut_off_between_two_commits_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = killed(folder.path(), 20);
        let frames = (std::fs::metadata(beside(&database, "-wal")).expect("a log").len() as usize
            - HEADER)
            / FRAME;
        change(&database, |log| log.truncate(HEADER + (frames - 4) * FRAME));
        assert_eq!(evidence(&database), Some(Evidence::Cut { seen: frames as u64 }));
        assert!(rows(&database) < 20, "SQLite goes on with what is left");
    }

    #[test]
    fn a_log_that_is_gone_empty_or_another_one_is_said_while_the_index_misses_frames() {
        let folder = tempfile::tempdir().expect("a folder");
        let other = std::fs::read(log_of(&killed(folder.path(), 3))).expect("a log");
        for (by, marked) in [
            (Instead::Nothing, false),
            (Instead::EmptyFile, false),
            (Instead::Noise, false),
            (Instead::OtherLog, true),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let database = killed(folder.path(), 20);
            if marked {
                super::super::in_use::set(&database, false).expect("a mark");
            }
            match by {
                Instead::Nothing => std::fs::remove_file(log_of(&database)).expect("it was there"),
                Instead::EmptyFile => change(&database, Vec::clear),
                Instead::Noise => change(&database, |log| log[..HEADER].fill(7)),
                Instead::OtherLog => change(&database, |log| log.clone_from(&other)),
            }
            let Some(Evidence::Replaced { by: said, missing: Some(missing) }) = evidence(&database)
            else {
                panic!("nothing is said: {by:?}");
            };
            assert_eq!(said, by);
            assert!(missing >= 20, "{missing}");
        }
    }

    #[test]
    fn a_log_that_is_gone_with_its_index_is_told_by_the_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = killed(folder.path(), 20);
        for suffix in ["-wal", "-shm"] {
            std::fs::remove_file(beside(&database, suffix)).expect("it was there");
        }
        assert_eq!(evidence(&database), None, "as after an end in good order");
        super::super::in_use::set(&database, true).expect("a mark");
        let lost = Evidence::Replaced { by: Instead::Nothing, missing: None };
        assert_eq!(evidence(&database), Some(lost));
        super::super::in_use::clear(&database);
        assert_eq!(evidence(&database), None);
    }

    #[test]
    fn a_log_that_was_carried_over_is_not_missed() {
        let folder = tempfile::tempdir().expect("a folder");
        let live = folder.path().join("live.db");
        killed(folder.path(), 20);
        for mode in ["PASSIVE", "TRUNCATE"] {
            let connection = Connection::open(&live).expect("it opens");
            let row = "INSERT INTO t (text) VALUES ('x')";
            connection.execute(row, []).expect("a row");
            let checkpoint = format!("PRAGMA wal_checkpoint({mode})");
            connection.query_row(&checkpoint, [], |_| Ok(())).expect("a checkpoint");
            let dead = folder.path().join("dead.db");
            for suffix in ["", "-wal", "-shm"] {
                std::fs::copy(beside(&live, suffix), beside(&dead, suffix)).expect("a copy");
            }
            super::super::in_use::set(&dead, false).expect("a mark");
            assert_eq!(evidence(&dead), None, "{mode}");
            // What it held is in the database.
            std::fs::remove_file(log_of(&dead)).expect("it was there");
            assert_eq!(evidence(&dead), None, "{mode}");
        }
    }
}

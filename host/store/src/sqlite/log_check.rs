//! Checks that SQLite's write-ahead log is complete, before SQLite opens it: SQLite silently
//! ignores everything after a damaged or truncated position.
//!
//! ```text
//! segno.db-wal   header of 32 bytes: magic, version, page size, sequence, salt (8 bytes), checksum (8)
//!                frames: page number, size of the database after a commit or 0, salt (8), checksum (8), the page
//! segno.db-shm   the log's index, shared by processes: among others the number of committed frames, their salt,
//!                and the number of frames that were checkpointed into the database
//! ```
//!
//! A commit is acknowledged after its frames were synced. A crash therefore never causes any of
//! these: a committed frame after a broken one; fewer frames than the index has seen of the same
//! log; a log that is missing, empty, unreadable or replaced, while the index has frames that were
//! not checkpointed; a missing log while the in-use mark exists ([`in_use`](super::in_use)). The
//! index is written without a sync, so it is trusted only if the machine has not rebooted.
//!
//! Undetectable: a log cut between two commits or emptied, if the index is gone as well or the
//! machine was rebooted; a log removed after the host had stopped in good order.
//!
//! The formats are SQLite's, and stable (see "WAL-mode File Format" in its documentation).

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

/// A log with missing frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLoss {
    /// The log file.
    pub(super) file: PathBuf,
    /// Number of readable committed frames, from which the database continues.
    pub(super) readable: u64,
    /// The evidence that frames are missing.
    pub(super) evidence: LossEvidence,
}

/// Evidence that a log is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossEvidence {
    /// A frame is broken, but a later one belongs to a commit.
    Damaged {
        /// Number of the broken frame, from 1.
        broken: u64,
        /// Number of the later frame.
        committed: u64,
    },
    /// The index has seen more frames of this log than it contains.
    Cut {
        /// Number of frames that the index has seen.
        seen: u64,
    },
    /// The log is missing, or holds none of its former content.
    Replaced {
        /// The current content of the log file.
        by: ReplacementLog,
        /// Number of committed frames that were not checkpointed; `None` if no index has it.
        missing: Option<u64>,
    },
}

/// The content found in place of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplacementLog {
    Nothing,
    EmptyFile,
    /// A file without a log header.
    Noise,
    /// The log of another database, or of another time.
    OtherLog,
}

impl std::fmt::Display for LogLoss {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, readable, evidence } = self;
        write!(out, "the write-ahead log `{}` ", file.display())?;
        match evidence {
            LossEvidence::Damaged { broken, committed } => {
                write!(
                    out,
                    "is damaged at frame {broken}, and frame {committed} behind it was committed"
                )?;
            }
            LossEvidence::Cut { seen } => write!(out, "was cut off: {seen} frames were committed")?,
            LossEvidence::Replaced { by, missing } => {
                out.write_str(match by {
                    ReplacementLog::Nothing => "is gone",
                    ReplacementLog::EmptyFile => "is empty",
                    ReplacementLog::Noise => "does not begin as a log does",
                    ReplacementLog::OtherLog => "is another one",
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

/// The loss in the log of `database`, given its in-use mark. `None` if the log is complete, or was
/// checkpointed.
///
/// # Errors
/// Fails if the files cannot be read.
pub(super) fn loss(database: &Path, mark: Option<&InUseMark>) -> io::Result<Option<LogLoss>> {
    let file = log_of(database);
    let index = LogIndex::read(&beside(database, "-shm"))?;
    let is_fresh = mark.is_some_and(InUseMark::is_of_this_boot);
    let believed = index.filter(|_| mark.is_none() || is_fresh);
    let replaced = |by: ReplacementLog, is_certain: bool| {
        let missing = believed.map(LogIndex::missing);
        let is_lost = missing.map_or(is_certain, |missing| missing > 0);
        let evidence = LossEvidence::Replaced { by, missing };
        Ok(is_lost.then(|| LogLoss { file: file.clone(), readable: 0, evidence }))
    };
    let mut log = match File::open(&file) {
        Ok(log) => BufReader::with_capacity(1 << 20, log),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return replaced(ReplacementLog::Nothing, mark.is_some());
        }
        Err(error) => return Err(error),
    };
    let mut header = [0; HEADER];
    if !filled(&mut log, &mut header)? {
        // A checkpointed and truncated log is empty too.
        return match log.get_ref().metadata()?.len() {
            0 => replaced(ReplacementLog::EmptyFile, false),
            _ => replaced(ReplacementLog::Noise, true),
        };
    }
    let Some(frames) = FrameFormat::of(&header) else {
        return replaced(ReplacementLog::Noise, true);
    };
    // The index gets the salt of a new log before the log does, and then has no frames of it.
    if is_fresh && index.is_some_and(|index| index.salt != frames.salt && index.missing() > 0) {
        return replaced(ReplacementLog::OtherLog, true);
    }
    let read = frames.read(&mut log)?;
    let readable = read.committed;
    if let Some((broken, committed)) = read.broken.zip(read.committed_behind) {
        let evidence = LossEvidence::Damaged { broken, committed };
        return Ok(Some(LogLoss { file, readable, evidence }));
    }
    let seen = index.filter(|index| index.salt == frames.salt).map(|index| index.committed);
    let cut = seen.filter(|seen| *seen > readable);
    Ok(cut.map(|seen| LogLoss { file, readable, evidence: LossEvidence::Cut { seen } }))
}

/// The path of a database's log.
pub(super) fn log_of(database: &Path) -> PathBuf {
    beside(database, "-wal")
}

/// The path of a companion file of a database.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The frame format of one log.
struct FrameFormat {
    page_bytes: usize,
    salt: [u8; 8],
    big_endian: bool,
    sum: (u32, u32),
}

/// The result of reading the frames.
#[derive(Default)]
struct FrameScan {
    /// Number of frames up to the last readable commit.
    committed: u64,
    /// Number of the first broken frame.
    broken: Option<u64>,
    /// Number of a later frame of the same log that ends a commit.
    committed_behind: Option<u64>,
}

impl FrameFormat {
    /// Parses the header. `None` if it is invalid; SQLite then treats the log as empty.
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

    fn read(&self, log: &mut impl io::Read) -> io::Result<FrameScan> {
        let mut frame = vec![0; FRAME_HEADER + self.page_bytes];
        let (mut read, mut sum) = (FrameScan::default(), self.sum);
        for number in 1.. {
            if !filled(log, &mut frame)? {
                break;
            }
            // Frames of an earlier log may follow this log's frames.
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

/// The content of a log's index.
#[derive(Debug, Clone, Copy)]
struct LogIndex {
    salt: [u8; 8],
    /// Number of committed frames.
    committed: u64,
    /// Number of committed frames that were checkpointed into the database.
    carried_over: u64,
}

impl LogIndex {
    /// Reads the index. `None` if it is missing or incomplete.
    fn read(index: &Path) -> io::Result<Option<Self>> {
        let mut header = [0; 100];
        let whole = match File::open(index) {
            Ok(mut index) => filled(&mut index, &mut header)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        // The salt has the log's byte order, the numbers have the machine's.
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

    /// Number of frames that exist only in the log.
    fn missing(self) -> u64 {
        self.committed.saturating_sub(self.carried_over)
    }
}

/// Fills `bytes`. Returns false if the file is too short.
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

/// Continues SQLite's checksum over `bytes`, as pairs of words in the log's byte order.
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

    /// A database as a killed process leaves it, after `commits` commits of one row each.
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

    fn evidence(database: &Path) -> Option<LossEvidence> {
        let mark = InUseMark::of(database);
        loss(database, mark.as_ref()).expect("the files can be read").map(|loss| loss.evidence)
    }

    /// Number of rows that SQLite finds.
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
        // An interrupted commit: part of a frame, or a frame that does not end a commit.
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
        let Some(LossEvidence::Damaged { broken, committed }) = evidence(&database) else {
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
        assert_eq!(evidence(&database), Some(LossEvidence::Cut { seen: frames as u64 }));
        assert!(rows(&database) < 20, "SQLite goes on with what is left");
    }

    #[test]
    fn a_log_that_is_gone_empty_or_another_one_is_said_while_the_index_misses_frames() {
        let folder = tempfile::tempdir().expect("a folder");
        let other = std::fs::read(log_of(&killed(folder.path(), 3))).expect("a log");
        for (by, marked) in [
            (ReplacementLog::Nothing, false),
            (ReplacementLog::EmptyFile, false),
            (ReplacementLog::Noise, false),
            (ReplacementLog::OtherLog, true),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let database = killed(folder.path(), 20);
            if marked {
                super::super::in_use::set(&database, false).expect("a mark");
            }
            match by {
                ReplacementLog::Nothing => {
                    std::fs::remove_file(log_of(&database)).expect("it was there")
                }
                ReplacementLog::EmptyFile => change(&database, Vec::clear),
                ReplacementLog::Noise => change(&database, |log| log[..HEADER].fill(7)),
                ReplacementLog::OtherLog => change(&database, |log| log.clone_from(&other)),
            }
            let Some(LossEvidence::Replaced { by: said, missing: Some(missing) }) =
                evidence(&database)
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
        let lost = LossEvidence::Replaced { by: ReplacementLog::Nothing, missing: None };
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
            // The frames of the log are in the database.
            std::fs::remove_file(log_of(&dead)).expect("it was there");
            assert_eq!(evidence(&dead), None, "{mode}");
        }
    }
}

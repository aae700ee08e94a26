//! The storage of the payment service: a file with one JSON object per line, one line per request.
//!
//! ```text
//! {"key":"a/2","kind":"charge","order":"a","amount_cents":1250,"charge":"ch-1","accepted":true}
//! {"key":"a/2","repeat":true}
//! ```
//!
//! The first line of a key is final; later requests with the key only add `repeat` lines. A line
//! counts once it ends in a newline and is synced, so a kill in the middle of a line has the same
//! effect as if the request had never been made. This module does not know HTTP.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaymentKind {
    /// Take money.
    Charge,
    /// Return money.
    Refund,
}

/// A request with its first decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The `Idempotency-Key`.
    pub key: String,
    pub kind: PaymentKind,
    pub order: String,
    /// The amount, in cents.
    pub amount_cents: u64,
    /// Id of the charge made or refunded. `None` if the request was declined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<String>,
    /// True if money moved.
    pub accepted: bool,
    /// Number of requests with this key.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub requests: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum LedgerLine {
    Repeat { key: String, repeat: bool },
    First(LedgerEntry),
}

/// Reason why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file system failed. The line being written is not in the ledger.
    #[error("the ledger `{path}` cannot be used")]
    Io {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A complete line cannot be parsed.
    #[error("line {line} of the ledger `{path}` cannot be read: {reason}")]
    Malformed {
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The parser's message.
        reason: String,
    },
}

/// The requests, in the order of their first arrival.
#[derive(Debug)]
pub struct PaymentLedger {
    path: PathBuf,
    file: File,
    entries: Vec<LedgerEntry>,
    by_key: HashMap<String, usize>,
    by_charge: HashMap<String, usize>,
}

impl PaymentLedger {
    /// Opens the file, creating it if it is missing, and removes an incomplete last line.
    ///
    /// # Errors
    /// [`LedgerError`]; the file is then unchanged.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let failed = |source| LedgerError::Io { path: path.to_owned(), source };
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);

        let mut ledger = Self {
            path: path.to_owned(),
            file,
            entries: Vec::new(),
            by_key: HashMap::new(),
            by_charge: HashMap::new(),
        };
        for (number, line) in bytes[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
            let malformed =
                |reason| LedgerError::Malformed { path: path.to_owned(), line: number + 1, reason };
            // Parsed via `serde_json::Value`: serde cannot match an untagged enum against
            // arbitrary-precision numbers directly.
            let line = serde_json::from_slice(line).and_then(serde_json::from_value::<LedgerLine>);
            match line.map_err(|error| malformed(error.to_string()))? {
                LedgerLine::First(entry) => ledger.index(entry),
                LedgerLine::Repeat { key, .. } => {
                    let known = ledger.by_key.get(&key).copied();
                    let known =
                        known.ok_or_else(|| malformed(format!("it repeats unknown `{key}`")))?;
                    ledger.entries[known].requests += 1;
                }
            }
        }
        ledger.file.set_len(whole as u64).map_err(failed)?;
        ledger.file.seek(SeekFrom::Start(whole as u64)).map_err(failed)?;
        Ok(ledger)
    }

    /// All entries, in the order of their first arrival.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// The decision for `key`.
    pub fn of_key(&self, key: &str) -> Option<&LedgerEntry> {
        self.by_key.get(key).map(|&at| &self.entries[at])
    }

    /// The accepted charge with this name.
    pub fn charge(&self, charge: &str) -> Option<&LedgerEntry> {
        self.by_charge.get(charge).map(|&at| &self.entries[at])
    }

    /// True if the charge with this name was refunded.
    pub fn is_refunded(&self, charge: &str) -> bool {
        let refunds = |entry: &&LedgerEntry| entry.kind == PaymentKind::Refund && entry.accepted;
        self.entries.iter().filter(refunds).any(|entry| entry.charge.as_deref() == Some(charge))
    }

    /// The name of the next charge.
    pub fn next_charge(&self) -> String {
        format!("ch-{}", self.by_charge.len() + 1)
    }

    /// Writes a decision; it is on disk when this returns.
    ///
    /// # Errors
    /// [`LedgerError::Io`]; the decision then does not count.
    pub fn decide(&mut self, entry: LedgerEntry) -> Result<(), LedgerError> {
        self.append(&LedgerLine::First(LedgerEntry { requests: 0, ..entry.clone() }))?;
        self.index(entry);
        Ok(())
    }

    /// Counts a further request with a known key.
    ///
    /// # Errors
    /// [`LedgerError::Io`]; the request is then not counted.
    pub fn repeat(&mut self, key: &str) -> Result<(), LedgerError> {
        let at = *self.by_key.get(key).expect("only decided keys are repeated");
        self.append(&LedgerLine::Repeat { key: key.to_owned(), repeat: true })?;
        self.entries[at].requests += 1;
        Ok(())
    }

    fn append(&mut self, line: &LedgerLine) -> Result<(), LedgerError> {
        let mut bytes = serde_json::to_vec(line).expect("lines are plain data");
        bytes.push(b'\n');
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        written.map_err(|source| LedgerError::Io { path: self.path.clone(), source })
    }

    fn index(&mut self, entry: LedgerEntry) {
        let at = self.entries.len();
        self.by_key.insert(entry.key.clone(), at);
        if let (PaymentKind::Charge, true, Some(charge)) =
            (entry.kind, entry.accepted, &entry.charge)
        {
            self.by_charge.insert(charge.clone(), at);
        }
        self.entries.push(LedgerEntry { requests: 1, ..entry });
    }
}

/// Number of accepted entries of `kind` per order.
pub fn accepted(entries: &[LedgerEntry], kind: PaymentKind) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.accepted && entry.kind == kind) {
        *counts.entry(entry.order.clone()).or_default() += 1;
    }
    counts
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(key: &str, charge: &str) -> LedgerEntry {
        LedgerEntry {
            key: key.into(),
            kind: PaymentKind::Charge,
            order: "a".into(),
            amount_cents: 5,
            charge: Some(charge.into()),
            accepted: true,
            requests: 0,
        }
    }

    #[test]
    fn a_ledger_reads_back_what_it_decided_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let mut ledger = PaymentLedger::open(&path).unwrap();
        ledger.decide(charge("k1", "ch-1")).unwrap();
        ledger.repeat("k1").unwrap();
        ledger.decide(charge("k2", "ch-2")).unwrap();
        let before = ledger.entries().to_vec();
        drop(ledger);

        let again = PaymentLedger::open(&path).unwrap();
        assert_eq!(again.entries(), before);
        assert_eq!(again.of_key("k1").unwrap().requests, 2);
        assert_eq!(again.next_charge(), "ch-3");
        assert_eq!(accepted(again.entries(), PaymentKind::Charge)["a"], 2);
    }

    #[test]
    fn a_line_that_was_cut_off_was_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        PaymentLedger::open(&path).unwrap().decide(charge("k1", "ch-1")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let mut torn = whole.clone();
        torn.extend_from_slice(&whole[..whole.len() / 2]);
        std::fs::write(&path, torn).unwrap();

        let mut ledger = PaymentLedger::open(&path).unwrap();
        assert_eq!(ledger.entries().len(), 1);
        ledger.decide(charge("k2", "ch-2")).unwrap();
        assert_eq!(PaymentLedger::open(&path).unwrap().entries().len(), 2);
    }

    #[test]
    fn a_line_in_the_middle_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        std::fs::write(&path, "nonsense\n").unwrap();
        let error = PaymentLedger::open(&path).unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}

//! The errors of reading a bundle, with the place in the file.

use std::{fmt, io};

use super::part::{FORMAT, PartKind};

/// A place in a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundlePosition {
    /// Number of the part, from 1; 0 for the first line.
    pub part: u64,
    /// Offset of the part's first byte in the file.
    pub at: u64,
    /// Offset after its last byte, as far as it was read.
    pub end: u64,
    /// The kind of the part. `None` if it could not be read.
    pub kind: Option<PartKind>,
    /// The execution whose records, lines and streams are being read.
    pub execution: Option<String>,
    /// Number of the next record of that execution.
    pub record: u32,
}

impl fmt::Display for BundlePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, at, end, kind, execution, record } = self;
        match end.saturating_sub(*at) {
            0 | 1 => write!(f, "byte {at}")?,
            _ => write!(f, "bytes {at} to {}", end - 1)?,
        }
        if *part == 0 {
            return f.write_str(" (the first line)");
        }
        write!(f, " (part {part}: ")?;
        match (kind, execution) {
            (Some(PartKind::Head), _) => f.write_str("the head")?,
            (Some(PartKind::Record), Some(id)) => write!(f, "record {record} of `{}`", shown(id))?,
            (Some(PartKind::Line), Some(id)) => write!(f, "a log line of `{}`", shown(id))?,
            (Some(PartKind::Stream | PartKind::StreamItems), Some(id)) => {
                write!(f, "a stream of `{}`", shown(id))?;
            }
            (Some(PartKind::Module), _) => f.write_str("a module")?,
            (Some(PartKind::Component), _) => f.write_str("the component of a module")?,
            (Some(PartKind::Blob | PartKind::BlobPiece), _) => f.write_str("a blob")?,
            (Some(PartKind::End), _) => f.write_str("the end")?,
            (Some(PartKind::Execution), Some(id)) => {
                write!(f, "the execution after `{}`", shown(id))?;
            }
            (Some(PartKind::Execution), None) => f.write_str("the first execution")?,
            (
                Some(PartKind::Record | PartKind::Line | PartKind::Stream | PartKind::StreamItems),
                None,
            )
            | (None, None) => {
                f.write_str("before the first execution")?;
            }
            (None, Some(id)) if *record == 0 => write!(f, "after `{}`", shown(id))?,
            (None, Some(id)) => write!(f, "after record {} of `{}`", record - 1, shown(id))?,
        }
        f.write_str(")")
    }
}

/// An id from a file, made safe for a terminal.
fn shown(id: &str) -> String {
    let mut shown: String = id.escape_debug().take(80).collect();
    if shown.len() < id.len() {
        shown.push('…');
    }
    shown
}

/// The reason that a bundle was not read or not written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error(transparent)]
    File(#[from] io::Error),
    /// The file is not a bundle.
    #[error("this is not a bundle: its first line is not that of one")]
    NotABundle,
    #[error(
        "the bundle has format {found}, and this segno knows formats up to {FORMAT}: use the segno that made it, or a \
         newer one"
    )]
    Newer {
        /// The format that the file claims to have.
        found: String,
    },
    /// Bytes are changed, missing, added or moved.
    #[error("the bundle is damaged at {place}: {what}; get the file anew from where it was made")]
    Damaged {
        place: Box<BundlePosition>,
        /// The damage at this place.
        what: String,
    },
    /// The file is larger than allowed once it is unpacked.
    #[error("the bundle is too large once it is unpacked, at {place}: {what}")]
    TooLarge {
        place: Box<BundlePosition>,
        /// The size and the bound it exceeds.
        what: String,
    },
    /// A value is larger than a part may be.
    #[error("a value of more than 256 MiB does not fit into a bundle")]
    Oversized,
}

impl BundleError {
    /// The place of the error. `None` if the error has no place.
    pub fn place(&self) -> Option<&BundlePosition> {
        match self {
            Self::Damaged { place, .. } | Self::TooLarge { place, .. } => Some(place),
            Self::File(_) | Self::NotABundle | Self::Newer { .. } | Self::Oversized => None,
        }
    }
}

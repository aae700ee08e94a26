//! The faults of a plan, worded for its author.

use std::fmt;

use super::{MAX_BYTES, MAX_FAULTS};

/// One fault of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFault {
    /// Path from the top, such as `nodes.fetch.timeout`; empty for the whole plan.
    pub path: String,
    /// The fault, and the way to fix it.
    pub message: String,
}

/// All faults of a plan, in the order of its text; at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanErrors {
    /// Up to [`MAX_FAULTS`] faults.
    pub faults: Vec<PlanFault>,
    /// Number of further faults.
    pub more: usize,
}

impl PlanErrors {
    pub(super) fn one(path: &str, message: String) -> Self {
        let mut errors = Self::default();
        errors.add(path, message);
        errors
    }

    pub(super) fn add(&mut self, path: &str, message: impl Into<String>) {
        if self.faults.len() == MAX_FAULTS {
            self.more += 1;
            return;
        }
        self.faults.push(PlanFault { path: path.to_owned(), message: message.into() });
    }
}

pub(super) fn too_long(bytes: usize) -> String {
    format!("the plan has {bytes} bytes, and {MAX_BYTES} are the most: split it into several")
}

impl fmt::Display for PlanFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return out.write_str(&self.message);
        }
        write!(out, "{}: {}", self.path, self.message)
    }
}

/// Formats one line per fault.
impl fmt::Display for PlanErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, fault) in self.faults.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            write!(out, "{line}{fault}")?;
        }
        if self.more > 0 {
            write!(out, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanErrors {}

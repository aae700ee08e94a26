//! The defects of the core: the error, its place, and the test that detects it.

pub(super) mod budgets;
pub(super) mod journals;
pub(super) mod limits;
pub(super) mod objects;
pub(super) mod promises;
pub(super) mod streams;
pub(super) mod succession;
pub(super) mod tasks;
pub(super) mod upkeep;

/// One defect.
pub(super) struct Mutation {
    /// Description of the error.
    pub what: &'static str,
    /// File, relative to the `src` of its crate.
    pub file: &'static str,
    /// Original text. Occurs exactly once in the file.
    pub says: &'static str,
    /// Text with the defect.
    pub would_say: &'static str,
    /// Filter of the tests to run: part of their names.
    pub tests: &'static str,
    /// Predicate, oracle or test that must report the defect.
    pub killer: &'static str,
}

/// A fixed walk with all predicates enabled.
const WALK: &str = "scripts::walk::a_long_walk";

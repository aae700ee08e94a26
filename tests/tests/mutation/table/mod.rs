//! The defects of the core: what would be wrong, where, and which test detects it.

pub mod journals;
pub mod limits;
pub mod objects;
pub mod promises;
pub mod succession;
pub mod tasks;
pub mod upkeep;

/// One defect.
pub struct Mutation {
    /// What would be wrong.
    pub what: &'static str,
    /// The file, in the `src` of its crate.
    pub file: &'static str,
    /// What it says, exactly once.
    pub says: &'static str,
    /// What it would say.
    pub would_say: &'static str,
    /// Which tests are run: those whose names have this in them.
    pub tests: &'static str,
    /// The predicate, oracle or test that must say so.
    pub killer: &'static str,
}

/// The walk that is always the same, with every predicate on.
const WALK: &str = "scripts::walk::a_long_walk";

//! Conformance: scripts that every store must answer like the model, the memory store. The tests
//! run them on all stores, and `segno doctor --database` on the server of a user.

mod admissions;
mod budgets;
mod comparison;
pub(crate) mod dice;
mod fixture;
mod runs;
pub(crate) mod script;
mod streams;

#[cfg(test)]
pub(crate) use admissions::facts;
pub(crate) use comparison::UnheardHints;
pub use comparison::{NonConformance, compare_with_model};
#[cfg(test)]
pub(crate) use fixture::{MODULE, deploy, new};
#[cfg(test)]
pub(crate) use runs::OBJECTS;

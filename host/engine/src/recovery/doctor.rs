//! The findings of `segno doctor` in words, and the repair of a store.

use segno_core::id::PromiseId;

use super::reconcile::{self, Finding};
use segno_store::{Diagnosis, Store, StoreError, Symptom};

/// The result of a repair.
#[derive(Debug, Default)]
pub struct Mended {
    /// The findings, in the order in which they were handled.
    pub findings: Vec<Finding>,
}

/// Repairs what the policy allows, by commands.
///
/// # Errors
/// The store did not answer.
pub async fn repair(store: &dyn Store, diagnosis: &Diagnosis) -> Result<Mended, StoreError> {
    let patients: Vec<PromiseId> = diagnosis.patients().into_iter().collect();
    Ok(Mended { findings: reconcile::mend(store, &patients).await? })
}

/// A symptom in words.
pub fn describe(symptom: &Symptom) -> String {
    match symptom {
        Symptom::Broken(violation) => violation.detail.clone(),
        Symptom::Orphan { orphan, .. } => super::class(*orphan).detection.to_owned(),
        Symptom::Unreadable(text) | Symptom::Database(text) => text.clone(),
    }
}

impl Mended {
    /// The rows that could not be read, one line each.
    pub fn unreadable(&self) -> impl Iterator<Item = String> {
        self.findings.iter().filter_map(|finding| match finding {
            Finding::Mended { .. } => None,
            Finding::Unreadable { id, reason } => Some(format!("{id}: {reason}")),
        })
    }
}

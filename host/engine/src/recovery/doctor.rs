//! `segno doctor`: what a look over a whole store found, in words, and having it mended.

use segno_core::id::PromiseId;

use super::reconcile::{self, Finding};
use segno_store::{Diagnosis, Store, StoreError, Symptom};

/// What became of a repair.
#[derive(Debug, Default)]
pub struct Mended {
    /// What was done, in order.
    pub findings: Vec<Finding>,
}

/// Has commands mend what the policy allows.
///
/// # Errors
/// The store did not answer.
pub async fn repair(store: &dyn Store, diagnosis: &Diagnosis) -> Result<Mended, StoreError> {
    let patients: Vec<PromiseId> = diagnosis.patients().into_iter().collect();
    Ok(Mended { findings: reconcile::mend(store, &patients).await? })
}

/// What is wrong, in words.
pub fn describe(symptom: &Symptom) -> String {
    match symptom {
        Symptom::Broken(violation) => violation.detail.clone(),
        Symptom::Orphan { orphan, .. } => super::class(*orphan).detection.to_owned(),
        Symptom::Unreadable(text) | Symptom::Database(text) => text.clone(),
    }
}

impl Mended {
    /// Rows that could not be read, each on one line.
    pub fn unreadable(&self) -> impl Iterator<Item = String> {
        self.findings.iter().filter_map(|finding| match finding {
            Finding::Mended { .. } => None,
            Finding::Unreadable { id, reason } => Some(format!("{id}: {reason}")),
        })
    }
}

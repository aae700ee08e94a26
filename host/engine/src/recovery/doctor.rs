//! Descriptions of the findings of `segno doctor`, and the repair of a store.

use segno_core::id::PromiseId;
use segno_store::{Diagnosis, Store, StoreError, StoreProblem};

use super::reconcile::{self, RepairStep};

/// The result of a repair.
#[derive(Debug, Default)]
pub struct Repair {
    /// The steps of the repair, in order.
    pub steps: Vec<RepairStep>,
}

/// Repairs what the recovery policy allows, by commands.
///
/// # Errors
/// The store did not answer.
pub async fn repair(store: &dyn Store, diagnosis: &Diagnosis) -> Result<Repair, StoreError> {
    let affected: Vec<PromiseId> = diagnosis.affected().into_iter().collect();
    Ok(Repair { steps: reconcile::repair_all(store, &affected).await? })
}

/// The description of a finding.
pub fn describe(finding: &StoreProblem) -> String {
    match finding {
        StoreProblem::Broken(violation) => violation.detail.clone(),
        StoreProblem::Orphan { orphan, .. } => super::class(*orphan).detection.to_owned(),
        StoreProblem::Unreadable(text) | StoreProblem::Database(text) => text.clone(),
    }
}

impl Repair {
    /// Rows that could not be read, each on one line.
    pub fn unreadable(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|step| match step {
            RepairStep::Repaired { .. } => None,
            RepairStep::Unreadable { id, reason } => Some(format!("{id}: {reason}")),
        })
    }
}

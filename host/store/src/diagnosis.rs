//! The diagnosis of a whole store: every invariant, and what the reconcile duty would find.
//!
//! Each page is read together with the rows it refers to, checked, and dropped: memory use follows
//! the largest page (1,000 promises with their journals), not the store.

use std::collections::BTreeSet;

use segno_core::{
    command::Command,
    config::Config,
    id::PromiseId,
    invariants::{self, InvariantViolation},
    reply::{DamageKind, Reply},
    snapshot::Snapshot,
    time::Timestamp,
    transition::transition,
};

use crate::{ExaminedPage, Scan, StoreError};

/// Number of promises per page.
const PAGE: u32 = 1_000;
/// Maximum number of findings kept; further findings are only counted.
const KEPT: usize = 10_000;

/// A problem in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreProblem {
    /// An invariant is broken.
    Broken(InvariantViolation),
    /// Damage of a kind that the reconcile duty repairs.
    Orphan {
        /// The damaged promise.
        id: PromiseId,
        /// The kind of damage.
        orphan: DamageKind,
    },
    /// A row cannot be read.
    Unreadable(String),
    /// The database itself is damaged.
    Database(String),
}

/// The result of a diagnosis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Number of promises examined.
    pub promises: u64,
    /// The first 10,000 problems found.
    pub findings: Vec<StoreProblem>,
    /// Total number of problems, including those not kept in `findings`.
    pub count: u64,
}

impl Diagnosis {
    /// True if no problem was found.
    pub fn is_clean(&self) -> bool {
        self.count == 0
    }

    fn add(&mut self, finding: StoreProblem) {
        self.count += 1;
        if self.findings.len() < KEPT {
            self.findings.push(finding);
        }
    }

    /// The affected promises, as input for a repair command.
    pub fn affected(&self) -> BTreeSet<PromiseId> {
        let ids = self.findings.iter().filter_map(|finding| match finding {
            StoreProblem::Orphan { id, .. } => Some(std::slice::from_ref(id)),
            StoreProblem::Broken(violation) => Some(violation.ids.as_slice()),
            StoreProblem::Unreadable(_) | StoreProblem::Database(_) => None,
        });
        ids.flatten().cloned().collect()
    }
}

/// Examines the whole store without changing it. `progress` receives the number of promises
/// examined so far.
///
/// # Errors
/// Fails if the store did not answer.
pub async fn examine(
    scan: &dyn Scan,
    now: Timestamp,
    config: &Config,
    progress: impl FnMut(u64),
) -> Result<Diagnosis, StoreError> {
    examine_pages(scan, PAGE, now, config, progress).await
}

/// Like [`examine`], with `page` promises per page.
///
/// # Errors
/// Fails if the store did not answer.
pub async fn examine_pages(
    scan: &dyn Scan,
    page: u32,
    now: Timestamp,
    config: &Config,
    mut progress: impl FnMut(u64),
) -> Result<Diagnosis, StoreError> {
    let mut diagnosis = Diagnosis::default();
    scan.damage().await?.into_iter().for_each(|line| diagnosis.add(StoreProblem::Database(line)));
    let mut after = 0;
    loop {
        let page = scan.examine(None, after, page).await?;
        diagnosis.promises += page.ids.len() as u64;
        look_at(&page, now, config, &mut diagnosis);
        progress(diagnosis.promises);
        match page.next {
            Some(next) => after = next,
            None => return Ok(diagnosis),
        }
    }
}

fn look_at(page: &ExaminedPage, now: Timestamp, config: &Config, diagnosis: &mut Diagnosis) {
    page.unreadable.iter().for_each(|row| diagnosis.add(StoreProblem::Unreadable(row.clone())));
    let ids: BTreeSet<&PromiseId> = page.ids.iter().collect();
    let violations = invariants::check(&Snapshot::of(&page.view)).into_iter();
    // The counted executions spread over all pages: the store counts them ([`Scan::integrity`]).
    for violation in violations.filter(|violation| violation.name != invariants::COUNTED) {
        // Rows of other promises are read only in part: apparent violations of theirs are left to
        // their own page.
        let ours = violation.ids.first().is_none_or(|id| ids.contains(id))
            || violation.name.starts_with("schedule_");
        if ours || is_told_by_another(&violation, &ids) {
            diagnosis.add(StoreProblem::Broken(violation));
        }
    }
    for id in &page.ids {
        let look = Command::Reconcile { id: id.clone() };
        if let Reply::Reconciled { orphans } = transition(&page.view, &look, now, config).reply {
            for orphan in orphans {
                diagnosis.add(StoreProblem::Orphan { id: id.clone(), orphan });
            }
        }
    }
}

/// True for a `minted_by_owner` violation about promises outside the page that were minted by
/// invocations on the page.
fn is_told_by_another(violation: &InvariantViolation, ids: &BTreeSet<&PromiseId>) -> bool {
    violation.name == "minted_by_owner"
        && violation.ids.iter().all(|made| ids.iter().any(|owner| made.is_minted_by(owner)))
}

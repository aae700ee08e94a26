//! The diagnosis of a whole store: every invariant, and what the reconcile duty would find.
//!
//! A page is read with everything it refers to, checked, and dropped: memory follows the largest
//! page (1,000 promises with their journals), not the store.

use std::collections::BTreeSet;

use segno_core::{
    command::Command,
    config::Config,
    id::PromiseId,
    invariants::{self, Violation},
    reply::{Orphan, Reply},
    snapshot::Snapshot,
    time::Timestamp,
    transition::transition,
};

use crate::{Examined, Scan, StoreError};

/// Promises read at a time.
const PAGE: u32 = 1_000;
/// Findings that are kept; further ones are only counted.
const KEPT: usize = 10_000;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// An invariant is broken.
    Broken(Violation),
    /// Damage of a kind that something is done about.
    Orphan {
        /// Where.
        id: PromiseId,
        /// What.
        orphan: Orphan,
    },
    /// A row cannot be read.
    Unreadable(String),
    /// The database itself is damaged.
    Database(String),
}

/// The result of a diagnosis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Promises looked at.
    pub promises: u64,
    /// What is wrong, the first of it.
    pub findings: Vec<Finding>,
    /// How much is wrong in all.
    pub count: u64,
}

impl Diagnosis {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.count == 0
    }

    fn add(&mut self, finding: Finding) {
        self.count += 1;
        if self.findings.len() < KEPT {
            self.findings.push(finding);
        }
    }

    /// The affected promises, for a command to repair.
    pub fn affected(&self) -> BTreeSet<PromiseId> {
        let ids = self.findings.iter().filter_map(|finding| match finding {
            Finding::Orphan { id, .. } => Some(std::slice::from_ref(id)),
            Finding::Broken(violation) => Some(violation.ids.as_slice()),
            Finding::Unreadable(_) | Finding::Database(_) => None,
        });
        ids.flatten().cloned().collect()
    }
}

/// Examines everything and changes nothing. `progress` gets the number of examined promises.
///
/// # Errors
/// The store did not answer.
pub async fn examine(
    scan: &dyn Scan,
    now: Timestamp,
    config: &Config,
    progress: impl FnMut(u64),
) -> Result<Diagnosis, StoreError> {
    examine_pages(scan, PAGE, now, config, progress).await
}

/// As [`examine`], with `page` promises to a page.
///
/// # Errors
/// The store did not answer.
pub async fn examine_pages(
    scan: &dyn Scan,
    page: u32,
    now: Timestamp,
    config: &Config,
    mut progress: impl FnMut(u64),
) -> Result<Diagnosis, StoreError> {
    let mut diagnosis = Diagnosis::default();
    scan.integrity().await?.into_iter().for_each(|line| diagnosis.add(Finding::Database(line)));
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

fn look_at(page: &Examined, now: Timestamp, config: &Config, diagnosis: &mut Diagnosis) {
    page.unreadable.iter().for_each(|row| diagnosis.add(Finding::Unreadable(row.clone())));
    let ids: BTreeSet<&PromiseId> = page.ids.iter().collect();
    let violations = invariants::check(&Snapshot::of(&page.view)).into_iter();
    // Who is counted is on all pages: the store counts them ([`Scan::integrity`]).
    for violation in violations.filter(|violation| violation.name != invariants::COUNTED) {
        // Of the rows at the other ends only a part was read: what seems wrong with them is for
        // their own page.
        let ours = violation.ids.first().is_none_or(|id| ids.contains(id))
            || violation.name.starts_with("schedule_");
        if ours || is_told_by_another(&violation, &ids) {
            diagnosis.add(Finding::Broken(violation));
        }
    }
    for id in &page.ids {
        let look = Command::Reconcile { id: id.clone() };
        if let Reply::Reconciled { orphans } = transition(&page.view, &look, now, config).reply {
            for orphan in orphans {
                diagnosis.add(Finding::Orphan { id: id.clone(), orphan });
            }
        }
    }
}

/// Whether a rule that looks from an invocation to what it made is broken by something outside of
/// the page.
fn is_told_by_another(violation: &Violation, ids: &BTreeSet<&PromiseId>) -> bool {
    violation.name == "minted_by_owner"
        && violation.ids.iter().all(|made| ids.iter().any(|owner| made.is_minted_by(owner)))
}

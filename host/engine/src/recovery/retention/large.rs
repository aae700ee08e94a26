//! Removal of trees that are too large for one command.
//!
//! First the whole tree is read, page by page. If any member is unfinished, nothing is removed. The
//! promises of an object are removed with its run. If they are too many for one command as well,
//! they are removed before the run. Finished promises stay finished, so the pages need not be of
//! one instant. Then parts are removed, from the leaves up. The rest is always a tree under the
//! same root, so a host that restarts simply continues.

use segno_core::{
    command::Command,
    id::PromiseId,
    reply::{PruneResult, Reply, RetentionReason},
    tags,
    time::Timestamp,
    transition::{obstacle, turn_in},
};
use segno_store::{PromiseFilter, Scan, StoreError};

use super::RemovalPace;
use crate::host::Host;

/// Maximum number of members read or removed in one step.
const PAGE: u32 = 256;

/// Removes the tree if all of it is finished. Returns the number of removed promises, or the reason
/// why the tree is kept.
///
/// # Errors
/// The store did not answer.
pub async fn remove(
    host: &Host,
    root: &PromiseId,
    before: Timestamp,
    state: bool,
) -> Result<Result<u64, RetentionReason>, StoreError> {
    let scan = host.store.scan();
    if let Some(kept) = unfinished(scan, root, before).await? {
        return Ok(Err(kept));
    }
    let (mut removed, mut pace) = (0, RemovalPace::default());
    // A stack of subtrees to remove. If one is too large, its children are removed first.
    let mut open = vec![root.clone()];
    while !open.is_empty() {
        let batch = open.split_off(open.len().saturating_sub(pace.trees));
        let command =
            |top: &PromiseId| Command::Prune { top: top.clone(), before, part: true, state };
        let replies = host.store.execute(batch.iter().map(command).collect()).await?;
        let (tried, mut gone) = (batch.len(), 0);
        for (top, reply) in batch.into_iter().zip(replies) {
            match reply {
                Reply::Pruned(PruneResult::Gone { promises }) => gone += promises as usize,
                Reply::Pruned(PruneResult::Kept(RetentionReason::Absent)) => {}
                Reply::Pruned(PruneResult::Kept(RetentionReason::Large)) => {
                    let made = scan.examine(Some(&top), 0, PAGE).await?.ids;
                    let parts = match made.is_empty() {
                        false => made,
                        true => promises_of_object(host, &top).await?,
                    };
                    if parts.is_empty() {
                        tracing::warn!(%root, part = %top, "the rest of an old tree stays");
                        return Ok(Ok(removed + gone as u64));
                    }
                    open.push(top);
                    open.extend(parts);
                }
                other => {
                    tracing::warn!(%root, part = %top, reply = ?other, "the rest of an old tree stays");
                    return Ok(Ok(removed + gone as u64));
                }
            }
        }
        pace.learn(tried, gone);
        removed += gone as u64;
    }
    Ok(Ok(removed))
}

/// The promises of the object whose run this is. They are removed with the run, and are all that is
/// left of its tree.
async fn promises_of_object(host: &Host, id: &PromiseId) -> Result<Vec<PromiseId>, StoreError> {
    let read = host.store.read();
    let object = read.promise(id).await?.and_then(|row| turn_in(&row.promise));
    let Some(object) = object else { return Ok(Vec::new()) };
    let [prefix, _] = object.promises();
    let of_object = (tags::OBJECT.to_owned(), object.to_string());
    let filter = PromiseFilter {
        prefix: Some(prefix.to_string()),
        tags: [of_object].into(),
        limit: PAGE,
        ..PromiseFilter::default()
    };
    let found = read.find(&filter).await?.items;
    Ok(found.into_iter().map(|row| row.promise.id().clone()).collect())
}

/// The first unfinished promise of the tree. `None` if all are finished.
async fn unfinished(
    scan: &dyn Scan,
    root: &PromiseId,
    before: Timestamp,
) -> Result<Option<RetentionReason>, StoreError> {
    // Parents with unread children, each with the last child read.
    let mut open = vec![(root.clone(), 0)];
    while let Some((maker, after)) = open.pop() {
        let page = scan.examine(Some(&maker), after, PAGE).await?;
        let kept = page.ids.iter().find_map(|id| obstacle(&page.view, id, before));
        if kept.is_some() || !page.unreadable.is_empty() {
            return Ok(kept.or(Some(RetentionReason::Large)));
        }
        if let Some(next) = page.next {
            open.push((maker, next));
        }
        open.extend(page.ids.into_iter().map(|id| (id, 0)));
    }
    Ok(None)
}

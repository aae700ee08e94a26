//! Trees that are too large for one command.
//!
//! First the whole tree is looked at, a page at a time: unless all of it is finished, none of it goes. What is finished
//! stays finished, so the look need not be one instant's. Then parts go, from the leaves up: whatever is left at any
//! time is a tree under the same root, and a host that begins anew simply goes on.

use segno_core::{
    command::Command,
    id::PromiseId,
    reply::{Kept, Pruned, Reply},
    time::Timestamp,
    transition::obstacle,
};

use super::Pace;
use crate::host::Host;
use segno_store::{Scan, StoreError};

/// Members looked at, or tried, at a time.
const PAGE: u32 = 256;

/// Removes the tree, if all of it is finished. Answers how many promises went.
pub(super) async fn remove(
    host: &Host,
    root: &PromiseId,
    before: Timestamp,
) -> Result<u64, StoreError> {
    let scan = host.store.scan();
    if let Some(kept) = unfinished(scan, root, before).await? {
        tracing::debug!(%root, %kept, "an old tree stays");
        return Ok(0);
    }
    let (mut removed, mut pace) = (0, Pace::default());
    // Each of these is tried; where it is too large, what it made goes first.
    let mut open = vec![root.clone()];
    while !open.is_empty() {
        let batch = open.split_off(open.len().saturating_sub(pace.trees));
        let command = |top: &PromiseId| Command::Prune { top: top.clone(), before, part: true };
        let replies = host.store.execute(batch.iter().map(command).collect()).await?;
        let (tried, mut gone) = (batch.len(), 0);
        for (top, reply) in batch.into_iter().zip(replies) {
            match reply {
                Reply::Pruned(Pruned::Gone { promises }) => gone += promises as usize,
                Reply::Pruned(Pruned::Kept(Kept::Absent)) => {}
                Reply::Pruned(Pruned::Kept(Kept::Large)) => {
                    let made = scan.examine(Some(&top), 0, PAGE).await?.ids;
                    open.push(top);
                    open.extend(made);
                }
                other => {
                    tracing::warn!(%root, part = %top, reply = ?other, "the rest of an old tree stays");
                    return Ok(removed + gone as u64);
                }
            }
        }
        pace.learn(tried, gone);
        removed += gone as u64;
    }
    Ok(removed)
}

/// What keeps the tree, if something does.
async fn unfinished(
    scan: &dyn Scan,
    root: &PromiseId,
    before: Timestamp,
) -> Result<Option<Kept>, StoreError> {
    // Makers whose makings are not all looked at, each with the last one seen.
    let mut open = vec![(root.clone(), 0)];
    while let Some((maker, after)) = open.pop() {
        let page = scan.examine(Some(&maker), after, PAGE).await?;
        let kept = page.ids.iter().find_map(|id| obstacle(&page.state, id, before));
        if kept.is_some() || !page.unreadable.is_empty() {
            return Ok(kept.or(Some(Kept::Large)));
        }
        if let Some(next) = page.next {
            open.push((maker, next));
        }
        open.extend(page.ids.into_iter().map(|id| (id, 0)));
    }
    Ok(None)
}

//! Traversal of a tree in pages, independent of HTTP.

use std::{fmt, str::FromStr};

use segno_core::id::PromiseId;
use segno_store::{
    CallTree, ChildRow, ParentCursor, PromiseRow, Store, StoreError, TreeNeighbours,
};

/// Maximum number of children that are counted.
pub(super) const COUNTED: u32 = 10_000;
/// Maximum number of awaited promises listed for a node.
const WAITS: usize = 10;

/// Bounds of the returned part of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkBounds {
    /// Maximum number of levels below the first node.
    pub depth: u32,
    /// Maximum number of children of one node: the first ones and the latest. Children that the
    /// node waits for are returned in addition.
    pub width: u32,
    /// Maximum number of nodes on a page.
    pub limit: usize,
}

/// A node of a page.
#[derive(Debug)]
pub(super) struct PageNode {
    /// The promise with its task.
    pub row: PromiseRow,
    /// The parent, except for the first node.
    pub parent: Option<PromiseId>,
    /// Number of levels below the first node.
    pub depth: u32,
    /// Number of children, up to [`COUNTED`].
    pub children: u32,
    /// Number of children omitted because of the bounds.
    pub left_out: u32,
    /// True if siblings before this node are omitted.
    pub after_gap: bool,
    /// Promises that the node waits for.
    pub waits: Vec<PromiseId>,
    /// True if the node waits for more promises than `waits` lists.
    pub waits_more: bool,
}

/// Position of the end of a page: its last node, and the number of children shown so far of each
/// node on the path to it.
///
/// ```text
/// 3.17:order-1/2/16      from the first node to its 3rd child, from there to its 17th
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreePosition {
    /// The last node of the page.
    pub id: PromiseId,
    /// Numbers of children, from the first node down.
    pub shown: Vec<u32>,
}

impl fmt::Display for TreePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.shown.iter().map(ToString::to_string).collect();
        write!(f, "{}:{}", shown.join("."), self.id)
    }
}

impl FromStr for TreePosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (shown, id) = text.split_once(':').ok_or(())?;
        let numbers = shown.split('.').filter(|_| !shown.is_empty());
        let shown = numbers.map(|number| number.parse().map_err(drop)).collect::<Result<_, _>>()?;
        Ok(Self { id: PromiseId::from(id), shown })
    }
}

/// A node of the walk: one on this page, or one of an earlier page that has children left.
#[derive(Debug)]
struct WalkNode {
    id: PromiseId,
    /// Index of the parent in the list of nodes.
    parent: Option<usize>,
    /// Number among its parent's children, from 1.
    nth: u32,
    depth: u32,
    seen: Option<PageNode>,
    /// Number of children found, or shown on earlier pages.
    opened: u32,
    /// Total number of children to show.
    open_to: u32,
    /// Number of the last child found or shown.
    after: i64,
    /// For a node with more children than shown: the children after the first ones.
    tail: Option<ChildrenTail>,
}

/// The children after the gap: those that their parent waits for, and the latest.
#[derive(Debug)]
struct ChildrenTail {
    /// Number of children before the gap.
    first: u32,
    latest: u32,
    awaits: Vec<PromiseId>,
}

/// A traversal of a tree.
#[derive(Debug)]
pub(super) struct TreeWalk {
    bounds: WalkBounds,
    nodes: Vec<WalkNode>,
    /// Indexes of nodes, each before its descendants.
    order: Vec<usize>,
}

impl TreeWalk {
    /// Begins at the node `base`.
    pub(super) async fn begin(
        bounds: WalkBounds,
        base: PromiseRow,
        store: &dyn Store,
    ) -> Result<Self, StoreError> {
        let call_tree = store.call_tree();
        let id = base.promise.id().clone();
        let neighbours = neighbours_of(call_tree, std::slice::from_ref(&id)).await?.pop();
        let mut walk = Self { bounds, nodes: Vec::new(), order: vec![0] };
        walk.find(base, None, neighbours.unwrap_or_default());
        Ok(walk)
    }

    /// Continues after the last node of `path`, which leads down from the first node of the tree.
    /// `shown` is, for each node on the path, the number of its children shown so far.
    pub(super) async fn resume(
        bounds: WalkBounds,
        path: &[PromiseId],
        shown: &[u32],
        store: &dyn Store,
    ) -> Result<Self, StoreError> {
        let neighbours = neighbours_of(store.call_tree(), path).await?;
        let mut walk = Self { bounds, nodes: Vec::new(), order: (0..path.len()).rev().collect() };
        for (place, id) in path.iter().enumerate() {
            let above = place.checked_sub(1);
            let depth = place as u32;
            walk.nodes.push(WalkNode {
                id: id.clone(),
                parent: above,
                nth: above.map_or(1, |above| shown[above]),
                depth,
                seen: None,
                opened: shown.get(place).copied().unwrap_or_default(),
                open_to: walk.open_to(depth, neighbours[place].children),
                // The next node on the path is the last of its children shown so far.
                after: neighbours.get(place + 1).map_or(0, |child| child.number),
                tail: walk.tail(depth, &neighbours[place]),
            });
        }
        Ok(walk)
    }

    /// Returns the nodes of the page, and the position of the next page.
    pub(super) async fn page(
        mut self,
        store: &dyn Store,
    ) -> Result<(Vec<PageNode>, Option<TreePosition>), StoreError> {
        loop {
            let opening = self.opening();
            if opening.is_empty() {
                break;
            }
            self.open(&opening, store).await?;
        }
        let Self { bounds, mut nodes, order } = self;
        let shown: Vec<usize> = order.into_iter().filter(|&at| nodes[at].seen.is_some()).collect();
        let next = match shown.get(bounds.limit) {
            Some(_) => shown.get(bounds.limit - 1).map(|&last| place(&nodes, last)),
            None => None,
        };
        let seen = shown.iter().take(bounds.limit).filter_map(|&at| nodes[at].seen.take());
        Ok((seen.collect(), next))
    }

    /// Returns the nodes whose children fall within the page, as far as known, with the number of
    /// children of each. One child beyond the limit indicates another page.
    fn opening(&self) -> Vec<(usize, u32)> {
        let mut opening = Vec::new();
        let mut room = u32::try_from(self.bounds.limit).unwrap_or(u32::MAX).saturating_add(1);
        // Nodes still to be found below a node follow those already known below it.
        let mut around: Vec<usize> = Vec::new();
        let ends = std::iter::once(None);
        for next in self.order.iter().copied().map(Some).chain(ends) {
            let depth = next.map(|at| self.nodes[at].depth);
            while let Some(left) =
                around.pop_if(|at| depth.is_none_or(|depth| self.nodes[*at].depth >= depth))
            {
                let wanted = if room > 0 { self.nodes[left].wanted() } else { 0 };
                let wanted = if self.nodes[left].is_at_tail() { wanted } else { wanted.min(room) };
                if wanted > 0 {
                    opening.push((left, wanted));
                }
                room = room.saturating_sub(wanted);
            }
            let Some(at) = next else { break };
            room = room.saturating_sub(u32::from(self.nodes[at].seen.is_some()));
            if room == 0 {
                break;
            }
            around.push(at);
        }
        opening
    }

    async fn open(
        &mut self,
        opening: &[(usize, u32)],
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        let is_tail = |&&(at, _): &&(usize, u32)| self.nodes[at].is_at_tail();
        let tails: Vec<(usize, u32)> = opening.iter().filter(is_tail).copied().collect();
        let others = opening.iter().filter(|opened| !is_tail(opened));
        let others: Vec<(usize, u32)> = others.copied().collect();
        if !others.is_empty() {
            let (parents, each) = (self.parents(&others), most(&others));
            let mut found = store.call_tree().children(&parents, each).await?;
            let mut taken = vec![0; others.len()];
            found.retain(|child| {
                taken[child.parent] += 1;
                taken[child.parent] <= others[child.parent].1
            });
            self.take_in(&others, found, store.call_tree()).await?;
            for (&(at, wanted), taken) in others.iter().zip(taken) {
                // A counted child has been removed since.
                if taken < wanted && self.nodes[at].tail.is_none() {
                    self.nodes[at].open_to = self.nodes[at].opened;
                } else if taken < wanted {
                    self.nodes[at].skip_to_tail();
                }
            }
        }
        if !tails.is_empty() {
            self.open_tails(&tails, store).await?;
        }
        Ok(())
    }

    /// Finds the children after the gaps of these nodes.
    async fn open_tails(
        &mut self,
        tails: &[(usize, u32)],
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        let mut found = store.call_tree().latest(&self.parents(tails), most(tails)).await?;
        let mut gaps = Vec::new();
        for (place, &(at, _)) in tails.iter().enumerate() {
            let node = &mut self.nodes[at];
            let Some(tail) = node.tail.take() else { continue };
            if node.opened == tail.first {
                gaps.push((at, self.nodes.len()));
            }
            found.extend(self.awaited(place, at, &tail.awaits, &found, store).await?);
        }
        found.sort_by_key(|child| (child.parent, child.number));
        self.take_in(tails, found, store.call_tree()).await?;
        for &(at, _) in tails {
            let node = &mut self.nodes[at];
            node.open_to = node.opened;
            if let Some(seen) = &mut node.seen {
                seen.left_out = seen.children.saturating_sub(node.opened);
            }
        }
        for (at, from) in gaps {
            let is_first = |node: &&mut WalkNode| node.parent == Some(at);
            let first = self.nodes[from..].iter_mut().find(is_first);
            if let Some(seen) = first.and_then(|node| node.seen.as_mut()) {
                seen.after_gap = true;
            }
        }
        Ok(())
    }

    /// Returns the children that the node `at` waits for and that are not in `found`.
    async fn awaited(
        &self,
        place: usize,
        at: usize,
        awaits: &[PromiseId],
        found: &[ChildRow],
        store: &dyn Store,
    ) -> Result<Vec<ChildRow>, StoreError> {
        let node = &self.nodes[at];
        let is_found = |id: &PromiseId| {
            found.iter().any(|child| child.parent == place && child.row.promise.id() == id)
        };
        let missing: Vec<PromiseId> = awaits.iter().filter(|id| !is_found(id)).cloned().collect();
        let neighbours = neighbours_of(store.call_tree(), &missing).await?;
        let rows = store.read().promises(&missing).await?;
        let children = rows.into_iter().zip(neighbours).filter_map(|(row, neighbours)| {
            let (row, number) = (row?, neighbours.number);
            let is_child = super::parent(&row.promise).as_ref() == Some(&node.id);
            (is_child && number > node.after).then_some(ChildRow { parent: place, number, row })
        });
        Ok(children.collect())
    }

    fn parents(&self, opening: &[(usize, u32)]) -> Vec<ParentCursor> {
        let parent = |&(at, _): &(usize, u32)| {
            let node = &self.nodes[at];
            ParentCursor { id: node.id.clone(), after: node.after }
        };
        opening.iter().map(parent).collect()
    }

    /// Adds children to the walk.
    async fn take_in(
        &mut self,
        opening: &[(usize, u32)],
        found: Vec<ChildRow>,
        call_tree: &dyn CallTree,
    ) -> Result<(), StoreError> {
        let ids: Vec<PromiseId> =
            found.iter().map(|child| child.row.promise.id().clone()).collect();
        let neighbours = neighbours_of(call_tree, &ids).await?;
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); opening.len()];
        for (child, neighbours) in found.into_iter().zip(neighbours) {
            let (at, _) = opening[child.parent];
            self.nodes[at].after = child.number;
            // Tags may form a cycle: an ancestor is not shown again as a descendant.
            match self.is_above(child.row.promise.id(), at) {
                true => self.nodes[at].opened += 1,
                false => below[child.parent].push(self.find(child.row, Some(at), neighbours)),
            }
        }
        self.put_below(opening, below);
        Ok(())
    }

    /// Adds a node and returns its index.
    fn find(
        &mut self,
        row: PromiseRow,
        parent: Option<usize>,
        mut neighbours: TreeNeighbours,
    ) -> usize {
        let id = row.promise.id().clone();
        let (mut nth, mut depth) = (1, 0);
        if let Some(above) = parent.map(|parent| &mut self.nodes[parent]) {
            above.opened += 1;
            (nth, depth) = (above.opened, above.depth + 1);
        }
        let waits_more = neighbours.awaits.len() > WAITS;
        neighbours.awaits.truncate(WAITS);
        let tail = self.tail(depth, &neighbours);
        let open_to = self.open_to(depth, neighbours.children);
        let seen = PageNode {
            row,
            parent: parent.map(|parent| self.nodes[parent].id.clone()),
            depth,
            children: neighbours.children,
            left_out: neighbours.children.saturating_sub(open_to),
            after_gap: false,
            waits: neighbours.awaits,
            waits_more,
        };
        let seen = Some(seen);
        self.nodes.push(WalkNode {
            id,
            parent,
            nth,
            depth,
            seen,
            opened: 0,
            open_to,
            after: 0,
            tail,
        });
        self.nodes.len() - 1
    }

    /// Returns the number of children to show out of `children`.
    fn open_to(&self, depth: u32, children: u32) -> u32 {
        match children {
            _ if depth >= self.bounds.depth => 0,
            // There may be more children than were counted.
            COUNTED => self.bounds.width,
            children => children.min(self.bounds.width),
        }
    }

    /// Returns the children after the first ones, if not all are shown. A quarter of the shown
    /// children are first ones.
    fn tail(&self, depth: u32, neighbours: &TreeNeighbours) -> Option<ChildrenTail> {
        let width = self.bounds.width;
        let is_wide = depth < self.bounds.depth && neighbours.children > width;
        let awaits = neighbours.awaits.iter().take(WAITS).cloned().collect();
        is_wide.then(|| ChildrenTail { first: width / 4, latest: width - width / 4, awaits })
    }

    /// Returns true if this is the node `at` or one of its ancestors.
    fn is_above(&self, id: &PromiseId, at: usize) -> bool {
        let above = |&at: &usize| self.nodes[at].parent;
        std::iter::successors(Some(at), above).any(|at| self.nodes[at].id == *id)
    }

    /// Inserts children after all known descendants of their parents.
    fn put_below(&mut self, opening: &[(usize, u32)], below: Vec<Vec<usize>>) {
        for (&(at, _), children) in opening.iter().zip(below) {
            let Some(place) = self.order.iter().position(|&other| other == at) else { continue };
            let depth = self.nodes[at].depth;
            let under = self.order[place + 1..].iter();
            let under = under.take_while(|&&other| self.nodes[other].depth > depth).count();
            let end = place + 1 + under;
            self.order.splice(end..end, children);
        }
    }
}

impl WalkNode {
    /// Returns the number of children to find next.
    fn wanted(&self) -> u32 {
        match &self.tail {
            Some(tail) if self.is_at_tail() => tail.latest,
            Some(tail) => tail.first - self.opened,
            None => self.open_to.saturating_sub(self.opened),
        }
    }

    /// Returns true if the children after the gap come next.
    fn is_at_tail(&self) -> bool {
        self.tail.as_ref().is_some_and(|tail| self.opened >= tail.first)
    }

    fn skip_to_tail(&mut self) {
        if let Some(tail) = &mut self.tail {
            tail.first = self.opened;
        }
    }
}

/// Returns the largest number of children wanted by one of these nodes.
fn most(opening: &[(usize, u32)]) -> u32 {
    opening.iter().map(|(_, wanted)| *wanted).max().unwrap_or_default()
}

async fn neighbours_of(
    call_tree: &dyn CallTree,
    ids: &[PromiseId],
) -> Result<Vec<TreeNeighbours>, StoreError> {
    let neighbours = call_tree.neighbours(ids, COUNTED, WAITS as u32 + 1).await?;
    // A node removed meanwhile has no children.
    Ok(neighbours.into_iter().map(Option::unwrap_or_default).collect())
}

/// Returns the position of a node, as the path from the first one down.
fn place(nodes: &[WalkNode], last: usize) -> TreePosition {
    let up = std::iter::successors(Some(last), |&at| nodes[at].parent);
    let mut shown: Vec<u32> =
        up.filter(|&at| nodes[at].parent.is_some()).map(|at| nodes[at].nth).collect();
    shown.reverse();
    TreePosition { id: nodes[last].id.clone(), shown }
}

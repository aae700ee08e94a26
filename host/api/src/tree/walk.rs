//! A walk through a tree, a page at a time; HTTP is unknown here.

use std::{fmt, str::FromStr};

use segno_core::id::PromiseId;
use segno_store::{CallTree, Neighbours, Parent, PromiseRow, StoreError};

/// Maximum number of children that are counted.
pub const COUNTED: u32 = 10_000;
/// Maximum number of awaited promises named for a node.
const WAITS: usize = 10;

/// The bounds of the part that is shown.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Maximum number of levels below the first node.
    pub depth: u32,
    /// Maximum number of children of one node.
    pub width: u32,
    /// Maximum number of nodes of a page.
    pub limit: usize,
}

/// A node of a page.
#[derive(Debug)]
pub struct Seen {
    /// The promise, with its task.
    pub row: PromiseRow,
    /// The parent, except for the first node.
    pub parent: Option<PromiseId>,
    /// The number of levels below the first node.
    pub depth: u32,
    /// The number of children, up to [`COUNTED`].
    pub children: u32,
    /// The number of children that the bounds leave out.
    pub left_out: u32,
    /// The promises that the node waits for.
    pub waits: Vec<PromiseId>,
    /// Whether the node waits for further promises.
    pub waits_more: bool,
}

/// The position at which a page ends: its last node, and how many children of each node on the way
/// to it have been shown.
///
/// ```text
/// 3.17:order-1/2/16      from the first node to its 3rd child, from there to its 17th
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The last node of the page.
    pub id: PromiseId,
    /// Numbers of children, from the first node down.
    pub shown: Vec<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.shown.iter().map(ToString::to_string).collect();
        write!(f, "{}:{}", shown.join("."), self.id)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (shown, id) = text.split_once(':').ok_or(())?;
        let numbers = shown.split('.').filter(|_| !shown.is_empty());
        let shown = numbers.map(|number| number.parse().map_err(drop)).collect::<Result<_, _>>()?;
        Ok(Self { id: PromiseId::from(id), shown })
    }
}

/// A node of the walk: one that is shown, or one that was shown before and has children left.
#[derive(Debug)]
struct Node {
    id: PromiseId,
    /// The index of the parent in the list of nodes.
    parent: Option<usize>,
    /// The number among its parent's children, from 1.
    nth: u32,
    depth: u32,
    seen: Option<Seen>,
    /// Number of children that were found, or shown before.
    opened: u32,
    /// Number of children to be shown in all.
    open_to: u32,
    /// The number of the last child that was found or shown.
    after: i64,
}

/// A walk.
#[derive(Debug)]
pub struct Walk {
    bounds: Bounds,
    nodes: Vec<Node>,
    /// Indices of nodes, each before those below it.
    order: Vec<usize>,
}

impl Walk {
    /// Begins with the node `base`.
    pub async fn begin(
        bounds: Bounds,
        base: PromiseRow,
        call_tree: &dyn CallTree,
    ) -> Result<Self, StoreError> {
        let id = base.promise.id().clone();
        let neighbours = neighbours_of(call_tree, std::slice::from_ref(&id)).await?.pop();
        let mut walk = Self { bounds, nodes: Vec::new(), order: vec![0] };
        walk.find(base, None, neighbours.unwrap_or_default());
        Ok(walk)
    }

    /// Continues after the last node of `path`, which leads down from the first node of the tree.
    /// `shown` has for each node on the way the number of its children that have been shown.
    pub async fn resume(
        bounds: Bounds,
        path: &[PromiseId],
        shown: &[u32],
        call_tree: &dyn CallTree,
    ) -> Result<Self, StoreError> {
        let neighbours = neighbours_of(call_tree, path).await?;
        let mut walk = Self { bounds, nodes: Vec::new(), order: (0..path.len()).rev().collect() };
        for (place, id) in path.iter().enumerate() {
            let above = place.checked_sub(1);
            let depth = place as u32;
            walk.nodes.push(Node {
                id: id.clone(),
                parent: above,
                nth: above.map_or(1, |above| shown[above]),
                depth,
                seen: None,
                opened: shown.get(place).copied().unwrap_or_default(),
                open_to: walk.open_to(depth, neighbours[place].children),
                // The next on the path is the last of its children that was shown.
                after: neighbours.get(place + 1).map_or(0, |child| child.number),
            });
        }
        Ok(walk)
    }

    /// The nodes of the page, and the position of the next page.
    pub async fn page(
        mut self,
        call_tree: &dyn CallTree,
    ) -> Result<(Vec<Seen>, Option<Place>), StoreError> {
        loop {
            let opening = self.opening();
            if opening.is_empty() {
                break;
            }
            self.open(&opening, call_tree).await?;
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

    /// The nodes whose children fall within the page as far as is known, and how many children of
    /// each. One more than fits shows that there is another page.
    fn opening(&self) -> Vec<(usize, u32)> {
        let mut opening = Vec::new();
        let mut room = u32::try_from(self.bounds.limit).unwrap_or(u32::MAX).saturating_add(1);
        // Nodes still to be found below a node come after those known below it.
        let mut around: Vec<usize> = Vec::new();
        let ends = std::iter::once(None);
        for next in self.order.iter().copied().map(Some).chain(ends) {
            let depth = next.map(|at| self.nodes[at].depth);
            while let Some(left) =
                around.pop_if(|at| depth.is_none_or(|depth| self.nodes[*at].depth >= depth))
            {
                let node = &self.nodes[left];
                let wanted = node.open_to.saturating_sub(node.opened).min(room);
                if wanted > 0 {
                    opening.push((left, wanted));
                }
                room -= wanted;
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
        call_tree: &dyn CallTree,
    ) -> Result<(), StoreError> {
        let parent = |&(at, _): &(usize, u32)| {
            let node = &self.nodes[at];
            Parent { id: node.id.clone(), after: node.after }
        };
        let parents: Vec<Parent> = opening.iter().map(parent).collect();
        let each = opening.iter().map(|(_, wanted)| *wanted).max().unwrap_or_default();
        let mut found = call_tree.children(&parents, each).await?;
        let mut taken = vec![0; opening.len()];
        found.retain(|child| {
            taken[child.parent] += 1;
            taken[child.parent] <= opening[child.parent].1
        });
        let ids: Vec<PromiseId> =
            found.iter().map(|child| child.row.promise.id().clone()).collect();
        let neighbours = neighbours_of(call_tree, &ids).await?;
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); opening.len()];
        for (child, neighbours) in found.into_iter().zip(neighbours) {
            let (at, _) = opening[child.parent];
            self.nodes[at].after = child.number;
            // Tags may form a cycle: an ancestor is not shown below as well.
            match self.is_above(child.row.promise.id(), at) {
                true => self.nodes[at].opened += 1,
                false => below[child.parent].push(self.find(child.row, Some(at), neighbours)),
            }
        }
        for (&(at, wanted), taken) in opening.iter().zip(taken) {
            // A counted child has been removed since.
            if taken < wanted {
                self.nodes[at].open_to = self.nodes[at].opened;
            }
        }
        self.put_below(opening, below);
        Ok(())
    }

    /// Adds a node; answers its place.
    fn find(
        &mut self,
        row: PromiseRow,
        parent: Option<usize>,
        mut neighbours: Neighbours,
    ) -> usize {
        let id = row.promise.id().clone();
        let (mut nth, mut depth) = (1, 0);
        if let Some(above) = parent.map(|parent| &mut self.nodes[parent]) {
            above.opened += 1;
            (nth, depth) = (above.opened, above.depth + 1);
        }
        let waits_more = neighbours.awaits.len() > WAITS;
        neighbours.awaits.truncate(WAITS);
        let open_to = self.open_to(depth, neighbours.children);
        let seen = Seen {
            row,
            parent: parent.map(|parent| self.nodes[parent].id.clone()),
            depth,
            children: neighbours.children,
            left_out: neighbours.children.saturating_sub(open_to),
            waits: neighbours.awaits,
            waits_more,
        };
        let seen = Some(seen);
        self.nodes.push(Node { id, parent, nth, depth, seen, opened: 0, open_to, after: 0 });
        self.nodes.len() - 1
    }

    /// The number of children that are shown, of `children`.
    fn open_to(&self, depth: u32, children: u32) -> u32 {
        match children {
            _ if depth >= self.bounds.depth => 0,
            // There may be more children than were counted.
            COUNTED => self.bounds.width,
            children => children.min(self.bounds.width),
        }
    }

    /// Whether this is the node `at` or one of its ancestors.
    fn is_above(&self, id: &PromiseId, at: usize) -> bool {
        let above = |&at: &usize| self.nodes[at].parent;
        std::iter::successors(Some(at), above).any(|at| self.nodes[at].id == *id)
    }

    /// Inserts children after all nodes known below their parents.
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

async fn neighbours_of(
    call_tree: &dyn CallTree,
    ids: &[PromiseId],
) -> Result<Vec<Neighbours>, StoreError> {
    let neighbours = call_tree.neighbours(ids, COUNTED, WAITS as u32 + 1).await?;
    // What was removed meanwhile has no children any more.
    Ok(neighbours.into_iter().map(Option::unwrap_or_default).collect())
}

/// The path of a node, from the first one down.
fn place(nodes: &[Node], last: usize) -> Place {
    let up = std::iter::successors(Some(last), |&at| nodes[at].parent);
    let mut shown: Vec<u32> =
        up.filter(|&at| nodes[at].parent.is_some()).map(|at| nodes[at].nth).collect();
    shown.reverse();
    Place { id: nodes[last].id.clone(), shown }
}

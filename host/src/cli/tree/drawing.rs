//! A tree as lines: the branches on the left, kind and state of each node in columns beside them.

use std::collections::BTreeSet;

use crate::{
    api::model::{InvocationState, NodeKind, TreeNode},
    cli::{
        Console,
        console::{BOLD, CYAN, DIM, RED, YELLOW},
        show::{cut, function, plain, state_style},
        time::{length, now_ms, relative},
    },
};

/// Maximum width of a column that long lines cause, in characters.
const WIDEST: usize = 56;

/// The lines, and the widths of their columns.
pub(super) struct Drawing<'a> {
    pub(super) lines: Vec<Line<'a>>,
    id_width: usize,
    what_width: usize,
}

/// A line of the drawing: a node, or the number of omitted ones.
pub(super) enum Line<'a> {
    Node { branch: String, node: &'a TreeNode, what: String },
    LeftOut { branch: String, text: String },
}

impl<'a> Drawing<'a> {
    /// Draws nodes, each of which comes before its children.
    pub(super) fn of(nodes: &'a [TreeNode]) -> Self {
        let last = last_children(nodes);
        let mut lines = Vec::new();
        // For each level: whether further nodes follow on it.
        let mut more: Vec<bool> = Vec::new();
        // Nodes with omitted children, to be reported after the nodes below them.
        let mut cut_short: Vec<&TreeNode> = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            while let Some(parent) = cut_short.pop_if(|parent| parent.depth >= node.depth) {
                lines.push(left_out(parent, &more));
            }
            let depth = node.depth as usize;
            let parent_goes_on =
                cut_short.last().is_some_and(|parent| parent.depth + 1 == node.depth);
            more.truncate(depth);
            more.push(!last.contains(&place) || parent_goes_on);
            let branch = branch(&more);
            lines.push(Line::Node { branch, node, what: what(node) });
            if node.left_out > 0 {
                cut_short.push(node);
            }
        }
        while let Some(parent) = cut_short.pop() {
            lines.push(left_out(parent, &more));
        }
        let widths = |of: fn(&Line<'_>) -> Option<usize>| {
            lines.iter().filter_map(of).max().unwrap_or_default().min(WIDEST)
        };
        let id_width = widths(|line| match line {
            Line::Node { branch, node, .. } => {
                Some(branch.chars().count() + plain(&node.id).chars().count())
            }
            Line::LeftOut { .. } => None,
        });
        let what_width = widths(|line| match line {
            Line::Node { what, .. } => Some(what.chars().count()),
            Line::LeftOut { .. } => None,
        });
        Self { id_width, what_width, lines }
    }

    /// A line with its colours.
    pub(super) fn painted(&self, line: &Line<'_>, console: &Console) -> String {
        let (branch, node, what) = match line {
            Line::LeftOut { branch, text } => {
                return format!("{branch}{}", console.paint(DIM, text));
            }
            Line::Node { branch, node, what } => (branch, *node, what),
        };
        let id = plain(&node.id);
        let fill = |width: usize, used: usize| " ".repeat(width.saturating_sub(used));
        let id_fill = fill(self.id_width, branch.chars().count() + id.chars().count());
        let what_fill = fill(self.what_width, what.chars().count());
        let id = match node.depth {
            0 => console.paint(BOLD, &id),
            _ => console.paint(CYAN, &id),
        };
        let state = format!("{:<9}", node.state.as_str());
        let state = console.paint(state_style(node.state), &state);
        let took = match node.settled_at_ms {
            Some(at) => length(at - node.created_at_ms),
            None => length(now_ms() - node.created_at_ms),
        };
        let note = note(node, console);
        let line = format!("{branch}{id}{id_fill}  {what}{what_fill}  {state}  {took:>9}  {note}");
        line.trim_end().to_owned()
    }
}

/// The indices of nodes that are the last shown child of their parents.
fn last_children(nodes: &[TreeNode]) -> BTreeSet<usize> {
    let mut last = BTreeSet::new();
    // For each level, the last node seen on it.
    let mut open: Vec<usize> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let depth = node.depth as usize;
        // Nodes below this level were the last of their parents.
        last.extend(open.drain((depth + 1).min(open.len())..));
        match open.get_mut(depth) {
            Some(sibling) => *sibling = place,
            None => open.push(place),
        }
    }
    last.extend(open);
    last
}

/// The lines before a node; `more` tells on which levels further nodes follow; the last level is
/// the node's own.
fn branch(more: &[bool]) -> String {
    let mut branch = String::new();
    for (level, goes_on) in more.iter().enumerate().skip(1) {
        let own = level + 1 == more.len();
        branch.push_str(match (own, goes_on) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        });
    }
    branch
}

fn left_out<'a>(parent: &TreeNode, more: &[bool]) -> Line<'a> {
    let mut levels: Vec<bool> = more.iter().copied().take(parent.depth as usize + 1).collect();
    levels.push(false);
    let shown = parent.children.saturating_sub(parent.left_out);
    // Children are counted up to 10,000.
    let at_least = if parent.children >= 10_000 { "at least " } else { "" };
    let text = match (shown, parent.left_out) {
        (0, count) => format!("… {at_least}{count} below"),
        (_, count) => format!("… {at_least}{count} more"),
    };
    Line::LeftOut { branch: branch(&levels), text }
}

/// The name of a node: its function, or its kind.
fn what(node: &TreeNode) -> String {
    let kind = match node.kind {
        NodeKind::Call => {
            let target = node.target.as_deref().unwrap_or_default();
            return cut(&function(target, node.function.as_deref()), WIDEST);
        }
        NodeKind::Step => "step",
        NodeKind::Timer => "timer",
        NodeKind::Signal => "signal",
        NodeKind::Promise => "promise",
    };
    kind.to_owned()
}

/// Further facts about a node: awaited promises, the holder, the failure.
fn note(node: &TreeNode, console: &Console) -> String {
    let now = now_ms();
    let mut notes = Vec::new();
    match node.state {
        InvocationState::Acquired => notes.extend(node.holder.as_ref().map(|holder| {
            let until = node.until_at_ms.map(|at| format!(", claim ends {}", relative(at, now)));
            format!("held by {}{}", plain(holder), until.unwrap_or_default())
        })),
        InvocationState::Pending => notes.extend(pending(node, now)),
        InvocationState::Suspended if !node.waits.is_empty() => {
            let few: Vec<String> = node.waits.iter().take(3).map(|id| plain(id)).collect();
            let more = if node.waits.len() > few.len() || node.waits_more { ", …" } else { "" };
            notes.push(format!("waits for {}{more}", few.join(", ")));
        }
        InvocationState::Halted => {
            notes.push(format!("`segno continue {}` sets it going again", plain(&node.id)));
        }
        InvocationState::Suspended
        | InvocationState::Resolved
        | InvocationState::Rejected
        | InvocationState::Cancelled
        | InvocationState::TimedOut => {}
    }
    if node.detached {
        notes.push("detached".to_owned());
    }
    if let Some(error) = &node.error {
        let style = if node.settled_at_ms.is_some() { RED } else { YELLOW };
        notes.push(console.paint(style, &cut(&plain(error), 100)));
    }
    notes.join("; ")
}

fn pending(node: &TreeNode, now: i64) -> Option<String> {
    match (node.kind, node.retry_at_ms, node.timeout_at_ms) {
        (NodeKind::Timer, _, Some(at)) => Some(relative(at, now)),
        (NodeKind::Call, Some(at), _) if node.attempt > 0 => {
            Some(format!("attempt {} {}", node.attempt.saturating_add(1), relative(at, now)))
        }
        (NodeKind::Call, ..) => Some("waits for a worker".to_owned()),
        (NodeKind::Promise, _, Some(at)) => Some(format!("open, times out {}", relative(at, now))),
        (NodeKind::Timer | NodeKind::Promise | NodeKind::Signal | NodeKind::Step, ..) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, depth: u32, children: u32, left_out: u32) -> TreeNode {
        let mut node: TreeNode = serde_json::from_value(serde_json::json!({
            "id": id, "depth": depth, "kind": "promise", "state": "pending", "children": 0, "created_at_ms": 1
        }))
        .expect("a node");
        (node.children, node.left_out) = (children, left_out);
        node
    }

    /// The drawing without its columns.
    fn drawn(nodes: &[TreeNode]) -> Vec<String> {
        let lines = Drawing::of(nodes).lines;
        lines
            .iter()
            .map(|line| match line {
                Line::Node { branch, node, .. } => format!("{branch}{}", node.id),
                Line::LeftOut { branch, text } => format!("{branch}{text}"),
            })
            .collect()
    }

    #[test]
    fn branches_reach_from_the_first_child_to_the_last_and_end_in_what_was_left_out() {
        let nodes = [
            node("a", 0, 900, 898),
            node("b", 1, 1, 0),
            node("c", 2, 7, 7),
            node("d", 1, 2, 0),
            node("e", 2, 0, 0),
            node("f", 2, 0, 0),
        ];
        assert_eq!(
            drawn(&nodes),
            [
                "a",
                "├─ b",
                "│  └─ c",
                "│     └─ … 7 below",
                "├─ d",
                "│  ├─ e",
                "│  └─ f",
                "└─ … 898 more",
            ]
        );
        let whole =
            [node("a", 0, 2, 0), node("b", 1, 1, 0), node("c", 2, 0, 0), node("d", 1, 0, 0)];
        assert_eq!(drawn(&whole), ["a", "├─ b", "│  └─ c", "└─ d"]);
        assert_eq!(drawn(&[node("a", 0, 10_000, 10_000)]), ["a", "└─ … at least 10000 below"]);
    }
}

//! A tree as lines: the branches on the left, kind and state of each node in columns beside them.

use std::collections::BTreeSet;

use anstyle::Style;
use segno_api::model::{InvocationState, NodeKind, TreeNode};

use crate::cli::{
    Console,
    console::{BOLD, CYAN, DIM, RED, YELLOW},
    show::{failed_attempts, forked_from, function, plain, state_style},
    text,
    time::{length, now_ms, relative},
};

/// Maximum width of a column with long lines, and the widths of the columns of states and durations
/// including their gaps.
const WIDEST: usize = 56;
const STATE: usize = 11;
const TOOK: usize = 11;

/// The lines, and the widths of their columns.
pub(super) struct TreeDrawing<'a> {
    pub(super) lines: Vec<DrawingLine<'a>>,
    id_width: usize,
    what_width: usize,
    columns: Option<usize>,
}

/// A line of the drawing: a node, or the number of omitted ones.
pub(super) enum DrawingLine<'a> {
    Node {
        branch: String,
        /// Prefix of further lines of the node.
        below: String,
        node: &'a TreeNode,
        what: String,
    },
    LeftOut {
        branch: String,
        text: String,
    },
}

impl<'a> TreeDrawing<'a> {
    /// Draws nodes in preorder within this width.
    pub(super) fn of(nodes: &'a [TreeNode], columns: Option<usize>) -> Self {
        let last = last_children(nodes);
        let mut lines = Vec::new();
        // For each level: true if further nodes follow on it.
        let mut more: Vec<bool> = Vec::new();
        // Nodes with omitted children, to be reported after the nodes below them.
        let mut cut_short: Vec<&TreeNode> = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            while let Some(parent) = cut_short.pop_if(|parent| parent.depth >= node.depth) {
                lines.push(left_out(parent, &more, false));
            }
            let depth = node.depth as usize;
            if node.after_gap
                && let Some(parent) = cut_short.pop_if(|parent| parent.depth + 1 == node.depth)
            {
                lines.push(left_out(parent, &more, true));
            }
            let parent_goes_on =
                cut_short.last().is_some_and(|parent| parent.depth + 1 == node.depth);
            more.truncate(depth);
            more.push(!last.contains(&place) || parent_goes_on);
            let below = below(&more, nodes.get(place + 1).is_some_and(|n| n.depth > node.depth));
            lines.push(DrawingLine::Node { branch: branch(&more), below, node, what: what(node) });
            if node.left_out > 0 {
                cut_short.push(node);
            }
        }
        while let Some(parent) = cut_short.pop() {
            lines.push(left_out(parent, &more, false));
        }
        let widths = |of: fn(&DrawingLine<'_>) -> Option<usize>| {
            lines.iter().filter_map(of).max().unwrap_or_default().min(WIDEST)
        };
        let id_width = widths(|line| match line {
            DrawingLine::Node { branch, node, .. } => {
                Some(text::width(branch) + text::width(&plain(&node.id)))
            }
            DrawingLine::LeftOut { .. } => None,
        });
        let what_width = widths(|line| match line {
            DrawingLine::Node { what, .. } => Some(text::width(what)),
            DrawingLine::LeftOut { .. } => None,
        });
        let (id_width, what_width) = fitting(id_width, what_width, columns);
        Self { lines, id_width, what_width, columns }
    }

    /// A line with its colours, or several if a note does not fit next to its node.
    pub(super) fn painted(&self, line: &DrawingLine<'_>, console: &Console) -> Vec<String> {
        let (branch, below, node, what) = match line {
            DrawingLine::LeftOut { branch, text } => {
                return vec![format!("{branch}{}", console.paint(DIM, text))];
            }
            DrawingLine::Node { branch, below, node, what } => (branch, below, *node, what),
        };
        let fill = |width: usize, used: usize| " ".repeat(width.saturating_sub(used));
        let (mut id, mut what) = (plain(&node.id), what.clone());
        if self.columns.is_some() {
            let room = self.id_width.saturating_sub(text::width(branch)).max(4);
            id = text::cut_middle(&id, room);
            what = text::cut(&what, self.what_width);
        }
        let id_fill = fill(self.id_width, text::width(branch) + text::width(&id));
        let what_fill = fill(self.what_width, text::width(&what));
        let id = match node.depth {
            0 => console.paint(BOLD, &id),
            _ => console.paint(CYAN, &id),
        };
        let state = format!("{:<9}", node.state.as_str());
        let state = console.paint(state_style(node.state), &state);
        let took = match node.settled_at_ms {
            Some(at) => length(at.saturating_sub(node.created_at_ms)),
            None => length(now_ms() - node.created_at_ms),
        };
        let line = format!("{branch}{id}{id_fill}  {what}{what_fill}  {state}  {took:>9}");
        let note = note(node);
        let style = note_style(node);
        let beside = format!("{line}  {}", console.paint(style, &note)).trim_end().to_owned();
        let Some(columns) = self.columns.filter(|columns| text::width(&beside) > *columns) else {
            return vec![beside];
        };
        let room = columns.saturating_sub(text::width(below)).max(20);
        let further = text::wrap(&note, room).into_iter();
        let further = further.map(|part| format!("{below}{}", console.paint(style, &part)));
        std::iter::once(line).chain(further).collect()
    }
}

/// The widths of the columns of ids and functions; the wider one is shortened first.
fn fitting(mut id: usize, mut what: usize, columns: Option<usize>) -> (usize, usize) {
    let Some(columns) = columns else { return (id, what) };
    let room = columns.saturating_sub(STATE + TOOK + 2).max(20);
    while id + what > room {
        if id > what { id -= 1 } else { what -= 1 }
    }
    (id, what)
}

/// The indices of nodes that are the last shown child of their parents.
fn last_children(nodes: &[TreeNode]) -> BTreeSet<usize> {
    let mut last = BTreeSet::new();
    // For each level, the last node seen on it.
    let mut open: Vec<usize> = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        let depth = node.depth as usize;
        // Nodes below this level were the last children of their parents.
        last.extend(open.drain((depth + 1).min(open.len())..));
        match open.get_mut(depth) {
            Some(sibling) => *sibling = place,
            None => open.push(place),
        }
    }
    last.extend(open);
    last
}

/// The branch lines before a node; `more` is true for levels on which further nodes follow; the
/// last level is the node's own.
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

/// The beginning of further lines of a node.
fn below(more: &[bool], has_children: bool) -> String {
    let mut below = String::new();
    for goes_on in more.iter().skip(1) {
        below.push_str(if *goes_on { "│  " } else { "   " });
    }
    below.push_str(if has_children { "│    " } else { "     " });
    below
}

/// A line with the number of children that are not shown; siblings may follow it.
fn left_out<'a>(parent: &TreeNode, more: &[bool], goes_on: bool) -> DrawingLine<'a> {
    let mut levels: Vec<bool> = more.iter().copied().take(parent.depth as usize + 1).collect();
    levels.push(goes_on);
    let shown = parent.children.saturating_sub(parent.left_out);
    // Children are counted up to 10,000.
    let at_least = if parent.children >= 10_000 { "at least " } else { "" };
    let text = match (shown, parent.left_out) {
        (0, count) => format!("… {at_least}{count} below"),
        (_, count) if parent.children < 10_000 => {
            format!("… {count} left out: `--width {}` shows them", parent.children)
        }
        (_, count) => format!("… {at_least}{count} left out: `--all` shows them"),
    };
    DrawingLine::LeftOut { branch: branch(&levels), text }
}

/// The name of a node: its function, or its kind.
fn what(node: &TreeNode) -> String {
    let kind = match node.kind {
        NodeKind::Call => {
            let target = node.target.as_deref().unwrap_or_default();
            return function(target, node.function.as_deref());
        }
        NodeKind::Step => "step",
        NodeKind::Timer => "timer",
        NodeKind::Signal => "signal",
        NodeKind::Promise => "promise",
    };
    kind.to_owned()
}

/// Further facts about a node: awaited promises, the holder, the failure.
fn note(node: &TreeNode) -> String {
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
    notes.extend(node.forked_from.as_ref().map(|from| format!("forked {}", forked_from(from))));
    if node.unread > 0 {
        notes.push(format!("{} unread", node.unread));
    }
    if node.detached {
        notes.push("detached".to_owned());
    }
    if node.settled_at_ms.is_some() {
        notes.extend(failed_attempts(node.attempt, node.attempt_error.as_deref()));
    }
    if let Some(error) = &node.error {
        notes.push(plain(error));
    }
    notes.join("; ")
}

/// The colour of a note.
fn note_style(node: &TreeNode) -> Style {
    match (&node.error, node.settled_at_ms) {
        (None, _) => Style::new(),
        (Some(_), Some(_)) => RED,
        (Some(_), None) => YELLOW,
    }
}

fn pending(node: &TreeNode, now: i64) -> Option<String> {
    match (node.kind, node.retry_at_ms, node.timeout_at_ms) {
        (NodeKind::Timer, _, Some(at)) => Some(relative(at, now)),
        (NodeKind::Call, Some(at), _) if node.attempt > 0 => {
            let attempt = node.attempt.saturating_add(1);
            Some(match at > now {
                true => format!("attempt {attempt} {}", relative(at, now)),
                false => format!("attempt {attempt} waits for a worker"),
            })
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
        let lines = TreeDrawing::of(nodes, None).lines;
        lines
            .iter()
            .map(|line| match line {
                DrawingLine::Node { branch, node, .. } => format!("{branch}{}", node.id),
                DrawingLine::LeftOut { branch, text } => format!("{branch}{text}"),
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
                "└─ … 898 left out: `--width 900` shows them",
            ]
        );
        let whole =
            [node("a", 0, 2, 0), node("b", 1, 1, 0), node("c", 2, 0, 0), node("d", 1, 0, 0)];
        assert_eq!(drawn(&whole), ["a", "├─ b", "│  └─ c", "└─ d"]);
        assert_eq!(drawn(&[node("a", 0, 10_000, 10_000)]), ["a", "└─ … at least 10000 below"]);
    }
}

//! Draws a plan in graph description languages.

use std::fmt::Write as _;

use super::CheckedPlan;
use crate::{progress::Status, topology::NodeIndex};

/// The plan in Mermaid's language, with a colour for each known status.
pub fn mermaid(plan: &CheckedPlan, statuses: impl Fn(NodeIndex) -> Option<Status>) -> String {
    let mut text = String::from("flowchart TD\n");
    let topology = plan.topology();
    let mut seen = Vec::new();
    for node in topology.nodes() {
        let class = statuses(node).map(|status| {
            seen.push(status);
            format!(":::{}", look(status).0)
        });
        let name = topology.name(node);
        line(&mut text, format_args!("  n{}[\"{name}\"]{}", node.0, class.unwrap_or_default()));
    }
    for node in topology.nodes() {
        for next in topology.successors(node) {
            line(&mut text, format_args!("  n{} --> n{}", node.0, next.0));
        }
    }
    for (class, colour) in ALL.into_iter().filter(|status| seen.contains(status)).map(look) {
        line(&mut text, format_args!("  classDef {class} fill:{colour},color:#000000"));
    }
    text
}

/// The plan in Graphviz's language, with a colour for each known status.
pub fn dot(plan: &CheckedPlan, statuses: impl Fn(NodeIndex) -> Option<Status>) -> String {
    let mut text = String::from(
        "digraph plan {\n  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n",
    );
    let topology = plan.topology();
    for node in topology.nodes() {
        let colour = statuses(node).map(|status| format!(" [fillcolor=\"{}\"]", look(status).1));
        let name = topology.name(node);
        line(&mut text, format_args!("  \"{name}\"{};", colour.unwrap_or_default()));
    }
    for node in topology.nodes() {
        for next in topology.successors(node) {
            let (from, to) = (topology.name(node), topology.name(*next));
            line(&mut text, format_args!("  \"{from}\" -> \"{to}\";"));
        }
    }
    text.push_str("}\n");
    text
}

const ALL: [Status; 6] = [
    Status::Pending,
    Status::Running,
    Status::Waiting,
    Status::Completed,
    Status::Skipped,
    Status::Failed,
];

/// The name and the colour of a status.
fn look(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Pending => ("pending", "#ffffff"),
        Status::Running => ("running", "#9ecbff"),
        Status::Waiting => ("waiting", "#ffe08a"),
        Status::Completed => ("completed", "#a6e3a1"),
        Status::Skipped => ("skipped", "#d0d0d0"),
        Status::Failed => ("failed", "#f4a6a6"),
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a text takes every line");
}

//! `segno graph show`.

use anstyle::Style;
use clap::{Args, ValueEnum};
use comfy_table::Color;
use segno_api::model::{GraphNode, GraphNodeState, GraphQuery, GraphRun};
use segno_client::Client;
use segno_graph::{
    NodeIndex,
    plan::{CheckedPlan, Plan, dot, mermaid},
    progress::Status,
};

use super::{drawing::draw, history};
use crate::cli::{
    CliError, Console, Exit,
    console::{BOLD, CYAN, DIM, GREEN, RED, YELLOW},
    item_table::ItemTable,
    show::{failure_line, plain, short_digest, state_style},
    table::{TextCell, TextColumn},
    text,
    time::{length, now_ms, relative},
};

/// Maximum number of nodes in a drawing; further ones are counted.
const DRAWN: usize = 400;
/// Number of nodes per request.
pub(super) const PAGE: u32 = 10_000;

/// Show the state of a run: its graph with states and times
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno graph show prices-1
  segno graph show prices-1 --format mermaid > prices.mmd
  segno graph show prices-1 --format dot | dot -Tsvg > prices.svg
  segno graph show prices-1 --history
  segno graph show prices-1 --json")]
pub(super) struct GraphShowArgs {
    /// Id of the run
    id: String,
    /// Format of the graph
    #[arg(long, value_enum, default_value = "tree")]
    format: GraphFormat,
    /// Show the history of each node instead of its current state
    #[arg(long, conflicts_with = "format")]
    history: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Drawn with lines
    Tree,
    /// A table
    Table,
    /// In Mermaid's language, coloured by state
    Mermaid,
    /// In the language of Graphviz, coloured by state
    Dot,
    /// The plan as JSON, in its canonical form
    Plan,
}

impl GraphShowArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        if self.history {
            let history = history::read(&self.id, client).await?;
            match console.json() {
                true => console.document(&history)?,
                false => history::table(&history.facts, console)?,
            }
            return Ok(Exit::Done);
        }
        match self.format {
            GraphFormat::Tree => return show(&self.id, client, console).await.map(|()| Exit::Done),
            GraphFormat::Table => {
                let run = whole(&self.id, client).await?;
                head(&run, console)?;
                list(&run.nodes, console)?;
            }
            GraphFormat::Plan => {
                let plan = client.graph_plan(&self.id).await?;
                console.document(&plan)?;
            }
            GraphFormat::Mermaid | GraphFormat::Dot => {
                let run = whole(&self.id, client).await?;
                let plan = plan(&self.id, client).await?;
                let status = |node: NodeIndex| {
                    let node = run.nodes.get(node.at())?;
                    status(node.state)
                };
                let text = match self.format {
                    GraphFormat::Mermaid => mermaid(&plan, status),
                    _ => dot(&plan, status),
                };
                console.line(text.trim_end())?;
            }
        }
        Ok(Exit::Done)
    }
}

/// Shows a run: its nodes as a graph, and the failures.
pub(super) async fn show(id: &str, client: &Client, console: &mut Console) -> Result<(), CliError> {
    let run = whole(id, client).await?;
    if console.json() {
        return console.document(&run);
    }
    head(&run, console)?;
    match run.nodes.len() <= DRAWN {
        true => picture(&run.nodes, console)?,
        false => {
            console.line(format!(
                "\n{} nodes are too many to be drawn; --format table lists them",
                run.nodes.len()
            ))?;
        }
    }
    failures(&run, console)
}

/// Reads a run with all its nodes.
async fn whole(id: &str, client: &Client) -> Result<GraphRun, CliError> {
    let mut run = client.graph(id, &GraphQuery { after: None, limit: Some(PAGE) }).await?;
    while let Some(after) = run.next.take() {
        let query = GraphQuery { after: Some(after), limit: Some(PAGE) };
        let page = client.graph(id, &query).await?;
        run.nodes.extend(page.nodes);
        run.next = page.next;
    }
    Ok(run)
}

async fn plan(id: &str, client: &Client) -> Result<CheckedPlan, CliError> {
    let text = client.graph_plan(id).await?.to_string();
    let plan = Plan::from_json(&text).and_then(|plan| plan.check());
    plan.map_err(|errors| CliError::Other { code: "invalid-plan", message: errors.to_string() })
}

fn head(run: &GraphRun, console: &mut Console) -> Result<(), CliError> {
    let now = now_ms();
    let state = console.paint(state_style(run.state), run.state.as_str());
    let took = length(run.settled_at_ms.unwrap_or(now) - run.created_at_ms);
    let id = console.paint(BOLD, &plain(&run.id));
    let named = run.name.as_ref().map(|name| format!("  {}", plain(name))).unwrap_or_default();
    let when = relative(run.created_at_ms, now);
    let rest =
        console.paint(DIM, &format!("started {when}, {took}, plan {}", short_digest(&run.digest)));
    console.line(format!("{id}{named}  {state}  {rest}"))?;
    let counts = run.counts.iter().map(|(state, count)| format!("{count} {}", state.as_str()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    console.line(counts)?;
    if let Some(before) = &run.continues {
        console
            .line(format!("takes over what {} completed", console.paint(CYAN, &plain(before))))?;
    }
    Ok(())
}

/// The drawing, with the action, state and duration of each node.
fn picture(nodes: &[GraphNode], console: &mut Console) -> Result<(), CliError> {
    let order = ordered(nodes);
    let place = |name: &str| order.iter().position(|node| node.name == name);
    let mut successors = vec![Vec::new(); order.len()];
    for (at, node) in order.iter().enumerate() {
        node.needs.iter().filter_map(|need| place(need)).for_each(|need| successors[need].push(at));
    }
    let Some(rows) = draw(&successors) else {
        console.line("")?;
        return list(nodes, console);
    };
    let width = rows.iter().map(|row| text::width(&row.lines)).max().unwrap_or_default();
    let names = order.iter().map(|node| text::width(&node.name)).max().unwrap_or_default();
    let whats = order.iter().map(|node| text::width(&node.what)).max().unwrap_or_default();
    let room = console.width().map(|all| all.saturating_sub(width + names + 30).max(8));
    let whats = room.map_or(whats, |room| whats.min(room));
    let now = now_ms();
    console.line("")?;
    for row in rows {
        let Some(node) = row.node.map(|at| order[at]) else {
            let lines = console.paint(DIM, &row.lines);
            console.line(lines)?;
            continue;
        };
        let mut lines = console.paint(style(node.state), &row.lines);
        lines.push_str(&" ".repeat(width - text::width(&row.lines)));
        let what = text::cut(&plain(&node.what), whats);
        let state = console.paint(style(node.state), &padded(node.state.as_str(), 9));
        let what = console.paint(DIM, &padded(&what, whats));
        let name = padded(&node.name, names);
        console
            .line(format!("{lines}  {name}  {what}  {state}  {}", took(node, now)).trim_end())?;
    }
    Ok(())
}

/// The nodes in topological order.
fn ordered(nodes: &[GraphNode]) -> Vec<&GraphNode> {
    let mut order: Vec<&GraphNode> = nodes.iter().collect();
    order.sort_by(|one, other| (one.layer, &one.name).cmp(&(other.layer, &other.name)));
    order
}

fn list(nodes: &[GraphNode], console: &mut Console) -> Result<(), CliError> {
    let now = now_ms();
    let table = ItemTable::new()
        .column(TextColumn::text("NODE"), |node: &GraphNode| plain(&node.name))
        .column(TextColumn::text("WHAT").rank(1), |node| plain(&node.what))
        .column(TextColumn::whole("STATE"), |node| {
            TextCell::colored(node.state.as_str(), color(node.state))
        })
        .column(TextColumn::number("TOOK"), |node| took(node, now))
        .column(TextColumn::number("ATTEMPT").rank(3), |node| node.attempt + 1)
        .column(TextColumn::text("NEEDS").rank(2), |node| node.needs.join(", "));
    console.table(&table.rows(ordered(nodes)))
}

fn failures(run: &GraphRun, console: &mut Console) -> Result<(), CliError> {
    for node in &run.nodes {
        if let Some(failure) = &node.failure {
            let line = console.paint(RED, &failure_line(failure));
            console.line(format!("\n{}: {line}", node.name))?;
        }
    }
    let waiting = run.nodes.iter().filter(|node| node.state == GraphNodeState::Waiting);
    for node in waiting {
        let signal = node.what.trim_start_matches("signal ");
        let hint = console.paint(DIM, &format!("segno signal {} {signal} JSON", run.id));
        console.line(format!("\n{} waits: {hint}", node.name))?;
    }
    let asked = run
        .nodes
        .iter()
        .filter(|node| node.what == "promise" && node.state == GraphNodeState::Running);
    for node in asked {
        let promise = node.promise.as_deref().unwrap_or_default();
        let hint = console.paint(DIM, &format!("segno resolve {promise} JSON"));
        console.line(format!("\n{} waits: {hint}", node.name))?;
    }
    if run.nodes.iter().all(|node| node.failure.is_none())
        && let Some(failure) = &run.failure
    {
        let line = console.paint(RED, &failure_line(failure));
        console.line(format!("\n{line}"))?;
    }
    if run.state.is_settled() && run.failure.is_some() {
        let hint = console.paint(DIM, &format!("segno graph retry-failed {}", run.id));
        console.line(format!("\na new run takes over what is completed: {hint}"))?;
    }
    Ok(())
}

fn took(node: &GraphNode, now: i64) -> String {
    let Some(started) = node.started_at_ms else { return String::new() };
    length(node.settled_at_ms.unwrap_or(now) - started)
}

fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text::width(text))))
}

fn style(state: GraphNodeState) -> Style {
    match state {
        GraphNodeState::Pending | GraphNodeState::Skipped | GraphNodeState::NotRun => DIM,
        GraphNodeState::Ready | GraphNodeState::Running => CYAN,
        GraphNodeState::Waiting => YELLOW,
        GraphNodeState::Completed => GREEN,
        GraphNodeState::Failed => RED,
    }
}

pub(super) fn color(state: GraphNodeState) -> Option<Color> {
    match state {
        GraphNodeState::Pending | GraphNodeState::Skipped | GraphNodeState::NotRun => None,
        GraphNodeState::Ready | GraphNodeState::Running => Some(Color::Cyan),
        GraphNodeState::Waiting => Some(Color::Yellow),
        GraphNodeState::Completed => Some(Color::Green),
        GraphNodeState::Failed => Some(Color::Red),
    }
}

/// The state in the form that drawings use.
fn status(state: GraphNodeState) -> Option<Status> {
    Some(match state {
        GraphNodeState::Pending | GraphNodeState::Ready | GraphNodeState::NotRun => Status::Pending,
        GraphNodeState::Running => Status::Running,
        GraphNodeState::Waiting => Status::Waiting,
        GraphNodeState::Completed => Status::Completed,
        GraphNodeState::Skipped => Status::Skipped,
        GraphNodeState::Failed => Status::Failed,
    })
}

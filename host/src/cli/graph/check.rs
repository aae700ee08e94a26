//! `segno graph check`.

use clap::Args;
use segno_api::model::StartGraph;
use segno_client::{Client, ClientError};
use serde_json::json;

use super::plan_file;
use crate::cli::{CliError, Console, Exit, console::GREEN, show::short_digest};

/// Check a plan; with --module also that the host has everything that it names
///
/// All faults are reported together, each with its place in the plan.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno graph check prices.toml
  segno graph check prices.json --module shop")]
pub(super) struct GraphCheckArgs {
    /// The plan: a TOML or JSON file, or - for standard input
    plan: String,
    /// Module whose functions the plan names without a module
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
}

impl GraphCheckArgs {
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let plan = plan_file::read(&self.plan)?;
        if self.module.is_some() {
            let sent = plan_file::to_send(&plan)?;
            let start = StartGraph { plan: sent, module: self.module, ..StartGraph::default() };
            client()?.check_graph(&start).await?;
        }
        let layers = plan.layers();
        let (nodes, edges) = (plan.topology().len(), plan.topology().edges());
        if console.json() {
            let digest = plan.digest_text();
            let depth = layers.len();
            let found = json!({ "nodes": nodes, "edges": edges, "depth": depth, "digest": digest });
            console.document(&found)?;
            return Ok(Exit::Done);
        }
        let widest = layers.iter().map(Vec::len).max().unwrap_or_default();
        let count = |number: usize, one: &str, many: &str| match number {
            1 => format!("1 {one}"),
            _ => format!("{number} {many}"),
        };
        let good = console.paint(GREEN, "fine");
        console.line(format!(
            "{}  {good}: {}, {}, {} deep, at most {} side by side, digest {}",
            self.plan,
            count(nodes, "node", "nodes"),
            count(edges, "edge", "edges"),
            layers.len(),
            widest.min(plan.max_parallel() as usize),
            short_digest(&plan.digest_text()),
        ))?;
        Ok(Exit::Done)
    }
}

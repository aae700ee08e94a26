//! `segno tree`.

mod drawing;

use clap::Args;

use self::drawing::Drawing;
use super::{CliError, Console, Exit, console::DIM, pages::Pages, show::plain};
use crate::{
    api::model::{TreePage, TreeQuery},
    client::Client,
};

/// The maximum depth of the API.
const DEEPEST: u32 = 64;

/// Show the call graph below an invocation or promise, through modules and external workers
///
/// Each line is a call, a step of a worker, a timer, a signal or a promise, with its state, its
/// duration so far, and the promises it waits for or its holder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno tree order-1001
  segno tree order-1001 --depth 2
  segno tree order-1001 --all | grep halted
  segno tree order-1001/3 --json | jq '.nodes[] | select(.state == \"pending\") | .id'")]
pub struct Tree {
    /// Id of the invocation or promise; one inside a tree shows the part below it
    id: String,
    /// Number of levels below it
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=64))]
    depth: u32,
    /// Maximum number of children of each node: some first ones, the latest, and besides those that
    /// it waits for
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    width: u32,
    /// Maximum number of lines
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print the whole tree
    #[arg(long, conflicts_with_all = ["depth", "width", "limit"])]
    all: bool,
}

impl Tree {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let page = self.fetch(client, console).await?;
        if console.json() {
            console.document(&page)?;
            return Ok(Exit::Done);
        }
        if let Some(root) = page.path.first() {
            let path: Vec<String> = page.path.iter().map(|id| plain(id)).collect();
            let whose = format!("part of {}", path.join(" › "));
            let whose = console.paint(DIM, &whose);
            console.line(format!("{whose}  (segno tree {})", plain(root)))?;
        }
        let drawn = Drawing::of(&page.nodes, console.width());
        for line in &drawn.lines {
            for line in drawn.painted(line, console) {
                console.line(line)?;
            }
        }
        if page.next.is_some() {
            console.remark("there is more: `--all` shows everything, and `--depth` and `--width` show less of it");
        }
        Ok(Exit::Done)
    }

    async fn fetch(self, client: &Client, console: &Console) -> Result<TreePage, CliError> {
        let _progress = console.progress("reading the tree");
        let (depth, width, pages) = match self.all {
            true => (DEEPEST, None, Pages::every()),
            false => (self.depth, Some(self.width), Pages::first(self.limit)),
        };
        let depth = Some(depth);
        let ask = async |after, limit| {
            let query = TreeQuery { depth, width, after, limit: Some(limit) };
            client.tree(&self.id, &query).await
        };
        Ok(pages.read(ask).await?)
    }
}

//! `segno tree`.

mod drawing;

use clap::Args;
use segno_api::model::{TreePage, TreeQuery};
use segno_client::{Client, ClientError};

use self::drawing::TreeDrawing;
use super::{
    CliError, Console, Exit,
    console::DIM,
    pages::PageOptions,
    show::plain,
    subject::{SubjectArgs, SubjectExecution},
};

/// The maximum depth of the API.
const DEEPEST: u32 = 64;

/// Show the call graph below an invocation or promise, through modules and external workers
///
/// Each line is a call, a step of a worker, a timer, a signal or a promise, with its state, its
/// duration so far, and the promises it waits for or its holder. Of an invocation or a promise inside
/// a tree, the part below it is shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno tree order-1001
  segno tree order-1001 --depth 2
  segno tree order-1001 --all | grep halted
  segno tree order.segno-bundle    # as it was when the bundle was made: no host, no network
  segno tree order-1001/3 --json | jq '.nodes[] | select(.state == \"pending\") | .id'")]
pub(super) struct TreeArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    shown: TreeSizeArgs,
}

/// Options for the size of the output.
#[derive(Debug, Args)]
struct TreeSizeArgs {
    /// Number of levels below it
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=64))]
    depth: u32,
    /// Maximum number of children of each node: the first ones, the latest ones, and in addition
    /// those that it waits for
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    width: u32,
    /// Maximum number of lines
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print the whole tree
    #[arg(long, conflicts_with_all = ["depth", "width", "limit"])]
    all: bool,
}

impl TreeArgs {
    pub(super) async fn run(
        self,
        host: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let Self { subject, shown } = self;
        let asked = subject.open(host, console).await?;
        let page = shown.fetch(&asked, console).await?;
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
        let drawn = TreeDrawing::of(&page.nodes, console.width());
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
}

impl TreeSizeArgs {
    async fn fetch(
        self,
        asked: &SubjectExecution,
        console: &Console,
    ) -> Result<TreePage, CliError> {
        let _progress = console.progress("reading the tree");
        let (depth, width, pages) = match self.all {
            true => (DEEPEST, None, PageOptions::every()),
            false => (self.depth, Some(self.width), PageOptions::first(self.limit)),
        };
        let depth = Some(depth);
        let ask = async |after, limit| {
            let query = TreeQuery { depth, width, after, limit: Some(limit) };
            asked.client.tree(&asked.id, &query).await
        };
        Ok(pages.read(ask).await?)
    }
}

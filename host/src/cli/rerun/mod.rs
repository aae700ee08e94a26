//! `segno rerun`.

mod report;

use clap::Args;
use segno_api::model::{FunctionName, RerunFilter, RerunPage, RerunRequest, UnansweredPolicy};
use segno_client::Client;

use self::report::{RerunChange, RerunReport};
use super::{
    CliError, Console, Exit,
    filter::FilterOptions,
    given::{GivenOptions, policy_parser},
    pages::{self, PageOptions},
};

/// Run recorded executions again in memory, with a change, and compare how they end
///
/// Each execution that has ended is run forward from its beginning, or from record --at, with other
/// results (--set, --fail) or other code (--module). Its own journal answers the same requests.
/// Nothing is stored, and nothing is done outside.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno rerun --function agent/answer --since 1d --module agent-next
  segno rerun --label customer=42 --set 1='{\"ok\":false}'
  segno rerun --function shop/order --module shop --unanswered fail
  segno rerun --id order-1001 --id order-1002 --at 7 --fail 3='card declined'
  segno rerun --function shop/order --all --module shop --json | jq .sums

Results: same, differs (it ends otherwise), failed (it fails, and did not before), diverged (the code
does not repeat the first --at records), unanswered (it asks for something that was not recorded),
skipped (with the reason).

The exit code is 0 if every execution that was run ends as recorded, 7 if one does not, and 3 if none
was run.")]
pub(super) struct RerunArgs {
    /// Function of the executions, by the alias of its module. For an object, it is
    /// MODULE/OBJECT/FUNCTION
    #[arg(long, value_name = "MODULE/FUNCTION", value_parser = FunctionName::parse)]
    function: Option<FunctionName>,
    #[command(flatten)]
    filter: FilterOptions,
    /// Id of an execution, instead of a filter; may be repeated
    #[arg(
        long = "id",
        value_name = "ID",
        conflicts_with_all = ["FilterOptions", "PageOptions", "function"]
    )]
    ids: Vec<String>,
    /// Number of records that each execution begins with, in the numbering of `segno inspect`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    at: u32,
    #[command(flatten)]
    given: GivenOptions,
    /// Module to run: its name or digest (default: the code that each execution ran)
    #[arg(long, value_name = "MODULE")]
    module: Option<String>,
    /// What a command gets if the recording has no answer: nothing, so that the execution ends there;
    /// a failure with code 404; or null
    #[arg(long, value_name = "POLICY", default_value = "stop", value_parser = policy_parser())]
    unanswered: UnansweredPolicy,
    #[command(flatten)]
    pages: PageOptions,
}

/// Maximum number of ids in a request.
const IDS_MAX: usize = 100;

impl RerunArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let request = RerunRequest {
            filter: RerunFilter { function: self.function, ..self.filter.rerun() },
            ids: None,
            at: self.at,
            set: self.given.results()?,
            module: self.module,
            unanswered: self.unanswered,
            after: None,
            limit: None,
        };
        let change = RerunChange {
            at: request.at,
            set: request.set.iter().map(|given| given.command).collect(),
            module: request.module.clone(),
            unanswered: request.unanswered,
        };
        let progress = console.progress("running executions again");
        let count = std::cell::Cell::new(0);
        let read = async |ids: Option<&[String]>, after, limit| {
            let ids = ids.map(<[String]>::to_vec);
            let asked = RerunRequest { ids, after, limit: Some(limit), ..request.clone() };
            let page = client.rerun(&asked).await?;
            count.set(count.get() + page.items.len());
            progress.say(format!("running executions again: {} so far", count.get()));
            Ok(page)
        };
        let page = match self.ids.is_empty() {
            true => self.pages.read(async |after, limit| read(None, after, limit).await).await?,
            false => {
                let mut all = RerunPage::default();
                for ids in self.ids.chunks(IDS_MAX) {
                    let pages = PageOptions::every();
                    let page = pages.read(async |after, limit| read(Some(ids), after, limit).await);
                    all.items.extend(page.await?.items);
                }
                all
            }
        };
        drop(progress);
        let report = RerunReport::new(change, page.items);
        if console.json() {
            console.document(&report)?;
            return Ok(report.exit());
        }
        if report.is_empty() {
            console.remark("no executions match: `segno list --all` shows what there is");
            return Ok(report.exit());
        }
        report.print(console)?;
        pages::say_more(page.next.as_deref(), console);
        Ok(report.exit())
    }
}

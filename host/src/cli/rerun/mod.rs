//! `segno rerun`.

mod path;
mod report;
mod row;
mod sums;

use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use segno_api::model::{ForkInvocation, InvocationQuery, UnansweredPolicy};
use segno_client::{Client, ClientError};

use self::{
    report::{RerunChange, RerunReport},
    row::{RerunRow, RerunSubject},
};
use super::{
    CliError, Console, Exit,
    filter::FilterOptions,
    given::{GivenOptions, policy_parser},
    pages::{self, PageOptions},
    show::short_target,
};

/// Maximum number of executions that run at the same time.
const CONCURRENT: usize = 4;

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
    #[arg(long, value_name = "MODULE/FUNCTION", value_parser = FunctionName::read)]
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

/// A function of a module, or of all objects of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FunctionName {
    module: String,
    /// The type of the object, if the function belongs to one.
    object: Option<String>,
    name: String,
}

impl FunctionName {
    /// Parses `MODULE/FUNCTION` and `MODULE/OBJECT/FUNCTION`.
    fn read(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.trim_start_matches("wasm://").split('/').collect();
        let (module, object, name) = match parts.as_slice() {
            [module, name] => (module, None, name),
            [module, object, name] => (module, Some((*object).to_owned()), name),
            _ => return Err("write it as MODULE/FUNCTION".to_owned()),
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err("write it as MODULE/FUNCTION".to_owned());
        }
        Ok(Self { module: (*module).to_owned(), object, name: (*name).to_owned() })
    }

    /// True if an address names this function: `agent/Chat/say` is one of `agent/Chat@ada/say`.
    fn is_in(&self, target: &str) -> bool {
        let path = short_target(target).split_once('/').map_or("", |(_, path)| path);
        match (&self.object, path.split_once('@')) {
            (None, None) => path == self.name,
            (Some(object), Some((own, _))) => own == object,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl RerunArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let request = ForkInvocation {
            at: self.at,
            set: self.given.results()?,
            module: self.module.clone(),
            id: None,
            dry_run: true,
            unanswered: self.unanswered,
        };
        let change = RerunChange {
            at: request.at,
            set: request.set.iter().map(|given| given.command).collect(),
            module: request.module.clone(),
            unanswered: request.unanswered,
        };
        let (subjects, next) = self.subjects(client, console).await?;
        let rows = rows(client, &request, subjects, console).await?;
        let report = RerunReport::new(change, rows);
        if console.json() {
            console.document(&report)?;
            return Ok(report.exit());
        }
        if report.is_empty() {
            console.remark("no executions match: `segno list --all` shows what there is");
            return Ok(report.exit());
        }
        report.print(console)?;
        pages::say_more(next.as_deref(), console);
        Ok(report.exit())
    }

    /// The selected executions, and the cursor of further ones.
    async fn subjects(
        self,
        client: &Client,
        console: &Console,
    ) -> Result<(Vec<RerunSubject>, Option<String>), CliError> {
        let _progress = console.progress("listing");
        if !self.ids.is_empty() {
            let mut subjects = Vec::new();
            for id in &self.ids {
                subjects.push(match client.invocation(id).await {
                    Ok(invocation) => invocation.into(),
                    Err(ClientError::Refused(problem)) if problem.status == 404 => {
                        RerunSubject::missing(id, problem.detail.clone())
                    }
                    Err(error) => return Err(error.into()),
                });
            }
            return Ok((subjects, None));
        }
        let names_calls = self.function.is_some() || self.filter.prefix.is_some();
        let query = InvocationQuery {
            module: self.function.as_ref().map(|function| function.module.clone()),
            function: self.function.as_ref().map(|function| function.name.clone()),
            roots: (!names_calls).then_some(true),
            ..self.filter.query()
        };
        let ask = async |after, limit| {
            let query = InvocationQuery { after, limit: Some(limit), ..query.clone() };
            let mut page = client.list(&query).await?;
            let is_meant = |target: &str| self.function.as_ref().is_none_or(|it| it.is_in(target));
            page.items.retain(|item| is_meant(&item.target));
            self.filter.retain(&mut page);
            Ok(page)
        };
        let page = self.pages.read(ask).await?;
        let unreadable = page.unreadable.into_iter().map(RerunSubject::from);
        Ok((page.items.into_iter().map(RerunSubject::from).chain(unreadable).collect(), page.next))
    }
}

/// Runs the executions, several at a time. The rows are in the order of the executions.
async fn rows(
    client: &Client,
    request: &ForkInvocation,
    subjects: Vec<RerunSubject>,
    console: &Console,
) -> Result<Vec<RerunRow>, CliError> {
    let all = subjects.len();
    let progress = console.progress(format!("running {all} executions again"));
    let one = |subject: RerunSubject| async move {
        match subject.skipped() {
            Some(row) => Ok(row),
            None => subject.row(client.fork(&subject.id, request).await),
        }
    };
    let mut rows = Vec::new();
    let mut running = stream::iter(subjects.into_iter().map(one)).buffered(CONCURRENT);
    while let Some(row) = running.try_next().await? {
        rows.push(row);
        progress.say(format!("running {} of {all} executions again", rows.len()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::FunctionName;

    #[test]
    fn a_function_is_found_by_its_module_and_its_object() {
        let name = |text| FunctionName::read(text).expect("it is a name");
        for (text, target, is_it) in [
            ("shop/order", "wasm://shop/order", true),
            ("wasm://shop/order", "wasm://shop/order", true),
            ("shop/order", "wasm://shop/reorder", false),
            ("agent/say", "wasm://agent/Chat@ada/say", false),
            ("agent/Chat/say", "wasm://agent/Chat@ada/say", true),
            ("agent/Chat/say", "wasm://agent/Room@ada/say", false),
            ("agent/Chat/say", "wasm://agent/say", false),
        ] {
            assert_eq!(name(text).is_in(target), is_it, "{text} {target}");
        }
        for text in ["order", "shop/", "/order", "a/b/c/d", ""] {
            assert!(FunctionName::read(text).is_err(), "{text}");
        }
    }
}

//! `segno deploy --shadow`: new code beside live executions.

use std::time::Duration;

use segno_api::model::{CheckedExecution, ShadowRequest};
use segno_client::Client;
use serde::Serialize;

use super::{
    CliError, Console, Exit, check,
    console::{CYAN, DIM},
    polling::PollDeadline,
    show::short_digest,
    time::{as_ms, length as shown},
};

/// Maximum time that one request follows; progress is shown in between.
const STRETCH: Duration = Duration::from_secs(10);
/// Maximum number of differing executions named to the host, so that it does not report them again.
/// Beyond this number, further ones add no information.
const KNOWN: usize = 1_000;

/// The findings.
#[derive(Debug, Serialize)]
struct ShadowReport {
    alias: String,
    candidate: String,
    /// Number of followed executions.
    executions: u64,
    /// Number of compared records.
    records: u64,
    differences: Vec<CheckedExecution>,
}

/// Runs `candidate` beside the live executions of `alias`, for `length`.
///
/// # Errors
/// The host did not answer.
pub(super) async fn follow(
    client: &Client,
    alias: &str,
    candidate: &str,
    length: Duration,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let time = PollDeadline::of(Some(length))?;
    let mut found = ShadowReport {
        alias: alias.to_owned(),
        candidate: candidate.to_owned(),
        executions: 0,
        records: 0,
        differences: Vec::new(),
    };
    if !console.json() {
        let (name, digest) = (console.paint(CYAN, alias), short_digest(candidate));
        let digest = console.paint(DIM, digest);
        let time_left = shown(i64::try_from(as_ms(length)?).unwrap_or(i64::MAX));
        console.line(format!("{name}  {digest}  runs without effects, for {time_left}"))?;
    }
    loop {
        let wait = time.left().min(STRETCH);
        let request = ShadowRequest {
            candidate: candidate.to_owned(),
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
            known: found.differences.iter().map(|execution| execution.id.clone()).collect(),
        };
        let progress = console.progress(format!(
            "following {} executions, {} records",
            found.executions, found.records
        ));
        let looked = client.shadow(alias, &request).await?;
        drop(progress);
        found.executions = found.executions.max(looked.executions);
        found.records = found.records.max(looked.records);
        if !console.json() {
            check::print_differences(&looked.differences, console)?;
        }
        found.differences.extend(looked.differences);
        if time.left().is_zero() || found.differences.len() >= KNOWN {
            break;
        }
    }
    let exit = if found.differences.is_empty() { Exit::Done } else { Exit::Diverged };
    if console.json() {
        console.document(&found)?;
        return Ok(exit);
    }
    console.line("")?;
    console.line(found.summary())?;
    Ok(exit)
}

impl ShadowReport {
    fn summary(&self) -> String {
        let Self { executions, records, differences, .. } = self;
        match differences.len() {
            0 => format!("all {executions} executions did the same, {records} records in all"),
            many => format!("{many} of {executions} executions differ; nothing was activated"),
        }
    }
}

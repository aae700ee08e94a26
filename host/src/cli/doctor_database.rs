//! `segno doctor --database`.

use segno_env::Env;
use segno_store::postgres::{PostgresConfig, ServerFinding, ServerVerdict, examine_server};
use serde_json::{Value, json};

use super::{
    CliError, Console, Exit,
    build::other,
    console::{GREEN, RED, YELLOW},
    table::{TextCell, TextColumn, TextTable},
};

/// Examines the server at `address` with scripts of `steps` commands.
pub(super) async fn examine(
    address: &str,
    steps: usize,
    console: &mut Console,
) -> Result<Exit, CliError> {
    let config =
        PostgresConfig::new(address).map_err(|error| CliError::Usage(error.to_string()))?;
    let shown = config.shown().to_owned();
    let progress = console.progress("examining the server");
    let say = |check: &str| progress.say(format!("examining the server: {check}"));
    let findings = examine_server(config, steps, &Env::system(), say).await;
    drop(progress);
    let findings = findings.map_err(|error| other("not-opened", &error))?;
    let fails = findings.iter().any(|finding| finding.verdict == ServerVerdict::Fails);
    if console.json() {
        let items: Vec<Value> = findings.iter().map(document).collect();
        console.document(&json!({ "address": shown, "usable": !fails, "findings": items }))?;
    } else {
        let mut table = TextTable::new(&[
            TextColumn::prose("CHECK"),
            TextColumn::prose("RESULT"),
            TextColumn::prose("DETAIL"),
        ]);
        for finding in &findings {
            table.row([finding.check, word(finding.verdict), &finding.detail].map(TextCell::from));
        }
        console.table(&table)?;
        let risks = findings.iter().any(|finding| finding.verdict == ServerVerdict::Risky);
        let verdict = match (fails, risks) {
            (true, _) => console.paint(RED, "hosts cannot use this server"),
            (false, true) => console.paint(YELLOW, "hosts can use this server, with a risk"),
            (false, false) => console.paint(GREEN, "hosts can use this server"),
        };
        console.line(format!("\n{shown}: {verdict}"))?;
    }
    Ok(if fails { Exit::Damaged } else { Exit::Done })
}

fn word(verdict: ServerVerdict) -> &'static str {
    match verdict {
        ServerVerdict::Works => "works",
        ServerVerdict::Absent => "not needed",
        ServerVerdict::Risky => "risk",
        ServerVerdict::Fails => "fails",
    }
}

fn document(finding: &ServerFinding) -> Value {
    json!({ "check": finding.check, "result": word(finding.verdict), "detail": finding.detail })
}

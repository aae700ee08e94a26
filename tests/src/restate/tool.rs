//! The released command of Restate, and the canonical form of its output.

use std::{path::PathBuf, process::Stdio};

use super::{Runtime, sdk};

/// Path of the command.
#[derive(Debug, Clone)]
pub struct Tool(PathBuf);

impl Tool {
    /// The installed command. `None` if it is unavailable, with the reason on standard error.
    pub fn installed() -> Option<Self> {
        sdk::command().map(Self)
    }

    /// Runs the command against a runtime. Returns its output in canonical form, and its exit
    /// status.
    ///
    /// # Panics
    /// If the command does not start.
    pub async fn run(&self, runtime: &Runtime, arguments: &[&str]) -> String {
        let output = tokio::process::Command::new(&self.0)
            .args(["--time-format", "iso8601", "--yes"])
            .args(arguments)
            .env_clear()
            .env("RESTATE_ADMIN_URL", &runtime.admin)
            .env("RESTATE_INGRESS_URL", &runtime.ingress)
            // A missing folder, so that a person's own settings have no effect.
            .env("RESTATE_CLI_CONFIG_HOME", "/nonexistent")
            .env("NO_COLOR", "1")
            .env("DO_NOT_TRACK", "1")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .expect("the command starts");
        let printed =
            [output.stdout, output.stderr].map(|text| canonical(&String::from_utf8_lossy(&text)));
        let status = output.status.code().unwrap_or(-1);
        format!("{}[{status}]", printed.concat())
    }
}

/// The output with single spaces, without the parts that differ from run to run.
fn canonical(printed: &str) -> String {
    let mut text = String::new();
    for line in printed.lines() {
        let words = without_times(line.split_whitespace().map(str::to_owned).collect());
        let mut line = words.join(" ");
        if !line.is_empty() && line.chars().all(|letter| letter == '―') {
            line = "―".to_owned();
        }
        for (before, kept) in [("Query took ", "<length>"), ("Idempotency key: ", "<key>")] {
            if let Some((start, _)) = line.split_once(before) {
                line = format!("{start}{before}{kept}");
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
    text.trim_start_matches('\n').to_owned()
}

/// The words of a line without instants, like `2026-01-31 12:00:00.5 +00:00` and `Sat 31 Jan 2026
/// 12:00:00 +00:00`, and without durations, like `PT1.5S`.
fn without_times(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for word in words {
        let (bare, after) = word.split_at(word.trim_end_matches([']', ')']).len());
        let is_length = bare.trim_start_matches('(').starts_with("PT") && bare.ends_with('S');
        let before = kept.len().checked_sub(2).map(|place| kept[place].clone());
        match (bare, before) {
            ("+00:00", Some(date)) if kept.last().is_some_and(|time| time.contains(':')) => {
                let length = if date.contains('-') { 2 } else { 5 };
                let first = kept.len().saturating_sub(length);
                let bracket = if kept[first].starts_with('[') { "[" } else { "" };
                kept.truncate(first);
                kept.push(format!("{bracket}<time>{after}"));
            }
            _ if is_length => {
                let bracket = if bare.starts_with('(') { "(" } else { "" };
                kept.push(format!("{bracket}<length>{after}"));
            }
            _ => kept.push(word),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let printed = "\n  Status:   running  (PT3.5S)   \n oldest inv_1a completed (invoked PT0.4S)\n―――――\n\n\
            3 rows. Query took 26.6ms\n Cell (3 active keys) \n ❯ [2026-01-31 12:00:00.5 +00:00] inv_1a\n\
            Created at: Sat 31 Jan 2026 12:00:00 +00:00 (PT1S ago)\n";
        let expected = "Status: running (<length>)\noldest inv_1a completed (invoked <length>)\n―\n\n\
            3 rows. Query took <length>\nCell (3 active keys)\n❯ [<time>] inv_1a\nCreated at: <time> (<length> ago)\n";
        assert_eq!(canonical(printed), expected);
    }
}

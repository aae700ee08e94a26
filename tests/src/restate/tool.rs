//! The released command of Restate, and the canonical form of what it prints.

use std::{path::PathBuf, process::Stdio};

use super::{Runtime, sdk};

/// The command.
#[derive(Debug, Clone)]
pub struct Tool(PathBuf);

impl Tool {
    /// The command; none if it cannot be had here, and standard error says why.
    pub fn installed() -> Option<Self> {
        sdk::command().map(Self)
    }

    /// What it prints at a runtime, in canonical form, and the status with which it ends.
    ///
    /// # Panics
    /// It does not start.
    pub async fn run(&self, runtime: &Runtime, arguments: &[&str]) -> String {
        let output = tokio::process::Command::new(&self.0)
            .args(["--time-format", "iso8601", "--yes"])
            .args(arguments)
            .env_clear()
            .env("RESTATE_ADMIN_URL", &runtime.admin)
            .env("RESTATE_INGRESS_URL", &runtime.ingress)
            // Nowhere: what a person has set counts for nothing.
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

/// What it prints with one space where there are several, without what differs from one run to the next.
fn canonical(printed: &str) -> String {
    let mut text = String::new();
    for line in printed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut line = without_lengths(&words.join(" "));
        if line.chars().all(|letter| letter == '―') {
            line = "―".to_owned();
        }
        if let Some((before, _)) = line.split_once("Query took ") {
            line = format!("{before}Query took <length>");
        }
        if let Some((before, _)) = line.split_once("Idempotency key: ") {
            line = format!("{before}Idempotency key: <key>");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.trim_start_matches('\n').to_owned()
}

/// The same without lengths of time in brackets, like `(2 seconds and 13 ms)`.
fn without_lengths(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, after)) = rest.split_once('(') {
        let Some((within, behind)) = after.split_once(')') else { break };
        let is_length = within.ends_with(" ago")
            || [" ms", " second", " seconds"].iter().any(|unit| within.ends_with(unit));
        let within = match within.strip_suffix(" ago") {
            Some(ago) if ago.starts_with("invoked ") => "invoked <length> ago",
            Some(_) => "<length> ago",
            None if is_length => "<length>",
            None => within,
        };
        text.push_str(&format!("{before}({within})"));
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        let printed = "\n  Status:   running  (3 seconds and 663 ms)   \n oldest inv_1a completed (invoked now ago)\n―――――\n\
            3 rows. Query took 26.6ms\n Cell (3 active keys) \n";
        let expected = "Status: running (<length>)\noldest inv_1a completed (invoked <length> ago)\n―\n\
            3 rows. Query took <length>\nCell (3 active keys)\n";
        assert_eq!(canonical(printed), expected);
    }
}

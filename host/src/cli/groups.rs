//! Groups the commands for `segno --help` and `segno help`.

use std::fmt::Write as _;

use clap::{Command, builder::StyledStr};

use super::text::wrap;

/// Width of the help, and of the column before descriptions.
const WIDTH: usize = 80;
const INDENT: usize = 14;

/// The groups in order, each with its commands in order.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Write and deploy", &["new", "build", "dev", "deploy", "undeploy", "modules", "types"]),
    ("Run", &["start", "call", "result", "signal", "resolve", "reject", "query", "update"]),
    ("Find out", &["list", "inspect", "why", "tree", "logs", "stream", "events"]),
    ("Replay", &["replay", "rerun", "bundle", "verify"]),
    ("Repair", &["cancel", "kill", "halt", "continue", "restart", "fork", "remove"]),
    (
        "Promises, objects, limits and the like",
        &[
            "promise", "saga", "graph", "task", "schedule", "object", "limit", "budget",
            "resource", "blob",
        ],
    ),
    (
        "Hosts and stores",
        &["serve", "endpoint", "ready", "doctor", "recovery", "size", "shards", "export", "import"],
    ),
    ("Segno itself", &["mcp", "demo", "docs", "completions", "man", "bench", "help"]),
];

/// Adds a help text to the command that lists its subcommands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> StyledStr {
    let styles = command.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        let _ = write!(text, "\n{header}{group}:{header:#}\n");
        for name in names {
            let about = match command.find_subcommand(name) {
                Some(command) => command.get_about().map(ToString::to_string).unwrap_or_default(),
                None => "Print this help, or that of a command".to_owned(),
            };
            let about = wrap(&about, WIDTH - INDENT).join(&format!("\n{:INDENT$}", ""));
            let _ = writeln!(text, "  {literal}{name:<12}{literal:#}{about}");
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::{GROUPS, grouped};
    use crate::cli::Cli;

    #[test]
    fn every_command_stands_in_one_group_and_fits_80_columns() {
        let command = grouped(Cli::command());
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: BTreeSet<&str> = shown.map(|command| command.get_name()).collect();
        shown.insert("help");
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(listed.len(), shown.len(), "a command is listed twice");
        let help = grouped(Cli::command()).render_help().to_string();
        assert!(help.contains("Find out:\n  list        "), "{help}");
        let grouped = help.lines().take_while(|line| *line != "Options:");
        for line in grouped.skip_while(|line| !line.starts_with("Write and")) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

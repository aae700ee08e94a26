//! The page of the command line, generated from clap's command tree.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _, builder::StyledStr};
use segno::cli::Cli;

use super::table::table;

const BEGIN: &str = "# The command line

Made from the commands themselves: what `segno COMMAND --help` prints. Every command ends with an [exit code](#exit-codes) and
takes the [global options](#global-options).

";

/// Generates the page.
pub(super) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = BEGIN.to_owned();
    for command in shown(&root) {
        describe(&mut page, command, 2);
    }
    page += "## Global options\n\n";
    page += &arguments(root.get_arguments().filter(|argument| argument.is_global_set()));
    page += "## Exit codes\n\n";
    page += &block(&text(root.get_after_help()).replace("Exit codes:\n", ""));
    format!("{}\n", page.trim_end())
}

fn describe(page: &mut String, command: &Command, level: usize) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = text(command.get_long_about().or_else(|| command.get_about()));
    let _ = write!(page, "{} `{name}`\n\n{about}\n\n", "#".repeat(level));
    let inner: Vec<&Command> = shown(command).collect();
    if inner.is_empty() {
        page.push_str(&block(usage));
    }
    let own = |argument: &&Arg| !argument.is_global_set();
    page.push_str(&arguments(command.get_arguments().filter(own)));
    let after = text(command.get_after_long_help().or_else(|| command.get_after_help()));
    if !after.is_empty() {
        page.push_str(&block(&after));
    }
    for command in inner {
        describe(page, command, level + 1);
    }
}

/// Subcommands of a command, without clap's own.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let inner = command.get_subcommands();
    inner.filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

fn arguments<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let own = |argument: &&Arg| !matches!(argument.get_id().as_str(), "help" | "version");
    let arguments = arguments.filter(|argument| !argument.is_hide_set()).filter(own);
    let rows: Vec<[String; 2]> =
        arguments.map(|argument| [format!("`{}`", name(argument)), meaning(argument)]).collect();
    table(["argument", "meaning"], &rows)
}

/// An argument in its written form.
fn name(argument: &Arg) -> String {
    // clap's own form, without colours: `-o, --out <FILE>`.
    let short = argument.get_short().filter(|_| argument.get_long().is_some());
    let short = short.map_or(String::new(), |short| format!("-{short}, "));
    format!("{short}{argument}")
}

fn meaning(argument: &Arg) -> String {
    let mut meaning = text(argument.get_long_help().or_else(|| argument.get_help()));
    let takes_values = argument.get_action().takes_values();
    let values = argument.get_possible_values();
    let values = values.iter().filter(|value| takes_values && !value.is_hide_set());
    let values: Vec<String> = values
        .map(|value| match text(value.get_help()) {
            help if help.is_empty() => format!("`{}`", value.get_name()),
            help => format!("`{}` ({})", value.get_name(), help.trim_end_matches('.')),
        })
        .collect();
    let defaults = argument.get_default_values().iter().filter(|_| takes_values);
    let defaults: Vec<String> =
        defaults.map(|value| format!("`{}`", value.to_string_lossy())).collect();
    let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
    if !values.is_empty() {
        let _ = write!(meaning, ". One of {}", values.join(", "));
    }
    if !defaults.is_empty() {
        let _ = write!(meaning, ". Default: {}", defaults.join(", "));
    }
    if let Some(variable) = variable {
        let _ = write!(meaning, ". Else from `{variable}`");
    }
    meaning
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map_or(String::new(), |styled| styled.to_string().trim().to_owned())
}

fn block(text: &str) -> String {
    format!("```text\n{}\n```\n\n", text.trim_end())
}

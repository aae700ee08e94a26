//! The command line: one file per command, on top of [`crate::client`].
//!
//! Answers go to standard output, everything else (progress, warnings, errors) to standard error.

mod attempts;
mod behind;
mod bundled;
mod color;
mod console;
mod exit;
mod groups;
mod input;
mod narrator;
mod node;
mod object;
mod open_files;
mod pages;
mod polling;
mod show;
mod table;
mod text;
mod time;
mod timeline;

mod bench;
mod build;
mod bundle;
mod call;
mod check;
mod compile;
mod completions;
mod control;
mod costs;
mod demo;
mod deploy;
mod dev;
mod difference;
mod docs;
mod doctor;
mod endpoint;
mod events;
mod export;
mod fork;
mod graph;
mod halt;
mod import;
mod inspect;
mod limit;
mod limit_words;
mod list;
mod logging;
mod logs;
mod man;
mod modules;
mod moment;
mod new;
mod payments;
mod place;
mod proceed;
mod promise;
mod query;
mod ready;
mod recovery;
mod remove;
mod replay;
mod resonate;
mod resource;
mod restart;
mod restate;
mod result;
mod saga;
mod schedule;
mod serve;
mod serve_events;
mod serve_tokens;
mod serve_traces;
mod settle;
mod shadow;
mod signal;
mod size;
mod start;
mod step;
mod store_address;
mod subject;
mod task;
mod tree;
mod undeploy;
mod update;
mod verify;
mod why;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::client::Client;

pub use color::Color;
pub use console::Console;
pub use exit::{CliError, Exit};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  an error, said on standard error
  2  wrong usage
  3  not found
  4  the invocation failed
  5  the invocation was cancelled
  6  the invocation timed out, is halted, or has not ended within --wait
  7  a replay diverged
  8  the host does not answer
  9  the store is damaged (doctor), or a bundle is
  10 something was found (verify)";

/// Durable functions as WebAssembly components: build, deploy, run, inspect and replay them.
#[derive(Debug, Parser)]
#[command(name = "segno", version, after_help = EXIT_CODES, propagate_version = true)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, clap::Args)]
struct Global {
    /// Address of the host
    #[arg(
        long,
        global = true,
        env = "SEGNO_SERVER",
        value_name = "URL",
        default_value = "http://127.0.0.1:7766",
        help_heading = "Global options"
    )]
    server: String,
    /// Token for the host
    #[arg(
        long,
        global = true,
        env = "SEGNO_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    token: Option<String>,
    /// Print the answer as JSON
    #[arg(long, global = true, help_heading = "Global options")]
    json: bool,
    /// Show everything whole: on a terminal, tables and long texts are cut to its width
    #[arg(long, global = true, conflicts_with = "json", help_heading = "Global options")]
    full: bool,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t = Color::Auto,
        help_heading = "Global options"
    )]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::New),
    Build(build::Build),
    Serve(Box<serve::Serve>),
    Endpoint(Box<endpoint::Endpoint>),
    Ready(ready::Ready),
    Dev(dev::Dev),
    Deploy(deploy::Deploy),
    Undeploy(undeploy::Undeploy),
    Modules(modules::Modules),
    Start(start::Start),
    Call(call::Call),
    Result(result::ResultOf),
    List(list::List),
    Inspect(inspect::Inspect),
    Why(why::Why),
    Tree(tree::Tree),
    Logs(logs::Logs),
    Events(events::Events),
    Resolve(settle::Resolve),
    Reject(settle::Reject),
    Signal(signal::Signal),
    Query(query::Query),
    Update(update::Update),
    Promise(promise::Promise),
    Saga(saga::Saga),
    Graph(graph::Graph),
    Task(task::Task),
    Schedule(schedule::Schedule),
    Object(object::Object),
    Limit(Box<limit::Limit>),
    Resource(resource::Resource),
    Cancel(control::Cancel),
    Kill(control::Kill),
    Halt(halt::Halt),
    Continue(proceed::Continue),
    Restart(restart::Restart),
    Fork(fork::Fork),
    Remove(remove::Remove),
    Replay(replay::Replay),
    Bundle(bundle::Bundle),
    Verify(verify::Verify),
    Recovery(recovery::Recovery),
    Doctor(doctor::Doctor),
    Size(size::Size),
    Export(export::Export),
    Import(import::Import),
    Completions(completions::Completions),
    Man(man::Man),
    Docs(docs::Docs),
    Demo(demo::Demo),
    Bench(bench::Bench),
    #[command(hide = true)]
    Payments(payments::Payments),
    #[command(hide = true)]
    CompileComponent(compile::CompileComponent),
}

impl Cli {
    /// Returns true if JSON was requested.
    pub fn json(&self) -> bool {
        self.global.json
    }

    /// Returns true if nothing is to be cut.
    pub fn full(&self) -> bool {
        self.global.full
    }

    /// The use of colours.
    pub fn color(&self) -> Color {
        self.global.color
    }

    /// Parses the arguments, the program's name first.
    ///
    /// # Errors
    /// clap's error, which may be help or version.
    pub fn read<A: Into<OsString> + Clone>(
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Self, clap::Error> {
        let matches = groups::grouped(Self::command()).try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }

    /// Runs the command. Errors are printed on `console`.
    pub async fn run(self, console: &mut Console) -> Exit {
        match self.execute(console).await {
            Ok(exit) => exit,
            Err(error) => {
                console.error(&error);
                error.exit()
            }
        }
    }

    async fn execute(self, console: &mut Console) -> Result<Exit, CliError> {
        let Self { global, command } = self;
        let client = || Client::new(&global.server, global.token.as_deref());
        match command {
            Command::New(command) => command.run(console),
            Command::Build(command) => command.run(console).await,
            Command::Serve(command) => command.run(global.token.as_deref(), console).await,
            Command::Endpoint(command) => command.run(client, console).await,
            Command::Deploy(command) => command.run(client, console).await,
            Command::Dev(command) => command.run(&client()?, console).await,
            Command::Ready(command) => command.run(&client()?, console).await,
            Command::Undeploy(command) => command.run(&client()?, console).await,
            Command::Modules(command) => command.run(&client()?, console).await,
            Command::Start(command) => command.run(&client()?, console).await,
            Command::Call(command) => command.run(&client()?, console).await,
            Command::Result(command) => command.run(&client()?, console).await,
            Command::List(command) => command.run(client, console).await,
            Command::Inspect(command) => command.run(client, console).await,
            Command::Why(command) => command.run(&client()?, console).await,
            Command::Tree(command) => command.run(client, console).await,
            Command::Logs(command) => command.run(client, console).await,
            Command::Events(command) => command.run(&client()?, console).await,
            Command::Resolve(command) => command.run(&client()?, console).await,
            Command::Reject(command) => command.run(&client()?, console).await,
            Command::Signal(command) => command.run(&client()?, console).await,
            Command::Query(command) => command.run(&client()?, console).await,
            Command::Update(command) => command.run(&client()?, console).await,
            Command::Promise(command) => command.run(&client()?, console).await,
            Command::Saga(command) => command.run(&client()?, console).await,
            Command::Graph(command) => command.run(client, console).await,
            Command::Task(command) => command.run(&client()?, console).await,
            Command::Object(command) => command.run(&client()?, console).await,
            Command::Limit(command) => command.run(&client()?, console).await,
            Command::Resource(command) => command.run(&client()?, console).await,
            Command::Schedule(command) => command.run(&client()?, console).await,
            Command::Cancel(command) => command.run(&client()?, console).await,
            Command::Kill(command) => command.run(&client()?, console).await,
            Command::Halt(command) => command.run(&client()?, console).await,
            Command::Continue(command) => command.run(&client()?, console).await,
            Command::Restart(command) => command.run(&client()?, console).await,
            Command::Fork(command) => command.run(&client()?, console).await,
            Command::Remove(command) => command.run(&client()?, console).await,
            Command::Replay(command) => command.run(client, console).await,
            Command::Bundle(command) => command.run(&client()?, console).await,
            Command::Verify(command) => command.run(console).await,
            Command::Recovery(command) => command.run(console),
            Command::Doctor(command) => command.run(console).await,
            Command::Size(command) => command.run(console).await,
            Command::Export(command) => command.run(console).await,
            Command::Import(command) => command.run(console).await,
            Command::Completions(command) => command.run(console),
            Command::Man(command) => command.run(console),
            Command::Docs(command) => command.run(console),
            Command::Demo(command) => command.run(console).await,
            Command::Bench(command) => command.run(console).await,
            Command::Payments(command) => command.run().await,
            Command::CompileComponent(command) => command.run(),
        }
    }
}

#[cfg(test)]
mod tests;

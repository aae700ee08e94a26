//! The command line: one file per command, on top of [`segno_client`].
//!
//! Answers go to standard output, everything else (progress, warnings, errors) to standard error.

mod attempts;
mod behind;
mod bundled;
mod bundled_blobs;
mod color;
mod console;
mod exit;
mod filter;
mod given;
mod groups;
mod input;
mod item_table;
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
mod blob;
mod budget;
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
mod doctor_database;
mod endpoint;
mod events;
mod export;
mod fork;
mod graph;
mod halt;
mod idle_memory;
mod import;
mod inspect;
mod limit;
mod limit_words;
mod list;
mod logging;
mod logs;
mod man;
mod mcp;
mod modules;
mod moment;
mod new;
mod payments;
mod place;
mod predecessor;
mod proceed;
mod promise;
mod query;
mod ready;
mod recovery;
mod remove;
mod replay;
mod rerun;
mod resonate;
mod resource;
mod restart;
mod restate;
mod result;
mod runtimes;
mod saga;
mod schedule;
mod serve;
mod serve_blobs;
mod serve_events;
mod serve_tokens;
mod serve_traces;
mod settle;
mod shadow;
mod shards;
mod signal;
mod size;
mod start;
mod step;
mod store_address;
mod stream;
mod subject;
mod task;
mod tree;
mod types;
mod undeploy;
mod update;
mod verify;
mod why;

use std::{ffi::OsString, pin::Pin};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use segno_client::Client;

pub use color::Color;
pub use console::Console;
pub use exit::{CliError, Exit};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  an error, described on standard error
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
    global: GlobalOptions,
    #[command(subcommand)]
    command: CliCommand,
}

/// Options of every command.
#[derive(Debug, clap::Args)]
struct GlobalOptions {
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
enum CliCommand {
    New(new::NewArgs),
    Build(build::BuildArgs),
    Serve(Box<serve::ServeArgs>),
    Endpoint(Box<endpoint::EndpointArgs>),
    Ready(ready::ReadyArgs),
    Dev(dev::DevArgs),
    Deploy(deploy::DeployArgs),
    Undeploy(undeploy::UndeployArgs),
    Modules(modules::ModulesArgs),
    Types(types::TypesArgs),
    Start(start::StartArgs),
    Call(call::CallArgs),
    Result(result::ResultArgs),
    List(list::ListArgs),
    Inspect(inspect::InspectArgs),
    Why(why::WhyArgs),
    Tree(tree::TreeArgs),
    Logs(logs::LogsArgs),
    Stream(stream::StreamArgs),
    Blob(blob::BlobArgs),
    Events(events::EventsArgs),
    Resolve(settle::ResolveArgs),
    Reject(settle::RejectArgs),
    Signal(signal::SignalArgs),
    Query(query::QueryArgs),
    Update(update::UpdateArgs),
    Promise(promise::PromiseArgs),
    Saga(saga::SagaArgs),
    Graph(graph::GraphArgs),
    Task(task::TaskArgs),
    Schedule(schedule::ScheduleArgs),
    Object(object::ObjectArgs),
    Limit(Box<limit::LimitArgs>),
    Budget(budget::BudgetArgs),
    Resource(resource::ResourceArgs),
    Cancel(control::CancelArgs),
    Kill(control::KillArgs),
    Halt(halt::HaltArgs),
    Continue(proceed::ContinueArgs),
    Restart(restart::RestartArgs),
    Fork(fork::ForkArgs),
    Remove(remove::RemoveArgs),
    Replay(replay::ReplayArgs),
    Rerun(rerun::RerunArgs),
    Bundle(bundle::BundleArgs),
    Verify(verify::VerifyArgs),
    Recovery(recovery::RecoveryArgs),
    Doctor(doctor::DoctorArgs),
    Size(size::SizeArgs),
    Shards(shards::ShardsArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Docs(docs::DocsArgs),
    Mcp(mcp::McpArgs),
    Demo(demo::DemoArgs),
    Bench(bench::BenchArgs),
    #[command(hide = true)]
    Payments(payments::PaymentServiceArgs),
    #[command(hide = true)]
    CompileComponent(compile::CompileComponentArgs),
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
            CliCommand::New(command) => command.run(console),
            CliCommand::Build(command) => boxed(|| command.run(console)).await,
            CliCommand::Serve(command) => {
                boxed(|| command.run(global.token.as_deref(), console)).await
            }
            CliCommand::Endpoint(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Deploy(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Dev(command) => {
                let client = client()?;
                boxed(|| command.run(&client, console)).await
            }
            CliCommand::Ready(command) => command.run(&client()?, console).await,
            CliCommand::Undeploy(command) => command.run(&client()?, console).await,
            CliCommand::Modules(command) => command.run(&client()?, console).await,
            CliCommand::Types(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Start(command) => command.run(&client()?, console).await,
            CliCommand::Call(command) => command.run(&client()?, console).await,
            CliCommand::Result(command) => command.run(&client()?, console).await,
            CliCommand::List(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Inspect(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Why(command) => command.run(&client()?, console).await,
            CliCommand::Tree(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Logs(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Stream(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Blob(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Events(command) => command.run(&client()?, console).await,
            CliCommand::Resolve(command) => command.run(&client()?, console).await,
            CliCommand::Reject(command) => command.run(&client()?, console).await,
            CliCommand::Signal(command) => command.run(&client()?, console).await,
            CliCommand::Query(command) => command.run(&client()?, console).await,
            CliCommand::Update(command) => command.run(&client()?, console).await,
            CliCommand::Promise(command) => command.run(&client()?, console).await,
            CliCommand::Saga(command) => command.run(&client()?, console).await,
            CliCommand::Graph(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Task(command) => command.run(&client()?, console).await,
            CliCommand::Object(command) => command.run(&client()?, console).await,
            CliCommand::Budget(command) => command.run(&client()?, console).await,
            CliCommand::Limit(command) => command.run(&client()?, console).await,
            CliCommand::Resource(command) => command.run(&client()?, console).await,
            CliCommand::Schedule(command) => command.run(&client()?, console).await,
            CliCommand::Cancel(command) => command.run(&client()?, console).await,
            CliCommand::Kill(command) => command.run(&client()?, console).await,
            CliCommand::Halt(command) => command.run(&client()?, console).await,
            CliCommand::Continue(command) => command.run(&client()?, console).await,
            CliCommand::Restart(command) => command.run(&client()?, console).await,
            CliCommand::Fork(command) => command.run(&client()?, console).await,
            CliCommand::Remove(command) => command.run(&client()?, console).await,
            CliCommand::Replay(command) => boxed(|| command.run(client, console)).await,
            CliCommand::Rerun(command) => {
                let client = client()?;
                boxed(|| command.run(&client, console)).await
            }
            CliCommand::Bundle(command) => command.run(&client()?, console).await,
            CliCommand::Verify(command) => boxed(|| command.run(console)).await,
            CliCommand::Recovery(command) => command.run(console),
            CliCommand::Doctor(command) => boxed(|| command.run(console)).await,
            CliCommand::Size(command) => boxed(|| command.run(console)).await,
            CliCommand::Shards(command) => boxed(|| command.run(console)).await,
            CliCommand::Export(command) => boxed(|| command.run(console)).await,
            CliCommand::Import(command) => boxed(|| command.run(console)).await,
            CliCommand::Completions(command) => command.run(console),
            CliCommand::Man(command) => command.run(console),
            CliCommand::Docs(command) => command.run(console),
            CliCommand::Mcp(command) => {
                let client = client()?;
                boxed(|| command.run(client, global.token.as_deref(), console)).await
            }
            CliCommand::Demo(command) => boxed(|| command.run(console)).await,
            CliCommand::Bench(command) => boxed(|| command.run(console)).await,
            CliCommand::Payments(command) => command.run().await,
            CliCommand::CompileComponent(command) => command.run(),
        }
    }
}

/// Makes the future of a command on the heap. Without optimization, a frame that makes the futures
/// of all commands has room for each, which together is more than the stack of a thread.
#[inline(never)]
fn boxed<'a, T, F: Future<Output = T> + 'a>(
    make: impl FnOnce() -> F,
) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    Box::pin(make())
}

#[cfg(test)]
mod tests;

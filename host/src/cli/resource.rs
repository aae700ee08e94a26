//! `segno resource`.

use std::time::Duration;

use clap::{Args, Subcommand};
use segno_api::model::ResourceView;
use segno_client::Client;

use super::{
    CliError, Console, Exit,
    console::{CYAN, DIM},
    input::read_json,
    show::{facts, plain},
    text,
    time::{as_ms, now_ms, read_length, when},
};

/// Lease and write values that several writers share
///
/// A lease gives one writer at a time a token, larger than every earlier one. A write is accepted
/// only with a token larger than that of the last write, so that a writer that missed the end of
/// its lease changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno resource lease stock --holder importer-1 --for 1m
  segno resource put stock '{\"left\": 12}' --lease-token 7
  segno resource get stock
  segno resource lease stock --holder importer-1 --for 0s     # returns it")]
pub(super) struct ResourceArgs {
    #[command(subcommand)]
    what: ResourceCommand,
}

#[derive(Debug, Subcommand)]
enum ResourceCommand {
    Get(ResourceGetArgs),
    Lease(ResourceLeaseArgs),
    Put(ResourcePutArgs),
}

/// Show a resource, and the last lease on it
#[derive(Debug, Args)]
struct ResourceGetArgs {
    /// Name of the resource
    name: String,
}

/// Lease a resource; each lease has its own token, even for the same holder
#[derive(Debug, Args)]
struct ResourceLeaseArgs {
    /// Name of the resource
    name: String,
    /// Name of the holder
    #[arg(long, value_name = "NAME")]
    holder: String,
    /// Duration of the lease; 0s returns it
    #[arg(long = "for", value_name = "LENGTH", value_parser = read_length)]
    length: Duration,
}

/// Write a resource under a token
#[derive(Debug, Args)]
struct ResourcePutArgs {
    /// Name of the resource
    name: String,
    /// Value: JSON, @FILE, or - for standard input
    #[arg(value_name = "JSON")]
    value: String,
    /// Token of the lease
    #[arg(long, value_name = "N")]
    lease_token: u64,
}

impl ResourceArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let resource = match self.what {
            ResourceCommand::Get(ResourceGetArgs { name }) => client.resource(&name).await?,
            ResourceCommand::Lease(ResourceLeaseArgs { name, holder, length }) => {
                client.lease(&name, &holder, as_ms(length)?).await?
            }
            ResourceCommand::Put(ResourcePutArgs { name, value, lease_token }) => {
                client.put(&name, read_json(&value)?, lease_token).await?
            }
        };
        show(&resource, console)?;
        Ok(Exit::Done)
    }
}

fn show(resource: &ResourceView, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(resource);
    }
    let name = console.paint(CYAN, &plain(&resource.name));
    console.line(match &resource.value {
        Some(value) => {
            format!("{name}  {}", console.fit(&value.to_string(), text::width(&name) + 2))
        }
        None => format!("{name}  {}", console.paint(DIM, "never written")),
    })?;
    let mut lines = Vec::new();
    lines.extend(resource.token.map(|token| ("written", format!("under token {token}"))));
    if let Some(lease) = &resource.lease {
        let now = now_ms();
        let until = when(lease.until_at_ms, now);
        let ends = if lease.until_at_ms > now { "until" } else { "ended" };
        lines.push(("lease", format!("{}, {ends} {until}", plain(&lease.holder))));
        lines.push(("token", lease.token.to_string()));
    }
    facts(lines, console)
}

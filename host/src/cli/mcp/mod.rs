//! `segno mcp`.

mod http;
mod own_command;

use std::{net::SocketAddr, sync::Arc};

use clap::Args;
use rmcp::ServiceExt as _;
use segno_api::AccessControl;
use segno_client::Client;
use segno_env::Env;
use segno_mcp::{ExposedPattern, McpOptions, McpServer, WritePermission};
use tokio::net::TcpListener;

use self::own_command::OwnCommand;
use super::{
    CliError, Console, Exit, budget,
    logging::{self, LogFormat},
    serve::taken,
};

/// Serve the Model Context Protocol, for coding assistants
///
/// An assistant can list, inspect, replay and check executions of the host, find out why they do
/// not continue, and read their journals and logs and the documentation. Nothing is changed without
/// --allow-writes. Log lines go to standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno mcp                                   # on standard input and output, as assistants start it
  segno mcp --server https://segno.example.org --token \"$(cat token)\"
  segno mcp --allow-writes
  segno mcp --expose shop/order --expose 'reports/*'
  segno mcp --expose agent --budget tokens=50000    # what the author of this module offers
  segno mcp --http 127.0.0.1:7788             # at http://127.0.0.1:7788/mcp

The page mcp.html of `segno docs` says how assistants are set up, and what the tools do.")]
pub(super) struct McpArgs {
    /// Allow tools that start, settle, signal, cancel, continue and restart
    #[arg(long, conflicts_with = "read_only")]
    allow_writes: bool,
    /// Allow only tools that read, which is the default
    #[arg(long)]
    read_only: bool,
    /// Functions that are tools themselves; may be repeated. MODULE/FUNCTION is one, MODULE/* are all
    /// of a module, MODULE those that the module offers (`expose = "mcp"` in its source), and * those
    /// that any module offers. A call starts an execution, with or without --allow-writes
    #[arg(long = "expose", value_name = "MODULE[/FUNCTION]")]
    exposed: Vec<ExposedPattern>,
    /// Limit of what each call of such a function may cost, as in tokens=100000, money=2.5 or
    /// calls=20; may be repeated
    #[arg(long = "budget", value_name = "UNIT=AMOUNT", requires = "exposed")]
    budget: Vec<String>,
    /// Serve streamable HTTP on this address, at /mcp, in place of standard input and output. If
    /// there is a token for the host, clients must send it, too; beyond this machine they need one
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Further host name of this server; may be repeated
    #[arg(long = "name", value_name = "HOST", requires = "http")]
    names: Vec<String>,
}

impl McpArgs {
    pub(super) async fn run(
        self,
        client: Client,
        token: Option<&str>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        if let Err(reason) = logging::to_standard_error(LogFormat::Text) {
            console.warn(&reason);
        }
        let permission = match self.allow_writes {
            true => WritePermission::Allowed,
            false => WritePermission::ReadOnly,
        };
        let budget = budget::read(&self.budget)?;
        let options = McpOptions { permission, exposed: self.exposed, budget };
        let env = Env::system();
        let command = Arc::new(OwnCommand);
        let server = McpServer::new(client, env.clone(), command, options);
        let Some(address) = self.http else {
            return on_standard_streams(server).await;
        };
        let listener = TcpListener::bind(address).await.map_err(|error| taken(address, &error))?;
        let address = listener.local_addr()?;
        let access = AccessControl::new(address, token, false, self.names)
            .map_err(|error| CliError::Usage(error.to_string()))?;
        console.line(format!("segno mcp listens on http://{address}/mcp"))?;
        http::serve(listener, server, access, env).await?;
        Ok(Exit::Done)
    }
}

/// Serves one session, until standard input ends.
async fn on_standard_streams(server: McpServer) -> Result<Exit, CliError> {
    let ended = |error: String| CliError::Other { code: "mcp-ended", message: error };
    let serving = server.serve(rmcp::transport::stdio()).await;
    let session = match serving {
        Ok(session) => session,
        // The client closed standard input before it began a session.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(Exit::Done),
        Err(error) => return Err(ended(error.to_string())),
    };
    session.waiting().await.map_err(|error| ended(error.to_string()))?;
    Ok(Exit::Done)
}

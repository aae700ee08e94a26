//! The options of `segno serve` for services that are written for Restate.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use clap::Args;
use segno_api::{AccessControl, serve_beside};
use segno_services::{
    front::{ServicesApi, admin_router, ingress_router},
    identity::RequestIdentity,
};
use tokio::net::TcpListener;

use super::{CliError, serve::taken};

/// Default address at which clients of services connect.
const INGRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// Default address at which operators' tools connect.
const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9070);

/// Options for services that are written for Restate.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Restate services")]
pub(super) struct RestateOptions {
    /// Run services written for Restate: accept their calls and registrations
    #[arg(long)]
    restate: bool,
    /// Address that takes calls of services (default: 127.0.0.1:8080); port 0 takes a free port.
    /// Implies --restate
    #[arg(long, value_name = "ADDR")]
    restate_ingress: Option<SocketAddr>,
    /// Address at which deployments are registered (default: 127.0.0.1:9070); port 0 takes a free
    /// port. Implies --restate
    #[arg(long, value_name = "ADDR")]
    restate_admin: Option<SocketAddr>,
    /// Key with which requests to deployments are signed: a private key of Ed25519 (PEM, as
    /// `openssl genpkey -algorithm ed25519` writes it). The public one, which deployments are
    /// given, is printed at the start
    #[arg(long, value_name = "FILE")]
    restate_identity_key: Option<PathBuf>,
}

/// The two listeners, for calls and for administration.
pub(super) struct RestateListeners {
    ingress: TcpListener,
    admin: TcpListener,
    /// The address that takes calls.
    pub(super) ingress_at: SocketAddr,
    /// The address for registering deployments.
    pub(super) admin_at: SocketAddr,
}

impl RestateOptions {
    /// The key that signs requests. `None` without one.
    pub(super) fn identity(&self) -> Result<Option<RequestIdentity>, CliError> {
        let Some(path) = &self.restate_identity_key else { return Ok(None) };
        let path_shown = path.display();
        let pem = std::fs::read_to_string(path).map_err(|error| {
            CliError::Usage(format!("cannot read the key `{path_shown}`: {error}"))
        })?;
        let key = RequestIdentity::of_pem(&pem);
        key.map(Some).map_err(|error| CliError::Usage(format!("the key `{path_shown}`: {error}")))
    }

    /// Listens, if services are to be run. `access` decides if an address may be listened on.
    pub(super) async fn listen(
        &self,
        access: impl Fn(SocketAddr) -> Result<AccessControl, CliError>,
    ) -> Result<Option<RestateListeners>, CliError> {
        if !self.restate && self.restate_ingress.is_none() && self.restate_admin.is_none() {
            return Ok(None);
        }
        let bound = async |at: SocketAddr| {
            let listener = TcpListener::bind(at).await.map_err(|error| taken(at, &error))?;
            let address = listener.local_addr()?;
            access(address)?;
            Ok::<_, CliError>((listener, address))
        };
        let (ingress, ingress_at) = bound(self.restate_ingress.unwrap_or(INGRESS)).await?;
        let (admin, admin_at) = bound(self.restate_admin.unwrap_or(ADMIN)).await?;
        Ok(Some(RestateListeners { ingress, admin, ingress_at, admin_at }))
    }
}

impl RestateListeners {
    /// Serves both listeners until the host stops.
    pub(super) fn start(self, api: &ServicesApi) {
        let runtime = api.host.env.runtime.clone();
        let ingress = serve_beside(self.ingress, api.native.clone(), ingress_router(api.clone()));
        let admin = serve_beside(self.admin, api.native.clone(), admin_router(api.clone()));
        runtime.spawn("ingress", Box::pin(ingress));
        runtime.spawn("admin", Box::pin(admin));
    }
}

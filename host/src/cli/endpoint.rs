//! `segno endpoint`.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use segno_api::AccessControl;
use segno_build::Project;
use segno_client::Client;
use segno_core::id::Digest;
use segno_endpoint::{
    Endpoint as Served, IdentityKeys, PermittedCallers, ServiceOffer, serve_endpoint,
};
use segno_env::Env;
use segno_guest::{HttpClient, HttpGate, HttpLimits, Limits, PolicySource, Wasm, WasmConfig};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use super::{
    CliError, Console, Exit,
    build::{BuildFlags, build, other},
    compile,
    console::{CYAN, DIM},
    deploy::{name_of, read_component},
    logging::{self, LogFormat},
    runtimes::with_runtime,
    serve::{limits, taken},
};

/// Serve a component's functions as services, to a Restate server or another Segno host
///
/// The runtime keeps the journals and calls the functions here; nothing is
/// stored. A plain function `order` of the module NAME is the handler `order` of
/// the service NAME; functions of an object `Cart` are a virtual object `Cart`,
/// or the workflow `Cart` if one of them runs once a key.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno endpoint --module order.wasm
  segno endpoint --module examples/order --listen 127.0.0.1:9081
  segno endpoint --module order --server http://127.0.0.1:7766
  segno endpoint --module order.wasm --listen 0.0.0.0:9080 \\
      --identity-key publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f

Then register it with the runtime:
  curl http://127.0.0.1:9070/deployments \\
      --json '{\"uri\": \"http://127.0.0.1:9080\"}'")]
pub(super) struct EndpointArgs {
    /// Component file, folder of a project, or name of a module of the host at --server
    #[arg(long, value_name = "FILE.wasm|PROJECT|NAME")]
    module: String,
    /// Name of the service of the plain functions (default: the name of the file, project or
    /// module)
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Address to listen on; port 0 takes a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9080")]
    listen: SocketAddr,
    /// Take only requests that are signed with this key of a runtime, as publickeyv1_…; may be
    /// repeated
    #[arg(long = "identity-key", value_name = "KEY")]
    identity_keys: Vec<String>,
    /// Allow listening beyond this machine without an identity key
    #[arg(long)]
    insecure: bool,
    /// Further host name of this endpoint, for callers without an identity key; may be repeated
    #[arg(long = "name", value_name = "HOST")]
    names: Vec<String>,
    /// Policy for the module (TOML; without one its functions have no access to anything)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Limit of guests, as NAME=NUMBER; see `segno serve --help`; may be repeated
    #[arg(long = "limit", value_name = "NAME=NUMBER")]
    limits: Vec<String>,
    /// Directory for compiled code, so that the next start does not compile (default: none)
    #[arg(long, value_name = "DIR")]
    compiled: Option<PathBuf>,
    /// Format of log lines on standard error; SEGNO_LOG filters them
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text, env = "SEGNO_LOG_FORMAT")]
    log_format: LogFormat,
    #[command(flatten)]
    how: BuildFlags,
}

#[derive(serde::Serialize)]
struct EndpointOutput<'a> {
    url: String,
    module: &'a str,
    digest: String,
    pid: u32,
    services: BTreeMap<&'a str, Vec<&'a str>>,
}

impl EndpointArgs {
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, segno_client::ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        if let Err(reason) = logging::to_standard_error(self.log_format) {
            console.warn(&reason);
        }
        let identity = IdentityKeys::new(self.identity_keys.iter().map(String::as_str))
            .map_err(|error| CliError::Usage(error.to_string()))?;
        self.may_listen(&identity)?;
        let policy = self.policy()?;
        let (limits, _) = limits(&self.limits)?;
        let listener =
            TcpListener::bind(self.listen).await.map_err(|error| taken(self.listen, &error))?;
        let address = listener.local_addr()?;
        // Installed first: a signal during the start must not be lost.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (component, name) = self.component(client, console).await?;
        let endpoint = self.endpoint(component, &name, policy, limits).await?;
        for handler in endpoint.offer.handlers() {
            if handler.takes_signals && handler.signals.is_empty() {
                console.warn(&format!(
                    "`{}` takes signals and does not say which: none wakes it while it is suspended",
                    handler.function
                ));
            }
        }
        banner(&endpoint, address, console)?;
        let stop = async move {
            tokio::select! {
                biased;
                _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
                _ = interrupt.recv() => tracing::info!("interrupted: stopping"),
            }
        };
        let callers = match identity.is_required() {
            true => PermittedCallers::Signed(identity),
            false => PermittedCallers::Anybody(
                AccessControl::new(address, None, self.insecure, self.names.clone())
                    .map_err(|error| CliError::Usage(error.to_string()))?,
            ),
        };
        serve_endpoint(listener, endpoint, callers, stop).await?;
        Ok(Exit::Done)
    }

    fn may_listen(&self, identity: &IdentityKeys) -> Result<(), CliError> {
        if self.listen.ip().is_loopback() || identity.is_required() || self.insecure {
            return Ok(());
        }
        Err(CliError::Usage(format!(
            "{} can be reached from other machines: give the key of the runtime with `--identity-key`, or allow every \
             caller with `--insecure`",
            self.listen
        )))
    }

    fn policy(&self) -> Result<PolicySource, CliError> {
        let Some(file) = &self.policy else { return Ok(PolicySource::default()) };
        if !file.exists() {
            let message = format!("there is no policy file `{}`", file.display());
            return Err(CliError::Usage(message));
        }
        PolicySource::file(file).map_err(|error| other("invalid-policy", &error))
    }

    /// The component, and the name of its module.
    async fn component(
        &self,
        client: impl FnOnce() -> Result<Client, segno_client::ClientError>,
        console: &mut Console,
    ) -> Result<(Vec<u8>, String), CliError> {
        let path = Path::new(&self.module);
        if Project::is_at(path) {
            let built = build(path, self.how.clone(), console).await?;
            return Ok((built.component, built.package));
        }
        if path.exists() {
            return Ok((read_component(path)?, name_of(path)?));
        }
        if self.module.contains(['/', '.']) {
            let message = format!("there is no file and no project `{}`", self.module);
            return Err(CliError::Usage(message));
        }
        Ok((client()?.component(&self.module).await?, self.module.clone()))
    }

    async fn endpoint(
        &self,
        component: Vec<u8>,
        name: &str,
        policy: PolicySource,
        mut limits: Limits,
    ) -> Result<Arc<Served>, CliError> {
        let component: Arc<[u8]> = component.into();
        let digest = Digest::of(&component);
        // Long-computing calls leave most of the instance pool to others.
        limits.computing = limits.computing.min(limits.instances / 4).max(1);
        let shared = policy.clone();
        let source = with_runtime(component.clone())?;
        let wasm = Wasm::new(WasmConfig {
            limits,
            policy,
            cache_dir: self.compiled.clone(),
            compiler: compile::compiler(),
            fair: true,
            counts: false,
            ahead: None,
            source: Arc::new(source),
        })
        .map_err(|error| other("not-started", &error))?;
        let report =
            wasm.inspect(component).await.map_err(|error| other("invalid-module", &error))?;
        let service = self.service.as_deref().unwrap_or(name);
        let offer = ServiceOffer::new(name, service, &report)
            .map_err(|error| other("no-services", &error))?;
        let client =
            HttpClient::new(HttpLimits::default()).map_err(|error| other("not-started", &error))?;
        let outbound = Arc::new(HttpGate::new(shared, client));
        Ok(Arc::new(Served::new(Arc::new(wasm), outbound, Env::system(), offer, digest)))
    }
}

fn banner(endpoint: &Served, address: SocketAddr, console: &mut Console) -> Result<(), CliError> {
    let mut services: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for handler in endpoint.offer.handlers() {
        services.entry(&handler.service).or_default().push(&handler.name);
    }
    let url = format!("http://{address}");
    if console.json() {
        return console.document(&EndpointOutput {
            url,
            module: &endpoint.offer.module,
            digest: endpoint.digest.to_string(),
            pid: std::process::id(),
            services,
        });
    }
    let painted = console.paint(CYAN, &url);
    console.line(format!("segno {} serves on {painted}", env!("CARGO_PKG_VERSION")))?;
    for (service, handlers) in services {
        console.paragraph(&format!("  {service}  "), &handlers.join(", "), 4)?;
    }
    let hint = format!("  register: curl RUNTIME:9070/deployments --json '{{\"uri\": \"{url}\"}}'");
    console.line(console.paint(DIM, &hint))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct EndpointParser {
        #[command(flatten)]
        endpoint: EndpointArgs,
    }

    fn parsed(arguments: &[&str]) -> EndpointArgs {
        let arguments = ["endpoint", "--module", "x"].iter().chain(arguments);
        EndpointParser::try_parse_from(arguments).expect("arguments").endpoint
    }

    #[test]
    fn what_others_can_reach_needs_a_key_or_a_word() {
        let open = IdentityKeys::default();
        let key = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";
        let known = IdentityKeys::new([key]).expect("a key");
        for (arguments, identity, may) in [
            (&[][..], &open, true),
            (&["--listen", "[::1]:1"], &open, true),
            (&["--listen", "0.0.0.0:1"], &open, false),
            (&["--listen", "0.0.0.0:1"], &known, true),
            (&["--listen", "0.0.0.0:1", "--insecure"], &open, true),
        ] {
            let refused = parsed(arguments).may_listen(identity).err();
            assert_eq!(refused.is_none(), may, "{arguments:?}");
            if let Some(refused) = refused {
                assert!(refused.to_string().contains("--identity-key"), "{refused}");
            }
        }
    }
}

//! `segno serve`.

use std::{io::ErrorKind, net::SocketAddr, path::PathBuf, sync::Arc};

use clap::Args;
use segno_api::{AccessControl, Api, CONNECTIONS, CONNECTIONS_OF_A_PEER, serve, serve_metrics};
use segno_core::{config::Config, id::HostName, stream::StreamRate, time::Millis};
use segno_engine::{
    boot::{BootConfig, BootError, RunningHost, StoreConfig, prepare},
    recovery::retention::{Retention, RetentionPeriod},
    worker::WorkerSettings,
};
use segno_env::Env;
use segno_guest::{Limits, PolicySource};
use segno_services::{
    HttpConnector, Services,
    front::{self, RestateSettings},
};
use segno_store::{postgres::PostgresConfig, sqlite::SqliteConfig};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use super::{
    CliError, Console, Exit,
    build::other,
    compile,
    console::{CYAN, DIM},
    idle_memory,
    logging::{self, LogFormat},
    node, open_files, predecessor,
    resonate::ResonateOptions,
    restate::{RestateListeners, RestateOptions},
    serve_blobs::BlobOptions,
    serve_events::{EventOptions, push},
    serve_tokens::TokenOptions,
    serve_traces::TraceOptions,
    store_address::StoreAddress,
};

/// Run a host on a data directory, or together with others on a PostgreSQL database
///
/// All durable state is in the directory or the database: kill the host at any instant, start it
/// again, and every execution continues. SIGTERM and Ctrl-C end the host in good order.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno serve
  segno serve --data /var/lib/segno --policy policy.toml
  segno serve --listen 0.0.0.0:7766 --token \"$(cat token)\" --name segno.example.org
  segno serve --limit cpu_ms=2000 --limit memory_bytes=67108864
  SEGNO_STORE=postgres://segno:secret@db/segno segno serve --data /var/lib/segno

The policy says what modules may reach; without one they reach nothing:
  [order]                                  # a module's name, or \"*\" for every module
  http.allow = [\"https://pay.example.com\"]
  dirs = [{ host = \"/srv/data\", guest = \"/data\" }]
  env = { MODE = \"test\", KEY = { from = \"ORDER_KEY\" } }")]
pub(super) struct ServeArgs {
    /// Store: sqlite:DIR, or postgres://USER@HOST/DATABASE for any number of hosts (default: the
    /// data directory). Given once for each database of a store of several; SEGNO_STORE takes them
    /// with spaces in between
    #[arg(long, value_name = "STORE", env = "SEGNO_STORE", hide_env_values = true)]
    store: Vec<StoreAddress>,
    /// Poll the database for changes by other hosts, without notifications
    #[arg(long)]
    no_notify: bool,
    /// Time for which a host that starts waits for a database that does not answer or takes no
    /// writes, in seconds. If another one of the store answers, it waits five seconds at most
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    store_wait: u32,
    /// Duration of a claim without a heartbeat of its host, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=3600))]
    lease: u32,
    /// Data directory, created if missing. With a database it holds only compiled code and this
    /// host's name
    #[arg(long, value_name = "DIR", default_value = "segno-data", env = "SEGNO_DATA")]
    data: PathBuf,
    /// Address to listen on; port 0 takes a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7766", env = "SEGNO_LISTEN")]
    listen: SocketAddr,
    /// Policy for modules (TOML; default: policy.toml in the data directory)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Allow listening beyond this machine without a token
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    tokens: TokenOptions,
    /// Further host name of this host; may be repeated
    #[arg(long = "name", value_name = "HOST")]
    names: Vec<String>,
    /// Name of this host in the store, unique and the same after a restart (default: `local` on a
    /// data directory; derived from the machine's name and the data directory on a database)
    #[arg(long, value_name = "NAME", env = "SEGNO_NODE")]
    node: Option<String>,
    /// Limit of guests, as NAME=NUMBER: memory_bytes, table_elements, stack_bytes, cpu_ms,
    /// output_bytes, log_line_bytes, log_bytes, component_bytes, component_functions, compile_ms,
    /// compiled_bytes, snapshot_records, snapshot_bytes, instances or computing; or of executions:
    /// lost_claims, tree_depth, tree_executions, tree_births (in a second) or run_gather_ms; or of
    /// each stream: stream_bytes_per_second; may be repeated
    #[arg(long = "limit", value_name = "NAME=NUMBER")]
    limits: Vec<String>,
    /// Maximum number of open connections; a new one replaces the one that has been idle for the
    /// longest
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    connections: usize,
    /// Maximum number of open connections from one address (IPv6: one /64 network), except this
    /// machine's
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS_OF_A_PEER, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    peer_connections: usize,
    /// Maximum number of workflows and graph runs executed concurrently
    #[arg(long, alias = "room", value_name = "N", default_value_t = WorkerSettings::default().slots)]
    slots: usize,
    /// Maximum number of HTTP steps and calls of services that wait for their answers (default: four
    /// times --slots)
    #[arg(long, value_name = "N")]
    requests: Option<usize>,
    /// Maximum number of attempts of activities, each of which keeps an instance (default: --slots, and
    /// at most three quarters of --limit instances)
    #[arg(long, value_name = "N")]
    activities: Option<usize>,
    /// Time for running work after SIGTERM, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    drain_s: u32,
    #[command(flatten)]
    resonate: ResonateOptions,
    #[command(flatten)]
    restate: RestateOptions,
    /// Retention rules (TOML; default: retention.toml in the data directory)
    #[arg(long, value_name = "FILE")]
    retention: Option<PathBuf>,
    /// Retention without a matching rule, like 30d or forever
    #[arg(long, value_name = "AGE")]
    keep: Option<RetentionPeriod>,
    /// Do not wait until commits are on disk: about ten times cheaper; a power loss may undo the
    /// last commits, a crash of the process never does
    #[arg(long)]
    relaxed: bool,
    /// Further address for GET /metrics only, without a token
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// Format of log lines on standard error; SEGNO_LOG filters them
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text, env = "SEGNO_LOG_FORMAT")]
    log_format: LogFormat,
    #[command(flatten)]
    blobs: BlobOptions,
    #[command(flatten)]
    events: EventOptions,
    #[command(flatten)]
    traces: TraceOptions,
}

/// A host that has started, as it is announced.
struct Started<'a> {
    running: &'a RunningHost,
    address: SocketAddr,
    place: &'a str,
    node: &'a str,
    restate: Option<&'a RestateListeners>,
    /// The public key of requests to deployments.
    identity: Option<&'a str>,
}

impl ServeArgs {
    pub(super) async fn run(
        self,
        token: Option<&str>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        if let Err(reason) = logging::to_standard_error(self.log_format) {
            console.warn(&reason);
        }
        let (store, data) = self.store()?;
        let policy_file = self.policy.clone().unwrap_or_else(|| data.join("policy.toml"));
        if let Some(missing) = self.policy.as_ref().filter(|path| !path.exists()) {
            return Err(CliError::Usage(format!(
                "there is no policy file `{}`",
                missing.display()
            )));
        }
        let policy =
            PolicySource::file(&policy_file).map_err(|error| other("invalid-policy", &error))?;
        let routes = self.events.routes(&data)?;
        let retention = self.retention(&data)?;
        let (limits, engine) = limits(&self.limits)?;
        let component_limit = limits.component_bytes;
        let jwt = self.tokens.jwt()?;
        // First: the port of a host that is started twice is taken as well, and says less.
        if let StoreConfig::Sqlite(config) = &store {
            predecessor::ended(&config.dir).await.map_err(|used| other("in-use", &used))?;
        }
        let listener =
            TcpListener::bind(self.listen).await.map_err(|error| taken(self.listen, &error))?;
        let address = listener.local_addr()?;
        let access = AccessControl::signed(address, token, jwt, self.insecure, self.names.clone())
            .map_err(|error| CliError::Usage(error.to_string()))?;
        let may_listen = |at| {
            let jwt = self.tokens.jwt()?;
            AccessControl::signed(at, token, jwt, self.insecure, self.names.clone())
                .map_err(|error| CliError::Usage(error.to_string()))
        };
        let restate = self.restate.listen(may_listen).await?;
        let metrics = match self.metrics_listen {
            Some(at) => Some(TcpListener::bind(at).await.map_err(|error| taken(at, &error))?),
            None => None,
        };
        // Installed first: a signal during the start must not be lost.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let debug = self.resonate.debug_clock();
        let identity = self.restate.identity()?;
        let reach = self.resonate.reach(address, &access);
        let node = self.node_name(&store, &data)?;
        let config = BootConfig {
            node: HostName::from(node.as_str()),
            cache_dir: data.join("compiled"),
            compiler: compile::compiler(),
            engine: self.resonate.engine(self.engine(engine)),
            limits,
            policy,
            debug: debug.clone(),
            retention,
            worker: self.worker(&store),
            store,
        };
        let place = place(&config.store);
        let not_started = |error: BootError| other("not-started", &error);
        let (prepared, wasm) = prepare(config, Env::system()).await.map_err(not_started)?;
        let services = Services::join(&prepared.host);
        let connector = HttpConnector::new(reach, identity, prepared.host.env.clone());
        services.connect(Arc::new(connector.map_err(BootError::from).map_err(not_started)?));
        self.blobs.open(&prepared.host)?;
        let running = prepared.start().await.map_err(BootError::from).map_err(not_started)?;
        let mut api = Api::new(running.host.clone(), wasm, access, component_limit);
        api.reach = reach;
        api.origins = self.resonate.origins();
        api.connections = self.connections + self.resonate.streams();
        api.connections_of_a_peer = self.peer_connections + self.resonate.streams();
        open_files::allow(api.connections);
        api.beside = self.resonate.start(&api, address, debug)?.router();
        push(&running.host, routes).await?;
        self.traces.trace(&running.host, &node)?;
        if let Some(listener) = metrics {
            let runtime = running.host.env.runtime.clone();
            runtime.spawn("metrics", Box::pin(serve_metrics(listener, api.clone())));
        }
        let connector = services.connector();
        let started = Started {
            running: &running,
            address,
            place: &place,
            node: &node,
            restate: restate.as_ref(),
            identity: connector.identity(),
        };
        self.banner(&started, console)?;
        if let Some(listeners) = restate {
            let mut front = front::ServicesApi::new(api.clone(), services);
            front.settings = RestateSettings {
                ingress: Some(format!("http://{}/", listeners.ingress_at).into()),
                origins: self.resonate.origins(),
            };
            listeners.start(&front);
        }
        let superseded = running.superseded.clone();
        let stop = async {
            tokio::select! {
                biased;
                _ = terminate.recv() => tracing::info!("SIGTERM: stopping"),
                _ = interrupt.recv() => tracing::info!("interrupted: stopping"),
                () = superseded.cancelled() => {}
            }
        };
        idle_memory::start(&running.host.env);
        serve(listener, api, stop).await;
        if superseded.is_cancelled() {
            // The newer incarnation already has every claim.
            running.shutdown(Millis::ZERO).await;
            return Err(CliError::Other {
                code: "superseded",
                message: format!(
                    "another host was started as `{node}`: this one has ended; give each a name of its own with --node"
                ),
            });
        }
        let left = running.shutdown(Millis::seconds(i64::from(self.drain_s))).await;
        if left > 0 {
            console.warn(&format!(
                "{left} unfinished executions were released; they continue with the next start"
            ));
        }
        Ok(Exit::Done)
    }

    /// The settings of the store, and the directory for compiled code.
    fn store(&self) -> Result<(StoreConfig, PathBuf), CliError> {
        let sqlite = |dir: PathBuf| {
            let config = SqliteConfig { dir: dir.clone(), relaxed: self.relaxed };
            (StoreConfig::Sqlite(config), dir)
        };
        let postgres = |address: &String| {
            let mut config =
                PostgresConfig::new(address).map_err(|error| CliError::Usage(error.to_string()))?;
            config.notify = !self.no_notify;
            config.start_wait = Millis::seconds(self.store_wait.into());
            config.may_be_late = true;
            Ok::<_, CliError>(config)
        };
        let addresses: Vec<StoreAddress> = self.store.iter().flat_map(StoreAddress::each).collect();
        match addresses.as_slice() {
            [] => Ok(sqlite(self.data.clone())),
            [StoreAddress::Sqlite(dir)] => Ok(sqlite(dir.clone())),
            [StoreAddress::Postgres(address)] => {
                Ok((StoreConfig::Postgres(postgres(address)?), self.data.clone()))
            }
            several => {
                let configs = several.iter().map(|address| match address {
                    StoreAddress::Postgres(address) => postgres(address),
                    StoreAddress::Sqlite(_) if several.len() > 1 => Err(CliError::Usage(
                        "a store of several databases has them in PostgreSQL: leave sqlite:DIR out, or name it alone"
                            .to_owned(),
                    )),
                    StoreAddress::Sqlite(_) | StoreAddress::Unknown => Err(CliError::Usage(
                        "--store takes sqlite:DIR or postgres://USER@HOST/DATABASE".to_owned(),
                    )),
                });
                let configs = configs.collect::<Result<_, _>>()?;
                Ok((StoreConfig::Sharded(configs), self.data.clone()))
            }
        }
    }

    fn node_name(&self, store: &StoreConfig, data: &std::path::Path) -> Result<String, CliError> {
        match (&self.node, store) {
            (Some(name), _) => Ok(name.clone()),
            (None, StoreConfig::Sqlite(_)) => Ok("local".to_owned()),
            (None, StoreConfig::Postgres(_) | StoreConfig::Sharded(_)) => Ok(node::name(data)?),
        }
    }

    fn engine(&self, config: Config) -> Config {
        let lease = Millis::seconds(i64::from(self.lease));
        let (_, least, most) = config.ttl;
        Config { ttl: (lease, least.min(lease), most.max(lease)), ..config }
    }

    fn worker(&self, store: &StoreConfig) -> WorkerSettings {
        let settings = WorkerSettings {
            slots: self.slots.max(1),
            requests: self.requests,
            activities: self.activities,
            ..WorkerSettings::default()
        };
        match store {
            StoreConfig::Sqlite(_) => settings,
            // Work that other hosts leave behind is found by scans.
            StoreConfig::Postgres(_) | StoreConfig::Sharded(_) => {
                WorkerSettings { scan_period: Config::default().scan_period, ..settings }
            }
        }
    }

    fn retention(&self, data: &std::path::Path) -> Result<Retention, CliError> {
        let file = self.retention.clone().unwrap_or_else(|| data.join("retention.toml"));
        if let Some(missing) = self.retention.as_ref().filter(|path| !path.exists()) {
            let message = format!("there are no retention rules `{}`", missing.display());
            return Err(CliError::Usage(message));
        }
        let rules = Retention::load(&file).map_err(|error| other("invalid-retention", &error))?;
        Ok(match self.keep {
            Some(keep) => rules.with_default(keep),
            None => rules,
        })
    }

    fn banner(&self, started: &Started<'_>, console: &mut Console) -> Result<(), CliError> {
        let Started { running, address, place, node, restate, identity } = *started;
        if console.json() {
            let restate = restate.map(|at| {
                serde_json::json!({
                    "ingress": format!("http://{}", at.ingress_at),
                    "admin": format!("http://{}", at.admin_at),
                    "identity": identity,
                })
            });
            return console.document(&serde_json::json!({
                "url": format!("http://{address}"),
                "data": self.data,
                "store": place,
                "node": node,
                "incarnation": running.incarnation,
                "recovered": running.recovered,
                "pid": std::process::id(),
                "restate": restate,
            }));
        }
        let url = console.paint(CYAN, &format!("http://{address}"));
        console.line(format!("segno {} listens on {url}", env!("CARGO_PKG_VERSION")))?;
        let life = match (running.incarnation, running.recovered) {
            (1, _) => "new".to_owned(),
            (lives, 0) => format!("start {lives}"),
            (lives, held) => format!("start {lives}, {held} executions taken up again"),
        };
        console.line(format!("  data    {place} ({life})"))?;
        if self.store.iter().any(|address| matches!(address, StoreAddress::Postgres(_))) {
            console.line(format!("  node    {node}"))?;
        }
        if let Some(at) = restate {
            console.line(format!("  calls   http://{} (of Restate services)", at.ingress_at))?;
            console.line(format!("  admin   http://{} (register them)", at.admin_at))?;
        }
        if let Some(key) = identity {
            console.line(format!("  key     {key} (of requests to deployments)"))?;
        }
        let server = match address.port() {
            7766 => String::new(),
            _ => format!(" --server http://{address}"),
        };
        let hint = format!("  deploy  segno deploy PROJECT --as NAME{server}");
        console.line(console.paint(DIM, &hint))
    }
}

pub(super) fn taken(address: SocketAddr, error: &std::io::Error) -> CliError {
    let what = match error.kind() {
        ErrorKind::AddrInUse => format!(
            "{} is taken by another program: stop it, or choose another address with --listen (port 0 takes a free one)",
            address
        ),
        ErrorKind::PermissionDenied => {
            format!(
                "this user may not listen on {}: choose a port above 1023 with --listen",
                address
            )
        }
        _ => format!("cannot listen on {}: {error}", address),
    };
    CliError::Other { code: "cannot-listen", message: what }
}

/// The address of the store, without its password.
fn place(store: &StoreConfig) -> String {
    match store {
        StoreConfig::Sqlite(config) => config.dir.display().to_string(),
        StoreConfig::Postgres(config) => config.shown().to_owned(),
        StoreConfig::Sharded(configs) => {
            configs.iter().map(PostgresConfig::shown).collect::<Vec<_>>().join(" ")
        }
    }
}

/// Parses `NAME=NUMBER` pairs over the defaults: limits of guests, and of executions.
pub(super) fn limits(pairs: &[String]) -> Result<(Limits, Config), CliError> {
    let (mut text, mut config) = (String::new(), Config::default());
    for pair in pairs {
        let (name, number) = pair.split_once('=').ok_or_else(|| {
            CliError::Usage(format!("`{pair}` is no limit: write NAME=NUMBER, as in cpu_ms=2000"))
        })?;
        let Ok(given) = number.parse::<u64>() else {
            return Err(CliError::Usage(format!("`{number}` is no number for the limit `{name}`")));
        };
        let small = || u32::try_from(given).unwrap_or(u32::MAX).max(1);
        match name {
            "lost_claims" => config.lost_limit = small(),
            "run_gather_ms" => config.run_gather = Millis(i64::try_from(given).unwrap_or(i64::MAX)),
            "stream_bytes_per_second" => {
                config.stream.rate = Some(StreamRate { bytes_per_second: given.max(1) });
            }
            "tree_depth" => config.tree.depth = small(),
            "tree_executions" => config.tree.executions = given.max(1),
            "tree_births" => config.tree.births = Some(small()),
            _ => text.push_str(&format!("{name} = {number}\n")),
        }
    }
    let limits = toml::from_str(&text)
        .map_err(|error| CliError::Usage(format!("--limit: {}", error.message())))?;
    Ok((limits, config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_by_name_over_the_defaults() {
        let given =
            ["cpu_ms=7", "lost_claims=3", "tree_births=9", "run_gather_ms=0"].map(str::to_owned);
        let rate = limits(&["stream_bytes_per_second=5".to_owned()]).expect("limits").1.stream.rate;
        assert_eq!(rate, Some(StreamRate { bytes_per_second: 5 }));
        let (guests, executions) = limits(&given).expect("limits");
        assert_eq!(guests, Limits { cpu_ms: 7, ..Limits::default() });
        assert_eq!((executions.lost_limit, executions.tree.births), (3, Some(9)));
        assert_eq!(executions.run_gather, Millis::ZERO);
        for (pair, says) in [
            ("cpu_ms", "write NAME=NUMBER"),
            ("cpu_ms=x", "no number"),
            ("speed=1", "unknown field `speed`"),
        ] {
            let error = limits(&[pair.to_owned()]).expect_err(pair).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}

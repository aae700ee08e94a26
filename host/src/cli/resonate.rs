//! The options of `segno serve` for the Resonate protocol.

use std::{net::SocketAddr, sync::Arc};

use clap::Args;
use segno_api::{AccessControl, AllowedOrigins, Api};
use segno_core::{
    config::{Config, VersionRule},
    time::Millis,
};
use segno_engine::delivery::Reach;
use segno_env::{DebugClock, Env};
use segno_resonate::{Resonate, ResonateSettings};

use super::{CliError, build::other};

/// Options for clients and workers that speak the Resonate protocol.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Resonate protocol")]
pub(super) struct ResonateOptions {
    /// URL by which workers reach this host, sent with messages
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Maximum number of open streams of workers
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    streams: usize,
    /// Time, in seconds, for which a worker keeps its claims after its last stream closed, unless
    /// it reconnects or sends a heartbeat
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    grace_s: f64,
    /// Leave a worker's claims to their leases when its last stream closes
    #[arg(long, conflicts_with = "grace_s")]
    no_grace: bool,
    /// Time, in seconds, after which a worker's claim is offered to others although it is extended,
    /// if no promise was created or settled under it. Must exceed the longest step; without this
    /// option a worker that sends heartbeats keeps its claims
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    worker_stall_limit_s: Option<u32>,
    /// Origin whose pages may use streams and the Resonate protocol, and call services written for Restate; `*` for all; may be
    /// repeated
    #[arg(long = "cors", value_name = "ORIGIN")]
    cors: Vec<String>,
    /// Post messages to workers with loopback and private addresses, too; implied on a loopback
    /// address without signed tokens
    #[arg(long)]
    allow_private_targets: bool,
    /// Follow the rules of the newest checkers: only promises to be settled from outside are
    /// awaited, ids lie under the ids in their tags, workers have addresses that can be reached,
    /// and versions rise by acquiring only
    #[arg(long = "resonate-strict")]
    strict: bool,
    /// Answer debug operations, which can stop time and delete everything
    #[arg(long)]
    debug: bool,
}

impl ResonateOptions {
    /// The engine's settings for the protocol.
    pub(super) fn engine(&self, config: Config) -> Config {
        let worker_stall_limit = self.worker_stall_limit_s.map(|s| Millis::seconds(s.into()));
        let config = Config { worker_stall_limit, ..config };
        if !self.strict {
            return config;
        }
        Config { version_rule: VersionRule::AcquireOnly, resonate_strict: true, ..config }
    }

    /// Origins whose pages may use this host.
    pub(super) fn origins(&self) -> AllowedOrigins {
        AllowedOrigins::new(self.cors.clone())
    }

    /// Maximum number of open streams; each takes one connection.
    pub(super) fn streams(&self) -> usize {
        self.streams
    }

    /// The clock of debug operations, if they are allowed.
    pub(super) fn debug_clock(&self) -> Option<Arc<DebugClock>> {
        self.debug.then(|| DebugClock::new(Env::system().clock))
    }

    /// The addresses to which a host listening on `address` posts messages.
    pub(super) fn reach(&self, address: SocketAddr, access: &AccessControl) -> Reach {
        // If all clients are on this machine, its local addresses are theirs.
        let is_for_this_machine = address.ip().is_loopback() && !access.takes_signed_tokens();
        Reach { private: self.allow_private_targets || is_for_this_machine }
    }

    /// Starts the Resonate front end of a host whose API listens on `address`.
    pub(super) fn start(
        &self,
        api: &Api,
        address: SocketAddr,
        debug: Option<Arc<DebugClock>>,
    ) -> Result<Resonate, CliError> {
        let grace = (self.grace_s * 1000.0) as i64;
        if grace < 0 {
            return Err(CliError::Usage("--grace-s must not be negative".to_owned()));
        }
        let url = self.url.clone().unwrap_or_else(|| format!("http://{address}"));
        let settings = ResonateSettings {
            streams: self.streams,
            grace: (!self.no_grace).then_some(Millis(grace)),
            cors: self.origins(),
            debug,
            ..ResonateSettings::new(url)
        };
        Resonate::start(api, settings).map_err(|error| other("not-started", &error))
    }
}

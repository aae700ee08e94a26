//! The options of `segno serve` for the Resonate protocol.

use std::{net::SocketAddr, sync::Arc};

use clap::Args;
use segno_core::{
    config::{Config, VersionRule},
    time::Millis,
};

use crate::{
    api::{Access, Api},
    delivery::Reach,
    resonate::{Resonate, Settings},
    runtime::{DebugClock, Env},
};

use super::{CliError, build::other};

/// Options for clients and workers that speak the Resonate protocol.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Resonate protocol")]
pub(super) struct ResonateOptions {
    /// How workers reach this host; said in messages to them
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Workers' streams that may be open at a time
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    streams: usize,
    /// After a worker's last stream closed, its claims are left to it for so long, unless it is heard of
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    grace_s: f64,
    /// Leave a worker's claims to their leases when its last stream closes
    #[arg(long, conflicts_with = "grace_s")]
    no_grace: bool,
    /// Give a worker's claim to others when it has been extended for so long without a step: without a promise that was
    /// created or settled under it. Longer than the longest step; without the option a worker that is alive keeps its claims
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    worker_stall_limit_s: Option<u32>,
    /// Origin whose pages may use the Resonate protocol; `*` for all; can be given again
    #[arg(long = "cors", value_name = "ORIGIN")]
    cors: Vec<String>,
    /// Post messages to workers with loopback and private addresses, too; a host on a loopback address that takes no signed
    /// tokens does so anyway
    #[arg(long)]
    allow_private_targets: bool,
    /// The rules of the newest checkers: only what somebody is to settle is awaited, ids lie under what their tags name,
    /// workers have addresses that can be reached, and versions rise by acquiring only
    #[arg(long = "resonate-strict")]
    strict: bool,
    /// Answer the operations for debugging, which can stop time and wipe everything
    #[arg(long)]
    debug: bool,
}

impl ResonateOptions {
    /// The engine's settings as the protocol wants them.
    pub(super) fn engine(&self, config: Config) -> Config {
        let worker_stall_limit = self.worker_stall_limit_s.map(|s| Millis::seconds(s.into()));
        let config = Config { worker_stall_limit, ..config };
        if !self.strict {
            return config;
        }
        Config { version_rule: VersionRule::AcquireOnly, strict: true, ..config }
    }

    /// Streams that may be open at a time; each keeps a connection of its own.
    pub(super) fn streams(&self) -> usize {
        self.streams
    }

    /// The clock that debuggers set, if they may.
    pub(super) fn debug_clock(&self) -> Option<Arc<DebugClock>> {
        self.debug.then(|| DebugClock::new(Env::system().clock))
    }

    /// Where a host that listens on `address` posts messages to.
    pub(super) fn reach(&self, address: SocketAddr, access: &Access) -> Reach {
        // Where all clients are on this machine, its addresses are theirs.
        let is_for_this_machine = address.ip().is_loopback() && !access.takes_signed_tokens();
        Reach { private: self.allow_private_targets || is_for_this_machine }
    }

    /// Starts the front end beside the API of a host that listens on `address`.
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
        let settings = Settings {
            streams: self.streams,
            grace: (!self.no_grace).then_some(Millis(grace)),
            cors: self.cors.clone(),
            debug,
            ..Settings::new(url)
        };
        Resonate::start(api, settings).map_err(|error| other("not-started", &error))
    }
}

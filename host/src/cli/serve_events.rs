//! The options of `segno serve` for pushing events.

use std::path::{Path, PathBuf};

use clap::Args;
use segno_engine::{
    events::{EventChannel, Route, Routes, offer},
    host::Host,
};

use super::{CliError, build::other};

/// Options for receivers of events.
#[derive(Debug, Args)]
pub(super) struct EventOptions {
    /// Address to which published events are posted as CloudEvents in JSON, until it answers with
    /// success
    #[arg(long, value_name = "URL", env = "SEGNO_EVENTS_URL")]
    events_url: Option<String>,
    /// Key with which posts to --events-url are signed (HMAC-SHA256, Standard Webhooks)
    #[arg(
        long,
        value_name = "SECRET",
        env = "SEGNO_EVENTS_SECRET",
        hide_env_values = true,
        requires = "events_url"
    )]
    events_secret: Option<String>,
    /// Routes of topics (TOML, see api.html of `segno docs`; default: events.toml in the data
    /// directory)
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
}

impl EventOptions {
    /// The routes: first those of the file, then the address for every topic.
    pub(super) fn routes(&self, data: &Path) -> Result<Routes, CliError> {
        let wrong = |error| other("invalid-events", &error);
        let beside = data.join("events.toml");
        let mut routes = match &self.events {
            Some(file) => Routes::load(file).map_err(wrong)?,
            None if beside.exists() => Routes::load(&beside).map_err(wrong)?,
            None => Routes::default(),
        };
        if let Some(url) = &self.events_url {
            let every = vec!["*".to_owned()];
            routes.0.push(Route::new(every, url, self.events_secret.as_deref()).map_err(wrong)?);
        }
        Ok(routes)
    }
}

/// Starts pushing events by these routes, including events published before.
pub(super) async fn push(host: &Host, routes: Routes) -> Result<(), CliError> {
    if routes.0.is_empty() {
        return Ok(());
    }
    let channel = EventChannel::new(routes.clone(), host.env.clone())
        .map_err(|error| other("invalid-events", &error))?;
    host.channels.add(channel);
    host.notifier.wake_outbox();
    let (offering, runtime) = (host.clone(), host.env.runtime.clone());
    runtime.spawn(
        "events",
        Box::pin(async move {
            match offer(&offering, &routes).await {
                Ok(0) => {}
                Ok(offered) => {
                    tracing::info!(offered, "events without a receiver have one now")
                }
                Err(error) => {
                    tracing::warn!(%error, "events without a receiver were not offered again")
                }
            }
        }),
    );
    Ok(())
}

//! Where `segno serve` pushes events to.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::{
    events::{Push, Route, Routes, offer},
    host::Host,
};

use super::{CliError, build::other};

/// Receivers of events.
#[derive(Debug, Args)]
pub(super) struct EventOptions {
    /// Post published events to this address, as CloudEvents in JSON, until it answers with success
    #[arg(long, value_name = "URL", env = "SEGNO_EVENTS_URL")]
    events_url: Option<String>,
    /// What posts to --events-url are signed with (HMAC-SHA256, as Standard Webhooks say)
    #[arg(
        long,
        value_name = "SECRET",
        env = "SEGNO_EVENTS_SECRET",
        hide_env_values = true,
        requires = "events_url"
    )]
    events_secret: Option<String>,
    /// Which topics are posted where (TOML, see docs/api.md); events.toml in the data directory otherwise
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
}

impl EventOptions {
    /// The routes, the file's before the address that takes every topic.
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

/// Has `host` push events by these routes, those that were published before included.
pub(super) async fn push(host: &Host, routes: Routes) -> Result<(), CliError> {
    if routes.0.is_empty() {
        return Ok(());
    }
    let channel = Push::new(routes.clone(), host.env.clone())
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
                    tracing::info!(offered, "events that nobody took before have a receiver now")
                }
                Err(error) => {
                    tracing::warn!(%error, "events that nobody took before were not looked through")
                }
            }
        }),
    );
    Ok(())
}

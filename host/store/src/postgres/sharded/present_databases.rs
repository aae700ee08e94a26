//! Opens the databases of a store, and goes on without those that are away.

use futures::stream::{FuturesUnordered, StreamExt as _};
use segno_core::time::Millis;
use segno_env::{BoxFuture, Env};

use crate::postgres::{
    config::PostgresConfig,
    open::{self, OpenedDatabase, PostgresOpenError},
    shard_row,
};

/// Time for which the others are waited for, once a database of the store has been opened.
const PATIENCE: Millis = Millis(5_000);

/// The databases of a store when it is opened.
pub(super) struct OpenedDatabases {
    /// Those that were opened, in the order in which they were given.
    pub(super) here: Vec<(PostgresConfig, OpenedDatabase)>,
    /// Those that are away.
    pub(super) away: Vec<PostgresConfig>,
}

/// Opens databases at the same time. One that is away is left out if `may_be_late` says so in its
/// settings and another one belongs to a store already: databases become one store together.
///
/// # Errors
/// [`PostgresOpenError`] of the first that cannot be used, or must not be missing.
pub(super) async fn open_all(
    configs: Vec<PostgresConfig>,
    env: &Env,
) -> Result<OpenedDatabases, PostgresOpenError> {
    let open = |(place, mut config): (usize, PostgresConfig)| async move {
        let opened = open::open(&mut config, env).await;
        (place, config, opened)
    };
    let mut opening: FuturesUnordered<_> = configs.iter().cloned().enumerate().map(open).collect();
    let mut here: Vec<Option<(PostgresConfig, OpenedDatabase)>> = vec![None; configs.len()];
    let mut refused = None;
    let mut patience: Option<BoxFuture<()>> = None;
    loop {
        let (place, config, opened) = tokio::select! {
            biased;
            next = opening.next() => match next {
                Some(opened) => opened,
                None => break,
            },
            () = async { patience.as_mut().expect("it began").await }, if patience.is_some() => break,
        };
        match opened {
            Ok(opened) => {
                let others_may_be_late = configs.iter().any(|config| config.may_be_late);
                if others_may_be_late
                    && patience.is_none()
                    && shard_row::belongs_to_a_store(&config, &opened).await?
                {
                    patience = Some(env.runtime.sleep(PATIENCE));
                }
                here[place] = Some((config, opened));
            }
            Err(error) if config.may_be_late && error.may_pass() => {
                refused.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let (None, Some(error)) = (&patience, refused) {
        return Err(error);
    }
    let away = configs.into_iter().zip(&here).filter(|(_, here)| here.is_none());
    let away = away.map(|(config, _)| config).collect();
    Ok(OpenedDatabases { here: here.into_iter().flatten().collect(), away })
}

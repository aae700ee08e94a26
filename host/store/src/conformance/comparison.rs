//! Runs a script on a store and on the model: equal replies, and equal rows after each step.

use std::sync::Arc;

use segno_core::{
    command::Command, config::Config, effect::Effect, invariants, time::Millis, view::View,
};
use segno_env::{Clock as _, Env, HandClock, SystemRuntime};

use super::{dice::Dice, fixture::deploy, script};
use crate::{Hints, MemoryStore, Store, StoreError};

/// Reason why a comparison ended early.
#[derive(Debug, thiserror::Error)]
pub enum NonConformance {
    /// The store failed.
    #[error("step {step} of script {seed}: {command} failed ({reason})")]
    Failed {
        /// Seed of the script.
        seed: u64,
        step: usize,
        /// Name of the command.
        command: String,
        reason: String,
    },
    /// The store answered otherwise than the model.
    #[error(
        "step {step} of script {seed}: {command} has another result than in the model: {difference}"
    )]
    Differs {
        /// Seed of the script.
        seed: u64,
        step: usize,
        /// Name of the command.
        command: String,
        difference: String,
    },
}

/// Longest shown part of a difference.
const SHOWN: usize = 400;

/// A receiver that drops all hints.
pub(crate) struct UnheardHints;

impl Hints for UnheardHints {
    fn committed(&self, _effects: &[Effect], _state: &View) {}
}

/// Runs a random script of `steps` commands on `store`, which is empty and uses `clock` and
/// `config`, and compares it with the model.
///
/// # Errors
/// [`NonConformance`]; the store is left as it was then.
pub async fn compare_with_model(
    store: &dyn Store,
    clock: &Arc<HandClock>,
    config: &Config,
    seed: u64,
    steps: usize,
) -> Result<(), NonConformance> {
    let env = Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) };
    let model = MemoryStore::new(config.clone(), env, Arc::new(UnheardHints));
    let failed = |step, command: &str| {
        let command = command.to_owned();
        move |error: StoreError| {
            let reason = format!("{:#}", anyhow::Error::from(error));
            NonConformance::Failed { seed, step, command, reason }
        }
    };
    let differs = |step, command: &str, difference: String| {
        let difference = difference.chars().take(SHOWN).collect();
        Err(NonConformance::Differs { seed, step, command: command.to_owned(), difference })
    };
    deploy(&*model).await.map_err(failed(0, "deploy"))?;
    deploy(store).await.map_err(failed(0, "deploy"))?;
    let mut dice = Dice::new(seed);
    for step in 1..=steps {
        if dice.roll(3) == 0 {
            clock.advance(Millis(dice.roll(6_000) as i64));
        }
        let seen = model.read().dump().await.map_err(failed(step, "read"))?;
        let commands = if dice.roll(6) == 0 {
            let due = model.work_queue().due(clock.now(), 3).await;
            due.map_err(failed(step, "read what is due"))?.commands
        } else {
            vec![script::command(&mut dice, &seen, clock.now())]
        };
        let name = commands.first().map_or("nothing", Command::name);
        let expected = model.execute(commands.clone()).await.map_err(failed(step, name))?;
        let replies = store.execute(commands).await.map_err(failed(step, name))?;
        if replies != expected {
            return differs(step, name, format!("{replies:?} instead of {expected:?}"));
        }
        let expected = model.read().dump().await.map_err(failed(step, "read"))?;
        let found = store.read().dump().await.map_err(failed(step, "read"))?;
        if found != expected {
            return differs(step, name, "the rows are not equal".to_owned());
        }
        if let Some(violation) = invariants::check(&found).first() {
            return differs(step, name, format!("{violation:?}"));
        }
    }
    let damage = store.scan().damage().await.map_err(failed(steps, "look for damage"))?;
    match damage.first() {
        None => Ok(()),
        Some(damage) => differs(steps, "look for damage", damage.clone()),
    }
}

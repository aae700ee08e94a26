//! Instances of source modules that are made before an execution asks for one.
//!
//! An instance of an interpreter takes longer to make than most calls take to run. So when a module
//! has begun an execution, its next instance is made while the first one runs. A module that begins
//! none for some seconds has no such instance, and one that waits for places in the pool gets those
//! of instances that nobody has used yet.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use segno_core::{id::Digest, time::Millis};
use segno_env::Runtime;
use tokio::sync::oneshot;

use super::{budget::ComputeBudget, engine::GuestEngine, instance::Instance, loaded::LoadedModule};

/// Maximum number of modules that have such an instance.
const MODULES: usize = 8;
/// Time after which an instance that nobody asked for is removed, at the second look.
const REST: Millis = Millis(if cfg!(test) { 500 } else { 5_000 });

/// The instances that are ready.
#[derive(Default)]
pub(super) struct ReadyInstances {
    state: Mutex<ReadyState>,
}

#[derive(Default)]
struct ReadyState {
    /// One for each module at most, the latest one last.
    ready: Vec<ReadyInstance>,
    /// The instances that are being made.
    making: Vec<MakingInstance>,
    /// True if a task removes those that nobody asks for.
    is_swept: bool,
}

struct MakingInstance {
    loaded: Arc<LoadedModule>,
    /// Who waits for it. `None` if nobody does.
    waiting: Option<oneshot::Sender<Instance>>,
}

struct ReadyInstance {
    loaded: Arc<LoadedModule>,
    instance: Instance,
    /// True if it was there at the last look.
    is_seen: bool,
}

impl ReadyInstances {
    /// Takes the instance of this module that is ready, or waits for the one that is being made.
    /// `None` if there is neither.
    pub(super) async fn take(&self, loaded: &Arc<LoadedModule>) -> Option<Instance> {
        let made = {
            let mut state = self.state();
            let is_of = |ready: &ReadyInstance| Arc::ptr_eq(&ready.loaded, loaded);
            if let Some(at) = state.ready.iter().position(is_of) {
                return Some(state.ready.remove(at).instance);
            }
            let is_free = |making: &&mut MakingInstance| {
                Arc::ptr_eq(&making.loaded, loaded) && making.waiting.is_none()
            };
            let (waiting, made) = oneshot::channel();
            state.making.iter_mut().find(is_free)?.waiting = Some(waiting);
            made
        };
        made.await.ok()
    }

    /// Makes the next instance of this module in the background, unless the pool has no places for
    /// it. `budget` is that of the instance.
    pub(super) fn prepare(
        self: &Arc<Self>,
        runtime: &Arc<dyn Runtime>,
        engine: &Arc<GuestEngine>,
        loaded: &Arc<LoadedModule>,
        budget: ComputeBudget,
    ) {
        if loaded.image.is_none() {
            return;
        }
        let mut state = self.state();
        let is_made = |making: &MakingInstance| Arc::ptr_eq(&making.loaded, loaded);
        let is_ready = |ready: &ReadyInstance| Arc::ptr_eq(&ready.loaded, loaded);
        if state.making.iter().any(is_made) || state.ready.iter().any(is_ready) {
            return;
        }
        let Some(places) = engine.pool().try_room(&loaded.share) else { return };
        state.making.push(MakingInstance { loaded: Arc::clone(loaded), waiting: None });
        drop(state);
        let (engine, loaded) = (Arc::clone(engine), Arc::clone(loaded));
        let making = Making { all: Arc::downgrade(self), loaded: Arc::clone(&loaded) };
        let sweeping = Arc::clone(runtime);
        let task = async move {
            let made = Instance::with_places(&engine, budget, Arc::clone(&loaded), places).await;
            drop(engine);
            let all = making.all.clone();
            let instance = match made {
                Ok(instance) => instance,
                Err(error) => {
                    // The start that waits for it makes its own, and has the error as well.
                    tracing::debug!("no instance is ready: {error}");
                    return;
                }
            };
            // A start that has ended in the meantime does not take it.
            let left = match making.end() {
                Some(waiting) => waiting.send(instance).err(),
                None => Some(instance),
            };
            let Some(instance) = left else { return };
            let ready = ReadyInstance { loaded, instance, is_seen: false };
            if all.upgrade().is_some_and(|all| all.put(ready)) {
                sweep(sweeping, all).await;
            }
        };
        runtime.spawn("ready-instance", Box::pin(task));
    }

    /// Removes an instance, of this module or of any, so that its places are free. Returns false if
    /// there is none.
    pub(super) fn give_up(&self, module: Option<Digest>) -> bool {
        self.remove(module).is_some()
    }

    fn remove(&self, module: Option<Digest>) -> Option<ReadyInstance> {
        let ready = &mut self.state().ready;
        let is_of = |ready: &ReadyInstance| {
            module.is_none_or(|module| ready.loaded.share.module() == module)
        };
        ready.iter().position(is_of).map(|at| ready.remove(at))
    }

    /// Keeps an instance. Returns true if the caller has to sweep.
    fn put(&self, instance: ReadyInstance) -> bool {
        let mut state = self.state();
        let ready = &mut state.ready;
        let surplus = (ready.len() >= MODULES).then(|| ready.remove(0));
        ready.push(instance);
        let sweeps = !std::mem::replace(&mut state.is_swept, true);
        drop(state);
        drop(surplus);
        sweeps
    }

    /// Removes the instances that were there at the last look. Returns false if none is left.
    fn remove_rested(&self) -> bool {
        let mut state = self.state();
        let is_rested = |ready: &mut ReadyInstance| std::mem::replace(&mut ready.is_seen, true);
        let rested: Vec<ReadyInstance> = state.ready.extract_if(.., is_rested).collect();
        state.is_swept = !state.ready.is_empty();
        let goes_on = state.is_swept;
        drop(state);
        drop(rested);
        goes_on
    }

    fn state(&self) -> MutexGuard<'_, ReadyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes instances that nobody asks for, until there is none.
async fn sweep(runtime: Arc<dyn Runtime>, all: Weak<ReadyInstances>) {
    loop {
        runtime.sleep(REST).await;
        if !all.upgrade().is_some_and(|all| all.remove_rested()) {
            return;
        }
    }
}

/// The mark that an instance of this module is being made.
struct Making {
    all: Weak<ReadyInstances>,
    loaded: Arc<LoadedModule>,
}

impl Making {
    /// Removes the mark. Returns who waits for the instance.
    fn end(mut self) -> Option<oneshot::Sender<Instance>> {
        self.remove()?.waiting
    }

    /// Removes the mark, once.
    fn remove(&mut self) -> Option<MakingInstance> {
        let all = std::mem::take(&mut self.all).upgrade()?;
        let making = &mut all.state().making;
        let at = making.iter().position(|making| Arc::ptr_eq(&making.loaded, &self.loaded))?;
        Some(making.remove(at))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        drop(self.remove());
    }
}

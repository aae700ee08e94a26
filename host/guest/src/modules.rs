//! Modules by digest: each is loaded and compiled once, and linked for workflows and for
//! activities.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use segno_core::{id::Digest, source_module::SourceModule};
use tokio::sync::OnceCell;
use wasmtime::Engine;

use super::{
    GuestError, Limits,
    cache::CodeCache,
    compile::CompileService,
    engine::GuestEngine,
    interpreter::SourceLines,
    loaded::{LoadError, LoadedModule},
    loading,
    loading_error::LoadingError,
    snapshot::{Initialization, ModuleImage, NewImage},
    wasm_config::WasmConfig,
};

/// The version of images: one that another version made is made again.
const IMAGES: u32 = 2;
/// Maximum number of modules kept loaded; an instance keeps its module loaded beyond that.
const LOADED: usize = 128;

/// The source of components.
#[async_trait]
pub trait ComponentSource: Send + Sync + 'static {
    /// Reads the component with this digest. `None` if it is not stored.
    async fn component(&self, digest: Digest) -> anyhow::Result<Option<Arc<[u8]>>>;
}

/// Components in memory.
#[async_trait]
impl ComponentSource for BTreeMap<Digest, Arc<[u8]>> {
    async fn component(&self, digest: Digest) -> anyhow::Result<Option<Arc<[u8]>>> {
        Ok(self.get(&digest).cloned())
    }
}

/// Loads modules and keeps the most recently used ones.
pub(super) struct ModuleStore {
    engine: Arc<GuestEngine>,
    /// The engine that runs the modules.
    wasmtime: Engine,
    limits: Arc<Limits>,
    /// The store with the runtimes of source modules. `None` if it is this one.
    runtimes: Option<Arc<ModuleStore>>,
    source: Arc<dyn ComponentSource>,
    cache: Option<Arc<CodeCache>>,
    /// The images of source modules. `None` if nothing is kept, or this store has no source modules.
    images: Option<Arc<CodeCache>>,
    compiling: CompileService,
    loaded: Mutex<LoadedModules>,
}

#[derive(Default)]
struct LoadedModules {
    modules: HashMap<Digest, ModuleSlot>,
    uses: u64,
}

struct ModuleSlot {
    /// Shared by all requests for the same module, so that it is compiled once.
    cell: Arc<OnceCell<Arc<LoadedModule>>>,
    last_use: u64,
}

impl ModuleStore {
    /// Creates a store over `source`, whose components have this `initialization`. Compiled code is
    /// cached under the name `configuration`, if the directory is writable. `runtimes` has the
    /// runtimes of source modules, with its own configuration: an image fits only a runtime that was
    /// rewritten in the same way.
    pub(super) fn new(
        engine: Arc<GuestEngine>,
        initialization: Initialization,
        limits: &Arc<Limits>,
        source: Arc<dyn ComponentSource>,
        config: &WasmConfig,
        configuration: &str,
        runtimes: Option<(Arc<Self>, &str)>,
    ) -> Self {
        let opened = |configuration: &str| {
            let directory = config.cache_dir.as_deref()?;
            CodeCache::open(directory, configuration, limits.compiled_bytes)
                .inspect_err(|error| {
                    tracing::warn!(
                        "compiled code will not be kept: `{}` cannot be written: {error}",
                        directory.display()
                    );
                })
                .ok()
                .map(Arc::new)
        };
        let cache = opened(configuration);
        let (runtimes, of_runtimes) = runtimes.unzip();
        let images = of_runtimes.and_then(|of| opened(&format!("{of}-images-{IMAGES}")));
        let wasmtime = engine.wasmtime(initialization).clone();
        let compiling = CompileService::new(
            config.compiler.clone(),
            Arc::clone(limits),
            wasmtime.clone(),
            engine.counts(),
            cache.clone(),
        );
        let (limits, loaded) = (Arc::clone(limits), Mutex::default());
        Self { engine, wasmtime, limits, runtimes, source, cache, images, compiling, loaded }
    }

    /// Returns the module; the first request compiles and links it.
    pub(super) async fn get(&self, digest: Digest) -> Result<Arc<LoadedModule>, GuestError> {
        let cell = self.cell(digest);
        let module = cell.get_or_try_init(|| self.load(digest)).await?;
        Ok(Arc::clone(module))
    }

    /// Like [`get`](Self::get), for bytes that are not in the source yet.
    pub(super) async fn admit(
        &self,
        digest: Digest,
        bytes: Arc<[u8]>,
    ) -> Result<Arc<LoadedModule>, LoadError> {
        let cell = self.cell(digest);
        let module = cell.get_or_try_init(|| self.prepare(digest, bytes)).await?;
        Ok(Arc::clone(module))
    }

    /// Forgets a module that was refused, including its compiled code.
    pub(super) async fn forget(&self, digest: Digest) {
        self.loaded().modules.remove(&digest);
        for cache in [&self.cache, &self.images].into_iter().flatten().map(Arc::clone) {
            // If this fails, the code is removed later as the least recently used.
            let _ = blocking(move || cache.remove(digest)).await;
        }
    }

    /// Number of requests for modules so far.
    pub(super) fn uses(&self) -> u64 {
        self.loaded().uses
    }

    /// Unloads the components that have no instance. The next request loads them again. Does nothing
    /// if they would be compiled again. Source modules have no memory in the pool.
    pub(super) fn unload_idle(&self) {
        if self.cache.is_none() {
            return;
        }
        let is_idle = |slot: &ModuleSlot| {
            Arc::strong_count(&slot.cell) == 1
                && slot
                    .cell
                    .get()
                    .is_some_and(|module| module.image.is_none() && Arc::strong_count(module) == 1)
        };
        let idle: Vec<_> = self.loaded().modules.extract_if(|_, slot| is_idle(slot)).collect();
        tracing::debug!(modules = idle.len(), "unused modules are unloaded");
    }

    fn loaded(&self) -> MutexGuard<'_, LoadedModules> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cell(&self, digest: Digest) -> Arc<OnceCell<Arc<LoadedModule>>> {
        let mut loaded = self.loaded();
        loaded.uses += 1;
        let last_use = loaded.uses;
        let place = loaded
            .modules
            .entry(digest)
            .or_insert_with(|| ModuleSlot { cell: Arc::default(), last_use });
        place.last_use = last_use;
        let cell = Arc::clone(&place.cell);
        if loaded.modules.len() > LOADED {
            let coldest = loaded.modules.iter().min_by_key(|(_, place)| place.last_use);
            let coldest = *coldest.expect("there are more than none").0;
            loaded.modules.remove(&coldest);
        }
        cell
    }

    async fn load(&self, digest: Digest) -> Result<Arc<LoadedModule>, LoadError> {
        if let Some(cache) = self.cache.clone() {
            let (engine, wasmtime) = (Arc::clone(&self.engine), self.wasmtime.clone());
            let cached = blocking(move || {
                let component = cache.load(&wasmtime, digest)?;
                LoadedModule::link(&engine, digest, component).ok()
            });
            if let Some(module) = cached.await? {
                return Ok(Arc::new(module));
            }
        }
        let unreadable =
            |error| GuestError::Host(format!("module {digest} cannot be read: {error:#}"));
        let bytes = self.source.component(digest).await.map_err(unreadable);
        let bytes = bytes.and_then(|bytes| bytes.ok_or(GuestError::NoSuchModule(digest)));
        self.prepare(digest, bytes.map_err(LoadError::Host)?).await
    }

    /// Prepares a component, or a source module.
    async fn prepare(
        &self,
        digest: Digest,
        bytes: Arc<[u8]>,
    ) -> Result<Arc<LoadedModule>, LoadError> {
        if !SourceModule::is_meant(&bytes) {
            return self.compile(digest, bytes).await;
        }
        let module = SourceModule::decode(&bytes)
            .map_err(|error| LoadError::Sources(LoadingError::Format(error)))?;
        let runtimes = self.runtimes.as_deref().unwrap_or(self);
        // A runtime is no source module, so this goes one level deep.
        let runtime =
            Box::pin(runtimes.get(module.runtime)).await.map_err(|error| match error {
                GuestError::NoSuchModule(runtime) => {
                    LoadError::Sources(LoadingError::NoRuntime(runtime))
                }
                error => LoadError::Host(error),
            })?;
        let lines = module.files().iter().find_map(|(_, content)| SourceLines::of(content));
        let image = match self.kept_image(digest).await? {
            Some(image) => image,
            None => {
                let image =
                    loading::image(&self.engine, &self.limits, runtime.clone(), module).await;
                self.keep_image(digest, image.map_err(LoadError::Sources)?).await?
            }
        };
        Ok(Arc::new(runtime.with_sources(&self.engine, digest, image, lines)?))
    }

    /// The image on disk. `None` if it is missing or damaged.
    async fn kept_image(&self, digest: Digest) -> Result<Option<ModuleImage>, LoadError> {
        let Some(images) = self.images.clone() else { return Ok(None) };
        blocking(move || images.open_file(digest).and_then(|file| ModuleImage::open(file).ok()))
            .await
    }

    /// Moves an image to the disk. It stays in memory if there is none, or it cannot be written.
    async fn keep_image(&self, digest: Digest, image: NewImage) -> Result<ModuleImage, LoadError> {
        let images = self.images.clone();
        let kept = blocking(move || {
            if let Some(images) = images {
                match moved(&images, digest, &image) {
                    Ok(kept) => return Ok(kept),
                    Err(error) => {
                        tracing::warn!("the memory of {digest} takes room in the host: {error}");
                    }
                }
            }
            image.in_memory()
        });
        let lost = |error| GuestError::Host(format!("the memory of {digest} is lost: {error}"));
        kept.await?.map_err(|error| LoadError::Host(lost(error)))
    }

    async fn compile(
        &self,
        digest: Digest,
        bytes: Arc<[u8]>,
    ) -> Result<Arc<LoadedModule>, LoadError> {
        let component = self.compiling.compile(digest, bytes).await?;
        let engine = Arc::clone(&self.engine);
        blocking(move || LoadedModule::link(&engine, digest, component).map(Arc::new)).await?
    }
}

fn moved(images: &CodeCache, digest: Digest, image: &NewImage) -> io::Result<ModuleImage> {
    let file = images.place()?;
    image.write(file.as_file())?;
    let kept = file.reopen()?;
    images.adopt(digest, file)?;
    ModuleImage::open(kept)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        LoadError::Host(GuestError::Host(format!("loading a module failed: {error}")))
    })
}

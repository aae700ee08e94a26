//! A host over the contents of bundles. Its store is in memory, and its clock is stopped at the
//! instant at which the newest bundle was made. It has no worker and no network.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use segno_core::{
    config::Config,
    delta::{Delta, JournalAppend},
    id::Digest,
    invocation::{JournalHead, LogLine, Outline},
    value::Text,
};
use segno_env::{DebugClock, Env};
use segno_guest::{
    Compiler, ComponentSource, GuestError, Limits, NoGuests, PolicySource, Wasm, WasmConfig,
};
use segno_model::ModuleDescription;
use segno_store::{MemoryStore, NewModule, Store as _, StoreError};

use super::{BundleContents, contents::BundledStream};
use crate::{host::Host, notifier::CommitNotifier};

/// Maximum number of instances alive concurrently. Each reserves the address space of its largest
/// memory.
const INSTANCES: u32 = 32;

/// The reason why bundles were not opened.
#[derive(Debug, thiserror::Error)]
pub enum BundleOpenError {
    /// The wasm engine cannot be set up.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The store in memory failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Opens a host over these contents. No change that it makes is durable. Also returns the wasm
/// engine, for checks of candidate modules. Compiled code is kept in `cache_dir`, if given.
///
/// # Errors
/// [`BundleOpenError`].
pub async fn open(
    contents: &BundleContents,
    compiler: Compiler,
    cache_dir: Option<PathBuf>,
    env: Env,
) -> Result<(Host, Arc<Wasm>), BundleOpenError> {
    let clock = DebugClock::new(env.clock.clone());
    clock.set(Some(contents.made_at()));
    let env = Env { clock, ..env };
    let notifier = Arc::new(CommitNotifier::default());
    let store = MemoryStore::new(Config::default(), env.clone(), notifier.clone());
    fill(contents, &store).await?;
    let wasm = Arc::new(Wasm::new(WasmConfig {
        limits: limits(contents),
        policy: PolicySource::default(),
        cache_dir,
        compiler,
        fair: true,
        counts: false,
        ahead: None,
        source: Arc::new(BundledComponents(store.clone())),
    })?);
    let outbound = Arc::new(NoGuests);
    let host = Host::new(env, Config::default(), store, wasm.clone(), outbound, notifier);
    Ok((host, wasm))
}

/// The components in the bundles.
struct BundledComponents(Arc<MemoryStore>);

#[async_trait]
impl ComponentSource for BundledComponents {
    async fn component(&self, digest: Digest) -> anyhow::Result<Option<Arc<[u8]>>> {
        let component = self.0.modules().component(digest).await?;
        Ok(component.filter(|component| !component.is_empty()))
    }
}

/// Limits at least as large as those of the recording hosts, so that no limit stops a guest that
/// ran there. The memory and table limits that a guest observes come from its journal.
fn limits(contents: &BundleContents) -> Limits {
    let usual = Limits::default();
    let named = |name: &str, usual: u64| contents.limit(name).unwrap_or_default().max(usual);
    let small =
        |name: &str, usual: u32| u32::try_from(named(name, usual.into())).unwrap_or(u32::MAX);
    let large =
        |name: &str, usual: usize| usize::try_from(named(name, usual as u64)).unwrap_or(usize::MAX);
    let facts = contents.facts();
    let memory_bytes = facts.iter().map(|facts| facts.memory_limit_bytes).max();
    let table_elements = facts.iter().map(|facts| facts.table_limit).max().unwrap_or_default();
    Limits {
        memory_bytes: memory_bytes.unwrap_or_default().max(usual.memory_bytes),
        table_elements: u32::try_from(table_elements).unwrap_or(u32::MAX).max(usual.table_elements),
        // Every instance has a stack. A bundle must not be able to claim all memory for stacks.
        stack_bytes: small("stack_bytes", usual.stack_bytes).min(64 << 20),
        cpu_ms: named("cpu_ms", usual.cpu_ms),
        output_bytes: large("output_bytes", usual.output_bytes),
        component_bytes: large("component_bytes", usual.component_bytes),
        component_functions: small("component_functions", usual.component_functions),
        compile_ms: named("compile_ms", usual.compile_ms),
        instances: INSTANCES,
        computing: INSTANCES,
        // No execution waits here.
        snapshot_records: 0,
        ..usual
    }
}

/// Writes the contents into an empty store.
async fn fill(contents: &BundleContents, store: &MemoryStore) -> Result<(), StoreError> {
    for held in contents.modules.values() {
        let module = &held.module;
        // A module whose component is not here keeps its aliases.
        let component: Arc<[u8]> = held.component.as_deref().unwrap_or_default().into();
        let plain = NewModule::plain(module.digest, component, module.created_at);
        let description = module.description.clone();
        let module = match ModuleDescription::read(&description) {
            Ok(known) => NewModule { facts: known.facts(), description, ..plain },
            // A request for the module's functions reports the reason why there are none.
            Err(error) => {
                tracing::warn!(
                    "the description of module {} cannot be read: {error}",
                    plain.digest
                );
                NewModule { description, ..plain }
            }
        };
        store.modules().put(module).await?;
    }
    for id in contents.in_order() {
        let held = &contents.executions[id];
        let mut delta = Delta::default();
        delta.promises.insert(id.clone(), held.execution.promise.clone());
        if let Some(task) = &held.execution.task {
            delta.tasks.insert(id.clone(), task.clone());
        }
        // The records are a valid journal: they were checked when they were read.
        let head = Outline::of(&held.records).map(|outline| outline.head()).unwrap_or_default();
        if head.len > 0 {
            delta.appends.push(JournalAppend {
                invocation: id.clone(),
                before: JournalHead::default(),
                after: head,
                records: held.records.clone(),
            });
        }
        let line = |line: &segno_bundle::BundleLine| {
            let (at, level, message) = (line.at, line.level, line.message.clone());
            (id.clone(), LogLine { seq: 0, level, at, message })
        };
        delta.logs.extend(held.lines.iter().map(line));
        for BundledStream { stream, items } in &held.streams {
            let row = stream.row(id, items);
            let mut position = 0;
            for items in items {
                delta.stream_chunks.push(items.row(&row.id, position));
                position += items.count;
            }
            delta.streams.insert(row.id.clone(), Some(row));
        }
        store.write(&delta, Vec::new());
    }
    let mut names = Delta::default();
    let aliases = contents.aliases();
    names.aliases.extend(aliases.into_iter().map(|(name, module)| (Text::from(name), module)));
    store.write(&names, Vec::new());
    Ok(())
}

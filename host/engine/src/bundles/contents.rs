//! The merged contents of one or several bundles.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use segno_bundle::{
    BundleError, BundleExecution, BundleHead, BundleItem, BundleLine, BundleModule, BundleReader,
    BundleRole, BundleStream, BundleStreamItems, ChainLink,
};
use segno_core::{
    id::{Digest, PromiseId},
    invocation::{AppendRefusal, EngineFacts, Outline, Record, RecordBody},
    promise::Promise,
    time::Timestamp,
};

/// The contents of bundles. If several bundles contain an execution, the entry with a journal wins
/// over a value without one, then the newest entry wins.
#[derive(Debug, Default)]
pub struct BundleContents {
    pub(super) executions: BTreeMap<PromiseId, BundledExecution>,
    pub(super) modules: BTreeMap<Digest, BundledModule>,
    heads: Vec<BundleHead>,
    seals: Vec<ChainLink>,
}

#[derive(Debug)]
pub(super) struct BundledExecution {
    pub(super) execution: BundleExecution,
    pub(super) records: Vec<Record>,
    pub(super) lines: Vec<BundleLine>,
    pub(super) streams: Vec<BundledStream>,
    made_at: Timestamp,
}

#[derive(Debug)]
pub(super) struct BundledStream {
    pub(super) stream: BundleStream,
    pub(super) items: Vec<BundleStreamItems>,
}

#[derive(Debug)]
pub(super) struct BundledModule {
    pub(super) module: BundleModule,
    pub(super) component: Option<Vec<u8>>,
    made_at: Timestamp,
}

/// The reason why a bundle was not added.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The file is not a bundle, or is damaged.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The records of an execution are not a valid journal.
    #[error("the records of `{id}` in the bundle are no journal: {refused}")]
    NoJournal {
        id: PromiseId,
        /// The fault in the records.
        refused: AppendRefusal,
    },
}

impl BundleContents {
    /// Adds the contents of a bundle. Adds nothing if the bundle is refused.
    ///
    /// # Errors
    /// [`ContentsError`].
    pub fn add(&mut self, from: impl Read) -> Result<(), ContentsError> {
        let mut reader = BundleReader::begin(from)?;
        let made_at = reader.head().made_at();
        let mut executions: Vec<BundledExecution> = Vec::new();
        let mut modules: Vec<BundledModule> = Vec::new();
        while let Some(item) = reader.next_item()? {
            match item {
                BundleItem::Execution(execution) => {
                    executions.push(BundledExecution {
                        execution: *execution,
                        records: Vec::new(),
                        lines: Vec::new(),
                        streams: Vec::new(),
                        made_at,
                    });
                }
                BundleItem::Record(record) => {
                    if let Some(held) = executions.last_mut() {
                        held.records.push(record);
                    }
                }
                BundleItem::Line(line) => {
                    if let Some(held) = executions.last_mut() {
                        held.lines.push(line);
                    }
                }
                BundleItem::Stream(stream) => {
                    if let Some(held) = executions.last_mut() {
                        held.streams.push(BundledStream { stream, items: Vec::new() });
                    }
                }
                BundleItem::StreamItems(items) => {
                    let stream = executions.last_mut().and_then(|held| held.streams.last_mut());
                    if let Some(stream) = stream {
                        stream.items.push(items);
                    }
                }
                BundleItem::Module(module) => {
                    modules.push(BundledModule { module, component: None, made_at });
                }
                // A replay reads no content.
                BundleItem::Blob(_) | BundleItem::BlobPiece(_) => {}
                BundleItem::Component(component) => {
                    if let Some(held) = modules.last_mut() {
                        held.component = Some(component);
                    }
                }
            }
        }
        for held in &executions {
            Outline::of(&held.records).map_err(|refused| ContentsError::NoJournal {
                id: held.execution.id().clone(),
                refused,
            })?;
        }
        executions.into_iter().for_each(|held| self.hold(held));
        modules.into_iter().for_each(|held| self.hold_module(held));
        self.seals.push(reader.seal());
        self.heads.push(reader.head().clone());
        Ok(())
    }

    /// Adds a component that the bundles lack. Returns false if no bundle refers to it.
    pub fn supply(&mut self, component: Vec<u8>) -> bool {
        let Some(held) = self.modules.get_mut(&Digest::of(&component)) else { return false };
        held.component = Some(component);
        true
    }

    /// The heads, one per bundle.
    pub fn heads(&self) -> &[BundleHead] {
        &self.heads
    }

    /// The last links, one per bundle.
    pub fn seals(&self) -> &[ChainLink] {
        &self.seals
    }

    /// The executions that were requested when the bundles were made, by id.
    pub fn asked(&self) -> impl Iterator<Item = &PromiseId> {
        let asked =
            |(_, held): &(&PromiseId, &BundledExecution)| held.execution.role == BundleRole::Asked;
        self.executions.iter().filter(asked).map(|(id, _)| id)
    }

    /// True if the execution is here with its journal, false if only its value is here. `None` if
    /// it is not here.
    pub fn is_whole(&self, id: &PromiseId) -> Option<bool> {
        self.executions.get(id).map(|held| held.execution.role != BundleRole::Value)
    }

    /// The number of executions that are here with their journals, including journals without
    /// records.
    pub fn whole(&self) -> usize {
        self.executions.values().filter(|held| held.execution.role != BundleRole::Value).count()
    }

    /// The total number of records of all executions.
    pub fn records(&self) -> usize {
        self.executions.values().map(|held| held.records.len()).sum()
    }

    /// The modules whose components are not here.
    pub fn missing(&self) -> impl Iterator<Item = Digest> {
        self.modules.iter().filter(|(_, held)| held.component.is_none()).map(|(digest, _)| *digest)
    }

    /// The module on which an execution is replayed by default.
    pub fn module_of(&self, id: &PromiseId) -> Option<Digest> {
        let held = self.executions.get(id)?;
        let began_on = held.records.first().and_then(|record| match &record.body {
            RecordBody::Started { module, .. } => Some(*module),
            _ => None,
        });
        held.execution.task.as_ref().and_then(|task| task.module).or(began_on)
    }

    /// A promise, and the part of its invocation's journal that is here.
    pub fn execution(&self, id: &PromiseId) -> Option<(&Promise, &[Record])> {
        let held = self.executions.get(id)?;
        Some((&held.execution.promise, &held.records))
    }

    /// All executions, by id.
    pub fn executions(&self) -> impl Iterator<Item = (&Promise, &[Record])> {
        self.executions.values().map(|held| (&held.execution.promise, held.records.as_slice()))
    }

    /// The streams, by the ids of their executions and by name.
    pub fn streams(&self) -> impl Iterator<Item = (&PromiseId, &str)> {
        self.executions.iter().flat_map(|(id, held)| {
            held.streams.iter().map(move |held| (id, held.stream.name.as_str()))
        })
    }

    /// The component of a module.
    pub fn component(&self, module: Digest) -> Option<&[u8]> {
        self.modules.get(&module)?.component.as_deref()
    }

    /// True if the component of a module is here.
    pub fn has_component(&self, module: Digest) -> bool {
        self.modules.get(&module).is_some_and(|held| held.component.is_some())
    }

    /// The aliases, with their modules. The alias by which an execution was called may since have
    /// moved to a newer module that the bundles lack. Here it refers to the module of the
    /// execution, unless a module in the bundles has that alias.
    pub fn aliases(&self) -> BTreeMap<String, Digest> {
        let called = self.executions.values().filter_map(|held| {
            let name = held.execution.promise.module_name();
            Some((name, held.execution.task.as_ref()?.module?)).filter(|(name, _)| !name.is_empty())
        });
        let mut by_age: Vec<&BundledModule> = self.modules.values().collect();
        by_age.sort_by_key(|held| held.made_at);
        let named = by_age.into_iter().flat_map(|held| {
            held.module.aliases.iter().map(|alias| (alias.clone(), held.module.digest))
        });
        called.chain(named).collect()
    }

    /// The instant of all replays: when the newest bundle was made.
    pub(super) fn made_at(&self) -> Timestamp {
        self.heads.iter().map(BundleHead::made_at).max().unwrap_or_default()
    }

    /// The engine settings with which the executions began, and those of the hosts.
    pub(super) fn facts(&self) -> Vec<EngineFacts> {
        let began = self.executions.values().filter_map(|held| match &held.records.first()?.body {
            RecordBody::Started { engine, .. } => Some(*engine),
            _ => None,
        });
        began.chain(self.heads.iter().map(|head| head.engine)).collect()
    }

    /// The largest value of this limit among the hosts.
    pub(super) fn limit(&self, name: &str) -> Option<u64> {
        self.heads.iter().filter_map(|head| head.limits.get(name)).max().copied()
    }

    fn hold(&mut self, held: BundledExecution) {
        let id = held.execution.id().clone();
        let rank =
            |held: &BundledExecution| (held.execution.role != BundleRole::Value, held.made_at);
        if self.executions.get(&id).is_none_or(|before| rank(before) < rank(&held)) {
            self.executions.insert(id, held);
        }
    }

    fn hold_module(&mut self, mut held: BundledModule) {
        match self.modules.remove(&held.module.digest) {
            Some(before) if before.made_at > held.made_at => {
                let component = before.component.or(held.component);
                self.modules.insert(before.module.digest, BundledModule { component, ..before });
            }
            Some(before) => {
                held.component = held.component.or(before.component);
                self.modules.insert(held.module.digest, held);
            }
            None => drop(self.modules.insert(held.module.digest, held)),
        }
    }

    /// The ids in the order of creation of their promises.
    pub(super) fn in_order(&self) -> Vec<&PromiseId> {
        let known: BTreeSet<(Timestamp, &PromiseId)> = self
            .executions
            .iter()
            .map(|(id, held)| (held.execution.promise.spec.created_at, id))
            .collect();
        known.into_iter().map(|(_, id)| id).collect()
    }
}

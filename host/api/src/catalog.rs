//! The stored modules, cached briefly.
//!
//! The cache only serves to refuse early with a good message. The engine decides which module an
//! execution runs, when it accepts the execution.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{
    id::Digest,
    time::{Millis, Timestamp},
};
use segno_store::ModuleRow;

use super::{
    Api, ApiError,
    model::{Function, Module, ModuleDescription},
    problem_kind as kind,
};

/// Maximum age of the cached list. Uploads through this API are visible immediately.
const FRESH: Millis = Millis(2_000);

/// The cached modules.
#[derive(Default)]
pub(crate) struct Catalog {
    modules: Mutex<Option<(Timestamp, Arc<CatalogModules>)>>,
    /// Held by the request that reloads an outdated list; other requests wait for it.
    reading: tokio::sync::Mutex<()>,
}

/// The stored modules at one instant, newest first.
pub struct CatalogModules(pub Vec<CatalogEntry>);

/// One module.
pub struct CatalogEntry {
    pub digest: Digest,
    /// The module's description, without the number of its executions.
    pub module: Module,
    /// The error, if the description cannot be read.
    pub unreadable: Option<String>,
}

impl CatalogModules {
    fn of(rows: Vec<ModuleRow>) -> Self {
        let mut entries: Vec<CatalogEntry> = rows.into_iter().map(CatalogEntry::of).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.module.created_at_ms));
        Self(entries)
    }

    /// Finds a module by alias, digest, or unique prefix of a digest.
    pub fn find(&self, name: &str) -> Option<&CatalogEntry> {
        let by_alias =
            |entry: &&CatalogEntry| entry.module.aliases.iter().any(|alias| alias == name);
        if let Some(entry) = self.0.iter().find(by_alias) {
            return Some(entry);
        }
        let hex = name.strip_prefix("sha256:").unwrap_or(name).to_ascii_lowercase();
        if hex.len() < 8 {
            return None;
        }
        let mut fitting = self.0.iter().filter(|entry| entry.module.digest.starts_with(&hex));
        fitting.next().filter(|_| fitting.next().is_none())
    }

    /// Finds the module with this digest.
    pub fn by_digest(&self, digest: Digest) -> Option<&CatalogEntry> {
        self.0.iter().find(|entry| entry.digest == digest)
    }

    /// Returns all aliases, sorted.
    pub fn aliases(&self) -> Vec<String> {
        let mut aliases: Vec<String> =
            self.0.iter().flat_map(|entry| entry.module.aliases.iter().cloned()).collect();
        aliases.sort();
        aliases
    }
}

impl CatalogEntry {
    fn of(row: ModuleRow) -> Self {
        let described = ModuleDescription::read(&row.description);
        let unreadable = described.as_ref().err().map(ToString::to_string);
        let description = described.unwrap_or_default();
        let module = Module {
            digest: row.digest.to_string(),
            size: row.size,
            created_at_ms: row.created_at.0,
            aliases: row.aliases,
            in_use: 0,
            description,
        };
        Self { digest: row.digest, module, unreadable }
    }

    /// Finds the function with this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.module.description.functions.iter().find(|function| function.name == name)
    }
}

/// A function resolved from a request.
pub(crate) struct ResolvedFunction {
    /// Digest of its module.
    pub digest: Digest,
    /// The function's description.
    pub function: Function,
    /// True if the request named the module by an alias instead of a digest.
    pub by_alias: bool,
}

impl ResolvedFunction {
    fn of(entry: &CatalogEntry, name: &str, function: &Function) -> Self {
        let by_alias = entry.module.aliases.iter().any(|alias| alias == name);
        Self { digest: entry.digest, function: function.clone(), by_alias }
    }
}

impl Api {
    /// Reads the list of stored modules from the store, and caches it.
    pub async fn modules(&self) -> Result<Arc<CatalogModules>, ApiError> {
        let now = self.host.env.clock.now();
        let modules = Arc::new(CatalogModules::of(self.host.store.modules().list().await?));
        let mut known = self.catalog.modules.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((now, modules.clone()));
        Ok(modules)
    }

    /// Resolves a module and its function; the refusal lists the known names.
    pub(super) async fn resolve(
        &self,
        name: &str,
        function: &str,
    ) -> Result<ResolvedFunction, ApiError> {
        if let Some(resolved) = self.recalled(name, function) {
            return Ok(resolved);
        }
        let _reading = self.catalog.reading.lock().await;
        if let Some(resolved) = self.recalled(name, function) {
            return Ok(resolved);
        }
        let modules = self.modules().await?;
        let entry = modules.find(name).ok_or_else(|| ApiError::UnknownModule {
            name: name.to_owned(),
            known: modules.aliases(),
        })?;
        if let Some(reason) = &entry.unreadable {
            return Err(ApiError::refused(
                kind::UNREADABLE_MODULE,
                format!(
                    "the description of module `{name}` ({}) cannot be read: {reason}; deploy it again",
                    entry.digest
                ),
            ));
        }
        let found = entry.function(function).ok_or_else(|| {
            let functions = entry.module.description.functions.iter();
            ApiError::UnknownFunction {
                module: name.to_owned(),
                function: function.to_owned(),
                known: functions.map(|function| function.name.clone()).collect(),
            }
        })?;
        Ok(ResolvedFunction::of(entry, name, found))
    }

    fn recalled(&self, name: &str, function: &str) -> Option<ResolvedFunction> {
        let modules = self.remembered()?;
        let entry = modules.find(name)?;
        Some(ResolvedFunction::of(entry, name, entry.function(function)?))
    }

    /// Resolves the digest of the module `name`.
    pub(super) async fn digest(&self, name: &str) -> Result<Digest, ApiError> {
        let modules = self.modules().await?;
        let found = modules.find(name).map(|entry| entry.digest);
        found.ok_or_else(|| ApiError::UnknownModule {
            name: name.to_owned(),
            known: modules.aliases(),
        })
    }

    pub(super) fn remembered(&self) -> Option<Arc<CatalogModules>> {
        let now = self.host.env.clock.now();
        let known = self.catalog.modules.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(at, _)| now < *at + FRESH).map(|(_, modules)| modules.clone())
    }
}

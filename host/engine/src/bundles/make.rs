//! Makes a bundle of executions of a store.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use segno_bundle::{
    BundleError, BundleWriter, Execution, Head, Item, Line, Module, Redaction, Role, Written,
    redacted,
};
use segno_core::{
    id::Digest,
    invocation::{LogLevel, Record},
    value::Text,
};
use segno_store::{
    GatherError, GatherSink, GatheredAs, LogRow, ModuleRow, PromiseRow, Selection, StoreError,
};

use crate::host::Host;

/// The options of a bundle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BundleOptions {
    /// Hides values and keeps their shapes.
    pub redact: bool,
    /// Leaves the components out. A reader who has them can replay with their own copies.
    pub without_modules: bool,
}

/// The reason why a bundle was not made. The output is then incomplete, and every reader refuses
/// it.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    /// The executions could not be read.
    #[error(transparent)]
    Gather(#[from] GatherError),
    /// A module could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The bundle could not be written.
    #[error("the bundle cannot be written: {0}")]
    Write(#[from] BundleError),
}

/// Writes a bundle of the executions in `selection` to `out`. All are read as of one instant.
///
/// # Errors
/// [`MakeError`].
pub async fn make<W: Write + Send>(
    host: &Host,
    selection: &Selection,
    options: BundleOptions,
    out: W,
) -> Result<(W, Written), MakeError> {
    let head = Head {
        written_by: format!("segno {}", env!("CARGO_PKG_VERSION")),
        made_at_ms: host.env.clock.now().0,
        tree: selection.tree,
        without_modules: options.without_modules,
        redacted: options.redact.then(Redaction::usual),
        engine: host.guests.engine_facts(),
        limits: limits(host),
    };
    let writer = BundleWriter::begin(out, &head)?;
    let mut sink = Sink { writer, redact: options.redact };
    host.store.scan().gather(selection, &mut sink).await?;
    let mut writer = sink.writer;
    modules(host, options, &mut writer).await?;
    Ok(writer.end()?)
}

/// The limits of the host's guests, by name.
fn limits(host: &Host) -> BTreeMap<String, u64> {
    let limits = host.guests.limits().and_then(|limits| serde_json::to_value(limits).ok());
    let fields = limits.as_ref().and_then(serde_json::Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_u64()?))).collect()
}

async fn modules<W: Write>(
    host: &Host,
    options: BundleOptions,
    writer: &mut BundleWriter<W>,
) -> Result<(), MakeError> {
    let known = host.store.modules().list().await?;
    let known: BTreeMap<Digest, &ModuleRow> = known.iter().map(|row| (row.digest, row)).collect();
    for digest in writer.modules().clone() {
        let row = known.get(&digest);
        let module = Module {
            digest,
            size: row.map_or(0, |row| row.size),
            created_at: row.map(|row| row.created_at).unwrap_or_default(),
            aliases: row.map(|row| row.aliases.clone()).unwrap_or_default(),
            description: row.map_or_else(|| "{}".to_owned(), |row| row.description.clone()),
        };
        let component = match options.without_modules {
            true => None,
            false => host.store.modules().component(digest).await?,
        };
        writer.module(&module, component.as_deref())?;
    }
    Ok(())
}

/// Writes gathered rows to the bundle.
struct Sink<W> {
    writer: BundleWriter<W>,
    redact: bool,
}

impl<W: Write> Sink<W> {
    fn item(&mut self, item: Item) -> io::Result<()> {
        let item = if self.redact { redacted(item) } else { item };
        let written = match &item {
            Item::Execution(execution) => self.writer.execution(execution),
            Item::Record(record) => self.writer.record(record),
            Item::Line(line) => self.writer.line(line),
            Item::Module(_) | Item::Component(_) => Ok(()),
        };
        written.map_err(|error| match error {
            BundleError::File(error) => error,
            error => io::Error::other(error),
        })
    }
}

impl<W: Write + Send> GatherSink for Sink<W> {
    fn promise(&mut self, row: PromiseRow, because: GatheredAs) -> io::Result<()> {
        let role = match because {
            GatheredAs::Asked => Role::Asked,
            GatheredAs::Member => Role::Member,
            GatheredAs::Value => Role::Value,
        };
        let PromiseRow { promise, task } = row;
        self.item(Item::Execution(Box::new(Execution { role, promise, task })))
    }

    fn records(&mut self, records: Vec<Record>) -> io::Result<()> {
        records.into_iter().try_for_each(|record| self.item(Item::Record(record)))
    }

    fn lines(&mut self, lines: Vec<LogRow>) -> io::Result<()> {
        lines.into_iter().try_for_each(|row| {
            let number = row.level.saturating_add(LogLevel::Trace.number());
            let level = LogLevel::from_number(number).unwrap_or(LogLevel::Info);
            let message = Text::from(row.message);
            self.item(Item::Line(Line { at: row.at, level, message }))
        })
    }
}

//! The exporter: a bounded queue, and a task that builds spans from rows and sends them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use opentelemetry::KeyValue;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SpanData, SpanExporter as _},
};
use segno_core::{id::PromiseId, invocation::Record, time::Millis};
use segno_env::{Proxies, Runtime, http_client};
use segno_store::{PromiseRow, Store, StoreError};
use tokio::sync::mpsc;

use super::{
    context::{TRACEPARENT, TraceContext},
    spans::{self, FinishedReplay},
};

/// Maximum number of settlements and replays in the queue. Beyond it, spans are dropped, and
/// nothing else is lost.
const QUEUE: usize = 16_384;
/// Maximum number of executions exported together.
const PAGE: usize = 256;
/// Maximum number of spans in one request.
const BATCH: usize = 512;
/// Maximum number of records of one journal that become spans.
const RECORDS: u32 = 10_000;
/// Maximum number of roots whose trace contexts are cached.
const ROOTS: usize = 10_000;
/// Timeout of one request to the receiver.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A message in the queue: a settlement or a replay.
#[derive(Debug)]
enum TraceMessage {
    Settled(PromiseId),
    Replayed(FinishedReplay),
}

/// The sending end of the queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TraceSender(mpsc::Sender<TraceMessage>);

/// The reason why the exporter cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// The settings are invalid.
    #[error("traces cannot be sent: {0}")]
    Settings(String),
    /// The HTTP client cannot be set up.
    #[error("the HTTP client for traces cannot be set up")]
    Client(#[from] reqwest::Error),
}

impl TraceSender {
    /// Queues a settled promise. If the queue is full, its spans are dropped.
    pub fn settled(&self, id: &PromiseId) {
        let _ = self.0.try_send(TraceMessage::Settled(id.clone()));
    }

    /// Queues a finished replay.
    pub fn replayed(&self, replayed: FinishedReplay) {
        let _ = self.0.try_send(TraceMessage::Replayed(replayed));
    }
}

/// The receiving end of the queue, with the exporter's state.
pub struct TraceExporter {
    store: Arc<dyn Store>,
    told: mpsc::Receiver<TraceMessage>,
    exporter: SpanExporter,
    roots: HashMap<PromiseId, TraceContext>,
    failing: bool,
}

impl TraceExporter {
    /// An exporter to `endpoint`, the base URL of an OTLP receiver. `None`: the URL in the
    /// OTEL_EXPORTER_OTLP_* variables.
    ///
    /// # Errors
    /// [`ExporterError`].
    pub fn new(
        store: Arc<dyn Store>,
        endpoint: Option<&str>,
        node: &str,
    ) -> Result<(TraceSender, Self), ExporterError> {
        let client = http_client(Proxies::OfEnvironment).timeout(REQUEST_TIMEOUT).build()?;
        let mut builder = SpanExporter::builder().with_http().with_http_client(client);
        if let Some(endpoint) = endpoint {
            builder =
                builder.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')));
        }
        let mut exporter =
            builder.build().map_err(|error| ExporterError::Settings(error.to_string()))?;
        // The service is named `segno`, unless OTEL_SERVICE_NAME is set.
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("segno");
        }
        let resource = resource.with_attributes([
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("segno.node", node.to_owned()),
        ]);
        exporter.set_resource(&resource.build());
        let (sender, told) = mpsc::channel(QUEUE);
        let exporting = Self { store, told, exporter, roots: HashMap::new(), failing: false };
        Ok((TraceSender(sender), exporting))
    }

    /// Exports spans until the host is dropped.
    pub async fn run(mut self, runtime: Arc<dyn Runtime>) {
        let mut page = Vec::with_capacity(PAGE);
        while self.told.recv_many(&mut page, PAGE).await > 0 {
            let mut spans = Vec::new();
            for told in page.drain(..) {
                match self.tell(told).await {
                    Ok(more) => spans.extend(more),
                    Err(StoreError::Closed) => return,
                    Err(error) => tracing::debug!(%error, "an execution was not traced"),
                }
                if spans.len() >= BATCH {
                    self.send(std::mem::take(&mut spans)).await;
                }
            }
            if !spans.is_empty() {
                self.send(spans).await;
            }
            // Promises that settle together are exported together.
            runtime.sleep(Millis(20)).await;
        }
    }

    async fn tell(&mut self, told: TraceMessage) -> Result<Vec<SpanData>, StoreError> {
        let id = match &told {
            TraceMessage::Settled(id) => id,
            TraceMessage::Replayed(replayed) => &replayed.id,
        };
        let Some(PromiseRow { promise, task: Some(task) }) = self.store.read().promise(id).await?
        else {
            // Sleeps and promises without a task appear as steps of the executions that wait for
            // them.
            return Ok(Vec::new());
        };
        let Some(context) = self.context(&promise).await?.filter(|context| context.sampled) else {
            return Ok(Vec::new());
        };
        Ok(match &told {
            TraceMessage::Replayed(replayed) => vec![spans::replay(&context, replayed)],
            TraceMessage::Settled(id) => {
                let journal: Vec<Record> = self.store.read().journal(id, 0, RECORDS).await?;
                spans::execution(&context, &promise, &task, &journal)
            }
        })
    }

    /// The trace of the tree that an execution belongs to. `None` if its root has been removed.
    async fn context(
        &mut self,
        promise: &segno_core::promise::Promise,
    ) -> Result<Option<TraceContext>, StoreError> {
        let origin = promise.spec.tags.get(segno_core::tags::ORIGIN);
        let root = origin.map_or_else(|| promise.id().clone(), |id| PromiseId::from(id.as_str()));
        if let Some(known) = self.roots.get(&root) {
            return Ok(Some(*known));
        }
        let row = match root == *promise.id() {
            true => Some(promise.clone()),
            false => self.store.read().promise(&root).await?.map(|row| row.promise),
        };
        let Some(row) = row else { return Ok(None) };
        let given = row.spec.param.headers.get(TRACEPARENT).map(String::as_str);
        let context = TraceContext::of_root(&root, given);
        if self.roots.len() >= ROOTS {
            self.roots.clear();
        }
        self.roots.insert(root, context);
        Ok(Some(context))
    }

    async fn send(&mut self, spans: Vec<SpanData>) {
        match self.exporter.export(spans).await {
            Ok(()) => self.failing = false,
            // Logged once per outage, and not for every batch.
            Err(error) if !self.failing => {
                self.failing = true;
                tracing::warn!(%error, "the receiver of traces did not accept them; executions continue without traces");
            }
            Err(error) => tracing::debug!(%error, "the receiver of traces did not accept them"),
        }
    }
}

//! The streams that an attempt of an activity writes. Items are gathered for a moment, so that many
//! share a commit.

use std::{collections::BTreeMap, sync::Arc};

use segno_core::{
    command::Command,
    id::{PromiseId, StreamId},
    promise::Promise,
    reply::{Refusal, Reply, StreamRefusal},
    stream::{ProducerPosition, StreamAppend, StreamItems},
    time::Millis,
    value::Text,
};
use segno_guest::{Failure, Payload};
use segno_store::StoreError;
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    claim::ClaimSession,
    values::{code, journals},
};

/// Time over which items are gathered.
const GATHER: Millis = Millis(20);
/// Bytes from which an append waits until what was gathered is stored. The bytes of a second, if
/// the rate of streams is smaller.
const GATHERED_BYTES: u64 = 64 << 10;

/// The streams of one attempt.
pub(super) struct AttemptStreams {
    session: Arc<ClaimSession>,
    /// The execution whose streams these are.
    owner: PromiseId,
    gathered: Mutex<GatheredItems>,
    /// Wakes the task that stores items in time. That task owns nothing else of the attempt while
    /// it waits, so that it ends with an attempt that is dropped.
    first: Arc<Notify>,
    ended: CancellationToken,
    _ends: DropGuard,
}

#[derive(Default)]
struct GatheredItems {
    streams: BTreeMap<String, GatheredStream>,
    /// True if the task that stores items in time was started.
    is_timed: bool,
    /// The first refusal; nothing is stored after it.
    refused: Option<Failure>,
}

#[derive(Default)]
struct GatheredStream {
    content_type: String,
    count: u64,
    data: Vec<u8>,
    /// Number of the next batch.
    seq: u64,
}

impl AttemptStreams {
    /// The streams of the execution that called the activity, or of the activity itself.
    pub(super) fn new(session: Arc<ClaimSession>, promise: &Promise) -> Arc<Self> {
        let maker = promise.spec.made_by.as_ref().unwrap_or_else(|| promise.id());
        let owner = maker.generation_of().map_or_else(|| maker.clone(), |(first, _)| first);
        let ended = CancellationToken::new();
        let _ends = ended.clone().drop_guard();
        let (gathered, first) = (Mutex::default(), Arc::default());
        Arc::new(Self { session, owner, gathered, first, ended, _ends })
    }

    /// Number of positions that all attempts of the call have appended and the store has.
    pub(super) async fn kept(&self, name: &str) -> Result<u64, Failure> {
        let mut gathered = self.gathered.lock().await;
        self.store(&mut gathered).await?;
        let id = StreamId::of_execution(&self.owner, name);
        let read = self.session.host().store.read().stream_kept(&id, self.writer()).await;
        read.map_err(|error| failure(code::FAILED, error.to_string()))
    }

    /// Gathers an item, and stores what is gathered if it is too much.
    pub(super) async fn append(
        self: &Arc<Self>,
        name: &str,
        content_type: &str,
        item: &Payload,
    ) -> Result<(), Failure> {
        let items = StreamItems::of_payload(content_type, &journals::payload(item))
            .map_err(|refused| failure(code::BAD_REQUEST, refused.to_string()))?;
        let mut gathered = self.gathered.lock().await;
        if let Some(refused) = &gathered.refused {
            return Err(refused.clone());
        }
        let is_other = |known: &GatheredStream| {
            known.count > 0 && !known.content_type.eq_ignore_ascii_case(content_type)
        };
        if gathered.streams.get(name).is_some_and(is_other) {
            self.store(&mut gathered).await?;
        }
        let is_first = gathered.streams.values().all(|stream| stream.count == 0);
        let stream = gathered.streams.entry(name.to_owned()).or_default();
        stream.content_type = content_type.to_owned();
        stream.count += items.count;
        stream.data.extend_from_slice(&items.data);
        let bytes: usize = gathered.streams.values().map(|stream| stream.data.len()).sum();
        let rate = self.session.host().config.stream.rate;
        let most = rate.map_or(GATHERED_BYTES, |rate| rate.bytes_per_second.min(GATHERED_BYTES));
        if bytes as u64 >= most {
            return self.store(&mut gathered).await;
        }
        if !gathered.is_timed {
            gathered.is_timed = true;
            self.store_in_time();
        }
        if is_first {
            self.first.notify_one();
        }
        Ok(())
    }

    /// Spawns the task that stores items when they were gathered long enough.
    fn store_in_time(self: &Arc<Self>) {
        let (streams, first, ended) =
            (Arc::downgrade(self), self.first.clone(), self.ended.clone());
        let runtime = self.session.host().env.runtime.clone();
        let sleeper = runtime.clone();
        let storing = async move {
            loop {
                let due = async {
                    first.notified().await;
                    sleeper.sleep(GATHER).await;
                };
                tokio::select! {
                    biased;
                    () = ended.cancelled() => return,
                    () = due => {}
                }
                let Some(streams) = streams.upgrade() else { return };
                let mut gathered = streams.gathered.lock().await;
                // The guest is told with its next append, or at the end of the attempt.
                let _ = streams.store(&mut gathered).await;
            }
        };
        runtime.spawn("attempt streams", Box::pin(storing));
    }

    /// Stores what is gathered: the attempt has ended.
    pub(super) async fn end(&self) -> Result<(), Failure> {
        self.ended.cancel();
        let mut gathered = self.gathered.lock().await;
        match &gathered.refused {
            Some(refused) => Err(refused.clone()),
            None => self.store(&mut gathered).await,
        }
    }

    async fn store(&self, gathered: &mut GatheredItems) -> Result<(), Failure> {
        let waiting = gathered.streams.iter_mut().filter(|(_, stream)| stream.count > 0);
        for (name, stream) in waiting {
            let items = StreamItems {
                count: std::mem::take(&mut stream.count),
                data: std::mem::take(&mut stream.data).into(),
            };
            let seq = stream.seq;
            stream.seq += 1;
            if let Err(refused) = self.send(name, &stream.content_type, items, seq).await {
                gathered.refused = Some(refused.clone());
                return Err(refused);
            }
        }
        Ok(())
    }

    async fn send(
        &self,
        name: &str,
        content_type: &str,
        items: StreamItems,
        seq: u64,
    ) -> Result<(), Failure> {
        let claim = &self.session.active.claim;
        let producer =
            ProducerPosition { id: Text::from(claim.id.as_str()), epoch: claim.version.0, seq };
        let append = StreamAppend {
            id: StreamId::of_execution(&self.owner, name),
            content_type: Some(Text::from(content_type)),
            items,
            producer: Some(producer),
            label: None,
            closes: false,
            claim: Some(claim.clone()),
        };
        match self.store_append(append).await {
            Ok(Reply::Stream(_)) => Ok(()),
            Ok(Reply::Refused(Refusal::Conflict(_) | Refusal::NotFound(_))) => {
                self.session.active.abort.cancel();
                Err(failure(code::FAILED, "the attempt has lost its claim".to_owned()))
            }
            Ok(Reply::Refused(refusal)) => {
                Err(failure(u32::from(refusal.code()), refusal.to_string()))
            }
            Ok(other) => {
                Err(failure(code::FAILED, format!("an answer of the wrong kind: {other:?}")))
            }
            Err(error) => Err(failure(code::FAILED, error.to_string())),
        }
    }

    /// Stores an append, and waits as long as the stream takes no more.
    async fn store_append(&self, append: StreamAppend) -> Result<Reply, StoreError> {
        let host = self.session.host();
        loop {
            let reply = host.attempt(Command::StreamAppend(Box::new(append.clone()))).await?;
            let wait = match &reply {
                Reply::Refused(Refusal::Stream(refusal)) => match **refusal {
                    StreamRefusal::TooFast { wait, .. } => wait,
                    _ => return Ok(reply),
                },
                _ => return Ok(reply),
            };
            tokio::select! {
                biased;
                () = self.session.active.abort.cancelled() => return Ok(reply),
                () = host.env.runtime.sleep(wait) => {}
            }
        }
    }

    fn writer(&self) -> &PromiseId {
        &self.session.active.claim.id
    }
}

fn failure(code: u32, message: String) -> Failure {
    Failure { code, message, details: None }
}

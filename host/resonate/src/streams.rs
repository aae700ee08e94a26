//! The open streams of workers, by group, and the messages that wait for a stream to open.
//! Independent of HTTP.
//!
//! This state is lost with the process, which is harmless: waiting messages are also in the store's
//! outbox.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use segno_api::ClientRights;
use segno_core::{id::PromiseId, promise::OutboxKey};
use tokio::sync::mpsc;

/// Maximum number of messages remembered while no stream is open for them; others are left to the
/// store's timers.
const WAITING: usize = 10_000;

/// Maximum number of messages whose last receiver is remembered.
const TAKEN: usize = 10_000;

/// Maximum number of bytes queued for one reader, unless they are a single message.
const BYTES: usize = 4 * 1024 * 1024;

/// Maximum number of bytes queued for all readers, with the same exception.
const BYTES_IN_ALL: usize = 64 * 1024 * 1024;

/// The result of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamSendResult {
    /// A stream accepted the message.
    Accepted,
    /// All matching streams have too many messages queued.
    Full,
    /// No matching stream is open.
    Nobody,
}

/// The open streams.
#[derive(Debug)]
pub struct WorkerStreams {
    table: Mutex<StreamTable>,
    /// Number of bytes queued for readers.
    queued: Arc<AtomicUsize>,
    limit: usize,
    buffer: usize,
}

/// An open stream, for its owner.
#[derive(Debug)]
pub struct WorkerStream {
    /// Number of the stream, needed to close it.
    pub number: u64,
    /// The receiving end of the messages.
    pub messages: StreamMessages,
    /// Keys of messages that waited for this stream.
    pub waiting: Vec<OutboxKey>,
}

/// The reader's end of a stream.
#[derive(Debug)]
pub struct StreamMessages {
    received: mpsc::Receiver<Bytes>,
    queued: QueuedBytes,
}

/// Queued bytes of one reader, and of all readers.
#[derive(Debug, Clone)]
struct QueuedBytes {
    own: Arc<AtomicUsize>,
    all: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct StreamTable {
    groups: BTreeMap<String, Vec<OpenStream>>,
    /// Number of streams of each worker, in all groups.
    workers: BTreeMap<String, usize>,
    open: usize,
    next: u64,
    turn: usize,
    /// The stream that last accepted a message, by the message's fingerprint.
    taken: BTreeMap<u64, u64>,
    waiting: BTreeMap<String, BTreeSet<(Option<String>, OutboxKey)>>,
    waiting_count: usize,
}

#[derive(Debug)]
struct OpenStream {
    number: u64,
    worker: String,
    /// Rights that limit its messages.
    rights: ClientRights,
    sender: mpsc::Sender<Bytes>,
    queued: QueuedBytes,
}

impl WorkerStreams {
    /// Allows `limit` streams, each with up to `buffer` messages queued.
    pub fn new(limit: usize, buffer: usize) -> Self {
        Self { table: Mutex::default(), queued: Arc::default(), limit, buffer: buffer.max(1) }
    }

    /// Opens a stream of a worker, limited to messages within `rights`. `None` if `limit` streams
    /// are open.
    pub fn open(&self, group: &str, worker: &str, rights: &ClientRights) -> Option<WorkerStream> {
        let mut table = self.lock();
        if table.open >= self.limit {
            return None;
        }
        let (sender, received) = mpsc::channel(self.buffer);
        let queued = QueuedBytes { own: Arc::default(), all: self.queued.clone() };
        let messages = StreamMessages { received, queued: queued.clone() };
        let number = table.next;
        table.next += 1;
        table.open += 1;
        *table.workers.entry(worker.to_owned()).or_default() += 1;
        let open = OpenStream {
            number,
            worker: worker.to_owned(),
            rights: rights.clone(),
            sender,
            queued,
        };
        table.groups.entry(group.to_owned()).or_default().push(open);
        let waiting = table.take_waiting(group, worker, rights);
        Some(WorkerStream { number, messages, waiting })
    }

    /// Closes a stream. Returns true if it was the worker's last, in any group.
    pub fn close(&self, group: &str, number: u64) -> bool {
        let mut table = self.lock();
        let Some(members) = table.groups.get_mut(group) else { return false };
        let Some(place) = members.iter().position(|open| open.number == number) else {
            return false;
        };
        let worker = members.remove(place).worker;
        if members.is_empty() {
            table.groups.remove(group);
        }
        table.open -= 1;
        match table.workers.get_mut(&worker) {
            Some(streams) if *streams > 1 => *streams -= 1,
            _ => {
                table.workers.remove(&worker);
            }
        }
        !table.is_open(&worker)
    }

    /// Returns true if the worker has a stream in any group.
    pub fn is_open(&self, worker: &str) -> bool {
        self.lock().is_open(worker)
    }

    /// Number of open streams.
    pub fn count(&self) -> usize {
        self.lock().open
    }

    /// Number of bytes queued for readers.
    pub fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Sends a message about `id` to a stream of the group: to one of `worker` if there is one;
    /// otherwise to any, unless the message is for that worker only. A repeated message had no
    /// effect the first time, so another stream is preferred: the first may be open without a live
    /// reader.
    pub fn send(
        &self,
        group: &str,
        worker: Option<&str>,
        alone: bool,
        id: &PromiseId,
        message: &Bytes,
    ) -> StreamSendResult {
        let mut table = self.lock();
        table.turn = table.turn.wrapping_add(1);
        let turn = table.turn;
        let Some(members) = table.groups.get(group) else { return StreamSendResult::Nobody };
        let may_hear = members.iter().filter(|open| open.rights.over(id.as_str()));
        let (named, others): (Vec<&OpenStream>, Vec<&OpenStream>) =
            may_hear.partition(|open| Some(open.worker.as_str()) == worker);
        // Newest first: after a reconnection the older stream may be dead without having been
        // closed.
        let named = named.into_iter().rev();
        let start = turn.checked_rem(others.len()).unwrap_or(0);
        let others = others[start..].iter().chain(&others[..start]).copied().filter(|_| !alone);
        let said = fingerprint(message);
        let last = table.taken.get(&said);
        let (passed, first): (Vec<&OpenStream>, Vec<&OpenStream>) =
            named.chain(others).partition(|open| Some(&open.number) == last);
        let mut sent = StreamSendResult::Nobody;
        for open in first.into_iter().chain(passed) {
            match open.send(message) {
                StreamSendResult::Accepted => {
                    let number = open.number;
                    if table.taken.len() >= TAKEN {
                        table.taken.clear();
                    }
                    table.taken.insert(said, number);
                    return StreamSendResult::Accepted;
                }
                StreamSendResult::Full => sent = StreamSendResult::Full,
                StreamSendResult::Nobody => {}
            }
        }
        sent
    }

    /// Remembers a message without a receiver until a stream of the group opens, or one of worker
    /// `alone` if given.
    pub fn wait(&self, group: &str, alone: Option<&str>, key: OutboxKey) {
        let mut table = self.lock();
        if table.waiting_count < WAITING {
            let of_group = table.waiting.entry(group.to_owned()).or_default();
            table.waiting_count += usize::from(of_group.insert((alone.map(str::to_owned), key)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hash of the message: equal messages have equal hashes.
fn fingerprint(message: &Bytes) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.hash(&mut hasher);
    hasher.finish()
}

impl OpenStream {
    fn send(&self, message: &Bytes) -> StreamSendResult {
        if !self.queued.take(message.len()) {
            return StreamSendResult::Full;
        }
        let sent = match self.sender.try_send(message.clone()) {
            Ok(()) => return StreamSendResult::Accepted,
            Err(mpsc::error::TrySendError::Full(_)) => StreamSendResult::Full,
            // The stream is being closed.
            Err(mpsc::error::TrySendError::Closed(_)) => StreamSendResult::Nobody,
        };
        self.queued.give_back(message.len());
        sent
    }
}

impl StreamMessages {
    /// Receives the next message; `None` when the stream is closed.
    pub async fn recv(&mut self) -> Option<Bytes> {
        let message = self.received.recv().await?;
        self.queued.give_back(message.len());
        Some(message)
    }

    /// Receives the next message without waiting.
    ///
    /// # Errors
    /// No message is queued now, or the stream is closed.
    pub fn try_recv(&mut self) -> Result<Bytes, mpsc::error::TryRecvError> {
        let message = self.received.try_recv()?;
        self.queued.give_back(message.len());
        Ok(message)
    }
}

impl Drop for StreamMessages {
    fn drop(&mut self) {
        self.received.close();
        while self.try_recv().is_ok() {}
    }
}

impl QueuedBytes {
    /// Reserves `bytes` bytes of the queue if they are free. Senders are serialized by the table's
    /// lock.
    fn take(&self, bytes: usize) -> bool {
        let fits = |queued: &AtomicUsize, limit| match queued.load(Ordering::Relaxed) {
            0 => true,
            queued => queued + bytes <= limit,
        };
        let room = fits(&self.own, BYTES) && fits(&self.all, BYTES_IN_ALL);
        if room {
            self.own.fetch_add(bytes, Ordering::Relaxed);
            self.all.fetch_add(bytes, Ordering::Relaxed);
        }
        room
    }

    fn give_back(&self, bytes: usize) {
        self.own.fetch_sub(bytes, Ordering::Relaxed);
        self.all.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl StreamTable {
    fn is_open(&self, worker: &str) -> bool {
        self.workers.contains_key(worker)
    }

    fn take_waiting(&mut self, group: &str, worker: &str, rights: &ClientRights) -> Vec<OutboxKey> {
        let Some(of_group) = self.waiting.get_mut(group) else { return Vec::new() };
        let before = of_group.len();
        let mut taken = Vec::new();
        of_group.retain(|(alone, key)| {
            let its = alone.as_deref().is_none_or(|alone| alone == worker)
                && rights.over(key.promise().as_str());
            taken.extend(its.then(|| key.clone()));
            !its
        });
        self.waiting_count -= before - of_group.len();
        if of_group.is_empty() {
            self.waiting.remove(group);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: Bytes = Bytes::from_static(b"hello");

    #[test]
    fn messages_go_to_the_worker_named_or_to_any() {
        let streams = WorkerStreams::new(10, 10);
        assert_eq!(streams.send("g", None, false, &"id".into(), &HELLO), StreamSendResult::Nobody);
        let mut first = streams.open("g", "one", &ClientRights::all()).expect("room");
        let mut second = streams.open("g", "two", &ClientRights::all()).expect("room");
        for n in 0..4 {
            let message = Bytes::from(format!("message {n}"));
            assert_eq!(
                streams.send("g", None, false, &"id".into(), &message),
                StreamSendResult::Accepted
            );
        }
        let received = |stream: &mut WorkerStream| {
            std::iter::from_fn(|| stream.messages.try_recv().ok()).count()
        };
        assert_eq!((received(&mut first), received(&mut second)), (2, 2), "in turn");
        assert_eq!(
            streams.send("g", Some("two"), false, &"id".into(), &HELLO),
            StreamSendResult::Accepted
        );
        assert_eq!((received(&mut first), received(&mut second)), (0, 1), "the one preferred");
        assert_eq!(
            streams.send("g", Some("three"), true, &"id".into(), &HELLO),
            StreamSendResult::Nobody
        );
        assert_eq!(
            streams.send("g", Some("three"), false, &"id".into(), &HELLO),
            StreamSendResult::Accepted
        );
        assert_eq!(streams.send("h", None, false, &"id".into(), &HELLO), StreamSendResult::Nobody);
    }

    #[test]
    fn a_message_that_is_given_again_goes_to_another_stream() {
        let streams = WorkerStreams::new(10, 100);
        let mut frozen = streams.open("g", "frozen", &ClientRights::all()).expect("room");
        let mut good = streams.open("g", "good", &ClientRights::all()).expect("room");
        let count = |stream: &mut WorkerStream| {
            std::iter::from_fn(|| stream.messages.try_recv().ok()).count()
        };
        for (n, preferred) in (0..40).zip([None, Some("frozen")].into_iter().cycle()) {
            let message = Bytes::from(format!("execute {n}"));
            let send = || streams.send("g", preferred, false, &"id".into(), &message);
            assert_eq!((send(), send()), (StreamSendResult::Accepted, StreamSendResult::Accepted));
            assert_eq!((count(&mut frozen), count(&mut good)), (1, 1), "{n}: one each");
        }
        // If there is no other stream, or the message is for one worker only, the same stream
        // receives it again.
        let send = |alone| streams.send("g", Some("good"), alone, &"id".into(), &HELLO);
        assert_eq!(
            (send(true), send(true)),
            (StreamSendResult::Accepted, StreamSendResult::Accepted)
        );
        assert_eq!((count(&mut frozen), count(&mut good)), (0, 2));
        streams.close("g", frozen.number);
        assert_eq!(
            (send(false), send(false)),
            (StreamSendResult::Accepted, StreamSendResult::Accepted)
        );
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let streams = WorkerStreams::new(1, 1);
        let stream = streams.open("g", "w", &ClientRights::all()).expect("room");
        assert!(streams.open("g", "v", &ClientRights::all()).is_none());
        assert_eq!(
            streams.send("g", None, false, &"id".into(), &HELLO),
            StreamSendResult::Accepted
        );
        assert_eq!(streams.send("g", None, false, &"id".into(), &HELLO), StreamSendResult::Full);
        assert!(streams.close("g", stream.number), "it was the last of its worker");
        assert!(!streams.close("g", stream.number));
        assert!(streams.open("g", "v", &ClientRights::all()).is_some());
    }

    #[test]
    fn what_waits_for_readers_is_bounded_in_bytes_too() {
        let streams = WorkerStreams::new(100, 100);
        let [large, half] = [BYTES + 1, BYTES / 2].map(|size| Bytes::from(vec![b'x'; size]));
        let mut slow = streams.open("g", "slow", &ClientRights::all()).expect("room");
        assert_eq!(
            streams.send("g", None, false, &"id".into(), &large),
            StreamSendResult::Accepted,
            "alone it may be large"
        );
        assert_eq!(streams.send("g", None, false, &"id".into(), &HELLO), StreamSendResult::Full);
        let other = streams.open("g", "other", &ClientRights::all()).expect("room");
        assert_eq!(
            streams.send("g", None, false, &"id".into(), &half),
            StreamSendResult::Accepted,
            "another takes it"
        );
        assert_eq!(streams.queued(), large.len() + half.len());
        assert_eq!(slow.messages.try_recv(), Ok(large.clone()));
        assert_eq!(streams.queued(), half.len());
        drop((slow, other));
        assert_eq!(streams.queued(), 0, "the reader is gone");
        let open: Vec<WorkerStream> = (0..99)
            .map(|n| streams.open("h", &format!("{n}"), &ClientRights::all()).expect("room"))
            .take_while(|_| {
                streams.send("h", None, false, &"id".into(), &large) == StreamSendResult::Accepted
            })
            .collect();
        assert_eq!(open.len(), BYTES_IN_ALL / large.len(), "for all of them there is a bound");
    }

    #[test]
    fn a_worker_is_gone_when_its_last_stream_is() {
        let streams = WorkerStreams::new(9, 1);
        let [old, new] =
            [(); 2].map(|()| streams.open("g", "w", &ClientRights::all()).expect("room"));
        let other = streams.open("h", "w", &ClientRights::all()).expect("room");
        assert!(!streams.close("g", old.number) && !streams.close("h", other.number));
        assert!(streams.is_open("w"));
        assert!(streams.close("g", new.number));
        assert!(!streams.is_open("w"));
        assert_eq!(streams.count(), 0);
    }

    #[test]
    fn what_waits_is_told_to_the_stream_that_opens() {
        let streams = WorkerStreams::new(9, 1);
        let key = |id: &str| OutboxKey::Execute(PromiseId::from(id));
        streams.wait("g", None, key("a"));
        streams.wait("g", Some("w"), key("b"));
        streams.wait("g", Some("v"), key("c"));
        streams.wait("h", None, key("d"));
        let stream = streams.open("g", "w", &ClientRights::all()).expect("room");
        assert_eq!(stream.waiting, [key("a"), key("b")]);
        assert!(streams.open("g", "w", &ClientRights::all()).expect("room").waiting.is_empty());
        assert_eq!(streams.open("g", "v", &ClientRights::all()).expect("room").waiting, [key("c")]);
        for n in 0..2 * WAITING {
            streams.wait("i", None, key(&n.to_string()));
        }
        assert_eq!(
            streams.open("i", "w", &ClientRights::all()).expect("room").waiting.len(),
            WAITING - 1
        );
    }

    #[test]
    fn a_stream_hears_only_of_what_it_has_rights_over() {
        let streams = WorkerStreams::new(9, 9);
        let until = segno_core::time::Timestamp::NEVER;
        let of_a = ClientRights::below("a:", until);
        let key = |id: &str| OutboxKey::Execute(PromiseId::from(id));
        streams.wait("g", None, key("a:1"));
        streams.wait("g", None, key("b:1"));
        let mut own = streams.open("g", "w", &of_a).expect("room");
        assert_eq!(own.waiting, [key("a:1")]);
        assert_eq!(streams.send("g", None, false, &"b:2".into(), &HELLO), StreamSendResult::Nobody);
        assert_eq!(
            streams.send("g", Some("w"), true, &"b:2".into(), &HELLO),
            StreamSendResult::Nobody
        );
        assert_eq!(
            streams.send("g", None, false, &"a:2".into(), &HELLO),
            StreamSendResult::Accepted
        );
        assert!(own.messages.try_recv().is_ok() && own.messages.try_recv().is_err());
        assert_eq!(
            streams.open("g", "v", &ClientRights::all()).expect("room").waiting,
            [key("b:1")]
        );
    }
}

//! The open connections, and the policy for closing one when there are too many.
//!
//! A new connection is always accepted. If the maximum number is open, in total or from one
//! address, the host closes the connection that has been idle for the longest. If none is idle, it
//! closes the one that has been sending the head of a request for the longest, then a body. If all
//! are being answered, it accepts a few more, for health checks only.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

use segno_core::time::Millis;
use segno_env::Clock;
use tokio_util::sync::CancellationToken;

/// Number of connections accepted beyond the limit, for `/health` and `/ready` only.
const FOR_HEALTH: usize = 64;
/// Maximum duration of a request's head, from its first byte.
pub(super) const HEAD: Millis = Millis(10_000);

/// Phase of a connection, in the order in which connections are closed to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum ConnectionPhase {
    Idle,
    Head,
    Body,
    Answer,
}

/// Phase of one connection, and when it began.
pub(super) struct ConnectionMark {
    clock: Arc<dyn Clock>,
    doing: AtomicU8,
    since_ms: AtomicU64,
    /// Cancelled to close the connection, to make room or because it took too long.
    ended: CancellationToken,
}

/// The connections of one listener.
pub(super) struct Connections {
    clock: Arc<dyn Clock>,
    all: usize,
    of_a_peer: usize,
    open: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    next: u64,
    entries: HashMap<u64, ConnectionEntry>,
}

struct ConnectionEntry {
    peer: IpAddr,
    mark: Arc<ConnectionMark>,
    for_health: bool,
}

/// An accepted connection, counted until dropped.
pub(super) struct AcceptedConnection {
    connections: Arc<Connections>,
    number: u64,
    pub(super) mark: Arc<ConnectionMark>,
    /// True if the connection is for health checks only.
    pub(super) for_health: bool,
}

impl ConnectionMark {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        let since_ms = AtomicU64::new(elapsed_ms(&*clock));
        let doing = AtomicU8::new(ConnectionPhase::Idle as u8);
        Arc::new(Self { clock, doing, since_ms, ended: CancellationToken::new() })
    }

    /// Marks the connection as between two requests, or its client as having sent everything.
    pub(super) fn is_idle(&self) {
        self.changes_to(ConnectionPhase::Idle);
    }

    /// Handles received bytes. After an answer they begin the next head.
    pub(super) fn receives(&self) {
        if self.doing.load(Ordering::Acquire) == ConnectionPhase::Idle as u8 {
            self.changes_to(ConnectionPhase::Head);
        }
    }

    /// Marks the head as received; a body follows.
    pub(super) fn awaits_a_body(&self) {
        self.changes_to(ConnectionPhase::Body);
    }

    /// Marks the request as received completely.
    pub(super) fn is_answered(&self) {
        self.changes_to(ConnectionPhase::Answer);
    }

    /// Completes when the connection has to end.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    fn changes_to(&self, doing: ConnectionPhase) {
        if self.doing.swap(doing as u8, Ordering::AcqRel) != doing as u8 {
            self.since_ms.store(elapsed_ms(&*self.clock), Ordering::Release);
        }
    }

    /// Position in the order of closing: the phase, then its start. `None` while the connection is
    /// being answered.
    pub(super) fn makes_room(&self) -> Option<(u8, u64)> {
        let doing = self.doing.load(Ordering::Acquire);
        (doing != ConnectionPhase::Answer as u8)
            .then(|| (doing, self.since_ms.load(Ordering::Acquire)))
    }
}

impl Connections {
    /// Limits the number of connections, in total and for each peer.
    pub(super) fn new(clock: Arc<dyn Clock>, all: usize, of_a_peer: usize) -> Arc<Self> {
        Arc::new(Self {
            clock,
            all: all.max(1),
            of_a_peer: of_a_peer.max(1),
            open: Mutex::default(),
        })
    }

    /// Accepts a connection. May close another one.
    pub(super) fn enter(self: &Arc<Self>, from: IpAddr) -> AcceptedConnection {
        let peer = peer(from);
        let mark = ConnectionMark::new(self.clock.clone());
        let mut open = self.open();
        let others = open.entries.values().filter(|entry| !entry.for_health);
        let of_peer = others.clone().filter(|entry| entry.peer == peer).count();
        // A proxy on this machine may connect for many clients.
        let is_too_many = of_peer >= self.of_a_peer && !peer.is_loopback();
        let has_room = match (is_too_many, others.count() >= self.all) {
            (true, _) => open.end_one(|entry| !entry.for_health && entry.peer == peer),
            (false, true) => open.end_one(|entry| !entry.for_health),
            (false, false) => true,
        };
        let for_health = !has_room;
        if for_health
            && open.entries.values().filter(|entry| entry.for_health).count() >= FOR_HEALTH
        {
            open.end_oldest_for_health();
        }
        let number = open.next;
        open.next += 1;
        open.entries.insert(number, ConnectionEntry { peer, mark: mark.clone(), for_health });
        drop(open);
        AcceptedConnection { connections: self.clone(), number, mark, for_health }
    }

    /// Closes connections that have been sending a head for too long.
    pub(super) fn end_slow_heads(&self) {
        let now = elapsed_ms(&*self.clock);
        let longest = HEAD.0.cast_unsigned();
        self.open().entries.retain(|_, entry| {
            let is_slow = entry.mark.makes_room().is_some_and(|(doing, since)| {
                doing == ConnectionPhase::Head as u8 && now.saturating_sub(since) >= longest
            });
            if is_slow {
                entry.mark.ended.cancel();
            }
            !is_slow
        });
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Closes the first matching connection in the order of closing. Returns false if there is
    /// none.
    fn end_one(&mut self, of: impl Fn(&ConnectionEntry) -> bool) -> bool {
        let those = self.entries.iter().filter(|(_, entry)| of(entry));
        let first = those.filter_map(|(number, entry)| Some((entry.mark.makes_room()?, *number)));
        let first = first.min().map(|(_, number)| number);
        first.is_some_and(|number| self.end(number))
    }

    fn end_oldest_for_health(&mut self) {
        let those = self.entries.iter().filter(|(_, entry)| entry.for_health);
        if let Some(oldest) = those.map(|(number, _)| *number).min() {
            self.end(oldest);
        }
    }

    fn end(&mut self, number: u64) -> bool {
        let entry = self.entries.remove(&number);
        entry.inspect(|entry| entry.mark.ended.cancel()).is_some()
    }
}

impl Drop for AcceptedConnection {
    fn drop(&mut self) {
        self.connections.open().entries.remove(&self.number);
    }
}

/// Returns the peer of an address. An IPv6 network counts as one peer, because one machine may own
/// it.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(network.into())
        }
        fourth => fourth,
    }
}

fn elapsed_ms(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use segno_core::time::Timestamp;
    use segno_env::HandClock;

    use super::*;

    fn scene(all: usize, of_a_peer: usize) -> (Arc<HandClock>, Arc<Connections>) {
        let clock = HandClock::at(Timestamp(0));
        (clock.clone(), Connections::new(clock, all, of_a_peer))
    }

    fn has_ended(entered: &AcceptedConnection) -> bool {
        entered.mark.ended.is_cancelled()
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn who_has_been_idle_for_the_longest_makes_room() {
        let (clock, connections) = scene(4, 4);
        let entered: Vec<AcceptedConnection> =
            (1..=4).map(|last| connections.enter(address(last))).collect();
        let [busy, head, old, idle] = &entered[..] else { panic!("there are four") };
        busy.mark.receives();
        busy.mark.is_answered();
        head.mark.receives();
        clock.advance(Millis(10));
        idle.mark.receives();
        idle.mark.is_answered();
        idle.mark.is_idle();
        let mut further = Vec::new();
        for next in [old, idle] {
            further.push(connections.enter(address(9)));
            assert!(has_ended(next));
            further.last().expect("one").mark.receives();
            further.last().expect("one").mark.is_answered();
        }
        further.push(connections.enter(address(9)));
        assert!(has_ended(head), "where none is idle, a slow head makes room");
        assert!(!has_ended(busy) && further.iter().all(|entered| !entered.for_health));
    }

    #[test]
    fn one_peer_does_not_take_the_connections_of_the_others() {
        let (_, connections) = scene(10, 3);
        let other = connections.enter(address(1));
        let peer: Vec<AcceptedConnection> =
            (0..30).map(|_| connections.enter(address(2))).collect();
        assert_eq!(peer.iter().filter(|entered| !has_ended(entered)).count(), 3);
        assert!(!has_ended(&other));
        let local: Vec<AcceptedConnection> =
            (0..5).map(|_| connections.enter(IpAddr::from([127, 0, 0, 1]))).collect();
        assert!(local.iter().all(|entered| !has_ended(entered)), "a proxy speaks for many");
        let one = IpAddr::from([1, 2, 3, 4, 5, 6, 7, 8]);
        let same_network = IpAddr::from([1, 2, 3, 4, 9, 9, 9, 9]);
        assert_eq!(super::peer(one), super::peer(same_network));
        assert_eq!(super::peer(IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 1])), address(1));
    }

    #[test]
    fn where_all_are_answered_a_few_more_may_ask_how_the_host_is() {
        let (_, connections) = scene(2, 2);
        let busy = [1, 2].map(|last| connections.enter(address(last)));
        busy.iter().for_each(|entered| entered.mark.is_answered());
        let more: Vec<AcceptedConnection> =
            (0..200).map(|_| connections.enter(address(3))).collect();
        assert!(more.iter().all(|entered| entered.for_health));
        assert_eq!(more.iter().filter(|entered| !has_ended(entered)).count(), FOR_HEALTH);
        assert!(busy.iter().all(|entered| !has_ended(entered)));
        drop(busy);
        assert!(!connections.enter(address(3)).for_health, "what has ended is forgotten");
    }

    #[test]
    fn a_head_that_does_not_come_to_its_end_is_not_waited_for() {
        let (clock, connections) = scene(9, 9);
        let [slow, idle, body] = [1, 2, 3].map(|last| connections.enter(address(last)));
        slow.mark.receives();
        body.mark.awaits_a_body();
        clock.advance(Millis(HEAD.0 - 1));
        slow.mark.receives();
        connections.end_slow_heads();
        assert!(!has_ended(&slow));
        clock.advance(Millis(1));
        connections.end_slow_heads();
        assert!(has_ended(&slow), "another byte of it makes no new head");
        assert!(!has_ended(&idle) && !has_ended(&body));
    }
}

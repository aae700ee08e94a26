//! The channel that posts events to the receivers of this host's routes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    id::{CommandIndex, PromiseId},
    promise::{Deferral, Delivery, MessageKind},
    time::{Millis, Timestamp},
};

use super::{CloudEvent, EventId, Routes, receiver::Receiver};
use crate::{
    delivery::{Channel, Delivered},
    host::Host,
    runtime::Surroundings,
    store::StoreError,
};

/// An event that failed holds up later ones of its invocation for so long; by then it was tried again.
const HOLD_UP: Millis = Millis(70_000);
/// Events looked at together when the host starts.
const PAGE: u32 = 1_000;

/// See the module.
pub struct Push {
    routes: Routes,
    receivers: Vec<Receiver>,
    client: reqwest::Client,
    surroundings: Surroundings,
    /// The first event of an invocation that failed, and until when it holds up later ones.
    held_up: Mutex<HashMap<PromiseId, (CommandIndex, Timestamp)>>,
}

impl Push {
    /// A channel for these routes.
    ///
    /// # Errors
    /// The HTTP client cannot be set up.
    pub fn new(routes: Routes, surroundings: Surroundings) -> Result<Arc<Self>, reqwest::Error> {
        // reqwest wants to be told its cryptography; a provider that is there already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .user_agent(concat!("segno/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let receivers = routes.0.iter().cloned().map(Receiver::new).collect();
        Ok(Arc::new(Self { routes, receivers, client, surroundings, held_up: Mutex::default() }))
    }

    /// Whether an earlier event of this invocation has to be taken first.
    fn is_held_up(&self, id: &EventId, now: Timestamp) -> Option<Millis> {
        let mut held_up = self.held_up.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, until) = *held_up.get(&id.source)?;
        if until <= now {
            held_up.remove(&id.source);
            return None;
        }
        (id.index > first).then_some(Millis(100))
    }

    fn note(&self, id: &EventId, delivered: Delivered, now: Timestamp) {
        let mut held_up = self.held_up.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(delivered, Delivered::Again { .. }) {
            // What nobody asks for again must not stay here for ever.
            if held_up.len() >= 10_000 {
                held_up.retain(|_, (_, until)| *until > now);
            }
            held_up.insert(id.source.clone(), (id.index, now + HOLD_UP));
        } else if held_up.get(&id.source).is_some_and(|(first, _)| *first == id.index) {
            held_up.remove(&id.source);
        }
    }
}

#[async_trait]
impl Channel for Push {
    fn name(&self) -> &'static str {
        "events"
    }

    fn takes(&self, kind: MessageKind) -> bool {
        kind == MessageKind::Event
    }

    fn is_open(&self) -> bool {
        let now = self.surroundings.clock.now();
        self.receivers.iter().any(|receiver| receiver.is_open(now))
    }

    async fn deliver(&self, delivery: &Delivery) -> Delivered {
        let Delivery::Event { source, index, topic, payload, published_at } = delivery else {
            return Delivered::NotMine;
        };
        let Some(receiver) = self.routes.find(topic).and_then(|route| self.receivers.get(route))
        else {
            return Delivered::NotMine;
        };
        let id = EventId { source: source.clone(), index: *index };
        if let Some(after) = self.is_held_up(&id, self.surroundings.clock.now()) {
            return Delivered::Again { after };
        }
        let event = CloudEvent::new(&id, topic, payload, *published_at);
        let delivered = receiver.post(&self.client, &self.surroundings, &event).await;
        self.note(&id, delivered, self.surroundings.clock.now());
        delivered
    }
}

/// Offers the events that lie in the outbox because no route took their topic, as far as one does now. Done once, when a
/// host with routes starts.
///
/// # Errors
/// The store does not answer.
pub async fn offer(host: &Host, routes: &Routes) -> Result<usize, StoreError> {
    let (mut after, mut offered) = (None, 0);
    loop {
        let page = host.store.events(after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(offered) };
        after = Some(last.place);
        let unclaimed = page.iter().filter(|event| event.next_at == Timestamp::NEVER);
        let offers: Vec<Command> = unclaimed
            .filter(|event| routes.find(&event.topic).is_some())
            .map(|event| Command::OutboxDefer { key: event.key(), until: Deferral::Offered })
            .collect();
        offered += offers.len();
        if !offers.is_empty() {
            host.store.execute(offers).await?;
        }
    }
}

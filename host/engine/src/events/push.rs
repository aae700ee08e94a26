//! The channel that posts events to the receivers of this host's routes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use segno_core::{
    command::Command,
    id::{CommandIndex, PromiseId},
    promise::{Deferral, Delivery, OutboxMessageKind},
    time::{Millis, Timestamp},
};
use segno_env::{Env, Proxies, http_client};
use segno_store::StoreError;

use super::{CloudEvent, EventId, Routes, receiver::EventReceiver};
use crate::{
    delivery::{Channel, DeliveryResult},
    host::Host,
};

/// The time for which a failed event holds up later ones of its invocation. By then the failed
/// event was retried.
const HOLD_UP: Millis = Millis(70_000);
/// Maximum number of events read in one page when the host starts.
const PAGE: u32 = 1_000;

/// The channel for events: the routes, their receivers, and the events that hold up others.
pub struct EventChannel {
    routes: Routes,
    receivers: Vec<EventReceiver>,
    client: reqwest::Client,
    env: Env,
    /// The first failed event of each invocation, and the end of the time for which it holds up
    /// later ones.
    held_up: Mutex<HashMap<PromiseId, (CommandIndex, Timestamp)>>,
}

impl EventChannel {
    /// A channel for these routes.
    ///
    /// # Errors
    /// The HTTP client cannot be set up.
    pub fn new(routes: Routes, env: Env) -> Result<Arc<Self>, reqwest::Error> {
        let client = http_client(Proxies::OfEnvironment).build()?;
        let receivers = routes.0.iter().cloned().map(EventReceiver::new).collect();
        Ok(Arc::new(Self { routes, receivers, client, env, held_up: Mutex::default() }))
    }

    /// The time that this event has to wait for an earlier event of its invocation. `None` if it
    /// need not wait.
    fn is_held_up(&self, id: &EventId, now: Timestamp) -> Option<Millis> {
        let mut held_up = self.held_up.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, until) = *held_up.get(&id.source)?;
        if until <= now {
            held_up.remove(&id.source);
            return None;
        }
        (id.index > first).then_some(Millis(100))
    }

    fn note(&self, id: &EventId, delivered: DeliveryResult, now: Timestamp) {
        let mut held_up = self.held_up.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(delivered, DeliveryResult::Again { .. }) {
            // Bounds the memory: drops expired entries that no later event reads.
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
impl Channel for EventChannel {
    fn name(&self) -> &'static str {
        "events"
    }

    fn takes(&self, kind: OutboxMessageKind) -> bool {
        kind == OutboxMessageKind::Event
    }

    fn is_open(&self) -> bool {
        let now = self.env.clock.now();
        self.receivers.iter().any(|receiver| receiver.is_open(now))
    }

    async fn deliver(&self, delivery: &Delivery) -> DeliveryResult {
        let Delivery::Event { source, index, topic, payload, published_at } = delivery else {
            return DeliveryResult::NotMine;
        };
        let Some(receiver) = self.routes.find(topic).and_then(|route| self.receivers.get(route))
        else {
            return DeliveryResult::NotMine;
        };
        let id = EventId { source: source.clone(), index: *index };
        if let Some(after) = self.is_held_up(&id, self.env.clock.now()) {
            return DeliveryResult::Again { after };
        }
        let event = CloudEvent::new(&id, topic, payload, *published_at);
        let delivered = receiver.post(&self.client, &self.env, &event).await;
        self.note(&id, delivered, self.env.clock.now());
        delivered
    }
}

/// Offers events to routes that now match their topic: makes those events due that are in the
/// outbox because no route matched before. Called once, when a host with routes starts. Returns the
/// number of events.
///
/// # Errors
/// The store does not answer.
pub async fn offer(host: &Host, routes: &Routes) -> Result<usize, StoreError> {
    let (mut after, mut offered) = (None, 0);
    loop {
        let page = host.store.read().events(after, PAGE).await?;
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

#[cfg(test)]
mod tests {
    use axum::{Router, http::StatusCode, routing::post};
    use segno_core::value::{Text, Value};
    use tokio::net::TcpListener;

    use super::*;
    use crate::events::Route;

    fn event(source: &str, index: u32, topic: &str) -> Delivery {
        Delivery::Event {
            source: PromiseId::from(source),
            index: CommandIndex(index),
            topic: Text::from(topic),
            payload: Value::default(),
            published_at: Timestamp(0),
        }
    }

    async fn address(listener: &TcpListener) -> String {
        format!("http://{}/hook", listener.local_addr().expect("an address"))
    }

    fn push(routes: &[(&str, &str)]) -> Arc<EventChannel> {
        let route = |(topic, url): &(&str, &str)| {
            Route::new(vec![(*topic).to_owned()], url, None).expect("a route")
        };
        let routes = Routes(routes.iter().map(route).collect());
        EventChannel::new(routes, Env::system()).expect("a client")
    }

    #[tokio::test]
    async fn a_receiver_that_hangs_or_refuses_holds_up_no_other() {
        let env = Env::system();
        // Connections wait in the listener's queue and are never answered.
        let hangs = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let works = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let urls = [address(&hangs).await, address(&works).await];
        let refuse = || async { StatusCode::INTERNAL_SERVER_ERROR };
        let router = Router::new()
            .route("/hook", post(|| async { StatusCode::OK }))
            .route("/refuses", post(refuse));
        let serving = async move { axum::serve(works, router).await.expect("it serves") };
        env.runtime.spawn("receiver", Box::pin(serving));
        let refuses = urls[1].replace("hook", "refuses");
        let push = push(&[("hangs", &urls[0]), ("refuses", &refuses), ("works", &urls[1])]);
        for number in 0..300 {
            let push = push.clone();
            let stuck = async move {
                push.deliver(&event(&format!("h{number}"), 0, "hangs")).await;
            };
            env.runtime.spawn("stuck", Box::pin(stuck));
        }
        for number in 0..50 {
            let failed = push.deliver(&event(&format!("r{number}"), 0, "refuses")).await;
            assert!(matches!(failed, DeliveryResult::Again { .. }), "{failed:?}");
            let id = format!("w{number}");
            let event = event(&id, 0, "works");
            let done = env.within(Millis(5_000), push.deliver(&event)).await;
            assert_eq!(done, Some(DeliveryResult::Done), "{id}");
        }
        assert!(push.is_open(), "one of them works");
        let unknown = push.deliver(&event("w", 1, "other")).await;
        assert_eq!(unknown, DeliveryResult::NotMine, "no route takes it");
    }

    #[tokio::test]
    async fn later_events_of_an_invocation_wait_for_one_that_failed() {
        let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let works = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let urls = [address(&gone).await, address(&works).await];
        drop(gone);
        let router = Router::new().route("/hook", post(|| async { StatusCode::OK }));
        let serving = async move { axum::serve(works, router).await.expect("it serves") };
        Env::system().runtime.spawn("receiver", Box::pin(serving));
        let push = push(&[("gone", &urls[0]), ("works", &urls[1])]);
        let failed = push.deliver(&event("a", 3, "gone")).await;
        assert!(matches!(failed, DeliveryResult::Again { .. }), "{failed:?}");
        let later = push.deliver(&event("a", 5, "works")).await;
        assert!(matches!(later, DeliveryResult::Again { .. }), "{later:?}");
        assert_eq!(
            push.deliver(&event("a", 1, "works")).await,
            DeliveryResult::Done,
            "it is earlier"
        );
        assert_eq!(
            push.deliver(&event("b", 5, "works")).await,
            DeliveryResult::Done,
            "another one"
        );
    }
}

//! A message stream that is reopened whenever it breaks. Messages may be lost, duplicated, late,
//! and out of order.

use std::sync::Arc;

use segno_core::time::Millis;
use segno_env::Runtime;
use segno_sim::SimRuntime;
use serde_json::Value as Json;

use super::{super::fault::MessageFault, caller::Caller};

/// Delay before a broken stream is reopened.
const PAUSE: Millis = Millis(150);

/// Listens forever. Each message is handled in a separate task on `runtime`.
pub(super) async fn listen(
    caller: Arc<Caller>,
    runtime: Arc<SimRuntime>,
    group: &'static str,
    id: String,
    receive: Arc<dyn Fn(Json) + Send + Sync>,
) {
    loop {
        let endpoint = caller.network.endpoints.any(&mut caller.dice());
        let messages = match endpoint {
            Some(endpoint) => endpoint.listen(group, &id).await,
            None => None,
        };
        if let Some(mut messages) = messages {
            while let Some(message) = messages.next().await {
                if caller.roll(MessageFault::MessageLoss) {
                    caller.missed();
                    if caller.dice().chance(300) {
                        // All further messages on the same connection are lost as well.
                        break;
                    }
                    continue;
                }
                let copies = if caller.roll(MessageFault::MessageTwice) { 2 } else { 1 };
                for _ in 0..copies {
                    let delay = caller.delay(MessageFault::MessageDelay);
                    let (clock, receive, message) =
                        (runtime.clone(), receive.clone(), message.clone());
                    runtime.spawn(
                        "message",
                        Box::pin(async move {
                            clock.sleep(delay).await;
                            receive(message);
                        }),
                    );
                }
            }
            caller.missed();
        }
        caller.sleep(PAUSE).await;
    }
}

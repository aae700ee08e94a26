//! The runtime's handling of an endpoint's commands.

use segno_core::time::Timestamp;
use segno_env::Clock as _;
use segno_restate::{
    immutable::{
        Command, Notification, NotificationKind, NotificationResult, OutputResult, SignalKey,
        SignalResult,
    },
    wire::{Failure, OperationOutcome},
};

use super::World;

impl World {
    pub(super) fn asked(&mut self, id: &str, command: Command) {
        let now = self.clock.now();
        let place = {
            let it = &self.invocations[id];
            (it.service.clone(), it.key.clone())
        };
        match command {
            Command::Output(output) => {
                let outcome = match output.result.expect("an output has a result") {
                    OutputResult::Value(value) => OperationOutcome::Success(value.content),
                    OutputResult::Failure(failure) => OperationOutcome::Failure(failure),
                };
                let it = self.invocations.get_mut(id).expect("it exists");
                it.outcome = Some(outcome);
                self.tell_callers(id);
            }
            Command::Call(call) => {
                let child = self.child(id);
                let begun = call.invocation_id_completion_id;
                let named = NotificationResult::InvocationId(child.clone());
                self.tell_completion(id, NotificationKind::CallInvocationId, begun, named);
                self.call(
                    &child,
                    &call.service_name,
                    &call.key,
                    &call.handler_name,
                    call.parameter,
                    call.headers,
                );
                let it = self.invocations.get_mut(&child).expect("it was made above");
                it.callers.push((id.to_owned(), call.result_completion_id));
                self.tell_callers(&child);
            }
            Command::OneWayCall(call) => {
                let child = self.child(id);
                let begun = call.invocation_id_completion_id;
                let named = NotificationResult::InvocationId(child.clone());
                self.tell_completion(id, NotificationKind::CallInvocationId, begun, named);
                self.call(
                    &child,
                    &call.service_name,
                    &call.key,
                    &call.handler_name,
                    call.parameter,
                    call.headers,
                );
                let begins = Timestamp(i64::try_from(call.invoke_at_ms).expect("a time"));
                let it = self.invocations.get_mut(&child).expect("it was made above");
                it.retry_at = (begins > now).then_some(begins);
            }
            Command::Sleep(sleep) => {
                let at = Timestamp(i64::try_from(sleep.wake_up_at_ms).unwrap_or(i64::MAX));
                self.timers.insert((at, id.to_owned(), sleep.result_completion_id));
            }
            Command::SetState(set) => {
                let value = set.value.expect("a value").content;
                self.state.entry(place).or_default().insert(set.key, value);
            }
            Command::ClearState(clear) => {
                self.state.entry(place).or_default().remove(&clear.key);
            }
            Command::ClearAllState(_) => drop(self.state.remove(&place)),
            Command::GetLazyState(get) => {
                let value = self.state.get(&place).and_then(|state| state.get(&get.key));
                let value =
                    value.cloned().map_or(NotificationResult::Void, NotificationResult::Value);
                let kind = NotificationKind::LazyState;
                self.tell_completion(id, kind, get.result_completion_id, value);
            }
            Command::GetLazyStateKeys(get) => {
                let keys = self.state.get(&place).into_iter().flat_map(|state| state.keys());
                let keys = NotificationResult::StateKeys(keys.cloned().collect());
                let kind = NotificationKind::LazyStateKeys;
                self.tell_completion(id, kind, get.result_completion_id, keys);
            }
            Command::GetPromise(get) => {
                let waiter = (id.to_owned(), get.result_completion_id);
                if let Some(result) = self.promises.wait(place, get.key, waiter) {
                    let kind = NotificationKind::GetPromise;
                    self.tell_completion(id, kind, get.result_completion_id, result);
                }
            }
            Command::PeekPromise(peek) => {
                let result = self.promises.peek(place, peek.key);
                let kind = NotificationKind::PeekPromise;
                self.tell_completion(id, kind, peek.result_completion_id, result);
            }
            Command::CompletePromise(complete) => {
                let outcome: OperationOutcome = complete.completion.expect("an outcome").into();
                let result = NotificationResult::from(outcome);
                let told = match self.promises.settle(place, complete.key, result.clone()) {
                    Some(waiters) => {
                        for (waiter, completion) in waiters {
                            let kind = NotificationKind::GetPromise;
                            self.tell_completion(&waiter, kind, completion, result.clone());
                        }
                        NotificationResult::Void
                    }
                    None => NotificationResult::Failure(Failure::new(
                        409,
                        "promise was already completed",
                    )),
                };
                let kind = NotificationKind::CompletePromise;
                self.tell_completion(id, kind, complete.result_completion_id, told);
            }
            Command::CompleteAwakeable(complete) => {
                let outcome: OperationOutcome = complete.result.expect("a result").into();
                self.complete(&complete.awakeable_id, outcome.into());
            }
            Command::SendSignal(send) => {
                let result = match send.result {
                    Some(SignalResult::Value(value)) => NotificationResult::Value(value.content),
                    Some(SignalResult::Failure(failure)) => NotificationResult::Failure(failure),
                    Some(SignalResult::Void(_)) | None => NotificationResult::Void,
                };
                let notification = match send.signal.expect("a signal") {
                    SignalKey::Index(index) => Notification::signal(index, result),
                    SignalKey::Name(name) => Notification::named_signal(name, result),
                };
                self.tell(&send.target_invocation_id, notification);
            }
            Command::Run(_) | Command::GetEagerState(_) | Command::GetEagerStateKeys(_) => {}
            other => panic!("no endpoint asks for {other:?}"),
        }
    }
}

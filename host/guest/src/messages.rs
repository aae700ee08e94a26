//! What may be sent to the workflows of a component, if it says so: an export that not every
//! component has.

use std::sync::Arc;

use wasmtime::{
    Store,
    component::{ComponentType, Instance, Lift},
};

use super::{
    FunctionKind, GuestError, budget::Budget, engine::GuestEngine, modules::LoadedModule,
    trap::explain, workflow::WorkflowState,
};

/// The interface, and its function.
const MESSAGES: &str = "segno:workflow/messages@0.1.0";
const DESCRIBE: &str = "describe-messages";

/// A promise that a workflow awaits, or a signal that it receives.
#[derive(Debug, Clone, PartialEq, ComponentType, Lift)]
#[component(record)]
pub struct MessageDescription {
    /// The workflow.
    pub function: String,
    /// What it is.
    pub kind: MessageKind,
    /// The name of the promise or signal.
    pub name: String,
    /// A JSON schema as text.
    pub schema: String,
}

/// The kinds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum MessageKind {
    /// A promise, settled from outside.
    #[component(name = "promise")]
    Promise,
    /// A signal.
    #[component(name = "signal")]
    Signal,
}

/// Asks `loaded`; nothing if it does not export the interface.
pub(super) async fn describe(
    engine: &Arc<GuestEngine>,
    budget: Budget,
    loaded: &LoadedModule,
) -> Result<Vec<MessageDescription>, GuestError> {
    if loaded.component.get_export_index(None, MESSAGES).is_none() {
        return Ok(Vec::new());
    }
    let _places = engine.pool().room(&loaded.share).await;
    let (limit, turn) = (budget.limits().output_bytes, budget.turn());
    let mut store = WorkflowState::store(engine, budget, loaded);
    let running = engine.running();
    let pre = loaded.workflow.instance_pre().clone();
    let described = turn
        .taking(async move {
            let _running = running;
            let described = match pre.instantiate_async(&mut store).await {
                Ok(instance) => ask(&instance, &mut store).await,
                Err(error) => Err(error),
            };
            let state = store.data_mut();
            state.budget.end_call();
            let last_words = state.last_words();
            described
                .map_err(|error| explain(&error, &state.budget, FunctionKind::Workflow, last_words))
        })
        .await?;
    let text = |message: &MessageDescription| {
        message.function.len() + message.name.len() + message.schema.len()
    };
    let size = described.iter().map(text).sum();
    if size > limit {
        let what = "description of messages".into();
        return Err(GuestError::OutputTooLarge { what, size, limit });
    }
    Ok(described)
}

async fn ask(
    instance: &Instance,
    store: &mut Store<WorkflowState>,
) -> wasmtime::Result<Vec<MessageDescription>> {
    let interface = instance.get_export_index(&mut *store, None, MESSAGES);
    let function = instance.get_export_index(&mut *store, interface.as_ref(), DESCRIBE);
    let function = function
        .ok_or_else(|| wasmtime::format_err!("`{MESSAGES}` does not export `{DESCRIBE}`"))?;
    let function =
        instance.get_typed_func::<(), (Vec<MessageDescription>,)>(&mut *store, function)?;
    Ok(function.call_async(store, ()).await?.0)
}

//! The exports of a component in any supported contract version: the functions of interface
//! `functions`, and the optional descriptions.

use std::sync::Arc;

use wasmtime::{
    Store,
    component::{
        Component, ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower,
        TypedFunc, types::ComponentItem,
    },
    error::Context as _,
};

use super::{
    ActivityContext, Context, DescribedFunction, Event, Failure, FunctionLimits,
    HandlerDescription, MessageDescription, ObjectFunction, Outcome, Payload,
    border::{failure_is_json, outcome_is_json},
    exposures::DeclaredExposure,
    interpreter::{InstanceMemory, Interpreter, SourceLines},
    mapped::with_image,
    snapshot::{InstanceAccess, ModuleImage},
    trap::TrapCause,
    versions::{VERSIONS, interface},
};

type Start = (String, Payload, Context);
type Perform = (String, Payload, ActivityContext);
type Question = (String, Payload);
/// The files of a module, by path.
type Sources = (Vec<(String, Vec<u8>)>,);

/// A linked component, with the export indices of its functions.
pub(super) struct LinkedComponent<T: 'static> {
    pre: InstancePre<T>,
    places: ExportIndices,
}

/// The typed export indices of the contract's functions.
#[derive(Clone, Copy)]
struct ExportIndices {
    describe: ComponentExportIndex,
    start: ComponentExportIndex,
    resume: ComponentExportIndex,
    perform: ComponentExportIndex,
    describe_messages: Option<ComponentExportIndex>,
    describe_objects: Option<ComponentExportIndex>,
    describe_runs: Option<ComponentExportIndex>,
    describe_limits: Option<ComponentExportIndex>,
    describe_commits: Option<ComponentExportIndex>,
    describe_exposures: Option<ComponentExportIndex>,
    handlers: Option<HandlerIndices>,
    load: Option<ComponentExportIndex>,
}

/// The typed export indices of the functions of `handlers`.
#[derive(Clone, Copy)]
struct HandlerIndices {
    describe: ComponentExportIndex,
    query: ComponentExportIndex,
    validate: ComponentExportIndex,
}

/// An instance with the typed functions for calling it repeatedly.
pub(super) struct GuestExports {
    instance: Instance,
    places: ExportIndices,
    resume: TypedFunc<(Event,), ()>,
    /// Its memories. Empty if they do not begin with an image.
    memories: Vec<Arc<InstanceMemory>>,
}

impl<T: 'static> Clone for LinkedComponent<T> {
    fn clone(&self) -> Self {
        Self { pre: self.pre.clone(), places: self.places }
    }
}

impl<T: Send + 'static> LinkedComponent<T> {
    /// Finds the exported functions and checks their types.
    pub(super) fn new(pre: InstancePre<T>) -> wasmtime::Result<Self> {
        let places = ExportIndices {
            describe: needed::<T, (), (Vec<DescribedFunction>,)>(&pre, "describe")?,
            start: needed::<T, Start, ()>(&pre, "start")?,
            resume: needed::<T, (Event,), ()>(&pre, "resume")?,
            perform: needed::<T, Perform, (Outcome,)>(&pre, "perform")?,
            describe_messages: offered::<T, (), (Vec<MessageDescription>,)>(
                &pre,
                "messages",
                "describe-messages",
            )?,
            describe_objects: offered::<T, (), (Vec<ObjectFunction>,)>(
                &pre,
                "objects",
                "describe-objects",
            )?,
            describe_runs: offered::<T, (), (Vec<String>,)>(&pre, "runs", "describe-runs")?,
            describe_limits: offered::<T, (), (Vec<FunctionLimits>,)>(
                &pre,
                "limits",
                "describe-limits",
            )?,
            describe_commits: offered::<T, (), (Vec<String>,)>(
                &pre,
                "commits",
                "describe-commits",
            )?,
            describe_exposures: offered::<T, (), (Vec<DeclaredExposure>,)>(
                &pre,
                "exposures",
                "describe-exposures",
            )?,
            handlers: HandlerIndices::of(&pre)?,
            load: offered::<T, Sources, (Result<(), String>,)>(&pre, "loader", "load")?,
        };
        Ok(Self { pre, places })
    }

    /// True if the component is a runtime, which loads the sources of modules.
    pub(super) fn is_runtime(&self) -> bool {
        self.places.load.is_some()
    }

    /// Makes an instance, whose memory begins with `image` if there is one.
    pub(super) async fn instantiate(
        &self,
        store: &mut Store<T>,
        image: Option<&Arc<ModuleImage>>,
    ) -> wasmtime::Result<GuestExports> {
        let instantiating = self.pre.instantiate_async(&mut *store);
        let (instance, memories) = match image {
            Some(image) => with_image(image, instantiating).await?,
            None => (instantiating.await?, Vec::new()),
        };
        if let Some(image) = image {
            InstanceAccess::of(instance).begin(store, image).await?;
        }
        let resume = instance.get_typed_func(&mut *store, self.places.resume)?;
        Ok(GuestExports { instance, places: self.places, resume, memories })
    }
}

impl HandlerIndices {
    /// Returns `None` if the component does not export the interface.
    fn of<T>(pre: &InstancePre<T>) -> wasmtime::Result<Option<Self>> {
        let name = "handlers";
        let describe =
            offered::<T, (), (Vec<HandlerDescription>,)>(pre, name, "describe-handlers")?;
        let query = offered::<T, Question, (Outcome,)>(pre, name, "query")?;
        let validate = offered::<T, Question, (Option<Failure>,)>(pre, name, "validate")?;
        match (describe, query, validate) {
            (Some(describe), Some(query), Some(validate)) => {
                Ok(Some(Self { describe, query, validate }))
            }
            (None, None, None) => Ok(None),
            _ => Err(wasmtime::format_err!("export `{name}` lacks one of its functions")),
        }
    }
}

impl GuestExports {
    /// The interpreter of an instance that begins with an image, and runs a bundle with these
    /// lines.
    pub(super) fn interpreter(&self, lines: Option<&Arc<SourceLines>>) -> Interpreter {
        Interpreter::new(self.memories.clone(), lines.cloned())
    }

    /// Access to the state that the instance keeps, if its component was made accessible.
    pub(super) fn access(&self) -> InstanceAccess {
        InstanceAccess::of(self.instance)
    }

    pub(super) async fn describe<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<DescribedFunction>> {
        let (described,) = self.call(store, self.places.describe, ()).await?;
        Ok(described)
    }

    /// Describes promises and signals. Empty if the component does not export the description.
    pub(super) async fn describe_messages<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<MessageDescription>> {
        let Some(place) = self.places.describe_messages else { return Ok(Vec::new()) };
        let (described,) = self.call(store, place, ()).await?;
        Ok(described)
    }

    /// Describes the functions of objects. Empty if the component does not export the description.
    pub(super) async fn describe_objects<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<ObjectFunction>> {
        let Some(place) = self.places.describe_objects else { return Ok(Vec::new()) };
        let (described,) = self.call(store, place, ()).await?;
        Ok(described)
    }

    /// Describes the functions that run once per key. Empty if the component does not export the
    /// description.
    pub(super) async fn describe_runs<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<String>> {
        let Some(place) = self.places.describe_runs else { return Ok(Vec::new()) };
        let (described,) = self.call(store, place, ()).await?;
        Ok(described)
    }

    /// Describes the limits of functions. Empty if the component does not export the description.
    pub(super) async fn describe_limits<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<FunctionLimits>> {
        let Some(place) = self.places.describe_limits else { return Ok(Vec::new()) };
        let (described,) = self.call(store, place, ()).await?;
        Ok(described)
    }

    /// Describes the workflows whose results are committed one by one. Empty if the component does
    /// not export the description.
    pub(super) async fn describe_commits<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<String>> {
        let Some(place) = self.places.describe_commits else { return Ok(Vec::new()) };
        let (described,) = self.call(store, place, ()).await?;
        Ok(described)
    }

    /// Describes the protocols by which functions are offered. Empty if the component does not export
    /// the description.
    pub(super) async fn describe_exposures<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<DeclaredExposure>> {
        let Some(place) = self.places.describe_exposures else { return Ok(Vec::new()) };
        let (described,) = self.call(store, place, ()).await?;
        Ok(described)
    }

    /// Describes queries and updates. Empty if the component does not export the description.
    pub(super) async fn describe_handlers<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<HandlerDescription>> {
        let Some(places) = self.places.handlers else { return Ok(Vec::new()) };
        let (described,) = self.call(store, places.describe, ()).await?;
        Ok(described)
    }

    /// Answers a query. `None` if the component has no handlers.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        name: String,
        input: Payload,
    ) -> wasmtime::Result<Option<Outcome>> {
        let Some(places) = self.places.handlers else { return Ok(None) };
        let (outcome,) = self.call(store, places.query, (name.clone(), input)).await?;
        outcome_is_json(&outcome, || format!("answer of `{name}`")).map_err(TrapCause::Refused)?;
        Ok(Some(outcome))
    }

    /// Validates an update: the inner value is the reason of the refusal, if the update is refused.
    /// `None` if the component has no handlers.
    pub(super) async fn validate<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        name: String,
        input: Payload,
    ) -> wasmtime::Result<Option<Option<Failure>>> {
        let Some(places) = self.places.handlers else { return Ok(None) };
        let (refused,) = self.call(store, places.validate, (name.clone(), input)).await?;
        if let Some(failure) = &refused {
            let place = || format!("refusal of `{name}`");
            failure_is_json(failure, place).map_err(TrapCause::Refused)?;
        }
        Ok(Some(refused))
    }

    /// Loads the sources of a module into an instance of a runtime. The inner error is for the
    /// author of the sources.
    pub(super) async fn load<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        sources: Vec<(String, Vec<u8>)>,
    ) -> wasmtime::Result<Result<(), String>> {
        let place = self.places.load.ok_or_else(|| wasmtime::format_err!("no runtime"))?;
        let (loaded,) = self.call(store, place, (sources,)).await?;
        Ok(loaded)
    }

    pub(super) async fn start<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        function: String,
        input: Payload,
        context: Context,
    ) -> wasmtime::Result<()> {
        self.call(store, self.places.start, (function, input, context)).await
    }

    pub(super) async fn resume<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        event: Event,
    ) -> wasmtime::Result<()> {
        self.resume.call_async(store, (event,)).await
    }

    pub(super) async fn perform<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        function: String,
        input: Payload,
        context: ActivityContext,
    ) -> wasmtime::Result<Outcome> {
        let (outcome,) = self.call(store, self.places.perform, (function, input, context)).await?;
        Ok(outcome)
    }

    async fn call<T, Parameters, Answer>(
        &self,
        store: &mut Store<T>,
        place: ComponentExportIndex,
        parameters: Parameters,
    ) -> wasmtime::Result<Answer>
    where
        T: Send + 'static,
        Parameters: ComponentNamedList + Lower + Send + Sync + 'static,
        Answer: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let function = self.instance.get_typed_func::<Parameters, Answer>(&mut *store, place)?;
        function.call_async(store, parameters).await
    }
}

/// The export index of a function that every component must have.
fn needed<T, Parameters, Answer>(
    pre: &InstancePre<T>,
    function: &str,
) -> wasmtime::Result<ComponentExportIndex>
where
    Parameters: ComponentNamedList + Lower,
    Answer: ComponentNamedList + Lift,
{
    let found = offered::<T, Parameters, Answer>(pre, "functions", function)?;
    found.ok_or_else(|| wasmtime::format_err!("no export `functions#{function}` found"))
}

/// The export index of a function, in the newest contract version in which the component has it.
fn offered<T, Parameters, Answer>(
    pre: &InstancePre<T>,
    name: &str,
    function: &str,
) -> wasmtime::Result<Option<ComponentExportIndex>>
where
    Parameters: ComponentNamedList + Lower,
    Answer: ComponentNamedList + Lift,
{
    let component = pre.component();
    let Some(place) = place_of(component, name) else { return Ok(None) };
    match component.get_export(Some(&place), function) {
        None => Ok(None),
        Some((ComponentItem::ComponentFunc(found), place)) => {
            let check = found.typecheck::<Parameters, Answer>(&pre.instance_type());
            check.with_context(|| format!("export `{name}#{function}`"))?;
            Ok(Some(place))
        }
        Some(_) => Err(wasmtime::format_err!("export `{name}#{function}` is not a function")),
    }
}

/// The index of an interface that the component exports.
fn place_of(component: &Component, name: &str) -> Option<ComponentExportIndex> {
    let newest_first = VERSIONS.iter().rev();
    newest_first
        .map(|version| interface(name, version))
        .find_map(|name| component.get_export_index(None, &*name))
}

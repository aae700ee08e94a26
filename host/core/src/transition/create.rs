//! Creation of promises and their tasks.

use std::sync::Arc;

use super::{draft::DecisionDraft, limits::ApplicableLimit, objects::named_by};
use crate::{
    address::{Address, ModuleRef, service_of_alias},
    command::ClaimRequest,
    effect::{Effect, Metric, SettleCause},
    id::{
        Digest, NameLengthError, ObjectId, PromiseId, Version, check_key, check_name, fits,
        fits_under,
    },
    promise::{Lease, NewPromise, Promise, PromiseSpec, PromiseState, Task, TaskState},
    reply::Refusal,
    saga::StepTags,
    tags,
    time::{Millis, Timestamp},
    value::Tags,
};

/// The party that creates a promise.
#[derive(Clone, Copy)]
pub(super) enum PromiseCreator<'a> {
    /// A client.
    Client,
    /// A client, through a holder that began to run the promise at this instant.
    Starter(Timestamp),
    /// An invocation, under a claim on its task.
    Invocation(&'a Task),
    /// A client, for a fork of another invocation. It runs this module, or else the one that its
    /// target refers to.
    Fork { module: Option<Digest> },
    /// A schedule, for an occurrence. `at` counts as the creation time, and the task begins after
    /// that of `after`.
    Schedule { at: Timestamp, after: Option<&'a PromiseId> },
}

impl DecisionDraft<'_> {
    /// Creates a promise that does not exist, with its task if it has a target. With `request`, the
    /// task is created in acquired state.
    ///
    /// # Errors
    /// [`Refusal::BadRequest`]: the id is not a valid name, or the id or the holder's name is too
    /// long for a store to index.
    /// [`Refusal::Unprocessable`]: the target is not a valid address, or its module is unknown.
    pub(super) fn make(
        &mut self,
        new: &NewPromise,
        maker: PromiseCreator<'_>,
        request: Option<&ClaimRequest>,
    ) -> Result<(), Refusal> {
        match maker {
            PromiseCreator::Client | PromiseCreator::Starter(_) | PromiseCreator::Fork { .. } => {
                check_name("the id of the promise", new.id.as_str())?;
                fits("the id of the promise", new.id.as_str())?;
            }
            PromiseCreator::Invocation(task) => fits_under(&task.id, &new.id)?,
            // The id was checked when the schedule was created; older schedules must continue to
            // work.
            PromiseCreator::Schedule { .. } => {}
        }
        request.map_or(Ok(()), holder_fits)?;
        if let Some(step) = StepTags::of(&new.tags) {
            fits("the name of the saga", step.saga)?;
        }
        let address = tags::target(&new.tags).map(Address::parse).transpose();
        let address = address.map_err(|refused| Refusal::Unprocessable(refused.to_string()))?;
        if self.config.resonate_strict {
            narrowly_fine(new, address.as_ref(), maker)?;
        }
        // The key of an occurrence was checked with its schedule.
        if let (Some(Address::Wasm { key: Some(key), .. }), false) =
            (&address, matches!(maker, PromiseCreator::Schedule { .. }))
        {
            check_key("the key of the object", key)?;
        }
        let of_run = new.tags.get(tags::MODULE);
        let module = address
            .as_ref()
            .map(|address| self.module_of(address, of_run, maker))
            .transpose()?
            .flatten();
        let turn = match &address {
            Some(address) => self.turn_of(address, module.as_ref())?,
            None => None,
        };
        let is_run = turn.as_ref().is_some_and(|turn| turn.is_run);
        let turn = turn.map(|turn| turn.object);
        if let Some(object) = turn.as_ref().filter(|_| is_run) {
            self.runs_first(object)?;
        }
        if let Some(object) = tags::object(&new.tags) {
            named_by(&ObjectId::from(object), new, address.as_ref())?;
        } else if ObjectId::of_streams(&new.id).is_some() {
            return Err(Refusal::Unprocessable(format!(
                "the streams of an object belong to `{}`: choose another id",
                new.id
            )));
        }
        let overdue = new.timeout_at <= self.now;
        let (mut tags, made_by) = match maker {
            PromiseCreator::Client
            | PromiseCreator::Starter(_)
            | PromiseCreator::Fork { .. }
            | PromiseCreator::Schedule { .. } => (new.tags.clone(), None),
            PromiseCreator::Invocation(task) => {
                let tags = self.minted_tags(&new.tags, &task.id, &new.id, address.as_ref());
                (tags, Some(task.id.clone()))
            }
        };
        let limited = match &address {
            Some(address) => self.limited(new, address, module.as_ref(), maker)?,
            None => None,
        };
        [tags::TURN, tags::RUN, tags::LIMIT, tags::PRIORITY, tags::FORK, tags::DEPTH, tags::SCOPE]
            .iter()
            .for_each(|tag| drop(tags.remove(*tag)));
        self.open_account(new, &mut tags, maker, address.is_some())?;
        if let PromiseCreator::Invocation(task) = maker
            && address.is_some()
        {
            self.place_in_tree(&mut tags, &task.id);
        }
        if let Some(ApplicableLimit { partition, priority }) = &limited {
            tags.insert(tags::LIMIT.to_owned(), partition.to_string());
            if *priority > 0 {
                tags.insert(tags::PRIORITY.to_owned(), priority.to_string());
            }
        }
        if let Some(object) = &turn {
            tags.insert(tags::TURN.to_owned(), object.to_string());
            if is_run {
                tags.insert(tags::RUN.to_owned(), "true".to_owned());
            }
        }
        let spec = PromiseSpec {
            id: new.id.clone(),
            param: new.param.clone(),
            tags,
            made_by,
            timeout_at: new.timeout_at,
            created_at: match maker {
                PromiseCreator::Schedule { at, .. } => at,
                PromiseCreator::Client
                | PromiseCreator::Starter(_)
                | PromiseCreator::Fork { .. }
                | PromiseCreator::Invocation(_)
                    if overdue =>
                {
                    new.timeout_at
                }
                PromiseCreator::Starter(at) => at.min(self.now),
                PromiseCreator::Client
                | PromiseCreator::Fork { .. }
                | PromiseCreator::Invocation(_) => self.now,
            },
        };
        let promise = Promise { spec: Arc::new(spec), state: PromiseState::Pending };
        if overdue {
            self.make_settled(promise, address.is_some(), module);
        } else {
            self.put_promise(promise);
            if address.is_some() {
                let begins_now = request.is_some() || self.delayed_to(&new.id).is_none();
                // A run precedes all later executions in the queue, even if it begins after them.
                let joins = begins_now || is_run;
                let ahead = self.first_behind(&new.id, turn.as_ref(), maker, joins);
                if ahead.is_some() || !begins_now {
                    self.expect_at_limit(&new.id);
                }
                match ahead {
                    Some(ahead) => self.make_queued(&new.id, module, &ahead),
                    None if limited.is_some() && begins_now => {
                        self.make_limited(&new.id, module, request);
                    }
                    None => self.make_task(&new.id, module, request),
                }
            }
        }
        if let Some(object) = turn.filter(|_| is_run) {
            self.note_run(&object, &new.id);
        }
        Ok(())
    }

    /// Creates a promise that is past its deadline: it is settled from the beginning.
    fn make_settled(&mut self, promise: Promise, has_target: bool, module: Option<Digest>) {
        let id = promise.id().clone();
        let settlement = promise.deadline_settlement();
        let verdict = settlement.verdict;
        self.tell_of_occurrence(&promise, verdict);
        self.put_promise(promise.settled(settlement));
        if has_target {
            let born = self.view.first_version();
            self.put_task(Task::born(id.clone(), born, TaskState::Fulfilled, module));
        }
        self.effects.push(Effect::Settled { id });
        self.count(Metric::Settled { verdict, cause: SettleCause::Deadline, resumed: 0 });
    }

    /// The promise that a new execution has to wait for. An execution of an object joins the
    /// object's queue immediately if `joins`, or else when its task is acquired. An occurrence that
    /// must wait for the previous one waits in the queue if the previous one is in it; otherwise it
    /// joins the queue afterwards.
    fn first_behind(
        &mut self,
        id: &PromiseId,
        turn: Option<&ObjectId>,
        maker: PromiseCreator<'_>,
        joins: bool,
    ) -> Option<PromiseId> {
        let after = match maker {
            PromiseCreator::Schedule { after, .. } => after,
            _ => None,
        };
        match (turn, after) {
            (Some(object), Some(before)) if self.is_in_line(before, object) => {
                self.join_line(object, id)
            }
            (_, Some(before)) => Some(before.clone()),
            (Some(object), None) if joins => self.join_line(object, id),
            (_, None) => None,
        }
    }

    /// Earliest start of a task, if that is in the future.
    fn delayed_to(&self, id: &PromiseId) -> Option<Timestamp> {
        let promise = self.promise(id)?;
        tags::delay(&promise.spec.tags).filter(|delay| *delay > self.now && !promise.is_timer())
    }

    pub(super) fn make_task(
        &mut self,
        id: &PromiseId,
        module: Option<Digest>,
        request: Option<&ClaimRequest>,
    ) {
        let (retry_at, offered) = match self.delayed_to(id) {
            Some(delay) => (delay, false),
            None => self.offer(id, self.now),
        };
        let pending = Task::born(
            id.clone(),
            self.view.first_version(),
            TaskState::Pending { since: self.now, retry_at, offered },
            module,
        );
        match request {
            Some(request) => {
                let acquired = self.held(pending, request, None);
                self.put_task(acquired);
            }
            None => {
                self.put_task(pending);
                self.execute(id);
            }
        }
    }

    /// Creates a task that begins when another promise settles.
    fn make_queued(&mut self, id: &PromiseId, module: Option<Digest>, awaited: &PromiseId) {
        let born = self.view.first_version();
        self.put_task(Task::born(id.clone(), born, TaskState::Suspended, module));
        self.put_callback(awaited.clone(), id.clone(), Some(false));
    }

    /// The task after a holder acquired it.
    pub(super) fn held(
        &mut self,
        mut task: Task,
        request: &ClaimRequest,
        stall_limit: Option<Millis>,
    ) -> Task {
        if let TaskState::Pending { since, .. } = task.state {
            self.count(Metric::LeaseAcquired(self.now.since(since)));
        }
        let target = self.promise(&task.id).and_then(Promise::target);
        let hosted = target.is_some_and(crate::address::is_internal);
        let default = if hosted { self.config.stall_limit } else { self.config.worker_stall_limit };
        task.version = task.version.next();
        task.state = TaskState::Acquired {
            lease: Lease::begin(request.holder.clone(), request.nonce, request.ttl, self.now),
        };
        task.stall_limit = stall_limit.or(default);
        task.progress.seq = self.first_progress(&task);
        task.progress.at = self.now;
        task.last_heartbeat = None;
        task
    }

    /// The version at which `request` holds the task. `None` if it does not.
    pub(super) fn held_version(
        &self,
        id: &PromiseId,
        request: Option<&ClaimRequest>,
    ) -> Option<Version> {
        let (task, request) = (self.task(id)?, request?);
        let lease = task.lease()?;
        (lease.holder == request.holder && lease.nonce == request.nonce).then_some(task.version)
    }

    pub(super) fn module_of(
        &self,
        address: &Address,
        of_run: Option<&String>,
        maker: PromiseCreator<'_>,
    ) -> Result<Option<Digest>, Refusal> {
        if address.is_graph_run() {
            return self.module_of_run(of_run, maker);
        }
        let Some((module, function)) = address.named() else { return Ok(None) };
        if let PromiseCreator::Fork { module: Some(module) } = maker {
            return self.known(&ModuleRef::Exact(module)).map(Some);
        }
        match (&module, maker) {
            (ModuleRef::Own, PromiseCreator::Invocation(Task { module: Some(module), .. })) => {
                Ok(Some(*module))
            }
            (ModuleRef::Own, _) => Err(Refusal::Unprocessable(format!(
                "the function `{function}` is named without a module, which only a function of that module may do; \
                 use wasm://MODULE/{function}"
            ))),
            (ModuleRef::Alias(_) | ModuleRef::Exact(_), _) => self.known(&module).map(Some),
        }
    }

    /// The module for functions that a plan names without a module: the creator's, or the one named
    /// by the run's tag.
    fn module_of_run(
        &self,
        named: Option<&String>,
        maker: PromiseCreator<'_>,
    ) -> Result<Option<Digest>, Refusal> {
        match (named, maker) {
            (Some(name), _) => match ModuleRef::parse(name) {
                Some(module) => self.known(&module).map(Some),
                None => {
                    Err(Refusal::Unprocessable(format!("`{name}` is not the name of a module")))
                }
            },
            (None, PromiseCreator::Invocation(task)) => Ok(task.module),
            (
                None,
                PromiseCreator::Client
                | PromiseCreator::Starter(_)
                | PromiseCreator::Fork { .. }
                | PromiseCreator::Schedule { .. },
            ) => Ok(None),
        }
    }

    /// The digest of the module that is named before a function.
    fn known(&self, module: &ModuleRef) -> Result<Digest, Refusal> {
        let missing = match module {
            ModuleRef::Alias(alias) => match self.view.alias(alias) {
                Some(module) => return Ok(module),
                None => match service_of_alias(alias) {
                    Some(service) => format!(
                        "no deployment is registered that has the service `{service}`; register it first"
                    ),
                    None => format!("the module `{alias}` is not deployed; deploy it first"),
                },
            },
            ModuleRef::Exact(digest) if self.view.has_module(digest) => return Ok(*digest),
            ModuleRef::Exact(digest) => format!("the module `sha256:{digest}` was never uploaded"),
            ModuleRef::Own => "the name of the module is empty".to_owned(),
        };
        Err(Refusal::Unprocessable(missing))
    }

    /// Sets the tags for an execution's depth in its tree, and for the execution whose kill ends
    /// it, where they differ from the defaults.
    fn place_in_tree(&self, tags: &mut Tags, maker: &PromiseId) {
        let Some(maker) = self.promise(maker) else { return };
        if maker.spec.made_by.is_some() {
            tags.insert(tags::DEPTH.to_owned(), (maker.depth() + 1).to_string());
        }
        let scope = maker.scope();
        if scope != maker.root() && !tags::is_detached(tags) {
            tags.insert(tags::SCOPE.to_owned(), scope.to_string());
        }
    }

    /// The tags of a promise created by an invocation, including its position in the tree.
    pub(super) fn minted_tags(
        &self,
        tags: &Tags,
        maker: &PromiseId,
        id: &PromiseId,
        address: Option<&Address>,
    ) -> Tags {
        let of_maker =
            |name: &str| self.promise(maker).and_then(|promise| promise.spec.tags.get(name));
        let origin = of_maker(tags::ORIGIN).cloned().unwrap_or_else(|| maker.to_string());
        let branch = if address.is_some() { id.to_string() } else { maker.to_string() };
        let mut tags = tags.clone();
        tags.insert(tags::PARENT.to_owned(), maker.to_string());
        tags.insert(tags::ORIGIN.to_owned(), origin);
        tags.insert(tags::BRANCH.to_owned(), branch);
        if let Some(address) = address {
            tags.insert(tags::TARGET.to_owned(), address.to_string());
        }
        if let Some(rights) = of_maker(tags::RIGHTS) {
            tags::narrow(&mut tags, rights);
        }
        tags
    }
}

/// Checks the length of the holder's name, since stores index it.
pub(super) fn holder_fits(request: &ClaimRequest) -> Result<(), NameLengthError> {
    fits("the name of the worker", request.holder.node.as_str())
}

/// Checks the additional requirements on promises under the strict reading of the protocol.
fn narrowly_fine(
    new: &NewPromise,
    address: Option<&Address>,
    maker: PromiseCreator<'_>,
) -> Result<(), Refusal> {
    let id = &new.id;
    if address.is_some() && tags::is_timer(&new.tags) {
        let message = format!("`{id}` is a timer, which cannot have a target");
        return Err(Refusal::BadRequest(message));
    }
    if let Some(address) = address {
        reachable(address)?;
    }
    // For promises created by invocations, the engine sets the lineage.
    let mut lineage = tags::LINEAGE.iter().filter(|_| {
        matches!(
            maker,
            PromiseCreator::Client | PromiseCreator::Starter(_) | PromiseCreator::Fork { .. }
        )
    });
    let stray = lineage
        .find_map(|tag| Some((tag, new.tags.get(*tag)?)).filter(|(_, root)| !id.lies_under(root)));
    match stray {
        None => Ok(()),
        Some((tag, root)) => Err(Refusal::BadRequest(format!(
            "`{id}` does not lie under `{root}`, as its tag `{tag}` says: the id of a member of a tree begins with the root's, then `:` or `.`"
        ))),
    }
}

/// Refuses addresses that no worker can poll, as the strict reading of the protocol requires.
pub(super) fn reachable(address: &Address) -> Result<(), Refusal> {
    match address.is_reachable() {
        true => Ok(()),
        false => Err(Refusal::BadRequest(format!(
            "no worker can poll `{address}`: use poll://any@GROUP, poll://any@GROUP/WORKER or poll://uni@GROUP/WORKER"
        ))),
    }
}

/// Settlement time of a client's verdict: never before the creation of the promise.
pub(super) fn settled_at(promise: &Promise, now: Timestamp) -> Timestamp {
    now.max(promise.spec.created_at)
}

//! Scenes: scripts of requests whose answers are the same with every runtime and every SDK.
//!
//! - `routes`: the ingress: routes, bodies, headers, errors;
//! - `sends`: one-way calls, attaching, idempotency;
//! - `handlers`: capabilities of a handler, seen from outside;
//! - `objects`: virtual objects;
//! - `workflows`: workflows and their promises;
//! - `events`: awakeables and signals;
//! - `control`: cancel, kill, pause, resume, purge, restart;
//! - `admin`: deployments, services, queries;
//! - `command`: the released command;
//! - `patience`: steps that outlast timeouts, kills that reach callees, a first registration;
//! - `combinators`, `communication`, `revisions`: cases of the original's suites that the other
//!   scenes do not cover;
//! - `long`: scenes that run while processes are killed.

macro_rules! scenes {
    ($($module:ident: { $($name:ident $([$($feature:ident),+])?),+ $(,)? })+) => {
        &[$($(Scene {
            name: stringify!($name),
            needs: &[$($(Feature::$feature),+)?],
            play: |stage| Box::pin($module::$name(stage)),
        }),+),+]
    };
}

mod admin;
mod combinators;
mod command;
mod communication;
mod control;
mod events;
mod handlers;
pub(super) mod long;
mod objects;
mod patience;
mod revisions;
mod routes;
mod sends;
mod workflows;

use std::pin::Pin;

use super::{Feature, Sdk, Stage};

/// A script of requests.
pub(super) struct Scene {
    /// Name of the scene and of its transcript.
    pub name: &'static str,
    needs: &'static [Feature],
    play: Play,
}

type Play = for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

impl Scene {
    /// True if the scene can be played with the services of `sdk`.
    pub(super) fn suits(&self, sdk: &Sdk) -> bool {
        sdk.has(self.needs)
    }

    /// Plays the scene.
    ///
    /// # Panics
    /// If the scene cannot continue.
    pub(super) async fn play(&self, stage: &Stage) {
        (self.play)(stage).await;
    }
}

#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Scene> {
    [SCENES, CONNECTED, ADMIN, REGISTRATIONS, PATIENCE, SUITES, COMMAND, long::SCENES]
        .into_iter()
        .flatten()
}

/// Scenes about the behaviour of services, in the order in which they are played.
pub(super) const SCENES: &[Scene] = scenes! {
    routes: {
        bodies,
        content_types,
        headers,
        unknown_routes,
        errors,
        error_metadata [Metadata],
        hidden_handlers [Options],
        health,
        prefixed_routes,
    }
    sends: {
        one_way,
        delays,
        bad_delays,
        results,
        idempotency,
        idempotency_of_objects,
    }
    handlers: {
        retries,
        runs,
        runs_that_give_up [RunRetries],
        steps,
        sleeps,
        chance [Chance],
        calls,
        call_options [CallOptions],
        sends_of_handlers,
        ids_of_sends [Ids],
        combinations [Combinators],
        mismatches,
    }
    objects: {
        state,
        lazy_state [Options],
        exclusive_handlers,
        failed_writes,
        transfers,
        state_from_outside,
    }
    workflows: {
        workflow,
        refused_workflow,
        unknown_workflow,
    }
    events: {
        awakeables,
        bad_awakeables,
        awakeables_of_handlers,
        signals [Signals],
    }
    control: {
        cancel,
        cancel_of_calls,
        cancel_of_queued,
        cancel_by_handlers [Ids],
        kill,
        purge,
        pause_and_resume [RetryPolicy],
        doomed [RetryPolicy],
        restart_as_new,
        bad_control,
    }
};

/// Scenes with invocations that stay connected while they wait. By default they are suspended after
/// a minute.
pub(super) const CONNECTED: &[Scene] = scenes! {
    control: {
        pause_by_hand,
    }
};

/// Scenes about registered services. The answers depend on the manifest, and so on the SDK.
pub(super) const ADMIN: &[Scene] = scenes! {
    admin: {
        queries_of_invocations [Options],
        queries_of_keys [Options],
        queries_of_services [Options],
        bad_queries [Options],
        services [Options],
        deployments [Options],
        changed_service [Options],
    }
};

/// Scenes that also need manifests of other endpoints, and that change registrations.
pub(super) const REGISTRATIONS: &[Scene] = scenes! {
    admin: {
        registration,
        refused_registrations,
        removed_deployment,
    }
};

/// Scenes of the services of `patience.mjs`, in the order in which they are played. The first one
/// registers the services.
pub(super) const PATIENCE: &[Scene] = scenes! {
    patience: {
        command_registers,
        what_comes_during_a_step,
        kill_of_callers,
        pause_in_a_step,
        keys_and_headers,
        previews,
        failures_of_attempts,
        registration_stays,
        columns_of_invocations,
        suspensions_at_each_wait,
    }
};

/// Scenes of the services of `suites.mjs`, in the order in which they are played. The last one
/// changes a timeout.
pub(super) const SUITES: &[Scene] = scenes! {
    combinators: {
        awakeables_or_time,
        first_success,
        combined_signals,
        combined_steps,
        many_sleeps,
        cancels_of_waits,
    }
    communication: {
        order_of_calls,
        keyed_calls,
        delayed_sends,
        state_of_other_keys,
        failures_of_steps,
        runs_with_few_attempts,
        fickle_handlers,
        scopes_of_keys,
        trace_context,
    }
    revisions: {
        upgrades,
        resume_elsewhere,
        restart_of_failures,
        journals,
        signed_requests,
        openapi,
        acknowledged_steps,
    }
};

/// Scenes that run the released command, in the order in which they are played. They need services
/// that have handled nothing else.
pub(super) const COMMAND: &[Scene] = scenes! {
    command: {
        command_lists,
        command_describes,
        command_shows_services,
        command_shows_deployments,
        command_shows_state,
        command_asks,
        command_controls,
    }
};

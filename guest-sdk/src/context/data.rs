//! The context of a workflow.

use std::sync::Arc;

use crate::invocation::CurrentInvocation;

/// A workflow's access to everything except computation. Cheap to clone.
///
/// Each method that issues a command returns a future. The command is **issued on the first poll**
/// of the future, or by its `start`. The order in which commands are issued is part of the
/// workflow's history and must be the same in every replay. This holds as long as a workflow
/// depends only on its input and this context.
///
/// After a cancellation, every await that is pending at that moment fails with code 499. Later
/// awaits work as usual, so that a workflow can clean up.
#[derive(Clone)]
pub struct Context(pub(super) Arc<CurrentInvocation>);

impl Context {
    pub(crate) fn new(invocation: Arc<CurrentInvocation>) -> Self {
        Self(invocation)
    }

    pub(crate) fn invocation(&self) -> &Arc<CurrentInvocation> {
        &self.0
    }
}

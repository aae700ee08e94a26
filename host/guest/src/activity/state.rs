//! The host's data for an activity instance, outside the guest's memory.

use std::sync::Arc;

use super::{http_bodies::OpenResponses, undecided::UndecidedEnds, wasi::RealWasi};
use crate::{
    ActivityHost,
    budget::ComputeBudget,
    policy::{Grants, Secrets},
};

/// The data of an activity instance's store.
pub(crate) struct ActivityState {
    pub(super) host: Arc<dyn ActivityHost>,
    pub(super) budget: ComputeBudget,
    pub(super) grants: Arc<Grants>,
    /// All secrets of this attempt's module, used or not.
    pub(super) secrets: Arc<Secrets>,
    pub(super) responses: OpenResponses,
    pub(super) undecided: UndecidedEnds,
    pub(super) wasi: Option<Box<RealWasi>>,
}

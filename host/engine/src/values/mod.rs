//! The encoding of values: in promises, which workers of any language read, and in journals, which
//! replays read.
//!
//! The API, the worker and the tests use the same codec, so the form of a value does not depend on
//! the writer.

pub mod journals;
mod promises;
mod requests;
mod responses;

pub use promises::{
    budget_spent, cancelled, code, failure, failure_value, first_told, function, input, outcome,
    param, param_again, param_of_arguments, payload, payload_json, policy, read_json, read_policy,
    shown, standing, told, value, verdict,
};
pub use requests::{request, request_param};
pub use responses::{response, response_value};

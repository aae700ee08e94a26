//! Names and ids: promises, modules, hosts, claims. A client-chosen id is opaque; only ids that the
//! engine derives have a format.
//!
//! ```text
//! {inv}/{k}         the promise of command k of invocation inv
//! {inv}/p/{name}    a named promise
//! {inv}/s/{n}       its n-th signal
//! {inv}/a/{n}       the answer of the update that is its n-th signal
//! {inv}/g/{n}       its n-th generation, from 2 on
//! {inv}/c/{saga}/{seq}   the compensation of a step of one of its sagas
//! {inv}/u/{saga}/{seq}   an operator's decision on a step whose effect is unknown
//! {run}/n/{node}/{k}     attempt k of a node of a graph run
//! {run}/sig/{name}  a signal to a graph run
//! {inv}/stream/{name}    one of its streams, which is no promise
//! {object}/p/{name} a promise of an object, which belongs to no execution
//! {object}/{function}    the run of a key, if its starter gives it no other id
//! ```
//!
//! In these ids, an object is `MODULE/OBJECT@KEY` with `%2F` for each slash of the key, `%25` for
//! each percent sign, and the same for control characters. So a key may contain anything, and no
//! two objects share ids.

mod claim;
mod digest;
mod holder;
mod length;
mod names;
mod object_id;
mod promise_id;
mod rule;
mod stream_id;

use std::fmt;

pub use self::{
    claim::{Claim, CommandIndex, Version},
    digest::{Digest, DigestError},
    holder::{Holder, HostName},
    length::{LONGEST, LONGEST_MINTED, NameLengthError, fits, fits_under, fits_within},
    names::{ResourceName, ScheduleId},
    object_id::ObjectId,
    promise_id::PromiseId,
    rule::{MalformedName, check_key, check_name},
    stream_id::{StreamId, StreamIdError},
};

macro_rules! shown_as_text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }
    )*};
}
pub(crate) use shown_as_text;

shown_as_text!(PromiseId, HostName, ScheduleId, ResourceName, ObjectId, StreamId);

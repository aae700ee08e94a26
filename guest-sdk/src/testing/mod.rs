//! Runs a workflow natively, in virtual time: no component, no host, no waiting.
//!
//! A [`Test`] replaces the host. Functions of the same crate that the workflow calls run for real
//! unless the test sets a [stand-in](Test::on). Requests, promises, signals, queries and updates
//! follow the test's definitions. When all futures wait, time jumps to the next due event, so a
//! sleep of a year takes no time. When no event is due, the test panics and names what the workflow
//! still waits for. If the workflow is in the list of [`module!`](crate::module!), every function
//! that it calls in its own module must be listed too: a host knows no other functions.
//!
//! With the feature `graph` of this package, graphs run by the rules of the host, and their nodes
//! run like the commands of a workflow.
//!
//! ```
//! # extern crate segno_sdk as segno;
//! use segno::testing::Test;
//! # use std::time::Duration;
//!
//! #[segno::activity]
//! async fn charge(_ctx: segno::ActivityContext, cents: u64) -> segno::Result<String> {
//!     Err(segno::Error::retryable("there is no payment service in a test"))
//! }
//!
//! #[segno::workflow]
//! async fn buy(ctx: segno::Context, cents: u64) -> segno::Result<String> {
//!     ctx.named_promise::<()>("approval").timeout(Duration::from_secs(3600)).await?;
//!     ctx.call(charge, &cents).await
//! }
//!
//! let mut test = Test::new();
//! test.promise("approval").after(Duration::from_secs(1800)).resolve(&());
//! test.on(charge, |cents| Ok(format!("charged {cents}")));
//!
//! assert_eq!(test.run(buy, &1200).unwrap(), "charged 1200");
//! assert_eq!(test.calls(charge), [1200]);
//! assert_eq!(test.elapsed(), Duration::from_secs(1800));
//! test.replay_check();
//! ```
//!
//! A [`Test`] runs the functions natively. [`verify()`] builds the component and runs it in the
//! real engine, with crashes, lost claims and results in other orders.

mod asked;
mod budgets;
mod scenario;
mod streams;
mod test;
mod verify;

mod attempt;
mod blobs;
mod doubles;
mod files;
mod journal;
mod recorder;
mod replay;
mod sha256;
mod world;

pub use asked::Asked;
pub use doubles::SeenRequest;
pub use scenario::{PromiseScript, SignalScript};
pub use test::Test;
pub use verify::{Verify, verify};

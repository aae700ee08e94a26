//! Runs a workflow natively, in virtual time: no component, no host, no waiting.
//!
//! A [`Test`] takes the host's place. Functions of the same crate that the workflow calls run for
//! real unless the test gives a [stand-in](Test::on); requests, promises, signals, queries and
//! updates come as the test defines in advance. When everything waits, time jumps to the next event that is due,
//! so a sleep of a year takes no time; when nothing more is due, the test panics and names what the
//! workflow still waits for. If the workflow is in the list of [`module!`](crate::module!), so must
//! be whatever it calls in its own module: a host knows no other functions.
//!
//! With the feature `graph` of this package, graphs run by the rules of the host, and their nodes as
//! the commands of a workflow do.
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
//! A [`Test`] runs the functions natively. [`verify()`] builds the component and runs that in the real engine, with
//! crashes, lost claims and results in other orders.

mod asked;
mod scenario;
mod test;
mod verify;

mod attempt;
mod doubles;
mod files;
mod recorder;
mod replay;
mod world;

pub use asked::Asked;
pub use doubles::SeenRequest;
pub use scenario::{PromiseScript, SignalScript};
pub use test::Test;
pub use verify::{Verify, verify};

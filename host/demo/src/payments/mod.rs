//! A small payment service: what the example `order` charges, in a process of its own.
//!
//! It is what a careful service in the outside world is: a request with an `Idempotency-Key` that came before is answered
//! as the first time, and what it accepted stays in its [`ledger`] when it is killed. The service knows nothing of Segno.

mod child;
pub mod ledger;
mod request;
mod service;

pub use child::{ChildError, PaymentsChild};
pub use request::{ChargeRequest, LedgerView, Receipt, RefundRequest};
pub use service::{Payments, PaymentsArgs, PaymentsOptions, run};

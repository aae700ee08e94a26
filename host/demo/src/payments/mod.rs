//! A small payment service that the example `order` charges, as a separate process.
//!
//! The service behaves as a careful external service: a request with a known `Idempotency-Key` gets
//! the first answer again, and accepted requests stay in its [`ledger`] when the service is killed.
//! Segno is unknown here.

mod child;
pub mod ledger;
mod request;
mod service;

pub use child::{ChildError, PaymentsChild};
pub use request::{ChargeRequest, LedgerView, Receipt, RefundRequest};
pub use service::{Payments, PaymentsArgs, PaymentsOptions, run};

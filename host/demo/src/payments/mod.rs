//! A small payment service, charged by the example `order`, in a separate process.
//!
//! The service behaves like a careful external service: a request with a known `Idempotency-Key`
//! gets the first answer again, and accepted requests survive a kill in its [`ledger`]. It knows
//! nothing about Segno.

mod child;
pub mod ledger;
mod request;
mod service;

pub use child::{ChildError, PaymentsChild};
pub use request::{ChargeRequest, LedgerView, Receipt, RefundRequest};
pub use service::{PaymentServer, PaymentsArgs, PaymentsOptions, run};

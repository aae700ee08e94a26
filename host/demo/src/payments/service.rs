//! The payment service over HTTP: decides each key once, and repeats the answer.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context;
use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use segno_core::time::Millis;
use segno_env::Env;
use tokio::net::TcpListener;

use super::{
    ChargeRequest, LedgerView, Receipt, RefundRequest,
    ledger::{LedgerEntry, LedgerError, PaymentKind, PaymentLedger},
};

/// The command line of the service.
#[derive(Debug, clap::Args)]
pub struct PaymentsArgs {
    /// Address to listen on; port 0 takes a free one. The address is the first line of the output
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Ledger file, created if missing
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    /// Largest accepted amount, in cents
    #[arg(long, value_name = "CENTS", default_value_t = PaymentsOptions::default().limit_cents)]
    limit_cents: u64,
    /// Time from a decision to its answer, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = PaymentsOptions::default().delay.0)]
    delay_ms: i64,
}

/// Configuration of the service.
#[derive(Debug, Clone)]
pub struct PaymentsOptions {
    /// The largest accepted amount, in cents.
    pub limit_cents: u64,
    /// The delay between a decision and its answer: a host killed during it does not know of the
    /// charge.
    pub delay: Millis,
}

impl Default for PaymentsOptions {
    fn default() -> Self {
        Self { limit_cents: 100_000, delay: Millis(0) }
    }
}

pub struct PaymentServer {
    ledger: Mutex<PaymentLedger>,
    options: PaymentsOptions,
    env: Env,
}

/// Runs the service with these arguments until the process is killed.
///
/// # Errors
/// Fails if the ledger or the address cannot be used.
pub async fn run(args: PaymentsArgs) -> anyhow::Result<()> {
    let options = PaymentsOptions { limit_cents: args.limit_cents, delay: Millis(args.delay_ms) };
    let payments = PaymentServer::open(&args.ledger, options, Env::system())?;
    let listener = TcpListener::bind(args.listen)
        .await
        .with_context(|| format!("the payment service cannot listen on {}", args.listen))?;
    anstream::println!("http://{}", listener.local_addr()?);
    axum::serve(listener, payments.router()).await.context("the payment service stopped")
}

impl PaymentServer {
    /// Creates the service with the ledger at `path`.
    ///
    /// # Errors
    /// Fails if the ledger cannot be used.
    pub fn open(path: &Path, options: PaymentsOptions, env: Env) -> Result<Arc<Self>, LedgerError> {
        Ok(Arc::new(Self { ledger: Mutex::new(PaymentLedger::open(path)?), options, env }))
    }

    /// All requests received so far.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).entries().to_vec()
    }

    /// The routes of the service.
    pub fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/charges", post(charge))
            .route("/refunds", post(refund))
            .route("/ledger", get(ledger))
            .route("/health", get(async || "ok"))
            .with_state(self)
    }

    /// Charges `request`, unless `key` was used before.
    ///
    /// # Errors
    /// [`PaymentRefusal`]; nothing is then decided.
    pub fn charge(&self, key: &str, request: &ChargeRequest) -> Result<Receipt, PaymentRefusal> {
        self.once(key, |ledger| {
            let within = request.amount_cents <= self.options.limit_cents;
            Ok(LedgerEntry {
                key: key.to_owned(),
                kind: PaymentKind::Charge,
                order: request.order.clone(),
                amount_cents: request.amount_cents,
                charge: within.then(|| ledger.next_charge()),
                accepted: within,
                requests: 0,
            })
        })
    }

    /// Refunds a charge, unless `key` was used before.
    ///
    /// # Errors
    /// [`PaymentRefusal`]; nothing is then decided.
    pub fn refund(&self, key: &str, request: &RefundRequest) -> Result<Receipt, PaymentRefusal> {
        self.once(key, |ledger| {
            let charge = request.charge.clone();
            let made = ledger
                .charge(&charge)
                .ok_or_else(|| PaymentRefusal::NoSuchCharge(charge.clone()))?;
            if ledger.is_refunded(&charge) {
                return Err(PaymentRefusal::AlreadyRefunded(charge));
            }
            Ok(LedgerEntry {
                key: key.to_owned(),
                kind: PaymentKind::Refund,
                order: made.order.clone(),
                amount_cents: made.amount_cents,
                charge: Some(charge),
                accepted: true,
                requests: 0,
            })
        })
    }

    /// Implements idempotency: the first request with a key is decided, and every later one gets
    /// the same answer.
    fn once(
        &self,
        key: &str,
        decide: impl FnOnce(&PaymentLedger) -> Result<LedgerEntry, PaymentRefusal>,
    ) -> Result<Receipt, PaymentRefusal> {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = ledger.of_key(key).cloned() {
            ledger.repeat(key)?;
            return Ok(self.receipt(&known));
        }
        let entry = decide(&ledger)?;
        let receipt = self.receipt(&entry);
        ledger.decide(entry)?;
        Ok(receipt)
    }

    fn receipt(&self, entry: &LedgerEntry) -> Receipt {
        let limit = self.options.limit_cents;
        let declined =
            || format!("{} cents are more than the limit of {limit}", entry.amount_cents);
        Receipt {
            charge: entry.charge.clone(),
            accepted: entry.accepted,
            message: (!entry.accepted).then(declined),
        }
    }
}

/// Reason why a request was not decided.
#[derive(Debug, thiserror::Error)]
pub enum PaymentRefusal {
    /// The request has no key, so a repetition would charge twice.
    #[error("send an `Idempotency-Key`")]
    NoKey,
    /// The charge does not exist.
    #[error("there is no charge `{0}`")]
    NoSuchCharge(String),
    /// The charge was refunded under another key.
    #[error("the charge `{0}` was refunded before")]
    AlreadyRefunded(String),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl IntoResponse for PaymentRefusal {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NoKey => StatusCode::BAD_REQUEST,
            Self::NoSuchCharge(_) => StatusCode::NOT_FOUND,
            Self::AlreadyRefunded(_) => StatusCode::CONFLICT,
            Self::Ledger(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let receipt = Receipt { charge: None, accepted: false, message: Some(self.to_string()) };
        (status, Json(receipt)).into_response()
    }
}

async fn charge(
    State(payments): State<Arc<PaymentServer>>,
    headers: HeaderMap,
    Json(request): Json<ChargeRequest>,
) -> Response {
    answer(payments, &headers, move |payments, key| payments.charge(key, &request)).await
}

async fn refund(
    State(payments): State<Arc<PaymentServer>>,
    headers: HeaderMap,
    Json(request): Json<RefundRequest>,
) -> Response {
    answer(payments, &headers, move |payments, key| payments.refund(key, &request)).await
}

async fn ledger(State(payments): State<Arc<PaymentServer>>) -> Json<LedgerView> {
    Json(LedgerView { entries: payments.entries() })
}

/// Decides on a blocking thread, because a decision waits for the disk; answers after the delay.
async fn answer(
    payments: Arc<PaymentServer>,
    headers: &HeaderMap,
    decide: impl FnOnce(&PaymentServer, &str) -> Result<Receipt, PaymentRefusal> + Send + 'static,
) -> Response {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let Some(key) = key.filter(|key| !key.is_empty()).map(str::to_owned) else {
        return PaymentRefusal::NoKey.into_response();
    };
    let service = Arc::clone(&payments);
    let decided = tokio::task::spawn_blocking(move || decide(&service, &key))
        .await
        .expect("deciding does not panic");
    payments.env.runtime.sleep(payments.options.delay).await;
    match decided {
        Ok(receipt) if receipt.accepted => Json(receipt).into_response(),
        Ok(receipt) => (StatusCode::PAYMENT_REQUIRED, Json(receipt)).into_response(),
        Err(refused) => refused.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(folder: &tempfile::TempDir) -> Arc<PaymentServer> {
        let path = folder.path().join("ledger");
        PaymentServer::open(&path, PaymentsOptions::default(), Env::system()).unwrap()
    }

    fn of(order: &str, amount_cents: u64) -> ChargeRequest {
        ChargeRequest { order: order.into(), amount_cents }
    }

    #[test]
    fn a_repeated_key_charges_once_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let first = service(&folder).charge("k", &of("a", 500)).unwrap();
        assert!(first.accepted);
        let payments = service(&folder);
        assert_eq!(payments.charge("k", &of("a", 500)).unwrap(), first);
        let entries = payments.entries();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].requests, 2);
    }

    #[test]
    fn an_amount_above_the_limit_is_declined_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let payments = service(&folder);
        let declined = payments.charge("k", &of("a", 100_001)).unwrap();
        assert!(!declined.accepted && declined.charge.is_none());
        assert!(!payments.charge("k", &of("a", 1)).unwrap().accepted);
        assert!(payments.charge("other", &of("a", 100_000)).unwrap().accepted);
    }

    #[test]
    fn a_charge_is_given_back_once() {
        let folder = tempfile::tempdir().unwrap();
        let payments = service(&folder);
        let charge = payments.charge("k", &of("a", 500)).unwrap().charge.unwrap();
        let request = RefundRequest { charge };
        let refund = payments.refund("r", &request).unwrap();
        assert!(refund.accepted);
        assert_eq!(payments.refund("r", &request).unwrap(), refund);
        assert!(matches!(
            payments.refund("again", &request),
            Err(PaymentRefusal::AlreadyRefunded(_))
        ));
        let unknown = RefundRequest { charge: "ch-9".into() };
        assert!(matches!(payments.refund("x", &unknown), Err(PaymentRefusal::NoSuchCharge(_))));
        assert_eq!(payments.entries().len(), 2);
    }

    #[tokio::test]
    async fn it_speaks_http() {
        use axum::{body::Body, http::Request};
        use tower::ServiceExt;

        let folder = tempfile::tempdir().unwrap();
        let router = service(&folder).router();
        let charge = |key: Option<&str>, amount: u64| {
            let mut request = Request::post("/charges").header("content-type", "application/json");
            if let Some(key) = key {
                request = request.header("Idempotency-Key", key);
            }
            let body = serde_json::to_vec(&of("a", amount)).unwrap();
            router.clone().oneshot(request.body(Body::from(body)).unwrap())
        };
        assert_eq!(charge(Some("k"), 5).await.unwrap().status(), StatusCode::OK);
        assert_eq!(charge(Some("k"), 5).await.unwrap().status(), StatusCode::OK);
        assert_eq!(
            charge(Some("l"), 100_001).await.unwrap().status(),
            StatusCode::PAYMENT_REQUIRED
        );
        assert_eq!(charge(None, 5).await.unwrap().status(), StatusCode::BAD_REQUEST);

        let answer =
            router.oneshot(Request::get("/ledger").body(Body::empty()).unwrap()).await.unwrap();
        let body = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        let view: LedgerView = serde_json::from_slice(&body).unwrap();
        let seen: Vec<_> =
            view.entries.iter().map(|entry| (entry.accepted, entry.requests)).collect();
        assert_eq!(seen, [(true, 2), (false, 1)]);
    }
}

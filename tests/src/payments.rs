//! The demo's payment service inside the test's own process, on its own port.

use std::{path::Path, sync::Arc};

use segno_demo::payments::{PaymentServer, PaymentsOptions, ledger::LedgerEntry};
use segno_env::Env;
use tokio::net::TcpListener;

/// A payment service that runs as long as the test's runtime.
pub struct PaymentService {
    payments: Arc<PaymentServer>,
    address: String,
}

impl PaymentService {
    /// Starts a service with its ledger in `folder`.
    ///
    /// # Panics
    /// If there is no free port, or the folder cannot be used.
    pub async fn start(folder: &Path, options: PaymentsOptions, env: &Env) -> Self {
        let ledger = folder.join("ledger.jsonl");
        let payments =
            PaymentServer::open(&ledger, options, env.clone()).expect("the ledger opens");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = Arc::clone(&payments).router();
        let serving = async move {
            axum::serve(listener, router).await.expect("a payment service does not end");
        };
        env.runtime.spawn("payments", Box::pin(serving));
        Self { payments, address }
    }

    /// Address of the service, such as `http://127.0.0.1:9000`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// All requests so far.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        self.payments.entries()
    }
}

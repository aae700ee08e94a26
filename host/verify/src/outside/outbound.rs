//! Outbound HTTP, where requests wait for their answers from the script.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use segno_engine::values;
use segno_guest::{Failure, HttpRequest, HttpResponse, Outbound, Outcome, Payload};
use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::{ExternalWork, ExternalWorld, ReleaseMode, WITHIN, failure, json_of};
use crate::{effect::ExternalEffect, error::VerifyError, script::ScriptedOutcome};

/// Outbound HTTP as one life of a host sees it.
pub(crate) struct GuardedOutbound {
    pub outside: Arc<ExternalWorld>,
    pub life: u64,
}

#[async_trait]
impl Outbound for GuardedOutbound {
    async fn send(&self, module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let outside = &self.outside;
        let what = format!("{} {}", request.method, request.url);
        let key = request
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("idempotency-key"))
            .map(|(_, key)| key.clone());
        let body = request.body.as_ref().map_or(Json::Null, json_of);
        let within = WITHIN.try_with(Arc::clone).ok();
        let (place, attempt) = match &within {
            Some(within) => (within.place.clone(), within.attempt),
            None => outside.request_of(key.as_deref(), &request).await,
        };
        let scripted = outside.setup.script.of_request(&what, &body, &place, attempt);
        let waited = match &within {
            Some(_) => None,
            None => {
                let after_ms = scripted.map_or(0, |outcome| outcome.after_ms);
                let work = ExternalWork::Request(what.clone());
                Some(outside.wait(&place, work, self.life, after_ms).await)
            }
        };
        let answer = match (scripted, &outside.setup.real) {
            (Some(scripted), _) => answer_of(scripted),
            (None, Some(real)) => send_really(real.clone(), module.to_owned(), request).await,
            (None, None) => return outside.stop(VerifyError::NoAnswer { request: what }).await,
        };
        let succeeded = answer.as_ref().is_ok_and(|answer| answer.status < 400);
        let within = within.map(|within| within.function.clone());
        outside.did(ExternalEffect { what, input: body, key, place, within, succeeded });
        let Some((order, done)) = waited else { return answer };
        let _ = done.send(());
        match order {
            ReleaseMode::Finish => answer,
            ReleaseMode::Lose => std::future::pending().await,
        }
    }

    fn allows(&self, _module: &str, _url: &str) -> Result<(), Failure> {
        Ok(())
    }
}

/// Sends a request in real time, on a separate thread: time stands still here.
async fn send_really(
    real: Arc<dyn Outbound>,
    module: String,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let (answer, answered) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let sent = match runtime {
            Ok(runtime) => runtime.block_on(real.send(&module, request)),
            Err(error) => Err(Failure { code: 500, message: error.to_string(), details: None }),
        };
        let _ = answer.send(sent);
    });
    answered.await.unwrap_or_else(|_| {
        let message = "the thread that sends ended".to_owned();
        Err(Failure { code: 500, message, details: None })
    })
}

fn answer_of(scripted: &ScriptedOutcome) -> Result<HttpResponse, Failure> {
    match &scripted.recorded {
        Some(Outcome::Success(told)) => {
            return values::response(told).ok_or_else(|| no_answer(told));
        }
        Some(Outcome::Failure(failure)) => return Err(failure.clone()),
        None => {}
    }
    if let Some(code) = scripted.fails {
        return Err(failure(code, scripted));
    }
    let mut headers: BTreeMap<String, String> = scripted.headers.clone();
    let body = scripted.body.as_ref().map(|body| {
        headers.entry("content-type".into()).or_insert_with(|| "application/json".into());
        body.to_string().into_bytes()
    });
    Ok(HttpResponse {
        status: scripted.status.unwrap_or(200),
        headers: headers.into_iter().collect(),
        body: body.unwrap_or_default(),
    })
}

fn no_answer(told: &Payload) -> Failure {
    let message = format!("what was recorded is no answer to a request: {}", json_of(told));
    Failure { code: values::code::FAILED, message, details: None }
}

//! `POST /query`: questions in SQL about invocations, their journals, state and what is registered.
//!
//! Tools ask in this way what no other route lists. A question is about one table, whose rows are made from what the
//! store lists; what it asks for is worked out here. So a question costs what listing costs: an id, a target, a
//! status and a key are looked up where the store can do that, and beyond that a bounded number of rows is looked at.
//!
//! - [`parse`]: the text of a question, as a plan; whatever is not understood is refused;
//! - [`plan`]: the answer to a plan from rows;
//! - [`condition`]: what is asked of a row;
//! - [`row`]: rows, and how many are looked at;
//! - [`value`]: their values;
//! - [`tables`]: where rows come from.

mod condition;
mod parse;
mod plan;
mod row;
mod tables;
mod value;

#[cfg(test)]
mod tests;

use axum::{
    Json,
    extract::Request,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{super::error::AdminError, body};
use crate::Api;

/// What is asked.
#[derive(Deserialize)]
struct Asked {
    query: String,
}

/// Answers a query.
pub async fn query(api: Api, request: Request) -> Result<Response, AdminError> {
    if !wants_json(request.headers()) {
        let message = "only JSON is answered, and no Arrow: send `accept: application/json`";
        return Err(AdminError::new(406, message));
    }
    let asked: Asked = body(&api, request).await?;
    let plan =
        parse::parse(&asked.query).map_err(|refused| AdminError::new(400, refused.to_string()))?;
    let rows = tables::rows(&api, &plan).await?;
    Ok(Json(json!({ "rows": plan.answer(rows) })).into_response())
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).into_iter();
    accepted.filter_map(|value| value.to_str().ok()).any(|value| value.contains("application/json"))
}

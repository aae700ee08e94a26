//! `POST /query`: questions in SQL about invocations, their journals, state and what is registered.
//!
//! Tools ask in this way what no other route lists. SQLite plans and answers a question, over tables whose rows are
//! read from the store while it asks for them: what its plan says of an id, a target, a status or a key, in a condition
//! or through a join, narrows what is read, and no more rows are read than it takes. Beyond that a bounded number is.
//!
//! - [`statement`]: the text of a question, as the database is asked it;
//! - [`names`]: the tables that it names;
//! - [`dialect`] and [`expression`]: words of tools that SQLite has others for;
//! - [`database`] and [`functions`]: the database;
//! - [`view`]: its tables, and what its plans say of them: [`wanted`];
//! - [`scan`] and [`rows`]: rows on their way from a reader to a query;
//! - [`tables`]: the readers;
//! - [`row`] and [`value`]: rows and their values;
//! - [`answer`] and [`arrow`]: what is answered.

mod answer;
mod arrow;
mod database;
mod dialect;
mod expression;
mod functions;
mod names;
mod row;
mod rows;
mod scan;
mod statement;
mod tables;
mod value;
mod view;
mod wanted;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    Json,
    extract::Request,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use segno_api::shared::place;
use segno_core::time::Millis;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Handle;

use self::{database::Database, statement::Statement, tables::Live, view::Tables};
use super::{super::error::AdminError, body};
use crate::front::Api;

/// How long a query waits for others that are answered; each takes a few seconds at most.
const PATIENCE: Millis = Millis(2_000);
const FULL: &str = "as many queries as are answered at a time are going on";

/// What is asked.
#[derive(Deserialize)]
struct Asked {
    query: String,
}

/// Answers a query: as JSON where that is asked for, and as an Arrow stream otherwise.
pub async fn query(api: Api, request: Request) -> Result<Response, AdminError> {
    let as_json = wants_json(request.headers());
    let asked: Asked = body(&api, request).await?;
    let now = api.host.env.clock.now();
    let statement = Statement::read(&asked.query, now)
        .map_err(|refused| AdminError::new(400, refused.to_string()))?;
    let place = place(&api.queries, PATIENCE, &api.host.env, FULL).await?;
    let tables = Tables::new(Arc::new(Live(api)), Handle::current());
    let answering = tokio::task::spawn_blocking(move || {
        // It goes on when nobody waits for the answer any more.
        let _place = place;
        Database::new(tables)?.answer(&statement)
    });
    let answer = answering.await.map_err(|error| AdminError::new(500, error.to_string()))??;
    if as_json {
        return Ok(Json(json!({ "rows": answer.json() })).into_response());
    }
    Ok(([(header::CONTENT_TYPE, arrow::CONTENT_TYPE)], arrow::stream(&answer)).into_response())
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).into_iter();
    accepted.filter_map(|value| value.to_str().ok()).any(|value| value.contains("application/json"))
}

//! `POST /query`: SQL queries about invocations, journals, state and registered services.
//!
//! Tools use it for data that no other route lists. SQLite plans and executes a query over virtual
//! tables, whose rows are read from the store on demand. The planner passes conditions on an id, a
//! target, a status or a key, from a filter or a join, to the table, which narrows the read. A
//! query reads only as many rows as it consumes, up to a limit.
//!
//! - [`statement`]: translation of a query for the database, or its [`refusal`];
//! - [`table`] and [`columns`]: the tables and their columns;
//! - [`names`]: the tables in a query;
//! - [`dialect`] and [`expression`]: translation to SQLite's dialect;
//! - [`database`] and [`functions`]: the database;
//! - [`view`]: its virtual tables, and the rows that a plan needs: [`wanted`];
//! - [`scan`] and [`rows`]: transfer of rows from a reader to a query;
//! - [`tables`]: the readers of the tables;
//! - [`row`] and [`value`]: rows and their values;
//! - [`answer`] and [`arrow`]: the answer.

mod answer;
mod arrow;
mod columns;
mod database;
mod dialect;
mod expression;
mod functions;
mod names;
mod refusal;
mod row;
mod rows;
mod scan;
mod statement;
mod table;
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
    response::IntoResponse,
};
use segno_api::shared::place;
use segno_core::time::Millis;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Handle;

use self::{
    database::QueryDatabase, statement::TranslatedQuery, tables::LiveTableReader, view::QueryScans,
};
use crate::front::{
    ServicesApi,
    error::{AdminError, AdminResult},
    request::json_of_operator,
};

/// Maximum wait for other running queries; each takes a few seconds at most.
const PATIENCE: Millis = Millis(2_000);
const FULL: &str = "the limit of concurrent queries is reached";

/// Parses the JSON body of a request.
#[derive(Deserialize)]
struct QueryRequest {
    query: String,
}

/// Answers a query: as JSON if the client requests it, otherwise as an Arrow stream.
pub(super) async fn query(api: ServicesApi, request: Request) -> AdminResult {
    let as_json = wants_json(request.headers());
    let asked: QueryRequest = json_of_operator(&api, request).await?;
    let now = api.host.env.clock.now();
    let statement = TranslatedQuery::read(&asked.query, now)
        .map_err(|refused| AdminError::new(400, refused.to_string()))?;
    let place = place(&api.queries, PATIENCE, &api.host.env, FULL).await?;
    let tables = QueryScans::new(Arc::new(LiveTableReader(api)), Handle::current());
    let answering = tokio::task::spawn_blocking(move || {
        // The query continues if the client has disconnected.
        let _place = place;
        QueryDatabase::new(tables)?.answer(&statement)
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

//! `POST /query`: questions in SQL about invocations, their journals, state and what is registered.
//!
//! Tools ask in this way what no other route lists. Each table that a question names is loaded from what the store
//! lists into a database of its own, in memory, and the question is asked there. What a question says plainly of a
//! table, of an id, a target, a status or a key, narrows what is loaded; beyond that a bounded number of rows is.
//!
//! - [`statement`]: the text of a question, as the database is asked it;
//! - [`dialect`] and [`expression`]: words of tools that SQLite has others for;
//! - [`source`]: the tables that it names, and what it says of their rows;
//! - [`said`]: what a condition says of a column;
//! - [`tables`]: where rows come from;
//! - [`row`] and [`value`]: rows and their values;
//! - [`loader`]: puts rows into the database, as many as are let in;
//! - [`database`] and [`functions`]: the database;
//! - [`answer`] and [`arrow`]: what is answered.

mod answer;
mod arrow;
mod database;
mod dialect;
mod expression;
mod functions;
mod loader;
mod row;
mod said;
mod source;
mod statement;
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
use segno_core::time::Millis;
use serde::Deserialize;
use serde_json::json;

use self::{loader::Loader, statement::Statement};
use super::{super::error::AdminError, body};
use crate::{Api, admission};

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
    let place = admission::place(&api.queries, PATIENCE, &api.host.env, FULL).await?;
    let mut loader = Loader::new(&statement)?;
    for loaded in &statement.sources {
        loader.begin(loaded);
        tables::load(&api, &loaded.source, &mut loader).await?;
    }
    let database = loader.loaded();
    let answering = tokio::task::spawn_blocking(move || {
        // It goes on when nobody waits for the answer any more.
        let _place = place;
        database.answer(&statement)
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

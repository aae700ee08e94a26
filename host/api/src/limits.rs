//! Limits of functions: listing them, reading their keys, setting them.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::PromiseId,
    limit::{
        AdmissionBounds, AdmissionRule, Limit, LimitName, Partition, PartitionId, TokenBucket,
    },
    reply::Reply,
    time::Timestamp,
};
use segno_store::{LimitFilter, LimitRow, PartitionFilter, Store};

use super::{
    Api, ApiError, behind,
    body::{JsonBody, PathSegments, UrlQuery},
    catalog::{CatalogEntry, CatalogModules},
    model::{
        LimitBefore, LimitChanged, LimitHolder, LimitItem, LimitKey, LimitList, LimitListQuery,
        LimitQuery, LimitRule, LimitSource, LimitView, SetLimit,
    },
    page, problem_kind as kind,
    refusals::Refusals,
    state::{refused, unexpected},
};

/// Maximum number of admitted executions examined for a page of keys.
const LOOKED_AT: u32 = 1_000;

/// Lists the limits that modules declare or operators set, by name.
#[utoipa::path(
    get, path = "/v1/limits", tag = "limits", params(LimitListQuery),
    responses((status = 200, body = LimitList), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<LimitListQuery>,
) -> Result<Json<LimitList>, ApiError> {
    let limit = page::LISTING.of(query.limit)?;
    let after = query.after.as_deref().map(LimitName::from);
    let store = api.look().await?.listing(query.partial);
    let rows = store.read().limits(&LimitFilter { after: after.clone(), limit }).await;
    let rows = rows.map_err(|error| store.incomplete(error))?;
    let modules = api.modules().await?;
    let declared = declarations(&modules, after.as_ref());
    let (rows, next) = joined(rows.items, rows.next, declared, limit as usize);
    let now = api.host.env.clock.now();
    let items = rows.iter().map(|row| item(&row.name, &row.limit, now)).collect();
    let missing = store.left_out();
    Ok(Json(LimitList { items, missing, next: next.map(|name| name.to_string()) }))
}

/// Reads a limit: the effective rule and its source, the numbers of admitted and waiting
/// executions, and a page of its keys.
#[utoipa::path(
    get, path = "/v1/limits/{module}/{function}", tag = "limits",
    params(
        ("module" = String, Path, description = "The alias of the module, or its digest"),
        ("function" = String, Path, description = "The function; that of an object is OBJECT%2FFUNCTION"),
        LimitQuery,
    ),
    responses((status = 200, body = LimitView), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegments(path): PathSegments<(String, String)>,
    UrlQuery(query): UrlQuery<LimitQuery>,
) -> Result<Json<LimitView>, ApiError> {
    let limit = page::LISTING.of(query.limit)?;
    let store = api.look().await?;
    let (name, row) = found(&api, &*store, &path).await?;
    let after = query.after.map(|key| name.partition(&key));
    let filter = PartitionFilter { name: name.clone(), after, limit };
    let keys = store.read().partitions(&filter).await?;
    let now = api.host.env.clock.now();
    let rule = row.rule().cloned().unwrap_or_default();
    let mut holders: BTreeMap<PartitionId, Vec<LimitHolder>> = BTreeMap::new();
    for (key, holder) in behind::holders(&*store, &name, None, LOOKED_AT).await? {
        let holders = holders.entry(key).or_default();
        if holders.len() < behind::HOLDERS as usize {
            holders.push(holder);
        }
    }
    let shown = |(id, row): &(PartitionId, Partition)| LimitKey {
        holders: holders.get(id).cloned().unwrap_or_default(),
        ..key(id.key(), row, &rule, now)
    };
    Ok(Json(LimitView {
        limit: item(&name, &row, now),
        keys: keys.items.iter().map(shown).collect(),
        next: keys.next.map(|id| id.key().to_owned()),
    }))
}

/// Sets a limit, which then takes precedence over the module's declaration. The body is the whole
/// rule and replaces the previous one.
#[utoipa::path(
    put, path = "/v1/limits/{module}/{function}", tag = "limits", request_body = LimitRule,
    params(
        ("module" = String, Path, description = "The alias of the module, or its digest"),
        ("function" = String, Path, description = "The function; that of an object is OBJECT%2FFUNCTION"),
    ),
    responses((status = 200, body = LimitChanged), Refusals),
)]
pub(crate) async fn set(
    State(api): State<Api>,
    PathSegments(path): PathSegments<(String, String)>,
    JsonBody(SetLimit(rule), _room): JsonBody<SetLimit>,
) -> Result<Json<LimitChanged>, ApiError> {
    changed(&api, &path, Some(rule)).await.map(Json)
}

/// Resets a limit to the module's declaration, or to none.
#[utoipa::path(
    delete, path = "/v1/limits/{module}/{function}", tag = "limits",
    params(
        ("module" = String, Path, description = "The alias of the module, or its digest"),
        ("function" = String, Path, description = "The function; that of an object is OBJECT%2FFUNCTION"),
    ),
    responses((status = 200, body = LimitChanged), Refusals),
)]
pub(crate) async fn clear(
    State(api): State<Api>,
    PathSegments(path): PathSegments<(String, String)>,
) -> Result<Json<LimitChanged>, ApiError> {
    changed(&api, &path, None).await.map(Json)
}

async fn changed(
    api: &Api,
    path: &(String, String),
    rule: Option<AdmissionRule>,
) -> Result<LimitChanged, ApiError> {
    let store = &*api.host.store;
    let (name, before) = found(api, store, path).await?;
    if let Some(error) = rule.as_ref().and_then(|rule| rule.check().err()) {
        return Err(ApiError::refused(
            kind::INVALID_LIMIT,
            format!("`{name}` cannot be limited like this: {error}"),
        ));
    }
    let command = Command::LimitSet { name: name.clone(), rule };
    match api.execute(command).await? {
        Reply::Done => {}
        Reply::Refused(refusal) => return Err(refused(&PromiseId::new(name.as_str()), refusal)),
        other => return Err(unexpected(&other)),
    }
    let (_, limit) = found(api, store, path).await?;
    Ok(LimitChanged {
        limit: item(&name, &limit, api.host.env.clock.now()),
        before: LimitBefore { rule: before.rule().cloned(), source: source(&before) },
    })
}

/// Finds a limit. If the store has no row of it yet, takes the module's declaration.
///
/// # Errors
/// The function does not exist, and the store has no limit with this name either.
async fn found(
    api: &Api,
    store: &dyn Store,
    (module, function): &(String, String),
) -> Result<(LimitName, Limit), ApiError> {
    let modules = api.modules().await?;
    let entry = modules.find(module);
    let of_alias = |entry: &&CatalogEntry| entry.module.aliases.contains(module);
    let name = match entry {
        // An execution started by a digest is subject to the limit of the digest.
        Some(entry) if !of_alias(&entry) => {
            LimitName::of(&format!("sha256:{}", entry.digest), function)
        }
        Some(_) | None => LimitName::of(module, function),
    };
    if name.parts().is_none() {
        let reason = format!("`{name}` is not the name of a limit: use MODULE/FUNCTION");
        return Err(ApiError::BadPath(reason));
    }
    if let Some(limit) = store.read().limit(&name).await? {
        return Ok((name, limit));
    }
    let entry = entry.ok_or_else(|| ApiError::UnknownModule {
        name: module.clone(),
        known: modules.aliases(),
    })?;
    let functions = &entry.module.description.functions;
    if entry.function(function).is_none() {
        return Err(ApiError::UnknownFunction {
            module: module.clone(),
            function: function.clone(),
            known: functions.iter().map(|function| function.name.clone()).collect(),
        });
    }
    let declared = declared_by(entry).remove(function);
    Ok((name, Limit { declared, ..Limit::default() }))
}

/// Returns the rules that a module declares, by function.
fn declared_by(entry: &CatalogEntry) -> BTreeMap<String, AdmissionRule> {
    let limits = entry.module.description.facts().limits;
    limits.into_iter().map(|(function, rule)| (function.to_string(), rule)).collect()
}

/// Returns the rules declared by modules with an alias, for limits after `after`.
fn declarations(
    modules: &CatalogModules,
    after: Option<&LimitName>,
) -> BTreeMap<LimitName, AdmissionRule> {
    let named = modules.0.iter().flat_map(|entry| {
        let declared = declared_by(entry);
        let aliases = entry.module.aliases.iter();
        aliases.flat_map(move |alias| {
            declared
                .clone()
                .into_iter()
                .map(move |(function, rule)| (LimitName::of(alias, &function), rule))
        })
    });
    named.filter(|(name, _)| after.is_none_or(|after| name > after)).collect()
}

/// Merges a page of rows with declared limits that have no row. Returns the page and the cursor of
/// the next one.
fn joined(
    rows: Vec<LimitRow>,
    next: Option<LimitName>,
    declared: BTreeMap<LimitName, AdmissionRule>,
    most: usize,
) -> (Vec<LimitRow>, Option<LimitName>) {
    let without_row = declared
        .into_iter()
        .map(|(name, rule)| (name, Limit { declared: Some(rule), ..Limit::default() }));
    // Limits after the page of rows belong to a later page.
    let is_here = |name: &LimitName| next.as_ref().is_none_or(|last| name <= last);
    let mut all: BTreeMap<LimitName, Limit> =
        without_row.filter(|(name, _)| is_here(name)).collect();
    all.extend(rows.into_iter().map(|row| (row.name, row.limit)));
    let more = all.len() > most || next.is_some();
    let page = all.into_iter().take(most).map(|(name, limit)| LimitRow { name, limit });
    let page: Vec<LimitRow> = page.collect();
    let next = page.last().map(|row| row.name.clone()).filter(|_| more);
    (page, next)
}

fn item(name: &LimitName, limit: &Limit, now: Timestamp) -> LimitItem {
    let rule = limit.rule();
    let total = rule.map(|rule| rule.total).unwrap_or_default();
    let (tokens, next_token_at_ms) = tokens(total, limit.bucket, now);
    LimitItem {
        limit: name.to_string(),
        rule: rule.cloned(),
        source: source(limit),
        declared: limit.declared.clone().filter(|_| limit.set.is_some()),
        running: limit.running,
        waiting: limit.waiting,
        tokens,
        next_token_at_ms,
    }
}

fn source(limit: &Limit) -> Option<LimitSource> {
    match (&limit.set, &limit.declared) {
        (Some(_), _) => Some(LimitSource::Operator),
        (None, Some(_)) => Some(LimitSource::Module),
        (None, None) => None,
    }
}

fn key(key: &str, row: &Partition, rule: &AdmissionRule, now: Timestamp) -> LimitKey {
    let waiting = row.lanes.iter().filter(|(_, lane)| lane.waiting > 0);
    let lanes: BTreeMap<String, u64> =
        waiting.map(|(priority, lane)| (priority.to_string(), lane.waiting)).collect();
    let (tokens, next_token_at_ms) = tokens(rule.of_key(), row.bucket, now);
    LimitKey {
        key: key.to_owned(),
        running: row.running,
        waiting: row.waiting(),
        priorities: if lanes.len() > 1 { lanes } else { BTreeMap::new() },
        tokens,
        next_token_at_ms,
        debounced_until_ms: debounced_until(row, now),
        holders: Vec::new(),
    }
}

/// Returns the number of available tokens, and when the next one becomes available if there is
/// none.
pub(super) fn tokens(
    bounds: AdmissionBounds,
    bucket: TokenBucket,
    now: Timestamp,
) -> (Option<u32>, Option<i64>) {
    let Some(rate) = bounds.rate else { return (None, None) };
    let next = bucket.next(rate);
    (Some(bucket.tokens(rate, now)), (next > now).then_some(next.0))
}

/// Returns when an execution of this key begins at the earliest, because of debouncing.
pub(super) fn debounced_until(row: &Partition, now: Timestamp) -> Option<i64> {
    (row.not_before > now && row.waiting() > 0).then_some(row.not_before.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> AdmissionRule {
        let per_key = AdmissionBounds { concurrency: Some(1), rate: None };
        AdmissionRule { per_key, ..AdmissionRule::default() }
    }

    fn page(rows: &[&str], next: Option<&str>, declared: &[&str], most: usize) -> (String, String) {
        let row = |name: &&str| LimitRow {
            name: LimitName::from(*name),
            limit: Limit { set: Some(rule()), ..Limit::default() },
        };
        let declared = declared.iter().map(|name| (LimitName::from(*name), rule())).collect();
        let rows = rows.iter().map(row).collect();
        let (page, next) = joined(rows, next.map(LimitName::from), declared, most);
        let shown = |row: &LimitRow| {
            format!("{}{}", row.name, if row.limit.set.is_some() { "!" } else { "" })
        };
        let page: Vec<String> = page.iter().map(shown).collect();
        (page.join(" "), next.map(|name| name.to_string()).unwrap_or_default())
    }

    #[test]
    fn a_page_has_what_is_declared_and_what_is_stored_by_name() {
        for (rows, next, declared, most, expected) in [
            (
                &["m/b", "m/d"][..],
                None,
                &["m/a", "m/b", "m/c", "m/e"][..],
                9,
                ("m/a m/b! m/c m/d! m/e", ""),
            ),
            (&["m/b", "m/d"], None, &["m/a", "m/c"], 4, ("m/a m/b! m/c m/d!", "")),
            (&["m/b", "m/d"], None, &["m/a", "m/c"], 3, ("m/a m/b! m/c", "m/c")),
            // There are further rows, between which declared limits may be.
            (&["m/b", "m/d"], Some("m/d"), &["m/c", "m/e"], 2, ("m/b! m/c", "m/c")),
            (&["m/b", "m/d"], Some("m/d"), &["m/e"], 2, ("m/b! m/d!", "m/d")),
            (&[], None, &["m/a", "m/b"], 1, ("m/a", "m/a")),
            (&[], None, &[], 1, ("", "")),
        ] {
            let (page, cursor) = page(rows, next, declared, most);
            assert_eq!((page.as_str(), cursor.as_str()), expected, "{rows:?} {declared:?} {most}");
        }
    }
}

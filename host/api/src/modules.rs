//! Modules: uploading, listing, describing.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Request, State},
    http::{StatusCode, header},
    response::IntoResponse,
};
use segno_core::{
    command::Command,
    id::{Digest, PromiseId},
    reply::{Refusal, Reply},
    value::Text,
};
use segno_store::NewModule;

use super::{
    Api, ApiError,
    body::{PathSegment, UrlQuery, check_type},
    catalog::CatalogEntry,
    model::{DeployQuery, Deployed, Module, ModuleList, Undeployed, UnreadableRow},
    refusals::Refusals,
    state::{refused, unexpected},
};

const WASM: &str = "application/wasm";

/// Uploads a component, checks it, and points an alias to it. Executions that began on the alias's
/// previous module finish on that module.
#[utoipa::path(
    post, path = "/v1/modules", tag = "modules", params(DeployQuery),
    request_body(content = Vec<u8>, content_type = "application/wasm", description = "The component"),
    responses(
        (status = 200, body = Deployed, description = "These bytes were stored already"),
        (status = 201, body = Deployed, description = "New"),
        Refusals,
    ),
)]
pub(crate) async fn deploy(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<DeployQuery>,
    request: Request,
) -> Result<(StatusCode, Json<Deployed>), ApiError> {
    if let Some(alias) = &query.alias {
        check_alias(alias)?;
    }
    let (parts, body) = request.into_parts();
    check_type(&parts.headers, WASM)?;
    let setting = "`limits.component_bytes`";
    let env = &api.host.env;
    let (bytes, _room) = api.admitted(&parts, body, api.component_limit, setting).await?;
    let component: Arc<[u8]> = bytes.into();
    let digest = Digest::of(&component);
    let inspected = tokio::select! {
        biased;
        // Compiling takes longer than the host takes to stop.
        () = api.stopping.cancelled() => return Err(ApiError::NotReady("stopping")),
        inspected = api.inspector.inspect(component.clone()) => inspected,
    };
    let description = inspected.map_err(|rejected| ApiError::BadModule {
        code: rejected.code,
        reason: rejected.message,
        report: rejected.report,
    })?;
    let before = api.modules().await?;
    let created = !before.0.iter().any(|entry| entry.digest == digest);
    let replaces = query.alias.as_ref().and_then(|alias| {
        let of_alias = |entry: &&CatalogEntry| entry.module.aliases.contains(alias);
        before.0.iter().find(of_alias).filter(|entry| entry.digest != digest)
    });
    let replaces = replaces.map(|entry| entry.module.digest.clone());
    let module = NewModule {
        facts: description.facts(),
        description: serde_json::to_string(&description)
            .map_err(|error| ApiError::Internal(error.to_string()))?,
        ..NewModule::plain(digest, component, env.clock.now())
    };
    api.host.store.modules().put(module).await?;
    if let Some(alias) = &query.alias {
        let command = Command::Deploy { alias: Text::from(alias.as_str()), module: digest };
        match api.execute(command).await? {
            Reply::Refused(refusal) => return Err(ApiError::Internal(refusal.to_string())),
            Reply::Done => {}
            other => return Err(unexpected(&other)),
        }
    }
    let module = one(&api, &digest.to_string()).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Deployed { module, created, alias: query.alias, replaces })))
}

/// Lists the stored modules, newest first.
#[utoipa::path(get, path = "/v1/modules", tag = "modules", responses((status = 200, body = ModuleList), Refusals))]
pub(crate) async fn list(State(api): State<Api>) -> Result<Json<ModuleList>, ApiError> {
    let store = api.look().await?;
    let (modules, in_use) = (api.modules().await?, store.modules().in_use().await?);
    let unreadable = modules.0.iter().filter_map(|entry| {
        let (kind, id) = ("module".to_owned(), entry.digest.to_string());
        Some(UnreadableRow { kind, id, reason: entry.unreadable.clone()? })
    });
    let modules = modules.0.iter().map(|entry| shown(entry, &in_use)).collect();
    let unreadable = unreadable.collect();
    Ok(Json(ModuleList { modules, unreadable }))
}

/// Describes one module.
#[utoipa::path(
    get, path = "/v1/modules/{module}", tag = "modules",
    params(("module" = String, Path, description = "An alias, a digest, or at least 8 digits of one")),
    responses((status = 200, body = Module), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegment(name): PathSegment,
) -> Result<Json<Module>, ApiError> {
    let _place = api.look().await?;
    one(&api, &name).await.map(Json)
}

/// Removes an alias. No further executions start through it. Executions that began finish on their
/// module, and retention removes the module after them.
#[utoipa::path(
    delete, path = "/v1/modules/{module}", tag = "modules",
    params(("module" = String, Path, description = "An alias")),
    responses((status = 200, body = Undeployed), Refusals),
)]
pub(crate) async fn undeploy(
    State(api): State<Api>,
    PathSegment(alias): PathSegment,
) -> Result<Json<Undeployed>, ApiError> {
    let modules = api.modules().await?;
    let of_alias = |entry: &&CatalogEntry| entry.module.aliases.contains(&alias);
    let unknown = || ApiError::UnknownModule { name: alias.clone(), known: modules.aliases() };
    let stands_for = modules.0.iter().find(of_alias).ok_or_else(unknown)?.digest;
    api.take_alias(&alias, stands_for).await?;
    let module = one(&api, &stands_for.to_string()).await?;
    Ok(Json(Undeployed { alias, module }))
}

impl Api {
    /// Removes an alias from the module to which it points.
    pub async fn take_alias(&self, alias: &str, module: Digest) -> Result<(), ApiError> {
        let reply = self.execute(Command::Undeploy { alias: Text::from(alias), module }).await?;
        for protocol in self.host.protocols.all() {
            protocol.alias_taken();
        }
        match reply {
            Reply::Done => {}
            Reply::Refused(Refusal::NotFound(_)) => {
                let known = self.modules().await?.aliases();
                return Err(ApiError::UnknownModule { name: alias.to_owned(), known });
            }
            Reply::Refused(refusal) => return Err(refused(&PromiseId::from(alias), refusal)),
            other => return Err(unexpected(&other)),
        }
        // The cached list still has the alias.
        self.modules().await.map(drop)
    }
}

/// Downloads the component of a module as it was uploaded.
#[utoipa::path(
    get, path = "/v1/modules/{module}/component", tag = "modules",
    params(("module" = String, Path, description = "An alias, a digest, or at least 8 digits of one")),
    responses((status = 200, body = Vec<u8>, content_type = "application/wasm"), Refusals),
)]
pub(crate) async fn component(
    State(api): State<Api>,
    PathSegment(name): PathSegment,
) -> Result<impl IntoResponse, ApiError> {
    let store = api.look().await?;
    let digest = api.digest(&name).await?;
    let component = store.modules().component(digest).await?.ok_or_else(|| {
        ApiError::Internal(format!("module {digest} is listed, and its component is gone"))
    })?;
    Ok(([(header::CONTENT_TYPE, WASM)], component.to_vec()))
}

async fn one(api: &Api, name: &str) -> Result<Module, ApiError> {
    let modules = api.modules().await?;
    let found = modules.find(name).ok_or_else(|| ApiError::UnknownModule {
        name: name.to_owned(),
        known: modules.aliases(),
    })?;
    Ok(shown(found, &api.host.store.modules().in_use().await?))
}

fn shown(entry: &CatalogEntry, in_use: &BTreeMap<Digest, u64>) -> Module {
    Module { in_use: in_use.get(&entry.digest).copied().unwrap_or(0), ..entry.module.clone() }
}

fn check_alias(alias: &str) -> Result<(), ApiError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let reason = if alias.is_empty() || alias.len() > 64 {
        "has not between 1 and 64 characters"
    } else if !alias.bytes().all(is_plain) || !alias.as_bytes()[0].is_ascii_alphanumeric() {
        "may hold letters, digits, `-`, `_` and `.` only, and begins with a letter or digit"
    } else if alias.len() == 64 && alias.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        "looks like a digest"
    } else {
        return Ok(());
    };
    Err(ApiError::BadField { field: "alias", reason: reason.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_can_stand_in_a_target() {
        for fine in ["shop", "shop-v2", "a", "1.0_x"] {
            assert!(check_alias(fine).is_ok(), "{fine}");
        }
        for wrong in ["", "-x", "a/b", "a b", "sha256:1", &"a".repeat(65), &"ab".repeat(32), "é"] {
            assert!(check_alias(wrong).is_err(), "{wrong}");
        }
    }
}

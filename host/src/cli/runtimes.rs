//! Runtimes of modules that consist of sources: a host that lacks one gets it from the cache.

use std::{collections::BTreeMap, sync::Arc};

use segno_api::model::Deployed;
use segno_build::script::runtimes::cached;
use segno_client::{Client, ClientError};
use segno_core::{id::Digest, source_module::SourceModule};

use super::CliError;

/// Uploads a component or a source module, and points `alias` to it. Uploads the runtime first if
/// the host lacks it.
pub(super) async fn upload(
    client: &Client,
    module: Vec<u8>,
    alias: Option<&str>,
) -> Result<Deployed, CliError> {
    let Some(runtime) = SourceModule::runtime_of(&module) else {
        return Ok(client.deploy(module, alias).await?);
    };
    match client.deploy(module.clone(), alias).await {
        Err(ClientError::Refused(problem)) if problem.code == "runtime-missing" => {
            client.deploy(needed(runtime)?, None).await?;
            Ok(client.deploy(module, alias).await?)
        }
        answer => Ok(answer?),
    }
}

/// A module by digest, with the runtime that it needs.
pub(super) fn with_runtime(module: Arc<[u8]>) -> Result<BTreeMap<Digest, Arc<[u8]>>, CliError> {
    let mut all = BTreeMap::new();
    if let Some(runtime) = SourceModule::runtime_of(&module) {
        all.insert(runtime, needed(runtime)?.into());
    }
    all.insert(Digest::of(&module), module);
    Ok(all)
}

fn needed(runtime: Digest) -> Result<Vec<u8>, CliError> {
    let found = cached(runtime)
        .map_err(|error| CliError::Other { code: "no-cache", message: error.to_string() })?;
    found.ok_or_else(|| CliError::Other {
        code: "runtime-missing",
        message: format!(
            "the module runs on the runtime {runtime}, which is neither at the host nor in the cache of this machine: build the \
             project here with `segno build --prepare`"
        ),
    })
}

//! Requests about modules.

use std::time::Duration;

use reqwest::{Method, header};
use segno_model::{
    CheckPage, CheckRequest, DeployQuery, Deployed, Module, ModuleList, ShadowLook, ShadowRequest,
    Undeployed,
};

use super::{Client, ClientError};

/// Timeout of an upload. The host compiles a large component at low priority, which takes minutes
/// on a busy machine.
const UPLOAD: Duration = Duration::from_secs(900);

impl Client {
    /// Uploads a component and points `alias` to it.
    pub async fn deploy(
        &self,
        component: Vec<u8>,
        alias: Option<&str>,
    ) -> Result<Deployed, ClientError> {
        let query = DeployQuery { alias: alias.map(str::to_owned) };
        let request = self
            .request_with(Method::POST, &["v1", "modules"], &query)
            .header(header::CONTENT_TYPE, "application/wasm")
            .body(component);
        self.read(self.patient(request, UPLOAD)).await
    }

    /// Replays a page of unfinished executions of `module` on a candidate module.
    pub async fn check(
        &self,
        module: &str,
        request: &CheckRequest,
    ) -> Result<CheckPage, ClientError> {
        let request = self.request(Method::POST, &["v1", "modules", module, "check"]).json(request);
        self.read(self.patient(request, UPLOAD)).await
    }

    /// Runs a module as a shadow of the live executions of `module`, without effects.
    pub async fn shadow(
        &self,
        module: &str,
        request: &ShadowRequest,
    ) -> Result<ShadowLook, ClientError> {
        let wait = Duration::from_millis(request.wait_ms) + UPLOAD;
        let request =
            self.request(Method::POST, &["v1", "modules", module, "shadow"]).json(request);
        self.read(self.patient(request, wait)).await
    }

    /// Lists the stored modules.
    pub async fn modules(&self) -> Result<ModuleList, ClientError> {
        self.get(&["v1", "modules"], &()).await
    }

    /// Reads a module, by alias or digest.
    pub async fn module(&self, name: &str) -> Result<Module, ClientError> {
        self.get(&["v1", "modules", name], &()).await
    }

    /// Removes an alias.
    pub async fn undeploy(&self, alias: &str) -> Result<Undeployed, ClientError> {
        self.read(self.request(Method::DELETE, &["v1", "modules", alias])).await
    }

    /// Downloads a module's component.
    pub async fn component(&self, name: &str) -> Result<Vec<u8>, ClientError> {
        let request = self.request(Method::GET, &["v1", "modules", name, "component"]);
        let response = self.send(self.patient(request, UPLOAD)).await?;
        let body = response.bytes().await.map_err(|error| self.broken(error))?;
        Ok(body.to_vec())
    }
}

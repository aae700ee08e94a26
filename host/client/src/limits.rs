//! Requests about limits of functions.

use reqwest::Method;
use segno_model::{LimitChanged, LimitList, LimitListQuery, LimitQuery, LimitView, SetLimit};

use super::{Client, ClientError};

impl Client {
    /// Lists a page of limits, by name.
    pub async fn limits(&self, query: &LimitListQuery) -> Result<LimitList, ClientError> {
        self.get(&["v1", "limits"], query).await
    }

    /// Reads a limit with a page of its keys.
    pub async fn limit(
        &self,
        [module, function]: [&str; 2],
        query: &LimitQuery,
    ) -> Result<LimitView, ClientError> {
        self.get(&["v1", "limits", module, function], query).await
    }

    /// Sets a limit, or resets it to the module's declaration if `rule` is `None`.
    /// The host refuses an invalid rule.
    pub async fn set_limit(
        &self,
        [module, function]: [&str; 2],
        rule: Option<&SetLimit>,
    ) -> Result<LimitChanged, ClientError> {
        let path = ["v1", "limits", module, function];
        match rule {
            Some(rule) => self.read(self.request(Method::PUT, &path).json(rule)).await,
            None => self.read(self.request(Method::DELETE, &path)).await,
        }
    }
}

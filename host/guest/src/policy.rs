//! What modules may reach. Everything is refused that is not allowed here, and a refusal names the setting to change.
//!
//! ```toml
//! [orders]                                    # a module, by the name it is deployed under
//! http.allow = ["https://api.example.com", "http://127.0.0.1:*"]
//! dirs = [{ host = "/srv/orders", guest = "/data", write = false }]
//! env = { MODE = "live", API_KEY = { from = "ORDERS_API_KEY" } }
//!
//! ["*"]                                       # every module
//! http.allow = ["https://*.example.org/public/"]
//! ```

mod address;

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub use address::{AddressPattern, NotAnAddress};

/// The name that stands for every module.
const EVERY_MODULE: &str = "*";

/// What each module may reach, by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Policy {
    modules: BTreeMap<String, Grants>,
}

/// What one module may reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    /// Outbound HTTP.
    pub http: HttpGrants,
    /// Directories that its activities see.
    pub dirs: Vec<Directory>,
    /// Environment variables that its activities see.
    pub env: BTreeMap<String, Variable>,
    /// The module they are for, where they have been gathered for one.
    #[serde(skip)]
    module: String,
}

/// Outbound HTTP that is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpGrants {
    /// Addresses, see [`AddressPattern`].
    pub allow: Vec<AddressPattern>,
}

/// A directory of the host as activities see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Where it is.
    pub host: PathBuf,
    /// What it is called inside.
    pub guest: String,
    /// Whether files in it may be changed.
    #[serde(default)]
    pub write: bool,
}

/// The value of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Variable {
    /// As it stands.
    Value(String),
    /// That of a variable of the host's own environment.
    Host {
        /// The host's variable.
        from: String,
    },
}

/// An address that no setting allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "outbound HTTP to `{url}` is refused: add `{origin}` to `http.allow` of `[{module}]` in policy.toml"
)]
pub struct Refused {
    /// The address.
    pub url: String,
    /// What to add.
    pub origin: String,
    /// Where to add it.
    pub module: String,
}

/// A policy that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file is there but cannot be read.
    #[error("the policy `{path}` cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is not TOML, or has a setting that does not exist.
    #[error("the policy `{path}` is not valid")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Box<toml::de::Error>,
    },
}

impl Policy {
    /// Reads the policy at `path`; a file that is not there allows nothing.
    ///
    /// # Errors
    /// See [`PolicyError`].
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            // Below a file there is nothing either; that the directory is none is for others to say.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Self::default());
            }
            Err(source) => return Err(PolicyError::Unreadable { path: path.into(), source }),
        };
        toml::from_str(&text)
            .map_err(|source| PolicyError::Invalid { path: path.into(), source: Box::new(source) })
    }

    /// A policy that allows `grants` to `module` (`*`: to every module), beside what it allows already.
    #[must_use]
    pub fn with(mut self, module: impl Into<String>, grants: Grants) -> Self {
        self.modules.entry(module.into()).or_default().extend(&grants);
        self
    }

    /// Whether `module` may send an HTTP request to `url`.
    ///
    /// # Errors
    /// [`Refused`], which names the setting that would allow it.
    pub fn allows_http(&self, module: &str, url: &str) -> Result<(), Refused> {
        self.grants(module).allows_http(url)
    }

    /// What `module` may reach: what is allowed to it and what is allowed to every module.
    pub fn grants(&self, module: &str) -> Grants {
        let mut grants = Grants { module: module.into(), ..Grants::default() };
        for name in [EVERY_MODULE, module] {
            if let Some(allowed) = self.modules.get(name) {
                grants.extend(allowed);
            }
        }
        grants
    }
}

impl Grants {
    /// Whether a request to `url` is allowed.
    ///
    /// # Errors
    /// [`Refused`], which names the setting that would allow it.
    pub fn allows_http(&self, url: &str) -> Result<(), Refused> {
        let refused = |origin| Refused { url: url.into(), origin, module: self.module().into() };
        let Ok(parsed) = reqwest::Url::parse(url) else {
            return Err(refused("a complete address such as https://api.example.com".into()));
        };
        if self.http.allow.iter().any(|pattern| pattern.matches(&parsed)) {
            return Ok(());
        }
        Err(refused(parsed.origin().ascii_serialization()))
    }

    /// The section of the policy that is about this module.
    pub fn module(&self) -> &str {
        if self.module.is_empty() { "\"*\"" } else { &self.module }
    }

    fn extend(&mut self, other: &Self) {
        self.http.allow.extend(other.http.allow.iter().cloned());
        self.dirs.extend(other.dirs.iter().cloned());
        self.env.extend(other.env.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"
        ["*"]
        http.allow = ["https://*.example.org/public/"]

        [orders]
        http.allow = ["https://api.example.com", "http://127.0.0.1:*"]
        dirs = [{ host = "/srv/orders", guest = "/data" }]
        env = { MODE = "live", API_KEY = { from = "ORDERS_API_KEY" } }
    "#;

    #[test]
    fn a_module_reaches_what_it_and_every_module_is_allowed() {
        let policy: Policy = toml::from_str(POLICY).expect("the policy is valid");
        for (module, url, allowed) in [
            ("orders", "https://api.example.com/v1?x=1", true),
            ("orders", "http://127.0.0.1:4711/charge", true),
            ("orders", "https://a.example.org/public/x", true),
            ("other", "https://a.example.org/public/x", true),
            ("other", "https://api.example.com/v1", false),
            ("orders", "https://evil.example/", false),
            ("orders", "no address", false),
        ] {
            assert_eq!(policy.allows_http(module, url).is_ok(), allowed, "{module} {url}");
        }
    }

    #[test]
    fn a_refusal_names_the_setting() {
        let refused = Policy::default().allows_http("orders", "http://h:81/x?y").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "outbound HTTP to `http://h:81/x?y` is refused: add `http://h:81` to `http.allow` of `[orders]` in policy.toml"
        );
    }

    #[test]
    fn a_setting_that_does_not_exist_is_an_error() {
        let error = toml::from_str::<Policy>("[orders]\nhttp.allowed = []").unwrap_err();
        assert!(error.to_string().contains("allowed"), "{error}");
    }

    #[test]
    fn directories_are_read_only_unless_said() {
        let policy: Policy = toml::from_str(POLICY).expect("the policy is valid");
        let grants = policy.grants("orders");
        assert!(!grants.dirs[0].write);
        assert_eq!(grants.env["MODE"], Variable::Value("live".into()));
        assert!(policy.grants("other").dirs.is_empty());
    }

    #[test]
    fn a_policy_that_is_not_there_allows_nothing() {
        let policy = Policy::load(Path::new("/nowhere/policy.toml")).expect("it may be absent");
        assert_eq!(policy, Policy::default());
    }
}

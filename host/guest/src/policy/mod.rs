//! The policy for modules. Everything that is not allowed here is refused, and a refusal names the
//! setting to change.
//!
//! ```toml
//! [orders]                                    # a module, by the name it is deployed under
//! http.allow = ["https://api.example.com", "http://127.0.0.1:*"]
//! dirs = [{ host = "/srv/orders", guest = "/data", write = false }]
//! env = { MODE = "live", REGION = { from = "ORDERS_REGION" } }
//! secrets = { PAY = { from = "PAY_KEY" }, MAIL = { file = "/run/secrets/mail" } }
//!
//! ["*"]                                       # every module
//! http.allow = ["https://*.example.org/public/"]
//! ```

mod address;
mod secrets;
mod source;
mod variable;

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub use address::{AddressPattern, AddressPatternError};
pub use secrets::{MissingSecret, Secrets};
pub use source::PolicySource;
pub use variable::{Variable, VariableError, VariableSource};

/// The name that stands for every module.
const EVERY_MODULE: &str = "*";

/// The grants of each module, by module name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Policy {
    modules: BTreeMap<String, Grants>,
}

/// The grants of one module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    pub http: HttpGrants,
    /// Directories that the module's activities may open.
    pub dirs: Vec<Directory>,
    /// Environment variables of the module's activities.
    pub env: BTreeMap<String, Variable>,
    /// Secrets that the module's activities and the headers of its HTTP steps may use. Their values
    /// are never stored.
    pub secrets: BTreeMap<String, VariableSource>,
    /// The name of the module that the grants were gathered for. Empty if none.
    #[serde(skip)]
    module: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpGrants {
    /// Patterns of the allowed addresses; see [`AddressPattern`].
    pub allow: Vec<AddressPattern>,
}

/// A directory of the host that activities may open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// The path on the host.
    pub host: PathBuf,
    /// The path in the guest.
    pub guest: String,
    /// True if files in the directory may be changed.
    #[serde(default)]
    pub write: bool,
}

/// A request to an address that no setting allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "outbound HTTP to `{url}` is refused: add `{origin}` to `http.allow` of `[{module}]` in policy.toml; the host reads the file again, and needs no restart"
)]
pub struct OriginRefusal {
    pub url: String,
    /// The origin to add to the policy.
    pub origin: String,
    /// The module's section in the policy.
    pub module: String,
}

/// The reason that a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file exists but cannot be read.
    #[error("the policy `{path}` cannot be read")]
    Unreadable {
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML, or has an unknown setting.
    #[error("the policy `{path}` is not valid")]
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The parser's message, with its position.
        #[source]
        source: Box<toml::de::Error>,
    },
}

impl Policy {
    /// Reads the policy at `path`; a missing file allows nothing.
    ///
    /// # Errors
    /// See [`PolicyError`].
    pub fn load(path: &Path) -> Result<Self, PolicyError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            // A path below a file does not exist either; another check reports that the directory
            // is a file.
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

    /// Adds `grants` for `module` to the policy; `*` stands for every module.
    #[must_use]
    pub fn with(mut self, module: impl Into<String>, grants: Grants) -> Self {
        self.modules.entry(module.into()).or_default().extend(&grants);
        self
    }

    /// Checks that `module` may send an HTTP request to `url`.
    ///
    /// # Errors
    /// [`OriginRefusal`], which names the setting that would allow it.
    pub fn allows_http(&self, module: &str, url: &str) -> Result<(), OriginRefusal> {
        self.grants(module).allows_http(url)
    }

    /// The grants of `module`: its own combined with those of every module.
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
    /// Checks that a request to `url` is allowed.
    ///
    /// # Errors
    /// [`OriginRefusal`], which names the setting that would allow it.
    pub fn allows_http(&self, url: &str) -> Result<(), OriginRefusal> {
        let refused =
            |origin| OriginRefusal { url: url.into(), origin, module: self.module().into() };
        let Ok(parsed) = reqwest::Url::parse(url) else {
            return Err(refused("a complete address such as https://api.example.com".into()));
        };
        if self.http.allow.iter().any(|pattern| pattern.matches(&parsed)) {
            return Ok(());
        }
        Err(refused(parsed.origin().ascii_serialization()))
    }

    /// The value of an environment variable of the module's activities. `None` if it is not set.
    ///
    /// # Errors
    /// [`VariableError`] if it is set and its value cannot be read.
    pub fn read_env(&self, name: &str) -> Result<Option<String>, VariableError> {
        let Some(variable) = self.env.get(name) else { return Ok(None) };
        variable.read().map(Some).map_err(|reason| VariableError {
            setting: format!("env.{name}"),
            module: self.module().into(),
            reason,
        })
    }

    /// The name of the module's section in the policy.
    pub fn module(&self) -> &str {
        if self.module.is_empty() { "\"*\"" } else { &self.module }
    }

    fn extend(&mut self, other: &Self) {
        self.http.allow.extend(other.http.allow.iter().cloned());
        self.dirs.extend(other.dirs.iter().cloned());
        self.env.extend(other.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let secrets = other.secrets.iter().map(|(name, source)| (name.clone(), source.clone()));
        self.secrets.extend(secrets);
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
        secrets.PAY = { file = "/run/secrets/pay" }
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
            "outbound HTTP to `http://h:81/x?y` is refused: add `http://h:81` to `http.allow` of `[orders]` in policy.toml; the host reads the file again, and needs no restart"
        );
    }

    #[test]
    fn a_setting_that_does_not_exist_is_an_error() {
        for (setting, word) in [
            ("http.allowed = []", "allowed"),
            ("env.A = 1", "a table { from"),
            ("env.A = { form = \"B\" }", "a table { from"),
            ("secrets.A = { form = \"B\" }", "expected `from` or `file`"),
        ] {
            let error = toml::from_str::<Policy>(&format!("[orders]\n{setting}")).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        // A literal secret in the policy must not appear in the error.
        let error = toml::from_str::<Policy>("[orders]\nsecrets.A = \"value\"").unwrap_err();
        assert!(error.to_string().contains("unknown variant"), "{error}");
    }

    #[test]
    fn directories_are_read_only_unless_said() {
        let policy: Policy = toml::from_str(POLICY).expect("the policy is valid");
        let grants = policy.grants("orders");
        assert!(!grants.dirs[0].write);
        assert_eq!(grants.env["MODE"], Variable::Value("live".into()));
        assert_eq!(
            grants.env["API_KEY"],
            Variable::Source(VariableSource::From("ORDERS_API_KEY".into()))
        );
        assert_eq!(grants.secrets["PAY"], VariableSource::File("/run/secrets/pay".into()));
        assert!(policy.grants("other").dirs.is_empty());
    }

    #[test]
    fn a_policy_that_is_not_there_allows_nothing() {
        let policy = Policy::load(Path::new("/nowhere/policy.toml")).expect("it may be absent");
        assert_eq!(policy, Policy::default());
    }
}

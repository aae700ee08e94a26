//! The mapping from topics to addresses. The first route whose pattern matches takes an event.
//!
//! ```toml
//! [[push]]
//! topics = ["order.*", "refund"]     # left out: every topic
//! url = "https://hooks.example.com/segno"
//! secret = { from = "HOOK_SECRET" }  # or the secret itself; left out: nothing is signed
//! ```

use std::{env, fmt, path::Path};

use reqwest::Url;
use serde::Deserialize;

/// The routes of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes(pub Vec<Route>);

/// One receiver and its topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Patterns of topics. `*` matches any text.
    pub topics: Vec<String>,
    /// The address to which events are posted.
    pub url: Url,
    /// The key that signs posts. `None`: posts are not signed.
    pub secret: Option<SigningSecret>,
}

/// A key that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// The reason why routes cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RoutesError {
    /// The file cannot be read.
    #[error("the routes of events `{file}` cannot be read: {source}")]
    File {
        /// The path of the file.
        file: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is not TOML, or has other fields.
    #[error("the routes of events `{file}` are wrong: {reason}")]
    Syntax {
        /// The path of the file.
        file: String,
        /// The parser's message, with its position.
        reason: String,
    },
    /// Events cannot be posted to an address.
    #[error("`{url}` is no address to post events to: {reason}")]
    Address {
        /// The address as given.
        url: String,
        /// The reason why events cannot be posted there.
        reason: String,
    },
    /// The variable that should hold a secret is not set.
    #[error("the secret for `{url}` is to come from the variable {variable}, which is not set")]
    Variable {
        /// The address of the route.
        url: String,
        /// The name of the variable.
        variable: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoutesFile {
    #[serde(default)]
    push: Vec<RouteEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteEntry {
    #[serde(default = "every_topic")]
    topics: Vec<String>,
    url: String,
    secret: Option<SecretSource>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SecretSource {
    Literal(String),
    Variable { from: String },
}

fn every_topic() -> Vec<String> {
    vec!["*".to_owned()]
}

impl Routes {
    /// Reads the routes from a file.
    ///
    /// # Errors
    /// [`RoutesError`]: a file with a mistake gives no routes at all.
    pub fn load(path: &Path) -> Result<Self, RoutesError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| RoutesError::File { file: file.clone(), source })?;
        let parsed: RoutesFile = toml::from_str(&text)
            .map_err(|error| RoutesError::Syntax { file, reason: error.to_string() })?;
        let route = |entry: RouteEntry| {
            let secret = match entry.secret {
                None => None,
                Some(SecretSource::Literal(secret)) => Some(secret),
                Some(SecretSource::Variable { from }) => Some(env::var(&from).map_err(|_| {
                    RoutesError::Variable { url: entry.url.clone(), variable: from }
                })?),
            };
            Route::new(entry.topics, &entry.url, secret.as_deref())
        };
        parsed.push.into_iter().map(route).collect::<Result<_, _>>().map(Self)
    }

    /// The index of the first route that takes `topic`.
    pub fn find(&self, topic: &str) -> Option<usize> {
        self.0.iter().position(|route| route.takes(topic))
    }
}

impl Route {
    /// A route for these topics.
    ///
    /// # Errors
    /// The address cannot be posted to.
    pub fn new(topics: Vec<String>, url: &str, secret: Option<&str>) -> Result<Self, RoutesError> {
        let wrong = |reason: String| RoutesError::Address { url: url.to_owned(), reason };
        let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(wrong("it begins with neither http:// nor https://".to_owned()));
        }
        let secret = secret.map(|secret| SigningSecret(secret.as_bytes().to_vec()));
        Ok(Self { topics, url: parsed, secret })
    }

    /// True if one of the patterns matches the topic.
    pub fn takes(&self, topic: &str) -> bool {
        self.topics.iter().any(|pattern| fits(pattern, topic))
    }
}

impl SigningSecret {
    /// The key's bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// True if `topic` matches `pattern`, in which `*` matches any text.
pub fn fits(pattern: &str, topic: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = topic.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, topic, expected) in [
            ("*", "", true),
            ("*", "order.paid", true),
            ("order.paid", "order.paid", true),
            ("order.paid", "order.paid.late", false),
            ("order.*", "order.paid", true),
            ("order.*", "orders", false),
            ("*.paid", "order.paid", true),
            ("*.paid", "order.paid.", false),
            ("o*r.*d", "order.paid", true),
            ("o*o*d", "od", false),
            ("a*a", "a", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, topic), expected, "{pattern} {topic}");
        }
    }

    fn load(text: &str) -> Result<Routes, RoutesError> {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("events.toml");
        std::fs::write(&file, text).expect("written");
        Routes::load(&file)
    }

    #[test]
    fn the_first_route_that_fits_takes_a_topic() {
        let routes = load(
            "[[push]]\ntopics = [\"order.*\"]\nurl = \"http://a/\"\nsecret = \"s\"\n\
             [[push]]\nurl = \"https://b/\"\nsecret = { from = \"PATH\" }\n",
        )
        .expect("they are routes");
        assert_eq!(routes.find("order.paid"), Some(0));
        assert_eq!(routes.find("refund"), Some(1));
        assert_eq!(Routes::default().find("refund"), None);
        assert!(!format!("{routes:?}").contains("[115]"), "a secret is not shown: {routes:?}");
    }

    #[test]
    fn a_mistake_is_named() {
        for (text, says) in [
            ("[[push]]\nurl = \"ftp://a/\"", "neither http:// nor https://"),
            ("[[push]]\nurl = \"nowhere\"", "`nowhere` is no address"),
            ("[[push]]\nuri = \"http://a/\"", "uri"),
            (
                "[[push]]\nurl = \"http://a/\"\nsecret = { from = \"NO_SUCH_VARIABLE\" }",
                "NO_SUCH_VARIABLE",
            ),
        ] {
            let error = load(text).expect_err(text).to_string();
            assert!(error.contains(says), "{error}");
        }
        let error = Routes::load(Path::new("/no/such/file")).expect_err("there is none");
        assert!(error.to_string().contains("/no/such/file"), "{error}");
    }
}

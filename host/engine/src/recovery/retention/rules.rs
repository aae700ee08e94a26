//! The retention rules of finished trees and unused modules.
//!
//! ```toml
//! default = "30d"                       # roots without rule or service setting; left out: for ever
//! modules = "7d"                        # modules without an alias, execution or stored history
//! objects = "with-executions"           # state of an object: removed with its last kept execution
//!
//! [[rule]]                              # the first rule that matches a root applies
//! label = "env=test"
//! keep = "1h"
//!
//! [[rule]]
//! module = "shop"
//! function = "order"
//! keep = "forever"
//!
//! [[rule]]
//! service = "Greeter"
//! function = "greet"                    # its handler
//! keep = "90d"
//! ```
//!
//! For an invocation of a service, the first rule that matches applies, then the setting of its
//! service, then `default`. Without any of them it is kept for one day, as by the servers of its
//! SDK.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use segno_core::{address::Address, promise::Promise, tags, time::Millis};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Minimum retention period. A client that starts an invocation, gets no answer, and starts it
/// again under the same id within this time receives the outcome of the first start.
const LEAST: Millis = Millis(600_000);
/// Retention of invocations whose service has no setting, if the rules have no default.
const OF_SILENT_SERVICES: Millis = Millis(86_400_000);

/// The retention of a tree or a module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetentionPeriod {
    /// Until this time has passed since the root settled.
    For(Millis),
    /// For ever, which orders as the longest.
    #[default]
    Forever,
}

/// The retention of the state of objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectStateRetention {
    /// State is never removed.
    #[default]
    Forever,
    /// State is removed with the last kept execution of the object that may write it. An object
    /// that only operators wrote keeps its state.
    WithExecutions,
}

/// The retention rules for finished trees and unused modules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<RetentionPeriod>,
    modules: RetentionPeriod,
    objects: ObjectStateRetention,
    #[serde(rename = "rule", skip_serializing_if = "Vec::is_empty")]
    rules: Vec<RetentionRule>,
}

/// The retention of matching trees. An absent condition matches every root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionRule {
    /// Matches roots with this label, as NAME=VALUE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Matches roots called through this alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Matches roots that are invocations of this service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Matches roots of this function, or of this handler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The retention of matching trees.
    pub keep: RetentionPeriod,
}

/// The reason why rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    /// The file cannot be read.
    #[error("the retention rules `{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file has an invalid format.
    #[error("the retention rules `{}` are not valid: {reason}", path.display())]
    Invalid {
        /// The path of the file.
        path: PathBuf,
        /// The parser's message, with its position.
        reason: String,
    },
}

impl Retention {
    /// Reads the rules from a file. Without a file there are no rules.
    ///
    /// # Errors
    /// [`RetentionError`]: the file exists but cannot be used.
    pub fn load(path: &Path) -> Result<Self, RetentionError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            // A path below a file does not exist either. Another check reports that the directory
            // is a file.
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(Self::default());
            }
            Err(source) => {
                return Err(RetentionError::Unreadable { path: path.to_owned(), source });
            }
        };
        let rules: Self = toml::from_str(&text).map_err(|error| RetentionError::Invalid {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })?;
        let crooked = rules.rules.iter().filter_map(|rule| rule.label.as_ref());
        match crooked.into_iter().find(|label| !label.contains('=')) {
            Some(label) => Err(RetentionError::Invalid {
                path: path.to_owned(),
                reason: format!("`{label}` is no label: write NAME=VALUE"),
            }),
            None => Ok(rules),
        }
    }

    /// The same rules with another default.
    pub fn with_default(self, default: RetentionPeriod) -> Self {
        Self { default: Some(default), ..self }
    }

    /// The retention of this root after its settlement. `None` if no rule matches.
    pub fn rule(&self, root: &Promise) -> Option<RetentionPeriod> {
        self.rules.iter().find(|rule| rule.takes(root)).map(|rule| rule.keep)
    }

    /// The retention of roots that no rule matches.
    pub fn others(&self) -> RetentionPeriod {
        self.default.unwrap_or_default()
    }

    /// The retention of invocations of services that no rule matches and whose service has no
    /// setting.
    pub fn of_silent_services(&self) -> RetentionPeriod {
        self.default.unwrap_or(RetentionPeriod::For(OF_SILENT_SERVICES))
    }

    /// The description of each rule, in order of precedence.
    pub fn lines(&self) -> Vec<(String, RetentionPeriod)> {
        let rules = self.rules.iter().map(|rule| {
            let module = rule.module.as_ref().map(|module| format!("module {module}"));
            let function = rule.function.as_ref().map(|function| format!("function {function}"));
            let service = rule.service.as_ref().map(|service| format!("service {service}"));
            let label = rule.label.as_ref().map(|label| format!("label {label}"));
            let parts: Vec<String> =
                [module, service, function, label].into_iter().flatten().collect();
            (if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }, rule.keep)
        });
        let trees = if self.rules.is_empty() { "all trees" } else { "all other trees" };
        let rest = [
            ("services that say nothing else".to_owned(), self.of_silent_services()),
            (trees.to_owned(), self.others()),
            ("modules that nothing refers to".to_owned(), self.modules),
        ];
        rules.chain(rest).collect()
    }

    /// The retention of unreferenced modules after their upload.
    pub fn modules(&self) -> RetentionPeriod {
        self.modules
    }

    /// The retention of the state of objects.
    pub fn objects(&self) -> ObjectStateRetention {
        self.objects
    }

    /// The shortest retention period in the rules, the default and the modules. `None` if
    /// everything is kept for ever.
    pub fn shortest(&self) -> Option<Millis> {
        let all = self.rules.iter().map(|rule| rule.keep).chain([self.others(), self.modules]);
        let lengths = all.filter_map(|keep| match keep {
            RetentionPeriod::Forever => None,
            RetentionPeriod::For(length) => Some(length),
        });
        lengths.min()
    }
}

impl RetentionRule {
    fn takes(&self, root: &Promise) -> bool {
        let of_root = root.target().map(ComparedTarget::of).unwrap_or_default();
        let labelled = |label: &String| {
            label.split_once('=').is_some_and(|(name, value)| {
                let tag = format!("{}{name}", tags::LABEL_PREFIX);
                root.spec.tags.get(&tag).is_some_and(|found| found == value)
            })
        };
        let is =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        self.label.as_ref().is_none_or(labelled)
            && is(&self.module, &of_root.module)
            && is(&self.service, &of_root.service)
            && is(&self.function, &of_root.function)
    }
}

/// The parts of a target that rules compare.
#[derive(Default)]
struct ComparedTarget {
    module: Option<String>,
    service: Option<String>,
    function: Option<String>,
}

impl ComparedTarget {
    fn of(target: &str) -> Self {
        if let Some((module, function)) =
            target.strip_prefix("wasm://").and_then(|address| address.split_once('/'))
        {
            let [module, function] = [module, function].map(|part| Some(part.to_owned()));
            return Self { module, function, service: None };
        }
        match Address::parse(target) {
            Ok(Address::Service { service, handler, .. }) => Self {
                module: None,
                service: Some(service.to_string()),
                function: Some(handler.to_string()),
            },
            _ => Self::default(),
        }
    }
}

impl FromStr for RetentionPeriod {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Self::Forever);
        }
        let length = humantime::parse_duration(text).map_err(|error| {
            format!("`{text}` is no length of time ({error}): write it like 30d, 12h or forever")
        })?;
        let length = Millis(i64::try_from(length.as_millis()).unwrap_or(i64::MAX));
        if length < LEAST {
            return Err(format!(
                "`{text}` is too short: what has ended is kept for 10 minutes at least, so that a client that repeats a \
                 start does not run it twice"
            ));
        }
        Ok(Self::For(length))
    }
}

impl std::fmt::Display for RetentionPeriod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Forever => f.write_str("forever"),
            Self::For(length) => {
                let length = Duration::from_millis(length.0.unsigned_abs());
                humantime::format_duration(length).fmt(f)
            }
        }
    }
}

impl Serialize for RetentionPeriod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RetentionPeriod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use segno_core::{
        promise::{PromiseSpec, PromiseState},
        time::Timestamp,
        value::{Tags, Value},
    };

    use super::*;

    fn root(tags: &[(&str, &str)]) -> Promise {
        let tags: Tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let spec = PromiseSpec {
            id: "a".into(),
            param: Value::default(),
            tags,
            made_by: None,
            timeout_at: Timestamp::NEVER,
            created_at: Timestamp(1),
        };
        Promise { spec: Arc::new(spec), state: PromiseState::Pending }
    }

    fn load(text: &str) -> Result<Retention, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("it is written");
        Retention::load(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_rule_that_takes_a_root_counts() {
        let rules = load(
            "default = \"30d\"\nmodules = \"7d\"\n\
             [[rule]]\nlabel = \"env=test\"\nkeep = \"1h\"\n\
             [[rule]]\nmodule = \"shop\"\nfunction = \"order\"\nkeep = \"forever\"\n\
             [[rule]]\nmodule = \"shop\"\nkeep = \"2h\"\n\
             [[rule]]\nservice = \"Cart\"\nfunction = \"add\"\nkeep = \"3h\"\n",
        )
        .expect("valid rules");
        let hours = |n: i64| RetentionPeriod::For(Millis(n * 3_600_000));
        let target = |target| ("target", target);
        for (tags, keep) in [
            (vec![("label:env", "test"), target("wasm://shop/order")], hours(1)),
            (vec![("label:env", "live"), target("wasm://shop/order")], RetentionPeriod::Forever),
            (vec![target("wasm://shop/ship")], hours(2)),
            (vec![target("wasm://shoppe/order")], hours(720)),
            (vec![target("restate://Cart/ada/add")], hours(3)),
            (vec![target("restate://Cart/ada/look")], hours(720)),
            (vec![target("restate://Card/ada/add")], hours(720)),
            (vec![], hours(720)),
        ] {
            let root = root(&tags);
            assert_eq!(rules.rule(&root).unwrap_or(rules.others()), keep, "{tags:?}");
        }
        assert_eq!(rules.of_silent_services(), hours(720));
        assert_eq!(rules.shortest(), Some(Millis(3_600_000)));
        assert_eq!(rules.modules(), hours(168));
    }

    #[test]
    fn without_a_file_everything_is_kept() {
        let rules = Retention::load(Path::new("/does/not/exist")).expect("no rules");
        assert_eq!((rules.rule(&root(&[])), rules.others()), (None, RetentionPeriod::Forever));
        assert_eq!(rules.shortest(), None);
        assert_eq!(
            rules.of_silent_services(),
            RetentionPeriod::For(Millis(86_400_000)),
            "but for services"
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for (text, says) in [
            ("default = \"5s\"", "too short"),
            ("default = \"soon\"", "write it like 30d"),
            ("defualt = \"30d\"", "unknown field `defualt`"),
            ("[[rule]]\nlabel = \"test\"\nkeep = \"1h\"", "write NAME=VALUE"),
            ("[[rule]]\nlabel = \"a=b\"", "missing field `keep`"),
        ] {
            let error = load(text).expect_err(text);
            assert!(error.contains(says), "{error}");
        }
    }
}

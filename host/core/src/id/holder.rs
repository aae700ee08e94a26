//! Hosts, and what else holds a task.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::value::Text;

/// Before the name of an external worker, where hosts stand under their own.
const WORKER: &str = "worker:";

/// A host machine, stable over restarts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeName(Text);

/// One life of one host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The machine.
    pub node: NodeName,
    /// How many times it had started.
    pub incarnation: u64,
}

impl NodeName {
    /// The name an external worker gave itself; none: a host.
    pub fn worker_pid(&self) -> Option<&str> {
        self.as_str().strip_prefix(WORKER)
    }

    /// A node's name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Text::from(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Holder {
    /// An external worker, by the name it gives itself.
    pub fn worker(pid: &str) -> Self {
        Self { node: NodeName::new(format!("{WORKER}{pid}")), incarnation: 0 }
    }

    /// The name an external worker gave itself; none: a host.
    pub fn worker_pid(&self) -> Option<&str> {
        self.node.worker_pid()
    }
}

impl From<&str> for NodeName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.node, self.incarnation)
    }
}

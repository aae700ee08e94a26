//! Hosts and other holders of tasks.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::value::Text;

/// Prefix of an external worker's node name; hosts have none.
const WORKER: &str = "worker:";

/// Name of a host machine, stable across restarts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostName(Text);

/// One incarnation of a host, or an external worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    pub node: HostName,
    /// Number of starts of the host.
    pub incarnation: u64,
}

impl HostName {
    /// Name that an external worker chose for itself. `None` for a host.
    pub fn worker_pid(&self) -> Option<&str> {
        self.as_str().strip_prefix(WORKER)
    }

    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(Text::from(name.into()))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl Holder {
    /// An external worker, by the name it chose for itself.
    pub fn worker(pid: &str) -> Self {
        Self { node: HostName::new(format!("{WORKER}{pid}")), incarnation: 0 }
    }

    /// Name that an external worker chose for itself. `None` for a host.
    pub fn worker_pid(&self) -> Option<&str> {
        self.node.worker_pid()
    }
}

impl From<&str> for HostName {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.node, self.incarnation)
    }
}

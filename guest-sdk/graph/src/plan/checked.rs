//! A plan in which nothing is wrong.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    INPUT, Kind, Node, canonical,
    template::{fill, sources},
};
use crate::{
    relation::Relation,
    state::FailurePolicy,
    topology::{NodeIndex, Topology},
};

/// A plan that can be run.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    pub(super) name: Option<String>,
    pub(super) max_parallel: u32,
    pub(super) on_failure: FailurePolicy,
    /// Ascending.
    pub(super) outputs: Vec<NodeIndex>,
    pub(super) topology: Arc<Topology>,
    /// By index.
    pub(super) nodes: Vec<Node>,
    pub(super) digest: OnceLock<[u8; 32]>,
}

impl CheckedPlan {
    /// What the plan is called.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The same plan with this many nodes at once.
    #[must_use]
    pub fn with_max_parallel(self, max_parallel: u32) -> Self {
        Self { max_parallel, digest: OnceLock::new(), ..self }
    }

    /// The same plan with another meaning of a failed node.
    #[must_use]
    pub fn with_on_failure(self, on_failure: FailurePolicy) -> Self {
        Self { on_failure, digest: OnceLock::new(), ..self }
    }

    /// How many nodes run at once.
    pub fn max_parallel(&self) -> u32 {
        self.max_parallel
    }

    /// What a failed node means for the others.
    pub fn on_failure(&self) -> FailurePolicy {
        self.on_failure
    }

    /// The nodes whose outputs are the run's, ascending.
    pub fn outputs(&self) -> &[NodeIndex] {
        &self.outputs
    }

    /// Names, indices and edges: from each node to those that need it.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The same for the definitions; takes far more memory.
    pub fn relation(&self) -> Relation {
        Relation::from(&*self.topology)
    }

    /// A node.
    pub fn node(&self, node: NodeIndex) -> &Node {
        &self.nodes[node.at()]
    }

    /// The input of a node: its template filled in; without one the run's input, or for a node that
    /// needs others an object of their outputs by name. Of a node that sends a request, an object
    /// of `method`, `url`, `headers` and `body`.
    ///
    /// `outputs` knows the outputs of the nodes that are needed; of a skipped one it knows none,
    /// which is null in a template and left out of the object.
    pub fn input_of<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        outputs: impl Fn(NodeIndex) -> Option<&'a Value>,
    ) -> Value {
        self.input_of_parts(node, run_input, |node, at| outputs(node)?.pointer(at))
    }

    /// The same of an input for which `parts` knows the parts of outputs by their JSON pointers: those
    /// that [`CheckedPlan::sources`] names.
    pub fn input_of_parts<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        parts: impl Fn(NodeIndex, &str) -> Option<&'a Value>,
    ) -> Value {
        let source = |name: &str, at: &str| self.source(name, at, run_input, &parts);
        let Node { kind, input, .. } = self.node(node);
        if let Kind::Http(http) = kind {
            return json!({
                "method": http.method,
                "url": fill(&http.url, &source),
                "headers": fill(&http.headers, &source),
                "body": fill(&http.body, &source),
            });
        }
        if let Some(input) = input {
            return fill(input, &source);
        }
        let needs = self.topology.predecessors(node);
        if needs.is_empty() {
            return run_input.clone();
        }
        let named = needs.iter().filter_map(|need| {
            Some((self.topology.name(*need).to_string(), parts(*need, "")?.clone()))
        });
        Value::Object(named.collect::<Map<_, _>>())
    }

    /// Whether a node is wanted; if not, it is skipped. `outputs` as for [`CheckedPlan::input_of`].
    pub fn wanted<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        outputs: impl Fn(NodeIndex) -> Option<&'a Value>,
    ) -> bool {
        self.wanted_by_parts(node, run_input, |node, at| outputs(node)?.pointer(at))
    }

    /// The same by parts of outputs, as for [`CheckedPlan::input_of_parts`].
    pub fn wanted_by_parts<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        parts: impl Fn(NodeIndex, &str) -> Option<&'a Value>,
    ) -> bool {
        let source = |name: &str, at: &str| self.source(name, at, run_input, &parts);
        self.node(node).when.as_ref().is_none_or(|condition| condition.holds(&source))
    }

    /// The parts of the outputs of other nodes that decide whether a node is wanted, and those of which
    /// its input is made: nodes with JSON pointers, each once.
    pub fn sources(&self, node: NodeIndex) -> [BTreeSet<(NodeIndex, &str)>; 2] {
        let Node { kind, input, when, .. } = self.node(node);
        let (mut condition, mut taken) = (BTreeSet::new(), BTreeSet::new());
        if let Some(when) = when {
            when.sources(&mut condition);
        }
        match (kind, input) {
            (Kind::Http(http), _) => {
                for template in [&http.url, &http.headers, &http.body] {
                    sources(template, &mut taken);
                }
            }
            (_, Some(input)) => sources(input, &mut taken),
            (Kind::Sleep(_) | Kind::Signal(_), None) => {}
            (Kind::Call(_) | Kind::Promise | Kind::Graph(_), None) => {
                let needs = self.topology.predecessors(node).iter();
                taken.extend(needs.map(|need| (self.topology.name(*need).as_str(), "")));
            }
        }
        let index = |(name, at)| Some((self.topology.index_of(name)?, at));
        [condition, taken].map(|named| named.into_iter().filter_map(index).collect())
    }

    /// The plan as JSON, in one form whatever the order of keys and the layout it was written in:
    /// keys ascend, defaults are written out. Read again, it is the same plan.
    pub fn canonical(&self) -> String {
        canonical::text(self)
    }

    /// SHA-256 of the canonical form: two plans with one digest are the same plan.
    pub fn digest(&self) -> [u8; 32] {
        *self.digest.get_or_init(|| digest(&self.canonical()))
    }

    /// The digest in hexadecimal.
    pub fn digest_text(&self) -> String {
        self.digest().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// The nodes by the length of the longest path to them, ascending in each layer.
    pub fn layers(&self) -> Vec<Vec<NodeIndex>> {
        let depths = self.topology.depths();
        let mut layers = vec![Vec::new(); depths.iter().max().map_or(0, |most| *most as usize + 1)];
        for node in self.topology.nodes() {
            layers[depths[node.at()] as usize].push(node);
        }
        layers
    }

    fn source<'a>(
        &self,
        name: &str,
        at: &str,
        run_input: &'a Value,
        parts: &impl Fn(NodeIndex, &str) -> Option<&'a Value>,
    ) -> Option<&'a Value> {
        if name == INPUT {
            return run_input.pointer(at);
        }
        parts(self.topology.index_of(name)?, at)
    }
}

/// The digest of a canonical form.
pub(super) fn digest(canonical: &str) -> [u8; 32] {
    Sha256::digest(canonical).into()
}

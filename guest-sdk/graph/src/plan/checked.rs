//! A plan that passed all checks.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    INPUT, NodeAction, PlanNode, canonical,
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
    /// Output nodes, ascending.
    pub(super) outputs: Vec<NodeIndex>,
    pub(super) topology: Arc<Topology>,
    /// Nodes by index.
    pub(super) nodes: Vec<PlanNode>,
    pub(super) digest: OnceLock<[u8; 32]>,
}

impl CheckedPlan {
    /// The name of the plan. `None` if it has none.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The same plan with at most `max_parallel` concurrent nodes.
    #[must_use]
    pub fn with_max_parallel(self, max_parallel: u32) -> Self {
        Self { max_parallel, digest: OnceLock::new(), ..self }
    }

    /// The same plan with another failure policy.
    #[must_use]
    pub fn with_on_failure(self, on_failure: FailurePolicy) -> Self {
        Self { on_failure, digest: OnceLock::new(), ..self }
    }

    /// Maximum number of concurrent nodes.
    pub fn max_parallel(&self) -> u32 {
        self.max_parallel
    }

    /// The effect of a failed node on the others.
    pub fn on_failure(&self) -> FailurePolicy {
        self.on_failure
    }

    /// The nodes whose outputs form the run's output, ascending.
    pub fn outputs(&self) -> &[NodeIndex] {
        &self.outputs
    }

    /// Names, indices and edges; an edge leads from a node to the nodes that need it.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The edges between names, as the definitions use them; takes far more memory.
    pub fn relation(&self) -> Relation {
        Relation::from(&*self.topology)
    }

    /// The node with this index.
    pub fn node(&self, node: NodeIndex) -> &PlanNode {
        &self.nodes[node.at()]
    }

    /// The input of a node: its filled template. Without a template: the run's input, or, for a
    /// node that needs others, an object of their outputs by name. For a node that sends a request:
    /// an object of `method`, `url`, `headers` and `body`.
    ///
    /// `outputs` returns the outputs of the needed nodes, and `None` for a skipped one, which
    /// becomes null in a template and is left out of the object.
    pub fn input_of<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        outputs: impl Fn(NodeIndex) -> Option<&'a Value>,
    ) -> Value {
        self.input_of_parts(node, run_input, |node, at| outputs(node)?.pointer(at))
    }

    /// Like [`CheckedPlan::input_of`], with `parts` returning parts of outputs by node and JSON
    /// pointer: those that [`CheckedPlan::sources`] lists.
    pub fn input_of_parts<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        parts: impl Fn(NodeIndex, &str) -> Option<&'a Value>,
    ) -> Value {
        let source = |name: &str, at: &str| self.source(name, at, run_input, &parts);
        let PlanNode { kind, input, .. } = self.node(node);
        if let NodeAction::Http(http) = kind {
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

    /// Returns true if a node's condition holds; if not, the node is skipped. `outputs` as for
    /// [`CheckedPlan::input_of`].
    pub fn wanted<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        outputs: impl Fn(NodeIndex) -> Option<&'a Value>,
    ) -> bool {
        self.wanted_by_parts(node, run_input, |node, at| outputs(node)?.pointer(at))
    }

    /// Like [`CheckedPlan::wanted`], with parts of outputs as for [`CheckedPlan::input_of_parts`].
    pub fn wanted_by_parts<'a>(
        &self,
        node: NodeIndex,
        run_input: &'a Value,
        parts: impl Fn(NodeIndex, &str) -> Option<&'a Value>,
    ) -> bool {
        let source = |name: &str, at: &str| self.source(name, at, run_input, &parts);
        self.node(node).when.as_ref().is_none_or(|condition| condition.holds(&source))
    }

    /// The parts of other nodes' outputs that a node's condition reads, and those that its input is
    /// made from: nodes with JSON pointers, each once.
    pub fn sources(&self, node: NodeIndex) -> [BTreeSet<(NodeIndex, &str)>; 2] {
        let PlanNode { kind, input, when, .. } = self.node(node);
        let (mut condition, mut taken) = (BTreeSet::new(), BTreeSet::new());
        if let Some(when) = when {
            when.sources(&mut condition);
        }
        match (kind, input) {
            (NodeAction::Http(http), _) => {
                for template in [&http.url, &http.headers, &http.body] {
                    sources(template, &mut taken);
                }
            }
            (_, Some(input)) => sources(input, &mut taken),
            (NodeAction::Sleep(_) | NodeAction::Signal(_), None) => {}
            (NodeAction::Call(_) | NodeAction::Promise | NodeAction::Graph(_), None) => {
                let needs = self.topology.predecessors(node).iter();
                taken.extend(needs.map(|need| (self.topology.name(*need).as_str(), "")));
            }
        }
        let index = |(name, at)| Some((self.topology.index_of(name)?, at));
        [condition, taken].map(|named| named.into_iter().filter_map(index).collect())
    }

    /// The plan as JSON in canonical form, independent of key order and layout: keys ascend, and
    /// defaults are written out. Parsing it gives the same plan.
    pub fn canonical(&self) -> String {
        canonical::text(self)
    }

    /// SHA-256 of the canonical form: plans with equal digests are the same plan.
    pub fn digest(&self) -> [u8; 32] {
        *self.digest.get_or_init(|| digest(&self.canonical()))
    }

    /// The digest in hexadecimal.
    pub fn digest_text(&self) -> String {
        self.digest().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }

    /// The nodes grouped by the length of the longest path to them, ascending in each layer.
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

//! Reads a plan: every fault is noted, and reading continues.

mod node;
mod parts;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use super::{
    CheckedPlan, DEFAULT_PARALLEL, INPUT, MAX_BYTES, MAX_DEPTH, MAX_EDGES, MAX_NODES, MAX_PARALLEL,
    Plan, PlanErrors, PlanNode, checked::digest, fault::too_long, tree::PlanValue,
};
use crate::{
    name::NodeName,
    state::FailurePolicy,
    topology::{NodeIndex, Topology},
};

/// Collects faults, and counts nodes and edges over all nested plans.
#[derive(Default)]
struct PlanReader {
    errors: PlanErrors,
    nodes: usize,
    edges: usize,
}

/// A node whose references have not been checked yet.
struct NodeDraft<'t> {
    path: String,
    name: NodeName,
    needs: Vec<&'t str>,
    /// The nodes that templates and conditions refer to, with the paths of the references.
    references: Vec<(String, &'t str)>,
    /// `None` if a fault was noted.
    node: Option<PlanNode>,
}

/// The fields of a table by name.
type Fields<'t> = BTreeMap<&'t str, &'t PlanValue>;

impl Plan {
    /// Checks the whole plan in one pass.
    ///
    /// # Errors
    /// [`PlanErrors`]: all faults, in the order of the text.
    pub fn check(&self) -> Result<CheckedPlan, PlanErrors> {
        let mut reader = PlanReader::default();
        let plan = reader.plan(&self.tree, "", 1);
        let Some(plan) = plan.filter(|_| reader.errors.faults.is_empty()) else {
            return Err(reader.errors);
        };
        let canonical = plan.canonical();
        if canonical.len() > MAX_BYTES {
            return Err(PlanErrors::one("", too_long(canonical.len())));
        }
        plan.digest.get_or_init(|| digest(&canonical));
        Ok(plan)
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Joins names in backquotes for a sentence.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((end, rest)) if !rest.is_empty() => format!("{} and {end}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

impl PlanReader {
    fn fault(&mut self, path: &str, message: impl Into<String>) {
        self.errors.add(path, message);
    }

    fn wrong_type(&mut self, path: &str, found: &PlanValue, wanted: &str) {
        self.fault(path, format!("this is {}: write {wanted}", found.kind()));
    }

    fn plan(&mut self, tree: &PlanValue, path: &str, depth: usize) -> Option<CheckedPlan> {
        if depth > MAX_DEPTH {
            let message = format!(
                "plans lie more than {MAX_DEPTH} deep in each other: take this \
                 one out, and have a module offer it"
            );
            self.fault(path, message);
            return None;
        }
        let known = ["name", "max_parallel", "on_failure", "outputs", "nodes"];
        let fields = self.table(tree, path, &known)?;
        let name = fields.get("name").and_then(|name| self.text(name, &join(path, "name")));
        let max_parallel = fields
            .get("max_parallel")
            .and_then(|most| self.whole(most, &join(path, "max_parallel"), MAX_PARALLEL));
        let on_failure = fields
            .get("on_failure")
            .and_then(|policy| self.policy(policy, &join(path, "on_failure")));
        let drafts = self.drafts(fields.get("nodes").copied(), &join(path, "nodes"), depth)?;
        let names: BTreeSet<NodeName> = drafts.iter().map(|draft| draft.name.clone()).collect();
        let names: Vec<NodeName> = names.into_iter().collect();
        let index = |text: &str| names.binary_search_by(|known| known.as_str().cmp(text)).ok();
        let index = |text: &str| Some(NodeIndex(u32::try_from(index(text)?).ok()?));
        let edges = self.edges(&drafts, &index);
        let outputs = fields.get("outputs").map(|outputs| {
            let path = join(path, "outputs");
            let texts = self.texts(outputs, &path);
            if matches!(outputs, PlanValue::List(list) if list.is_empty()) {
                self.fault(&path, "the list is empty: name a node, or remove `outputs`");
            }
            self.known_nodes(&texts, &path, &index)
        });
        if self.edges > MAX_EDGES {
            let message =
                format!("the plan has {} edges, and {MAX_EDGES} are the most", self.edges);
            self.fault(&join(path, "nodes"), message);
            return None;
        }
        let nodes: BTreeMap<NodeName, Option<PlanNode>> =
            drafts.into_iter().map(|draft| (draft.name, draft.node)).collect();
        let topology = match Topology::new(names, edges) {
            Ok(topology) => topology,
            Err(error) => {
                let message = format!("{error}: remove one of these from the `needs` of the next");
                self.fault(&join(path, "nodes"), message);
                return None;
            }
        };
        let mut outputs = outputs.unwrap_or_else(|| topology.sinks().collect());
        outputs.sort_unstable();
        Some(CheckedPlan {
            name: name.map(str::to_owned),
            max_parallel: max_parallel.unwrap_or(DEFAULT_PARALLEL),
            on_failure: on_failure.unwrap_or_default(),
            outputs,
            topology: Arc::new(topology),
            nodes: nodes.into_values().collect::<Option<_>>()?,
            digest: OnceLock::new(),
        })
    }

    fn policy(&mut self, tree: &PlanValue, path: &str) -> Option<FailurePolicy> {
        match self.text(tree, path)? {
            "drain" => Some(FailurePolicy::Drain),
            "fail-fast" => Some(FailurePolicy::FailFast),
            other => {
                self.fault(path, format!("`{other}` is no policy: write `drain` or `fail-fast`"));
                None
            }
        }
    }

    fn drafts<'t>(
        &mut self,
        tree: Option<&'t PlanValue>,
        path: &str,
        depth: usize,
    ) -> Option<Vec<NodeDraft<'t>>> {
        let empty =
            "a plan has at least one node: write a table for each, with its name as the key";
        let table = match tree {
            Some(PlanValue::Table(table)) if !table.is_empty() => table,
            None | Some(PlanValue::Table(_)) => {
                self.fault(path, empty);
                return None;
            }
            Some(other) => {
                self.wrong_type(path, other, "a table of nodes");
                return None;
            }
        };
        self.nodes += table.len();
        if self.nodes > MAX_NODES {
            let message =
                format!("the plan has {} nodes, and {MAX_NODES} are the most", self.nodes);
            self.fault(path, message);
            return None;
        }
        let mut seen = BTreeSet::new();
        let mut drafts = Vec::with_capacity(table.len());
        for (key, tree) in table {
            let path = join(path, key);
            let name = match NodeName::new(key) {
                Err(error) => {
                    self.fault(&path, format!("{error}: rename it"));
                    continue;
                }
                Ok(name) if name.as_str() == INPUT => {
                    let message = "`input` is the name of the input of the run: rename this node";
                    self.fault(&path, message);
                    continue;
                }
                Ok(name) => name,
            };
            if !seen.insert(name.clone()) {
                self.fault(&path, format!("there are two nodes `{name}`: rename or remove one"));
                continue;
            }
            let mut draft =
                NodeDraft { path, name, needs: Vec::new(), references: Vec::new(), node: None };
            self.node(tree, &mut draft, depth);
            drafts.push(draft);
        }
        Some(drafts)
    }

    /// Collects the edges and checks every reference.
    fn edges(
        &mut self,
        drafts: &[NodeDraft<'_>],
        index: &impl Fn(&str) -> Option<NodeIndex>,
    ) -> Vec<(NodeIndex, NodeIndex)> {
        let mut edges = Vec::new();
        for draft in drafts {
            let node = index(draft.name.as_str()).expect("a draft's name is one of the names");
            let path = join(&draft.path, "needs");
            let mut needs = draft.needs.clone();
            if needs.contains(&draft.name.as_str()) {
                self.fault(&path, "the node needs itself: remove it from the list");
                needs.retain(|need| *need != draft.name.as_str());
            }
            let before = self.known_nodes(&needs, &path, index);
            edges.extend(before.into_iter().map(|before| (before, node)));
            needs.sort_unstable();
            for (path, name) in &draft.references {
                if *name == INPUT || needs.binary_search(name).is_ok() {
                    continue;
                }
                match index(name) {
                    Some(_) => self.fault(
                        path,
                        format!("`{name}` is not among the `needs` of this node: add it there"),
                    ),
                    None => self.fault(path, format!("there is no node `{name}`")),
                }
            }
        }
        self.edges += edges.len();
        edges
    }

    fn known_nodes(
        &mut self,
        names: &[&str],
        path: &str,
        index: &impl Fn(&str) -> Option<NodeIndex>,
    ) -> Vec<NodeIndex> {
        let mut known = Vec::with_capacity(names.len());
        for name in names {
            match index(name) {
                Some(node) => known.push(node),
                None => self
                    .fault(path, format!("there is no node `{name}`: add it, or remove it here")),
            }
        }
        known
    }
}

//! Every small graph, every outcome, every persisted prefix: runs agree with the definitions.
//!
//! Graphs: all with edges from smaller to larger nodes, so every acyclic graph up to renaming:
//! 1,099 of 1 to 5 nodes. States: all sets of facts that a run can have persisted, in any order of
//! arrival. Outcomes by class: completed, failed, waiting and reset; up to 4 nodes also skipped. A
//! signal is delivered as a value or as a failure, before or after a node waits for it. In each
//! state, with both policies, the test tries: recovery from the bare facts, from closed rows and
//! from rows that claim to run; the next fact of each node of the frontier; the next delivery.
//!
//! `SEGNO_NODES=6` also tries graphs of 6 nodes, which takes minutes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use segno_graph::{
    NodeIndex, NodeName, Relation, RunProgress, Topology,
    progress::{RecoveredNode, SignalDelivery, Status},
    rules,
    state::{
        Classification, ClassificationKind, FailureDetail, FailurePolicy, GraphState, NodeOutcome,
        NodeResult, NodeStatus,
    },
};

const SIGNAL: &str = "go";

/// The persisted facts: one for each node, and the signal's delivery.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Stored {
    facts: Vec<Option<Class>>,
    delivered: Option<Delivered>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Class {
    Completed,
    Skipped,
    Failed,
    Waiting,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Delivered {
    Value,
    Failure,
}

/// The observable state of a run.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    status: Vec<NodeStatus>,
    frontier: Vec<u32>,
    drain: ClassificationKind,
    fail_fast: ClassificationKind,
}

type Definition = fn(
    &Relation,
    GraphState<u8>,
    &rules::DeliveredSignals<u8>,
    FailurePolicy,
) -> Classification<u8>;

struct Graph {
    names: Vec<NodeName>,
    relation: Relation,
    topology: Arc<Topology>,
    definition: Definition,
}

impl Graph {
    /// The subgraph of the complete graph with the edges that `mask` selects.
    fn numbered(nodes: usize, mask: u32, definition: Definition) -> Self {
        let name = |at: usize| NodeName::new(&format!("n{at}")).expect("a name");
        let names: Vec<NodeName> = (0..nodes).map(name).collect();
        let pairs = (0..nodes).flat_map(|to| (0..to).map(move |from| (from, to)));
        let chosen = pairs.enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
        let edges: Vec<_> =
            chosen.map(|(_, (from, to))| (names[from].clone(), names[to].clone())).collect();
        let relation = Relation::from_edges(names.clone(), edges).expect("edges ascend");
        let topology = Arc::new(Topology::from(&relation));
        Self { names, relation, topology, definition }
    }

    fn classes(&self) -> &'static [Class] {
        if self.names.len() > 4 {
            return &[Class::Completed, Class::Failed, Class::Waiting];
        }
        &[Class::Completed, Class::Skipped, Class::Failed, Class::Waiting]
    }

    fn defined(&self, stored: &Stored) -> Result<Seen, String> {
        let mut state = GraphState::new(&self.relation);
        for (at, fact) in stored.facts.iter().enumerate() {
            let Some(class) = fact else { continue };
            let fact = NodeResult { node: self.names[at].clone(), outcome: class.outcome() };
            state = rules::apply_node_fact(&fact, state);
        }
        let signals: rules::DeliveredSignals<u8> = match stored.delivered {
            None => BTreeMap::new(),
            Some(Delivered::Value) => BTreeMap::from([(SIGNAL.into(), Ok(2))]),
            Some(Delivered::Failure) => BTreeMap::from([(SIGNAL.into(), Err(failure()))]),
        };
        let step = |policy| (self.definition)(&self.relation, state.clone(), &signals, policy);
        let (drain, fail_fast) = (step(FailurePolicy::Drain), step(FailurePolicy::FailFast));
        let closed = drain.state();
        assert_eq!(closed, fail_fast.state());
        rules::well_formed(&self.relation, closed).map_err(|violation| violation.to_string())?;
        rules::causal(&self.relation, closed).map_err(|violation| violation.to_string())?;
        let index = |name: &NodeName| self.topology.index_of(name.as_str()).expect("a node").0;
        let frontier = rules::ready_nodes(&self.relation, closed).iter().map(index).collect();
        Ok(Seen {
            status: self.names.iter().map(|name| closed.status(name).clone()).collect(),
            frontier,
            drain: drain.kind(),
            fail_fast: fail_fast.kind(),
        })
    }

    fn recovered(&self, rows: &[NodeStatus], delivered: Option<Delivered>) -> [RunProgress; 2] {
        [FailurePolicy::Drain, FailurePolicy::FailFast].map(|policy| {
            let rows = rows.iter().enumerate().map(|(at, status)| RecoveredNode {
                node: self.names[at].clone(),
                status: status.clone(),
                attempt: 0,
            });
            let signals = delivered.map(|delivered| (SIGNAL.to_owned(), delivered.delivery()));
            RunProgress::recover(self.topology.clone(), policy, rows, signals)
                .expect("a run's rows")
        })
    }

    /// Visits every state of the run; returns their number.
    fn check(&self) -> Result<usize, String> {
        let mut known: HashMap<Stored, Seen> = HashMap::new();
        let start = Stored { facts: vec![None; self.names.len()], delivered: None };
        known.insert(start.clone(), self.defined(&start)?);
        let mut open = vec![start];
        while let Some(stored) = open.pop() {
            let expected = known[&stored].clone();
            let mut of = |next: Stored| match known.get(&next) {
                Some(seen) => Ok(seen.clone()),
                None => {
                    let seen = self.defined(&next)?;
                    known.insert(next.clone(), seen.clone());
                    open.push(next);
                    Ok(seen)
                }
            };
            self.check_state(&stored, &expected, &mut of)
                .map_err(|what| format!("{what}\n{:?}\n{:?}", self.relation, stored.facts))?;
        }
        Ok(known.len())
    }

    fn check_state(
        &self,
        stored: &Stored,
        expected: &Seen,
        of: &mut impl FnMut(Stored) -> Result<Seen, String>,
    ) -> Result<(), String> {
        if expected.drain == ClassificationKind::Stuck
            || expected.fail_fast == ClassificationKind::Stuck
        {
            return Err("a run is stuck".into());
        }
        let status = |fact: &Option<Class>| {
            fact.map_or(NodeStatus::Pending, |class| class.outcome().status())
        };
        let bare: Vec<NodeStatus> = stored.facts.iter().map(status).collect();
        let mut claiming = expected.status.clone();
        for at in &expected.frontier {
            claiming[*at as usize] = NodeStatus::Running;
        }
        for (form, rows) in [("bare", &bare), ("closed", &expected.status), ("claiming", &claiming)]
        {
            let pair = self.recovered(rows, stored.delivered);
            same(&format!("{form} rows recover"), expected, &seen(&pair))?;
        }
        let resting = self.recovered(&bare, stored.delivered);
        let mut running = resting.clone();
        let dispatched = running[0].dispatch(usize::MAX);
        if dispatched.iter().map(|node| node.0).ne(expected.frontier.iter().copied()) {
            return Err("dispatch takes other nodes than the frontier".into());
        }
        running[1].dispatch(usize::MAX);
        for pair in [&resting, &running] {
            for at in &expected.frontier {
                let reset = after(pair, |run| run.record(NodeIndex(*at), 0, &RESET));
                same("a reset", expected, &seen(&reset))?;
                if reset[0].attempt(NodeIndex(*at)) != 1 {
                    return Err("a reset keeps the attempt".into());
                }
                for class in self.classes() {
                    let mut next = stored.clone();
                    next.facts[*at as usize] = Some(*class);
                    let outcome = class.outcome();
                    let recorded = after(pair, |run| run.record(NodeIndex(*at), 0, &outcome));
                    let what = format!("n{at} {class:?}");
                    let defined = of(next)?;
                    same(&what, &defined, &seen(&recorded))?;
                    let again = after(&recorded, |run| run.record(NodeIndex(*at), 0, &outcome));
                    same(&format!("{what} twice"), &defined, &seen(&again))?;
                }
            }
            if stored.delivered.is_none() {
                for delivered in [Delivered::Value, Delivered::Failure] {
                    let next = Stored { delivered: Some(delivered), ..stored.clone() };
                    let told = after(pair, |run| run.deliver(SIGNAL, delivered.delivery()));
                    same("a delivery", &of(next)?, &seen(&told))?;
                }
            }
        }
        Ok(())
    }
}

const RESET: NodeOutcome<u8> = NodeOutcome::Shutdown;

fn failure() -> FailureDetail {
    FailureDetail { code: 500, message: "no".into(), details: None }
}

impl Class {
    fn outcome(self) -> NodeOutcome<u8> {
        match self {
            Self::Completed => NodeOutcome::Succeeded(1),
            Self::Skipped => NodeOutcome::Skipped,
            Self::Failed => NodeOutcome::Failed(failure()),
            Self::Waiting => NodeOutcome::SuspendedOn(SIGNAL.into()),
        }
    }
}

impl Delivered {
    fn delivery(self) -> SignalDelivery {
        match self {
            Self::Value => SignalDelivery::Value,
            Self::Failure => SignalDelivery::Failure,
        }
    }
}

fn after<T>(
    pair: &[RunProgress; 2],
    mut change: impl FnMut(&mut RunProgress) -> T,
) -> [RunProgress; 2] {
    let mut pair = pair.clone();
    for run in &mut pair {
        change(run);
    }
    pair
}

/// Running nodes are shown as their definitions have them, after their reset.
fn seen([drain, fail_fast]: &[RunProgress; 2]) -> Seen {
    let status = |node| match drain.node_status(node) {
        NodeStatus::Running => NodeStatus::Pending,
        status => status,
    };
    let counted = drain.topology().nodes().filter(|node| drain.status(*node) == Status::Failed);
    assert_eq!(counted.count(), drain.counts().failed);
    Seen {
        status: drain.topology().nodes().map(status).collect(),
        frontier: drain.frontier().iter().map(|node| node.0).collect(),
        drain: drain.classify(),
        fail_fast: fail_fast.classify(),
    }
}

fn same(what: &str, expected: &Seen, found: &Seen) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: defined {expected:?}, found {found:?}"))
}

fn check_all(nodes: usize, definition: Definition) -> Result<usize, String> {
    let masks = 0..1_u32 << (nodes * (nodes - 1) / 2);
    masks.map(|mask| Graph::numbered(nodes, mask, definition).check()).sum()
}

#[test]
fn what_runs_says_what_the_definitions_say_of_every_small_graph() {
    let most = std::env::var("SEGNO_NODES").map_or(5, |text| text.parse().expect("a number"));
    let mut states = 0;
    for nodes in 1..=most {
        states += check_all(nodes, rules::recover).unwrap_or_else(|what| panic!("{what}"));
    }
    println!("{states} states of graphs of up to {most} nodes");
    if most == 5 {
        assert_eq!(states, 412_271, "states were lost or found");
    }
}

#[test]
fn a_wrong_definition_would_be_noticed() {
    // A wrong definition: ignores the first edge of the first node.
    let definition: Definition = |relation, state, signals, policy| {
        let first = relation.edges().next().map(|(from, to)| (from.clone(), to.clone()));
        let others = relation
            .edges()
            .filter(|(from, to)| first.as_ref() != Some(&((*from).clone(), (*to).clone())))
            .map(|(from, to)| (from.clone(), to.clone()));
        let fewer = Relation::from_edges(relation.nodes().cloned(), others).expect("no cycle");
        rules::recover(&fewer, state, signals, policy)
    };
    check_all(2, definition).expect_err("a difference");
    // A wrong definition: forgets deliveries.
    let definition: Definition = |relation, state, _, policy| {
        rules::recover(relation, state, &rules::DeliveredSignals::new(), policy)
    };
    check_all(2, definition).expect_err("a difference");
}

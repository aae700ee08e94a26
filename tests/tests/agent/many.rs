//! Many agents at once, while their host is killed again and again: budgets hold, tools act once,
//! streams are whole.
//!
//! `SEGNO_AGENTS` sets the number of agents (8), `SEGNO_SECONDS` for how long they begin turns
//! (20), and `SEGNO_SEED` repeats a run's draws. The long form is 200 agents for 3,600 s.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use segno_api::model::{BudgetUnit, InvocationState, StartInvocation, TreeQuery};
use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_demo::rng::DemoRng;
use segno_env::Env;
use serde_json::{Number, Value, json};
use tests::seed;

use super::{AgentHost, CountedCall, rust};

/// Time within which a turn ends.
const TURN_MAX: Millis = Millis(180_000);
/// The answer of a turn whose budget is spent.
const SPENT: &str = "I have used up my budget.";

/// What the turns of all agents came to.
#[derive(Debug, Default)]
struct Tally {
    turns: AtomicU64,
    spent: AtomicU64,
    kills: AtomicU64,
}

#[tokio::test(flavor = "multi_thread")]
async fn many_agents_survive_kills_within_their_budgets() {
    let agents = seed::number("SEGNO_AGENTS").unwrap_or(8);
    let seconds = seed::number("SEGNO_SECONDS").unwrap_or(20);
    let mut chance = seed::chance();
    let mut host = AgentHost::start(&rust()).await;
    let (client, env) = (host.host.client().clone(), host.host.env.clone());
    let page = format!("{}/pages/returns", host.servers.shop);
    let (over, tally) = (AtomicBool::new(false), Tally::default());
    let talking = (0..agents).map(|agent| {
        let talker = Talker {
            client: &client,
            env: &env,
            name: format!("agent-{agent}"),
            page: &page,
            over: &over,
            tally: &tally,
        };
        talker.talk(DemoRng::new(chance.between(0, u64::from(u32::MAX))))
    });
    let talking: Vec<_> = talking.collect();
    let until = env.clock.now() + Millis::seconds(i64::try_from(seconds).expect("a time"));
    let killing = async {
        while env.clock.now() < until {
            env.runtime.sleep(chance.length(1_500, 6_000)).await;
            host.kill().await;
            tally.kills.fetch_add(1, Ordering::Relaxed);
        }
        over.store(true, Ordering::Relaxed);
    };
    tokio::join!(futures::future::join_all(talking), killing);
    let [turns, spent, kills] =
        [&tally.turns, &tally.spent, &tally.kills].map(|count| count.load(Ordering::Relaxed));
    eprintln!("{agents} agents, {turns} turns, {spent} with a spent budget, {kills} kills");
    assert!(turns >= agents && spent > 0 && kills > 1, "{turns} turns, {spent} spent, {kills}");
    tools_acted_once(&host.servers.calls(&host.servers.shop).await);
}

/// Each refund has one key: that of the call of the tool in its turn.
fn tools_acted_once(calls: &[CountedCall]) {
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.method == "POST") {
        let turn = call.key.split('/').next().unwrap_or_default();
        keys.entry(turn).or_default().push(&call.key);
    }
    for (turn, keys) in keys {
        assert_eq!(keys.len(), 1, "{turn}: {keys:?}");
    }
}

/// One agent's customer.
struct Talker<'a> {
    client: &'a Client,
    env: &'a Env,
    name: String,
    page: &'a str,
    over: &'a AtomicBool,
    tally: &'a Tally,
}

impl Talker<'_> {
    /// Begins one turn after the other, and checks each when it has ended.
    async fn talk(self, mut chance: DemoRng) {
        for turn in 0.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let id = format!("{}-{turn}", self.name);
            let kind = chance.between(0, 5);
            // Half of the turns have enough, however long the conversation is.
            let budget = [chance.between(30, 900), 100_000][chance.between(0, 1) as usize];
            self.turn(&id, kind, budget).await;
            self.tally.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn turn(&self, id: &str, kind: u64, budget: u64) {
        let text = match kind {
            0 => "Where is order 7?".to_owned(),
            1 => "Refund order 8".to_owned(),
            2 => format!("Research {}", self.page),
            _ => "count to 200".to_owned(),
        };
        let start = StartInvocation {
            id: Some(id.to_owned()),
            target: format!("agent/Conversation@{}/say", self.name),
            input: json!(text),
            budget: BTreeMap::from([("tokens".to_owned(), Number::from(budget))]),
            ..StartInvocation::default()
        };
        let turn = async {
            while self.client.start(&start).await.is_err() {
                self.pause().await;
            }
            loop {
                match self.client.invocation(id).await {
                    Ok(found) if found.state.is_settled() => return found,
                    Ok(_) if kind == 1 => {
                        // A person approves; until then there is no such promise.
                        let decision = format!("{id}/2/p/decision");
                        let _ = self.client.resolve(&decision, json!(true)).await;
                        let decision = format!("{id}/3/p/decision");
                        let _ = self.client.resolve(&decision, json!(true)).await;
                    }
                    _ => {}
                }
                self.pause().await;
            }
        };
        let ended = self.env.within(TURN_MAX, turn).await;
        let ended = ended.unwrap_or_else(|| panic!("{id} does not end"));
        let code = ended.failure.as_ref().map(|failure| failure.code);
        // A summary of the history may be beyond the budget, too.
        assert!(ended.state == InvocationState::Resolved || code == Some(402), "{ended:#?}");
        let answer = ended.output.as_ref().and_then(Value::as_str).unwrap_or_default();
        if code.is_some() || answer == SPENT {
            self.tally.spent.fetch_add(1, Ordering::Relaxed);
        } else {
            self.stream_is_whole(id, answer).await;
        }
        self.budget_holds(id, budget).await;
    }

    /// What was spent is what the answered calls cost, and the last one began within the budget.
    async fn budget_holds(&self, id: &str, limit: u64) {
        let budget = self.read(|| self.client.budget(id)).await;
        let query = TreeQuery::default();
        let tree = self.read(|| self.client.tree(id, &query)).await;
        let BudgetUnit { spent, .. } = &budget.accounts[0].units["tokens"];
        let spent = spent.as_u64().expect("tokens are whole");
        let mut costs = Vec::new();
        let calls = tree.nodes.iter().filter(|node| node.id != id && node.target.is_some());
        for node in calls {
            let call = self.read(|| self.client.invocation(&node.id)).await;
            let cost = call.cost.get("tokens").and_then(Number::as_u64);
            costs.extend(cost.map(|cost| (call.created_at_ms, cost)));
        }
        costs.sort_unstable();
        assert_eq!(spent, costs.iter().map(|(_, cost)| cost).sum::<u64>(), "{id}: {costs:?}");
        // They are made one after the other.
        let last = costs.last().map_or(0, |(_, cost)| *cost);
        assert!(spent - last < limit, "{id}: {spent} of {limit} were spent by {costs:?}");
    }

    /// The tokens of the stream are the answer, each once.
    async fn stream_is_whole(&self, id: &str, answer: &str) {
        let (mut items, mut offset) = (Vec::new(), "-1".to_owned());
        loop {
            let data = self.read(|| self.client.stream(id, "answer", &offset, true)).await;
            if !data.body.is_empty() {
                items.extend(serde_json::from_slice::<Vec<Value>>(&data.body).expect("a list"));
            }
            offset = data.next_offset;
            if data.closed {
                break;
            }
        }
        assert_eq!(items.pop(), Some(json!({ "answer": answer })), "{id}");
        let text: String = items.iter().filter_map(Value::as_str).collect();
        assert!(text.ends_with(answer), "{id}: {text}");
        let before = ["", "I look it up. ", "I ask. ", "I ask a colleague. "];
        let before_it = &text[..text.len() - answer.len()];
        assert!(before.contains(&before_it), "{id}: {text}");
    }

    /// Repeats a request while the host is away.
    async fn read<T>(&self, ask: impl AsyncFn() -> Result<T, ClientError>) -> T {
        let began = self.env.clock.now();
        loop {
            match ask().await {
                Ok(found) => return found,
                Err(error) => {
                    let took = self.env.clock.now().since(began);
                    assert!(took < TURN_MAX, "nothing is read: {error}");
                    self.pause().await;
                }
            }
        }
    }

    async fn pause(&self) {
        self.env.runtime.sleep(Millis(50)).await;
    }
}

//! One host compared with the model: every operation is sent to both, and their answers and
//! contents are compared.

use segno_core::{invariants, time::Timestamp};
use serde_json::{Value as Json, json};

use super::{
    coverage::ReachedOutcomes,
    model::{HostModel, ModelAnswer, ModelSuccess},
    script::{self, Dice, KINDS, ScriptOperation},
};
use crate::tests::{
    has_null,
    world::{ResonateWorld, TestStore},
};

/// When every script begins, in milliseconds since the Unix epoch.
const BEGINNING: i64 = 1_795_000_000_000;
/// Number of operations after which all contents are compared.
const EVERY: usize = 10;
/// Number of operations of one script.
const STEPS: usize = 150;

/// A host and the model of it.
pub(super) struct DifferentialRun {
    world: ResonateWorld,
    model: HostModel,
    /// Number of operations after which all contents are compared. They are always compared at the
    /// end.
    every: usize,
    asked: usize,
    /// Modifies the host's answers, to simulate a faulty host.
    tampered: fn(&str, &mut Json),
}

impl DifferentialRun {
    pub(super) async fn on(place: &TestStore, strict: bool) -> Self {
        let config = super::config(strict);
        let world = ResonateWorld::over(place, config.clone()).await;
        let model = HostModel::new(config);
        Self { world, model, every: EVERY, asked: 0, tampered: |_, _| {} }
    }

    /// Compares all contents after every operation.
    pub(super) fn closely(self) -> Self {
        Self { every: 1, ..self }
    }

    /// Modifies the host's answers.
    pub(super) fn tampered(self, tampered: fn(&str, &mut Json)) -> Self {
        Self { tampered, ..self }
    }

    /// Runs a random script, and records it.
    pub(super) async fn explore(
        &mut self,
        seed: u64,
        script: &mut Vec<ScriptOperation>,
        met: &mut ReachedOutcomes,
    ) -> Result<(), String> {
        let mut dice = Dice::new(seed);
        let favourites: Vec<&'static str> = (0..4).map(|_| dice.of(&KINDS).0).collect();
        let mut at = BEGINNING;
        for _ in 0..STEPS {
            at += match dice.roll(8) {
                0..=3 => 0,
                4 => dice.roll(3) as i64,
                5 => dice.roll(1_000) as i64,
                6 => dice.roll(9_000) as i64,
                _ => dice.of(&[0, 0, 60_000]),
            };
            let asked = script::next(&mut dice, &self.model, &favourites, at);
            script.push(asked.clone());
            self.ask(&asked, met).await?;
        }
        self.compare(at).await?;
        self.walk(at, script, met).await
    }

    /// Runs a recorded script.
    pub(super) async fn repeat(&mut self, script: &[ScriptOperation]) -> Result<(), String> {
        for asked in script {
            self.ask(asked, &mut ReachedOutcomes::default()).await?;
        }
        match script.last() {
            Some(last) => self.compare(last.at).await,
            None => Ok(()),
        }
    }

    /// Removes the store.
    pub(super) async fn end(self) {
        self.world.stores().close().await;
    }

    /// Reads all promises and tasks, page by page.
    async fn walk(
        &mut self,
        at: i64,
        script: &mut Vec<ScriptOperation>,
        met: &mut ReachedOutcomes,
    ) -> Result<(), String> {
        for kind in ["promise.search", "task.search", "schedule.search"] {
            let mut data = json!({ "limit": 3 });
            loop {
                let asked = ScriptOperation { at, kind, data: data.clone() };
                script.push(asked.clone());
                let answer = self.ask(&asked, met).await?;
                match answer.get("cursor") {
                    Some(cursor) => data["cursor"] = cursor.clone(),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Sends an operation to both. Returns the data of the answer.
    async fn ask(
        &mut self,
        asked: &ScriptOperation,
        met: &mut ReachedOutcomes,
    ) -> Result<Json, String> {
        let expected = self.model.answer(asked.kind, &asked.data, Timestamp(asked.at));
        let answer = self.asked(asked).await;
        if let Err(wrong) = check(asked, &answer, &expected) {
            return Err(format!(
                "{wrong}\nasked    {asked:?}\nanswered {answer}\nexpected {expected:?}"
            ));
        }
        met.note(asked.kind, &expected);
        self.asked += 1;
        if self.asked.is_multiple_of(self.every) {
            self.compare(asked.at).await?;
        }
        Ok(answer["data"].clone())
    }

    /// Compares the contents of the host with those of the model.
    async fn compare(&mut self, at: i64) -> Result<(), String> {
        let snap = ScriptOperation { at, kind: "debug.snap", data: json!({}) };
        let expected = self.model.answer(snap.kind, &snap.data, Timestamp(at));
        let answer = self.asked(&snap).await;
        let violations = invariants::check(&self.model.rows());
        if !violations.is_empty() {
            return Err(format!("{violations:?}"));
        }
        let Ok(ModelSuccess { data: expected, .. }) = expected else {
            return Err("no snapshot".to_owned());
        };
        let lists = expected.as_object().expect("a snapshot is an object");
        if answer["data"].as_object().map(|data| data.len()) != Some(lists.len()) {
            return Err(format!("the snapshot has other lists: {answer}"));
        }
        match lists.iter().find(|(name, list)| answer["data"][name] != **list) {
            None => Ok(()),
            Some((name, list)) => Err(format!(
                "the snapshots differ in {name}:\nheld     {}\nexpected {list}",
                answer["data"][name]
            )),
        }
    }

    async fn asked(&self, asked: &ScriptOperation) -> Json {
        let ScriptOperation { at, kind, data } = asked;
        let head = json!({ "corrId": "c", "version": "2026-04-01", "resonate:debug_time": at });
        let request = json!({ "kind": kind, "head": head, "data": data });
        let (status, mut answer) = self.world.post(request.to_string(), Default::default()).await;
        answer["http"] = json!(status);
        (self.tampered)(kind, &mut answer);
        answer
    }
}

/// Checks that the answer is the expected one, as far as the protocol defines it. For a refusal it
/// checks the status, and the words that the sentence must contain.
fn check(
    asked: &ScriptOperation,
    answer: &Json,
    expected: &ModelAnswer,
) -> Result<(), &'static str> {
    let status = match expected {
        Ok(yes) => yes.status,
        Err(no) => no.status,
    };
    if answer["http"] != status {
        return Err("another status");
    }
    let head = json!({ "corrId": "c", "status": status, "version": "2026-04-01" });
    if answer["head"] != head || answer["kind"] != asked.kind {
        return Err("the envelope is another");
    }
    if has_null(answer) {
        return Err("`null` where a field has to be left out");
    }
    match expected {
        Ok(yes) if answer["data"] == yes.data => Ok(()),
        Ok(_) => Err("another answer"),
        Err(no) => match answer["data"].as_str() {
            Some(sentence) if sentence.contains(&no.says) => Ok(()),
            Some(_) => Err("the sentence does not name what is wrong"),
            None => Err("a refusal is a sentence"),
        },
    }
}

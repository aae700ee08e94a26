//! Turns at an object. Two senders start their turns one after the other, without waiting for the
//! outcomes.

use segno_api::model::InvocationOutcome;
use serde_json::Value;

use super::Flow;
use crate::chaos::{
    oracle::{self, Turn},
    outside::Hopeless,
};

impl Flow<'_> {
    pub(super) async fn counter(&self) -> Result<Vec<InvocationOutcome>, Hopeless> {
        let count = 2 * self.outside.draw(1, 4);
        let send = async |first: u64| {
            let mut sent = Vec::new();
            for number in (first..count).step_by(2) {
                let id = format!("{}.{number}", self.id);
                let mut turn = self.place(&self.id);
                turn["number"] = number.into();
                self.start(&id, &format!("Counter@{}/add", self.id), turn).await?;
                sent.push((number, id));
                self.outside.dawdle(0, 60).await;
            }
            let mut ends = Vec::new();
            for (number, id) in sent {
                ends.push((number, self.end(&id).await?));
            }
            Ok::<_, Hopeless>(ends)
        };
        let (even, odd) = tokio::join!(send(0), send(1));
        let ends = [even?, odd?].concat();
        let read = format!("{}.read", self.id);
        self.start(&read, &format!("Counter@{}/read", self.id), Value::Null).await?;
        let read = self.end(&read).await?;

        let effects = self.ledger.effects(&self.id);
        let receipt = |step: u64| effects.get(&(step as u32)).and_then(|seen| seen.receipt);
        let turn = |(number, end): &(u64, InvocationOutcome)| {
            let (before, after) = serde_json::from_value(end.output.clone()?).ok()?;
            let (began, ended) = receipt(2 * number).zip(receipt(2 * number + 1))?;
            let (sender, number) = (number % 2, number / 2);
            Some(Turn { sender, number, began, ended, before, after })
        };
        let turns: Vec<Turn> = ends.iter().filter_map(turn).collect();
        if turns.len() as u64 != count {
            self.complain(&format!("only {} of {count} turns came about: {ends:?}", turns.len()));
        }
        let total = read.output.as_ref().and_then(Value::as_u64).unwrap_or_default();
        self.judge(oracle::turns(&turns, total));
        Ok(ends.into_iter().map(|(_, end)| end).chain([read]).collect())
    }
}

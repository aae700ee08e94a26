//! Script commands about budgets.

use segno_core::{
    budget::Costs,
    command::Command,
    id::{Claim, PromiseId, Version},
    snapshot::Snapshot,
    tags,
    value::Tags,
};

use super::dice::Dice;

/// Budgets of new promises; not all can be held.
pub(super) const BUDGETS: [&str; 4] = ["calls=2,tokens=9", "tokens=0.5", "usd=100", "tokens"];

/// Costs that attempts report.
const COSTS: [&str; 3] = ["tokens=3", "tokens=0.25,usd=1.5", "calls=1,other=7"];

/// The next command about budgets, given the state of the model.
pub(super) fn command(dice: &mut Dice, seen: &Snapshot, id: PromiseId) -> Command {
    if dice.once_in(3) {
        let accounts: Vec<PromiseId> = seen.budgets.keys().cloned().chain([id]).collect();
        return Command::BudgetSet { account: dice.of(&accounts), limits: costs(dice) };
    }
    let held = |id: &&PromiseId| seen.tasks.get(*id).is_some_and(|task| task.lease().is_some());
    let draws = seen.promises.values().filter(|promise| promise.has_budget());
    let held: Vec<PromiseId> =
        draws.map(|promise| promise.id()).filter(held).cloned().chain([id]).collect();
    let id = dice.of(&held);
    let version = seen.tasks.get(&id).map_or(Version(0), |task| task.version);
    let claim = Claim { id, version };
    Command::BudgetCharge { claim, begins: dice.once_in(2), costs: costs(dice) }
}

/// The headers of a value that reports costs.
pub(super) fn headers(dice: &mut Dice) -> Tags {
    Tags::from([(tags::COST_HEADER.to_owned(), dice.of(&COSTS).to_owned())])
}

fn costs(dice: &mut Dice) -> Costs {
    dice.of(&COSTS).parse().expect("costs")
}

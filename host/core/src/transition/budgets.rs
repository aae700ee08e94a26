//! Budgets: accounts are created with their executions, charged by attempts, and set by operators.

use super::{
    create::{PromiseCreator, settled_at},
    draft::DecisionDraft,
};
use crate::{
    address::{SERVICE_SCHEME, is_internal},
    budget::{ACCOUNTS_MAX, Budget, CALLS, Costs, SpentBudget},
    id::{Claim, PromiseId},
    promise::{ClaimProgress, NewPromise, Promise, Settlement, Task, TaskState, Verdict},
    reply::{Refusal, Reply},
    tags,
    value::Tags,
};

/// Counts the beginning of an attempt, once for each claim, and charges what it cost.
pub(super) fn charge(
    draft: &mut DecisionDraft<'_>,
    claim: &Claim,
    begins: bool,
    costs: &Costs,
) -> Result<Reply, Refusal> {
    draft.touch(&claim.id);
    let task = draft.claimed(claim)?;
    let accounts = draft.existing(&claim.id)?.accounts();
    if begins {
        draft.count_attempt(task, &accounts)?;
    }
    draft.spend(&accounts, costs);
    Ok(Reply::Done)
}

/// Sets limits of an account on behalf of an operator.
pub(super) fn set(
    draft: &mut DecisionDraft<'_>,
    account: &PromiseId,
    limits: &Costs,
) -> Result<Reply, Refusal> {
    let accounts = draft.existing(account)?.accounts();
    let Some(mut budget) = draft.budget(account).cloned() else {
        let instead = match accounts.first() {
            Some(above) => format!("it draws on that of `{above}`: set that one"),
            None => "an execution gets one when it is started (`segno start --budget UNIT=AMOUNT`)"
                .to_owned(),
        };
        return Err(Refusal::Unprocessable(format!(
            "`{account}` has no budget of its own; {instead}"
        )));
    };
    budget.set(limits);
    if budget.units.len() > crate::budget::COST_UNITS_MAX {
        return Err(Refusal::BadRequest(crate::budget::CostsError::Many.to_string()));
    }
    draft.delta.budgets.insert(account.clone(), Some(budget));
    Ok(Reply::Done)
}

impl DecisionDraft<'_> {
    /// Sets the tags of a new execution that name its accounts, and creates its own account if it
    /// is to have one.
    ///
    /// # Errors
    /// [`Refusal::BadRequest`]: the budget cannot be parsed, is for a promise without an execution,
    /// or is nested too deeply.
    pub(super) fn open_account(
        &mut self,
        new: &NewPromise,
        tags: &mut Tags,
        maker: PromiseCreator<'_>,
        is_executed: bool,
    ) -> Result<(), Refusal> {
        tags.remove(tags::ACCOUNTS);
        // What undoes a step of a saga is done whatever it costs.
        let above = match maker {
            PromiseCreator::Invocation(task) if new.id.compensates(&task.id).is_none() => {
                self.promise(&task.id)
            }
            _ => None,
        };
        let above = above.filter(|_| is_executed).filter(|above| above.has_budget());
        let asked = new.tags.get(tags::BUDGET);
        if above.is_none() && asked.is_none() {
            return Ok(());
        }
        let mut accounts = above.map(Promise::accounts).unwrap_or_default();
        if let Some(asked) = asked {
            let refused = |why: String| {
                Err(Refusal::BadRequest(format!("the budget of `{}` is refused: {why}", new.id)))
            };
            let limits: Costs = match asked.parse() {
                Ok(limits) => limits,
                Err(error) => return refused(format!("{error}")),
            };
            if !is_executed {
                return refused("only an execution has one, and nothing executes it".to_owned());
            }
            if accounts.len() >= ACCOUNTS_MAX {
                return refused(format!("it has {ACCOUNTS_MAX} budgets above it already"));
            }
            accounts.insert(0, new.id.clone());
            self.delta.budgets.insert(new.id.clone(), Some(Budget::new(&limits)));
        }
        let named = serde_json::to_string(&accounts).expect("ids are JSON");
        tags.insert(tags::ACCOUNTS.to_owned(), named);
        Ok(())
    }

    /// Counts an attempt that begins.
    fn count_attempt(&mut self, task: Task, accounts: &[PromiseId]) -> Result<(), SpentBudget> {
        // Without progress, no attempt has begun under the claim, and none goes on.
        if task.progress.seq == 0 {
            self.has_left(accounts)?;
            self.spend(accounts, &Costs::one(CALLS));
            let progress = ClaimProgress { seq: 1, at: self.now, ..task.progress.clone() };
            self.put_task(Task { progress, ..task });
        }
        Ok(())
    }

    /// Counts an attempt of an external worker, which begins when the worker takes the task. False
    /// if a budget has nothing left: then the call has failed.
    pub(super) fn begin_outside(&mut self, id: &PromiseId) -> Result<bool, Refusal> {
        let promise = self.existing(id)?;
        let (accounts, settled_at) = (promise.accounts(), settled_at(promise, self.now));
        if accounts.is_empty() || !self.is_outside(id) {
            return Ok(true);
        }
        let task = self.existing_task(id)?.clone();
        let Err(spent) = self.count_attempt(task, &accounts) else { return Ok(true) };
        let value = Some(spent.value());
        self.settle(id, Settlement { verdict: Verdict::Rejected, value, settled_at }, None);
        Ok(false)
    }

    /// Progress of a new claim: 1 if an attempt goes on that began before a suspension.
    pub(super) fn first_progress(&self, task: &Task) -> u64 {
        let charged = self.promise(&task.id).filter(|promise| promise.has_budget());
        let goes_on = charged
            .and_then(Promise::target)
            .is_some_and(|target| !is_internal(target) || target.starts_with(SERVICE_SCHEME));
        if goes_on { task.progress.seq.min(1) } else { 0 }
    }

    /// The task after its claim ended other than by a suspension: no attempt goes on.
    pub(super) fn without_attempt(&self, mut task: Task) -> Task {
        let is_charged = self.promise(&task.id).is_some_and(Promise::has_budget);
        if is_charged && matches!(task.state, TaskState::Acquired { .. }) {
            task.progress.seq = 0;
        }
        task
    }

    /// Charges what the outcome of a claim reports.
    pub(super) fn charge_outcome(&mut self, settled: &Promise) {
        let costs = settled.settlement().filter(|_| settled.has_budget());
        let costs = costs.map(|settlement| settlement.costs()).unwrap_or_default();
        if !costs.is_empty() {
            self.spend(&settled.accounts(), &costs);
        }
    }

    /// Checks that every account has something left of every unit.
    fn has_left(&self, accounts: &[PromiseId]) -> Result<(), SpentBudget> {
        for account in accounts {
            let spent = self.budget(account).and_then(Budget::spent_unit);
            if let Some((unit, allowance)) = spent {
                let (account, unit) = (account.clone(), unit.clone());
                return Err(SpentBudget { account, unit, allowance });
            }
        }
        Ok(())
    }

    fn spend(&mut self, accounts: &[PromiseId], costs: &Costs) {
        for account in accounts.iter().filter(|_| !costs.is_empty()) {
            if let Some(mut budget) = self.budget(account).cloned() {
                budget.spend(costs);
                self.delta.budgets.insert(account.clone(), Some(budget));
            }
        }
    }

    fn budget(&self, account: &PromiseId) -> Option<&Budget> {
        match self.delta.budgets.get(account) {
            Some(budget) => budget.as_ref(),
            None => self.view.budget(account),
        }
    }
}

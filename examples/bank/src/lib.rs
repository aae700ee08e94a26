//! Accounts as objects: the balance of an account is state, keyed by the account's number, with one
//! writer at a time. A transfer is a workflow that calls two of them.

use segno::{Context, Error, Result, State};

/// An account; its key is its number.
#[segno::object]
pub struct Account {
    balance: State<u64>,
}

#[segno::object]
impl Account {
    /// Adds money and returns the balance.
    async fn deposit(&mut self, _ctx: Context, amount: u64) -> Result<u64> {
        let balance = self.balance.get().await?.unwrap_or_default() + amount;
        self.balance.set(&balance)?;
        Ok(balance)
    }

    /// Withdraws money and returns the balance. Fails with code 409 if the balance is too low.
    async fn withdraw(&mut self, ctx: Context, amount: u64) -> Result<u64> {
        let balance = self.balance.get().await?.unwrap_or_default();
        let Some(left) = balance.checked_sub(amount) else {
            let account = ctx.key();
            let message = format!("account {account} has {balance}, and {amount} was asked for");
            return Err(Error::terminal(409, message));
        };
        self.balance.set(&left)?;
        Ok(left)
    }

    /// Returns the balance. It only reads, so it neither waits for other executions nor blocks
    /// them.
    #[shared]
    async fn balance(&self, _ctx: Context) -> Result<u64> {
        Ok(self.balance.get().await?.unwrap_or_default())
    }
}

/// A transfer of money from one account to another.
#[segno::data]
pub struct Transfer {
    /// The account that pays.
    pub from: String,
    /// The account that receives.
    pub to: String,
    /// The amount to transfer.
    pub amount: u64,
}

/// Transfers money exactly once: whatever fails in between, in the end both sides are done or
/// neither is.
#[segno::workflow]
pub async fn transfer(ctx: Context, transfer: Transfer) -> Result<()> {
    let Transfer { from, to, amount } = transfer;
    ctx.object::<Account>(&from).withdraw(&amount).await?;
    ctx.object::<Account>(&to).deposit(&amount).await?;
    Ok(())
}

segno::module!(transfer, Account);

#[cfg(test)]
mod tests {
    use segno::testing::Test;

    use super::*;

    fn transfer_of(amount: u64) -> Transfer {
        Transfer { from: "1".to_owned(), to: "2".to_owned(), amount }
    }

    #[test]
    fn money_moves_from_one_account_to_the_other() {
        let mut test = Test::new();
        test.state("Account@1", "balance", &100);
        test.run(transfer, &transfer_of(30)).unwrap();
        assert_eq!(test.state_of::<u64>("Account@1", "balance"), Some(70));
        assert_eq!(test.state_of::<u64>("Account@2", "balance"), Some(30));
        test.replay_check();
    }

    #[test]
    fn what_is_not_there_does_not_move() {
        let mut test = Test::new();
        let error = test.run(transfer, &transfer_of(30)).unwrap_err();
        assert_eq!(error.message(), "account 1 has 0, and 30 was asked for");
        assert_eq!(test.state_of::<u64>("Account@2", "balance"), None);
        let balance: u64 = test.run_object(Account, "1", "balance", &()).unwrap();
        assert_eq!(balance, 0);
    }
}

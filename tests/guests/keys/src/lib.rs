//! A use of what the contract says of keys that run once, and of promises of objects: what
//! `tests/contract/0.2.0-runs.wasm` is built from.

use segno::{Context, Error, ObjectPromise, Result, State};

/// A visit, which is confirmed by a number.
#[segno::object]
pub struct Visit {
    guest: State<String>,
    confirmed: ObjectPromise<u32>,
}

#[segno::object]
impl Visit {
    /// Waits until the visit is confirmed.
    #[run]
    pub async fn run(&mut self, _ctx: Context, guest: String) -> Result<(String, u32)> {
        self.guest.set(&guest)?;
        Ok((guest, self.confirmed.wait().await?))
    }

    /// Confirms it. Answers how the promise stood before and after.
    #[shared]
    pub async fn confirm(&self, _ctx: Context, number: u32) -> Result<(Option<u32>, Option<u32>)> {
        let before = self.confirmed.peek().await?;
        self.confirmed.resolve(&number).await?;
        Ok((before, self.confirmed.peek().await?))
    }

    /// Refuses it.
    #[shared]
    pub async fn refuse(&self, _ctx: Context) -> Result<()> {
        self.confirmed.reject(Error::terminal(403, "fully booked")).await
    }

    /// Who comes, and how it stands.
    #[shared]
    pub async fn look(&self, _ctx: Context) -> Result<(Option<String>, Option<u32>)> {
        segno::try_join(self.guest.get(), self.confirmed.peek()).await
    }
}

/// Runs a key that this module's object has, twice: the second time it is refused.
#[segno::workflow]
pub async fn visits_twice(ctx: Context, key: String) -> Result<(String, u32, u32)> {
    let visit = ctx.object::<Visit>(&key);
    let run = visit.run(&key).start();
    visit.confirm(&7).await?;
    let (guest, number) = run.await?;
    let refused = visit.run(&key).await.expect_err("the key has run");
    Ok((guest, number, refused.code()))
}

segno::module!(Visit, visits_twice);

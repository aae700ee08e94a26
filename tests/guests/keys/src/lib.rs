//! Uses the parts of the contract that concern keys that run once and promises of objects.
//! `tests/contract/0.2.0-runs.wasm` is built from it.

use segno::{Context, Error, ObjectPromise, Result, State};

/// An object for a visit that a number confirms.
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

    /// Confirms the visit. Returns the promise's value before and after.
    #[shared]
    pub async fn confirm(&self, _ctx: Context, number: u32) -> Result<(Option<u32>, Option<u32>)> {
        let before = self.confirmed.peek().await?;
        self.confirmed.resolve(&number).await?;
        Ok((before, self.confirmed.peek().await?))
    }

    /// Rejects the confirmation.
    #[shared]
    pub async fn refuse(&self, _ctx: Context) -> Result<()> {
        self.confirmed.reject(Error::terminal(403, "fully booked")).await
    }

    /// Returns the guest and the confirmation, as far as each is known.
    #[shared]
    pub async fn look(&self, _ctx: Context) -> Result<(Option<String>, Option<u32>)> {
        segno::try_join(self.guest.get(), self.confirmed.peek()).await
    }
}

/// Runs a key of this module's object twice. The second run is refused.
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

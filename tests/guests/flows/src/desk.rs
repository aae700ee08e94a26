//! A desk at which updates enter numbers.

use segno::{Context, Error, Result, Shared};

use crate::effect::{Effect, by_step};

/// Lowest number that is refused.
const REFUSED: u32 = 1_000;

/// Place of a desk's effects in the ledger.
#[segno::data]
#[derive(Clone)]
pub struct Place {
    /// Address of the ledger.
    pub ledger: String,
    /// Name of the desk in the ledger.
    pub flow: String,
}

/// Shared state of a desk: the entries so far.
pub struct Desk {
    place: Place,
    entries: Vec<u32>,
    is_closed: bool,
}

/// Accepts entries until the desk is closed. Returns them in order.
#[segno::workflow]
pub async fn desk(ctx: Context, place: Place) -> Result<Vec<u32>> {
    let desk = ctx.share(Desk { place, entries: Vec::new(), is_closed: false });
    desk.until(|desk| desk.is_closed).await?;
    ctx.updates_done().await;
    Ok(desk.read(|desk| desk.entries.clone()))
}

/// Enters a number, with an effect. Returns the number of entries before it.
#[segno::update(desk, validate = is_small)]
pub async fn enter(ctx: Context, desk: Shared<Desk>, number: u32) -> Result<u32> {
    let place = desk.read(|desk| desk.place.clone());
    by_step(&ctx, &Effect::new(&place.ledger, &place.flow, number)).await?;
    Ok(desk.write(|desk| {
        desk.entries.push(number);
        desk.entries.len() as u32 - 1
    }))
}

fn is_small(_: &Desk, number: &u32) -> Result<()> {
    match number {
        ..REFUSED => Ok(()),
        _ => Err(Error::terminal(422, "too large")),
    }
}

/// Closes the desk. The workflow ends once all entries are answered.
#[segno::update(desk)]
pub async fn close(_ctx: Context, desk: Shared<Desk>) -> Result<()> {
    desk.write(|desk| desk.is_closed = true);
    Ok(())
}

/// The entries so far.
#[segno::query(desk)]
pub fn entries(desk: &Desk) -> Result<Vec<u32>> {
    Ok(desk.entries.clone())
}

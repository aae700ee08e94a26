//! Queries and updates.

use segno::{ActivityContext, Context, Error, Result, Shared};

use crate::millis;

#[derive(Default)]
pub struct Poll {
    votes: Vec<String>,
    is_over: bool,
}

#[segno::activity(name = "is-known")]
pub async fn is_known(_ctx: ActivityContext, voter: String) -> Result<bool> {
    Ok(voter != "mallory")
}

#[segno::workflow(name = "query-update")]
pub async fn query_update(ctx: Context) -> Result<Vec<String>> {
    let poll = ctx.share(Poll::default());
    poll.until(|poll| poll.is_over).await?;
    ctx.updates_done().await;
    Ok(poll.read(|poll| poll.votes.clone()))
}

#[segno::query(query_update)]
pub fn votes(poll: &Poll) -> Result<usize> {
    Ok(poll.votes.len())
}

fn is_new(poll: &Poll, voter: &String) -> Result<()> {
    match poll.votes.contains(voter) {
        true => Err(Error::terminal(422, format!("{voter} has voted"))),
        false => Ok(()),
    }
}

#[segno::update(query_update, validate = is_new)]
pub async fn vote(ctx: Context, poll: Shared<Poll>, voter: String) -> Result<usize> {
    if !ctx.call(is_known, &voter).await? {
        return Err(Error::terminal(403, "who is that?"));
    }
    Ok(poll.write(|poll| {
        poll.votes.push(voter);
        poll.votes.len()
    }))
}

#[segno::update(query_update)]
pub async fn close(_ctx: Context, poll: Shared<Poll>) -> Result<()> {
    poll.write(|poll| poll.is_over = true);
    Ok(())
}

#[segno::workflow(name = "updates-done")]
pub async fn updates_done(ctx: Context) -> Result<u32> {
    let doors = ctx.share(0_u32);
    doors.until(|doors| *doors == 1).await?;
    ctx.updates_done().await;
    Ok(doors.read(|doors| *doors))
}

#[segno::update(updates_done)]
pub async fn open(ctx: Context, doors: Shared<u32>, door: u32) -> Result<u32> {
    doors.write(|doors| *doors += 1);
    ctx.sleep(millis(500)).await?;
    Ok(door)
}

#[segno::query(updates_done)]
pub fn more(doors: &u32, than: u32) -> Result<bool> {
    Ok(*doors > than)
}

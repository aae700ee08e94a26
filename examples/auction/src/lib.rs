//! An auction: a query asks for the leader, updates place bids, and it ends when its time is over.
//!
//! It shows how a workflow shares a value with queries and updates; how a validator refuses an
//! update without leaving a trace; how updates change the course of the workflow; and how it
//! answers all accepted updates before its end.

use std::time::Duration;

use segno::{Context, Either, Error, Result, Shared};

/// The lot for sale.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Lot {
    /// The name of the lot.
    pub name: String,
    /// The lowest bid.
    pub least: u64,
    /// Time for bids, in seconds.
    pub open_s: u64,
}

/// A bid of one bidder.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Bid {
    /// The name of the bidder.
    pub bidder: String,
    /// The amount of the bid.
    pub amount: u64,
}

/// The value that an auction shares with its queries and updates.
pub struct Auction {
    least: u64,
    bids: Vec<Bid>,
    is_closed: bool,
}

impl Auction {
    fn leader(&self) -> Option<&Bid> {
        self.bids.last()
    }

    fn next(&self) -> u64 {
        self.leader().map_or(self.least, |leader| leader.amount + 1)
    }
}

/// Takes bids until its time is over, or it is closed. The result is the highest one.
#[segno::workflow]
pub async fn auction(ctx: Context, lot: Lot) -> Result<Option<Bid>> {
    let auction = ctx.share(Auction { least: lot.least, bids: Vec::new(), is_closed: false });
    let over = ctx.sleep(Duration::from_secs(lot.open_s));
    let closed = auction.until(|auction| auction.is_closed);
    match segno::select(over, closed).await {
        Either::Left(ended) | Either::Right(ended) => ended?,
    }
    auction.write(|auction| auction.is_closed = true);
    // Accepted bids are answered before the end.
    ctx.updates_done().await;
    let winner = auction.read(|auction| auction.leader().cloned());
    Ok(winner)
}

/// The leading bidder and amount.
#[segno::query(auction)]
pub fn leader(auction: &Auction) -> Result<Option<Bid>> {
    Ok(auction.leader().cloned())
}

/// The bids of one bidder, in order.
#[segno::query(auction, name = "bids-of")]
pub fn bids_of(auction: &Auction, bidder: String) -> Result<Vec<u64>> {
    let bids = auction.bids.iter().filter(|bid| bid.bidder == bidder);
    Ok(bids.map(|bid| bid.amount).collect())
}

/// Places a bid. The answer is the lowest amount that outbids it.
#[segno::update(auction, validate = is_higher)]
pub async fn bid(_ctx: Context, auction: Shared<Auction>, bid: Bid) -> Result<u64> {
    Ok(auction.write(|auction| {
        auction.bids.push(bid);
        auction.next()
    }))
}

fn is_higher(auction: &Auction, bid: &Bid) -> Result<()> {
    let next = auction.next();
    match (auction.is_closed, bid.amount < next) {
        (true, _) => Err(Error::terminal(410, "the auction is over")),
        (false, true) => Err(Error::terminal(422, format!("the next bid is {next} or more"))),
        (false, false) => Ok(()),
    }
}

/// Ends the auction early.
#[segno::update(auction)]
pub async fn close(_ctx: Context, auction: Shared<Auction>) -> Result<()> {
    auction.write(|auction| auction.is_closed = true);
    Ok(())
}

segno::module!(auction, leader, bids_of, bid, close);

#[cfg(test)]
mod tests {
    use segno::testing::Test;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn lot() -> Lot {
        Lot { name: "a clock".to_owned(), least: 100, open_s: 3_600 }
    }

    fn of(bidder: &str, amount: u64) -> Bid {
        Bid { bidder: bidder.to_owned(), amount }
    }

    #[test]
    fn the_highest_bid_wins_when_the_time_is_over() {
        let mut test = Test::new();
        let ada = test.update(bid, &of("ada", 100)).after(MINUTE);
        let bob = test.update(bid, &of("bob", 150)).after(2 * MINUTE);
        let late = test.update(bid, &of("ada", 150)).after(3 * MINUTE);
        let leads = test.ask(leader, &()).after(4 * MINUTE);
        assert_eq!(test.run(auction, &lot()).unwrap(), Some(of("bob", 150)));
        assert_eq!((ada.answer().unwrap(), bob.answer().unwrap()), (101, 151));
        assert_eq!(late.answer().unwrap_err().message(), "the next bid is 151 or more");
        assert_eq!(leads.answer().unwrap(), Some(of("bob", 150)));
        assert_eq!(test.query(bids_of, &"ada".to_owned()).unwrap(), [100]);
        test.replay_check();
    }

    #[test]
    fn one_that_is_closed_is_over_at_once() {
        let mut test = Test::new();
        test.update(bid, &of("ada", 120)).after(MINUTE);
        let closed = test.update(close, &()).after(2 * MINUTE);
        assert_eq!(test.run(auction, &lot()).unwrap(), Some(of("ada", 120)));
        closed.answer().unwrap();
        assert_eq!(test.elapsed(), 2 * MINUTE);
    }
}

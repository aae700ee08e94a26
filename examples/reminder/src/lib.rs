//! Timers that pass without any process running.
//!
//! It shows that a sleep may last for days, since only a row in the host's store waits; that time
//! is read from the context; and that a send starts another function later, which outlives the
//! sender.

use std::time::Duration;

use segno::{ActivityContext, Context, Result, Timestamp};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A reminder for a person.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Reminder {
    /// The person to remind.
    pub who: String,
    /// The subject of the reminder.
    pub what: String,
    /// Number of days, with one message per day.
    pub days: u32,
}

/// One message.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The recipient.
    pub to: String,
    /// The text of the message.
    pub text: String,
}

/// The result of a reminder.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Reminded {
    /// The times at which messages were sent.
    pub at: Vec<Timestamp>,
    /// The id of the invocation that follows up a week later.
    pub follow_up: String,
}

/// Sends a reminder once a day, then schedules a follow-up for a week later.
#[segno::workflow]
pub async fn remind(ctx: Context, reminder: Reminder) -> Result<Reminded> {
    let mut at = Vec::new();
    for day in 1..=reminder.days {
        ctx.sleep(DAY).await?;
        let text = format!("{} ({day} of {})", reminder.what, reminder.days);
        ctx.call(notify, &Message { to: reminder.who.clone(), text }).await?;
        at.push(ctx.now());
    }
    let question = Message { to: reminder.who, text: format!("How did it go: {}?", reminder.what) };
    let follow_up = ctx.send(notify, &question).after(7 * DAY).label("kind", "follow-up").await?;
    Ok(Reminded { at, follow_up })
}

/// Sends one message. It stands for a mail or push service.
#[segno::activity(retry(initial = "1s", max = "10m"))]
pub async fn notify(ctx: ActivityContext, message: Message) -> Result<()> {
    segno::info!(ctx, "to {}: {}", message.to, message.text);
    Ok(())
}

segno::module!(remind, notify);

#[cfg(test)]
mod tests {
    use segno::testing::Test;

    use super::*;

    #[test]
    fn it_reminds_every_day_and_asks_a_week_later() {
        let mut test = Test::new();
        let start = Timestamp::from_millis(1_750_000_000_000);
        test.start_at(start);
        let reminder =
            Reminder { who: "Ada".to_owned(), what: "water the tree".to_owned(), days: 3 };
        let reminded = test.run(remind, &reminder).unwrap();

        assert_eq!(reminded.at, [start + DAY, start + 2 * DAY, start + 3 * DAY]);
        assert_eq!(reminded.follow_up, "test/6");
        let texts: Vec<String> =
            test.calls(notify).into_iter().map(|message| message.text).collect();
        assert_eq!(
            texts,
            ["water the tree (1 of 3)", "water the tree (2 of 3)", "water the tree (3 of 3)"]
        );
        let question =
            Message { to: "Ada".to_owned(), text: "How did it go: water the tree?".to_owned() };
        assert_eq!(test.sent(notify), [(question, Some(start + 10 * DAY))]);
        assert_eq!(test.elapsed(), 3 * DAY);
        test.replay_check();
    }
}

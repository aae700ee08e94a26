//! Reports: many customers ask for them, and none holds up the others.
//!
//! It teaches: how many executions of a function may run, of one customer and in all; that urgent ones
//! go first; a rate, for a service that takes no more; and that whatever has no room waits for it,
//! without a line of code.
//!
//! ```text
//! $ segno deploy examples/reports
//! $ for n in 1 2 3 4; do
//! >   segno start reports/report '{"customer":"ada","days":30,"urgency":0}' --id "ada-$n"
//! > done
//! $ segno limit show reports/report    # two of ada's run, and two wait
//! $ segno start reports/report '{"customer":"bob","days":30,"urgency":9}'    # begins at once
//! ```

use std::time::Duration;

use segno::{ActivityContext, Context, Error, Result};

/// What a customer asks for.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Who asks, and is sent the report.
    pub customer: String,
    /// How many days the report is about. The warehouse takes a second for each.
    pub days: u64,
    /// From 0 to 9: the highest goes first.
    #[serde(default)]
    pub urgency: u8,
}

/// A mail.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    /// To whom.
    pub customer: String,
    /// What it says.
    pub text: String,
}

/// Has a report made, and mails it.
///
/// The warehouse bears five at a time. A report is one of them from its first record to its end, also
/// while it sleeps.
#[segno::workflow(limit(
    key = "customer",
    concurrency = 2,
    total_concurrency = 5,
    priority = "urgency",
    priority_order = "strict",
))]
pub async fn report(ctx: Context, wanted: Wanted) -> Result<String> {
    let takes_s = ctx.call(ask_warehouse, &wanted).await?;
    ctx.sleep(Duration::from_secs(takes_s)).await?;
    let text = ctx.call(fetch, &wanted).await?;
    ctx.call(send_mail, &Mail { customer: wanted.customer, text: text.clone() }).await?;
    Ok(text)
}

/// Has the warehouse begin. The answer is how many seconds it takes.
#[segno::activity]
pub async fn ask_warehouse(_ctx: ActivityContext, wanted: Wanted) -> Result<u64> {
    match wanted.days {
        0 => Err(Error::terminal(422, "a report is about one day or more")),
        days => Ok(days),
    }
}

/// Fetches what the warehouse has made.
#[segno::activity]
pub async fn fetch(_ctx: ActivityContext, wanted: Wanted) -> Result<String> {
    Ok(format!("{} days of {}", wanted.days, wanted.customer))
}

/// Sends a mail. The mail service takes two at once, and ten in a second.
#[segno::activity(limit(rate = "10/s", burst = 2))]
pub async fn send_mail(ctx: ActivityContext, mail: Mail) -> Result<()> {
    segno::info!(ctx, "mail to {}: {}", mail.customer, mail.text);
    Ok(())
}

segno::module!(report, ask_warehouse, fetch, send_mail);

#[cfg(test)]
mod tests {
    use segno::testing::Test;

    use super::*;

    fn wanted(days: u64) -> Wanted {
        Wanted { customer: "ada".to_owned(), days, urgency: 0 }
    }

    // A test runs one execution, which is alone: limits have no effect here.

    #[test]
    fn a_report_is_mailed_when_the_warehouse_has_made_it() {
        let mut test = Test::new();
        assert_eq!(test.run(report, &wanted(30)).unwrap(), "30 days of ada");
        assert_eq!(test.elapsed(), Duration::from_secs(30));
        let mail = Mail { customer: "ada".to_owned(), text: "30 days of ada".to_owned() };
        assert_eq!(test.calls(send_mail), [mail]);
        test.replay_check();
    }

    #[test]
    fn a_report_about_nothing_is_refused_and_not_mailed() {
        let mut test = Test::new();
        assert_eq!(test.run(report, &wanted(0)).unwrap_err().code(), 422);
        assert!(test.calls(send_mail).is_empty());
    }
}

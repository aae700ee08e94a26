//! Reports for many customers, none of which blocks the others.
//!
//! It shows limits on the executions of a function, per customer and in total; priorities; a rate
//! limit for a slow service; and queueing, without a line of code. It also shows an activity that
//! continues where its last attempt stopped.
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

use segno::{ActivityContext, Context, Error, Result, http::Request};

/// A request for a report.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The customer who requests and receives the report.
    pub customer: String,
    /// Number of days that the report covers. The warehouse takes a second for each.
    pub days: u64,
    /// Priority from 0 to 9: the highest goes first.
    #[serde(default)]
    pub urgency: u8,
    /// The address of the warehouse, such as `https://warehouse.example.com`. Without one, the
    /// example generates the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warehouse: Option<String>,
}

/// A mail to a customer.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Mail {
    /// The recipient.
    pub customer: String,
    /// The text of the mail.
    pub text: String,
}

/// Produces a report and mails it.
///
/// The warehouse handles five reports at a time. A report counts from its first record to its end,
/// even while it sleeps.
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

/// Starts the report in the warehouse. Returns the number of seconds that it takes.
#[segno::activity]
pub async fn ask_warehouse(_ctx: ActivityContext, wanted: Wanted) -> Result<u64> {
    match wanted.days {
        0 => Err(Error::terminal(422, "a report is about one day or more")),
        days => Ok(days),
    }
}

/// Fetches the report from the warehouse, day by day. A failed attempt has reported its progress,
/// and the next one continues from there.
#[segno::activity(retry(initial = "1s", max_attempts = 10))]
pub async fn fetch(ctx: ActivityContext, wanted: Wanted) -> Result<String> {
    let mut lines: Vec<String> = ctx.last_progress()?.unwrap_or_default();
    if let Some(warehouse) = &wanted.warehouse {
        for day in lines.len() as u64..wanted.days {
            let request = Request::get(format!("{warehouse}/{}/{day}", wanted.customer));
            lines.push(ctx.http(request).await?.ok()?.text());
            if ctx.heartbeat(&lines)? {
                return Err(Error::cancelled());
            }
        }
    }
    let about = format!("{} days of {}", wanted.days, wanted.customer);
    lines.insert(0, about);
    Ok(lines.join("\n"))
}

/// Sends a mail. The mail service accepts bursts of two, and ten per second.
#[segno::activity(limit(rate = "10/s", burst = 2))]
pub async fn send_mail(ctx: ActivityContext, mail: Mail) -> Result<()> {
    segno::info!(ctx, "mail to {}: {}", mail.customer, mail.text);
    Ok(())
}

segno::module!(report, ask_warehouse, fetch, send_mail);

#[cfg(test)]
mod tests {
    use segno::{http::Response, testing::Test};

    use super::*;

    fn wanted(days: u64) -> Wanted {
        Wanted { customer: "ada".to_owned(), days, urgency: 0, warehouse: None }
    }

    #[test]
    fn a_day_that_was_fetched_is_not_fetched_again_when_the_next_one_fails() {
        let mut test = Test::new();
        let mut fails = true;
        test.on_http("GET", "https://w/ada/", move |request| {
            let fails = request.url().ends_with("/1") && std::mem::take(&mut fails);
            Ok(Response::new(if fails { 503 } else { 200 }, request.url()))
        });
        let warehouse = Some("https://w".to_owned());
        let report = test.run(report, &Wanted { warehouse, ..wanted(3) }).unwrap();
        let days = ["https://w/ada/0", "https://w/ada/1", "https://w/ada/2"];
        assert_eq!(report, format!("3 days of ada\n{}", days.join("\n")));
        let asked: Vec<_> = test.requests().iter().map(|seen| seen.url().to_owned()).collect();
        assert_eq!(asked, [days[0], days[1], days[1], days[2]]);
        test.replay_check();
    }

    // A test runs a single execution, so limits have no effect here.

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

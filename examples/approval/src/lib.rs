//! An approval workflow with a person in the loop.
//!
//! It shows how to wait for the first of a decision (a promise), a comment (a signal) and a
//! reminder (a sleep). A loser of a `select` that is no longer needed is simply dropped; the
//! decision is kept by passing it as `&mut`.

use std::time::Duration;

use segno::{ActivityContext, Context, Either, Error, Result};

/// A document to be approved.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Document {
    /// The title of the document.
    pub title: String,
    /// The person who decides.
    pub approver: String,
    /// Time without news after which the approver is reminded, in seconds. Default: one day.
    #[serde(default = "a_day")]
    pub remind_after_s: u64,
    /// Number of reminders before giving up. Default: 3.
    #[serde(default = "three")]
    pub reminders: u32,
}

fn a_day() -> u64 {
    24 * 60 * 60
}

fn three() -> u32 {
    3
}

/// The approver's decision: the value of the promise `{invocation}/p/decision`.
#[segno::data]
#[derive(Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The document may be published.
    Approve,
    /// The document may not be published.
    Refuse,
}

/// The result of an approval.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The final decision.
    pub decision: Decision,
    /// Comments received meanwhile, each sent as a signal `comment` with a text.
    pub comments: Vec<String>,
    /// Number of reminders sent to the approver.
    pub reminders: u32,
}

/// Waits for a decision, collects comments, and reminds.
#[segno::workflow(promises(decision: Decision), signals(comment: String), expose = "mcp")]
pub async fn approval(ctx: Context, document: Document) -> Result<Verdict> {
    let mut decision = ctx.named_promise::<Decision>("decision").start();
    let mut signals = ctx.signals().named("comment");
    let mut comments = Vec::new();
    let mut reminders = 0;
    loop {
        let patience = ctx.sleep(Duration::from_secs(document.remind_after_s));
        match segno::select(&mut decision, segno::select(signals.receive(), patience)).await {
            Either::Left(decision) => {
                return Ok(Verdict { decision: decision?, comments, reminders });
            }
            Either::Right(Either::Left(comment)) => comments.push(comment?.json()?),
            Either::Right(Either::Right(slept)) => {
                slept?;
                if reminders == document.reminders {
                    return Err(Error::timed_out(format!(
                        "the decision on \"{}\"",
                        document.title
                    )));
                }
                reminders += 1;
                ctx.call(remind, &(document.approver.clone(), document.title.clone())).await?;
            }
        }
    }
}

/// Reminds the approver (first element) that the document with this title (second element) is
/// waiting. It stands for a mail service.
#[segno::activity]
pub async fn remind(ctx: ActivityContext, (approver, title): (String, String)) -> Result<()> {
    segno::info!(ctx, "{approver}, \"{title}\" is waiting for you");
    Ok(())
}

segno::module!(approval, remind);

#[cfg(test)]
mod tests {
    use segno::testing::Test;

    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn document() -> Document {
        let title = "Annual report".to_owned();
        Document { title, approver: "Ada".to_owned(), remind_after_s: a_day(), reminders: three() }
    }

    #[test]
    fn a_decision_ends_the_wait_and_comments_are_kept() {
        let mut test = Test::new();
        test.signal("comment", "page 3 is empty").after(HOUR);
        test.signal("comment", "fixed").after(30 * HOUR);
        test.promise("decision").after(60 * HOUR).resolve(&Decision::Approve);
        let verdict = test.run(approval, &document()).unwrap();

        let comments = vec!["page 3 is empty".to_owned(), "fixed".to_owned()];
        // Each reminder follows a day of silence: 25 hours after the start, and a day after the
        // comment at 30 hours.
        assert_eq!(verdict, Verdict { decision: Decision::Approve, comments, reminders: 2 });
        assert_eq!(test.calls(remind).len(), 2);
        assert_eq!(test.elapsed(), 60 * HOUR);
        test.replay_check();
    }

    #[test]
    fn silence_ends_after_the_last_reminder() {
        let mut test = Test::new();
        let error = test.run(approval, &document()).unwrap_err();
        assert!(error.is_timed_out(), "{error}");
        assert_eq!(test.calls(remind).len(), 3);
        assert_eq!(test.elapsed(), 4 * 24 * HOUR);
        test.replay_check();
    }
}

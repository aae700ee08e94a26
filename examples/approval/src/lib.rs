//! A person in the loop.
//!
//! It teaches: waiting for whichever comes first of a decision (a promise), a comment (a signal) and the time for a reminder (a
//! sleep). What loses a `select` and is not needed any more is simply dropped; the decision is kept by passing it as
//! `&mut`.

use std::time::Duration;

use segno::{ActivityContext, Context, Either, Error, Result};

/// What has to be decided.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Who decides.
    pub approver: String,
    /// After how many seconds without news the approver is reminded; a day if it does not say.
    #[serde(default = "a_day")]
    pub remind_after_s: u64,
    /// How many reminders before it is given up; three if it does not say.
    #[serde(default = "three")]
    pub reminders: u32,
}

fn a_day() -> u64 {
    24 * 60 * 60
}

fn three() -> u32 {
    3
}

/// The approver's word: the value of the promise `{invocation}/p/decision`.
#[segno::data]
#[derive(Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may be published.
    Approve,
    /// It may not.
    Refuse,
}

/// How it ended.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What was decided.
    pub decision: Decision,
    /// What was said meanwhile, each a signal `comment` with a text.
    pub comments: Vec<String>,
    /// How often the approver had to be reminded.
    pub reminders: u32,
}

/// Waits for a decision, collects comments, and reminds.
#[segno::workflow(signals)]
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

/// Tells the approver, who comes first, that a title, which comes second, is waiting. It stands for a mail service.
#[segno::activity]
pub async fn remind(ctx: ActivityContext, (approver, title): (String, String)) -> Result<()> {
    segno::info!(ctx, "{approver}, \"{title}\" is waiting for you");
    Ok(())
}

segno::module!(approval, remind);

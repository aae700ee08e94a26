//! Checks of a host after all flows have ended: no task is claimed or waiting, and no request is
//! unanswered.

use segno_api::model::{CancelProgress, InvocationOutcome, LimitListQuery, TaskQuery, TaskState};

use super::outside::{Hopeless, Outside};

/// Waits until no task is left. A remaining task is a finding.
///
/// # Errors
/// [`Hopeless`]; the reason is among the findings.
pub async fn nothing_is_left(outside: &Outside) -> Result<(), Hopeless> {
    for state in TaskState::LISTED {
        let what = format!("the end of what is {}", state.as_str());
        let query = TaskQuery { state: Some(state.as_str().to_owned()), ..TaskQuery::default() };
        loop {
            let page = outside.ask(&what, &[], async |host| host.tasks(&query).await).await?;
            if let Some(row) = page.unreadable.first() {
                outside.findings.add(format!("a row cannot be read: {row:?}"));
                break;
            }
            let Some(task) = page.items.first() else { break };
            outside.pause(&what, &format!("{task:?}")).await?;
        }
    }
    let what = "the end of what is behind a limit";
    loop {
        let query = LimitListQuery::default();
        let page = outside.ask(what, &[], async |host| host.limits(&query).await).await?;
        let taken = page.items.iter().find(|limit| limit.running + limit.waiting > 0);
        let Some(taken) = taken else { return Ok(()) };
        outside.pause(what, &format!("{taken:?}")).await?;
    }
}

/// Checks that each cancellation of an ended execution was delivered or missed.
///
/// # Errors
/// [`Hopeless`]; the reason is among the findings.
pub async fn nothing_is_requested(
    outside: &Outside,
    ended: &[InvocationOutcome],
) -> Result<(), Hopeless> {
    for end in ended {
        let what = format!("looking at `{}`", end.id);
        let seen = outside.ask(&what, &[], async |host| host.invocation(&end.id).await).await?;
        if seen.cancel == CancelProgress::Requested {
            outside
                .findings
                .add(format!("`{}` has ended, and its cancellation is requested", end.id));
        }
    }
    Ok(())
}

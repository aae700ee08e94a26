//! `segno why`.

use clap::Args;
use segno_api::model::{self, WaitKind, WhyLink, WhyMessage, WhyReason};
use segno_client::Client;
use segno_core::address::is_internal;

use super::{
    CliError, Console, Exit, behind, bundled,
    console::{BOLD, CYAN, DIM, YELLOW},
    show::{self, plain, plain_lines, short_target, state_name, state_style},
    time::{length, now_ms, relative},
};

/// Explain why an execution does not continue, and how to continue it
///
/// Follows its waits through all executions to the one that needs action: the first line is the
/// answer, followed by the path to it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno why order-1001
  segno why order-1001 --json | jq -r '.chain[-1].commands[]'")]
pub(super) struct WhyArgs {
    /// Id of the invocation
    id: String,
}

impl WhyArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        if bundled::named(&self.id).is_some() {
            return Err(CliError::Usage(
                "a bundle does not say what waits for what; `segno replay FILE --at N` shows what was open after N records"
                    .to_owned(),
            ));
        }
        let why = client.why(&self.id).await?;
        if console.json() {
            console.document(&why)?;
            return Ok(Exit::Done);
        }
        let Some(last) = why.chain.last() else { return Ok(Exit::Done) };
        let now = now_ms();
        let id = console.paint(CYAN, &plain(&last.id));
        let cause = cause(last, &why, now);
        console.paragraph("", &format!("{id}  {}", console.paint(BOLD, &cause)), 2)?;
        let said = last.reason != WhyReason::Ended && lost(last).is_none();
        if let Some(note) = last.note.as_ref().filter(|_| said) {
            show::note(note, console)?;
        }
        let frames = last.place.as_ref().and_then(|place| place["frames"].as_array());
        // The frames of an interpreter are no lines of the author.
        if frames.is_some_and(|frames| !frames.is_empty()) {
            let head = console.paint(DIM, "in its code:");
            console.line(format!("  {head}"))?;
            show::frames(last.place.as_ref(), console)?;
        }
        for command in &last.commands {
            let lead = console.paint(YELLOW, "→");
            console.line(format!("  {lead} {}", plain(command)))?;
        }
        if why.chain.len() > 1 {
            console.line("")?;
            let head = console.paint(BOLD, "what waits for what");
            console.line(head)?;
            for link in &why.chain {
                step(link, &why, now, console)?;
            }
        }
        if why.more {
            let more =
                console.paint(DIM, "the chain continues: ask for the last one with `segno why`");
            console.line(format!("  {more}"))?;
        }
        Ok(Exit::Done)
    }
}

fn step(link: &WhyLink, why: &model::Why, now: i64, console: &mut Console) -> Result<(), CliError> {
    let id = console.paint(CYAN, &plain(&link.id));
    let state = console.paint(state_style(link.state), state_name(link.state, false));
    let target = plain(short_target(&link.target));
    let since =
        console.paint(DIM, &format!("since {}", length(now.saturating_sub(link.created_at_ms))));
    let text =
        format!("{id}  {target}  {state}, {since}: {}", plain_lines(&cause(link, why, now), 0));
    console.paragraph("  ", &text, 4)
}

/// The text on claims lost in a row, for an execution that waits for its next worker.
fn lost(link: &WhyLink) -> Option<&str> {
    let waits = matches!(link.reason, WhyReason::BackingOff | WhyReason::Offered);
    let note = link.note.as_ref().filter(|note| waits && note.kind == "lost")?;
    Some(&note.message)
}

/// A sentence with the reason that this execution does not continue.
fn cause(link: &WhyLink, why: &model::Why, now: i64) -> String {
    let until = link.until_at_ms.map(|at| relative(at, now));
    let on = link.on.as_deref().map(plain).unwrap_or_default();
    let others = alternatives(link, now);
    let at_latest = match (&until, link.reason) {
        (Some(until), WhyReason::Call | WhyReason::Promise | WhyReason::SagaStep) => {
            format!(", {until} at the latest")
        }
        _ => String::new(),
    };
    let at = until.unwrap_or_default();
    let failed = match (lost(link), link.attempt) {
        (Some(claims), _) => format!("{}; ", plain_lines(claims, 0)),
        (None, 0) => String::new(),
        (None, 1) => "1 attempt failed; ".to_owned(),
        (None, attempts) => format!("{attempts} attempts failed; "),
    };
    let text = match link.reason {
        WhyReason::Ended => {
            format!("has ended ({}): it waits for nothing", state_name(link.state, false))
        }
        WhyReason::Halted => halted(link),
        WhyReason::ModuleMissing => match on.as_str() {
            "" => "cannot run: the module with which it began is not stored".to_owned(),
            on => format!("cannot run: its module {on} is not stored"),
        },
        WhyReason::Deadlocked => format!(
            "waits for itself: {} → {}; end one of them",
            why.cycle.join(" → "),
            why.cycle.first().map(String::as_str).unwrap_or_default()
        ),
        WhyReason::Limit => link
            .limit
            .as_ref()
            .and_then(|limit| behind::why(limit, now))
            .unwrap_or_else(|| "waits behind a limit".to_owned()),
        WhyReason::Turn => format!("waits for its turn with an object, behind {on}"),
        WhyReason::BackingOff => format!("{failed}the next comes {at}"),
        WhyReason::Delayed => format!("waits for its start {at}"),
        WhyReason::Offered if is_internal(&link.target) => {
            format!("{failed}waits for a host to take it")
        }
        WhyReason::Offered => {
            format!("{failed}waits for a worker of {} to take it", plain(&link.target))
        }
        WhyReason::Running => match &link.lease {
            Some(lease) => {
                format!("runs on {}, whose claim ends {at} unless it is extended", lease.node)
            }
            None => "runs".to_owned(),
        },
        WhyReason::Call => format!("waits for the call {on}"),
        WhyReason::SagaStep => {
            "a step of a saga is unclear: check whether it acted, and settle it".to_owned()
        }
        WhyReason::Promise => format!("waits for the promise {on}, which a client settles"),
        WhyReason::Signal => match takes(link).as_str() {
            "" => "waits for a signal".to_owned(),
            takes => format!("waits for {takes}"),
        },
        WhyReason::Timer => format!("sleeps: continues {at}"),
        WhyReason::Nothing => "is suspended and waits for nothing that is known".to_owned(),
    };
    format!("{text}{at_latest}{others}{}", kept(link))
}

/// The promises settled under names that a waiting execution has not used.
fn kept(link: &WhyLink) -> String {
    let names: Vec<String> = link.kept.iter().map(|name| format!("`{}`", plain(name))).collect();
    match link.reason {
        WhyReason::Promise | WhyReason::Signal if !names.is_empty() => {
            format!("; what was settled is kept for {}, which it has not made", names.join(", "))
        }
        _ => String::new(),
    }
}

/// The signals and promises that an execution accepts, as its module declares them: ``the signal
/// `approve` (boolean)``.
fn takes(link: &WhyLink) -> String {
    let named = link.takes.iter().map(|WhyMessage { kind, name, value }| {
        let value = value.as_ref().map(|value| format!(" ({})", plain(value)));
        format!("the {kind} `{}`{}", plain(name), value.unwrap_or_default())
    });
    named.collect::<Vec<_>>().join(" or ")
}

/// Other ways to continue an execution.
fn alternatives(link: &WhyLink, now: i64) -> String {
    let named = link.alternatives.iter().map(|other| {
        let id = plain(&other.id);
        match (other.kind, other.until_at_ms) {
            (WaitKind::Timer, Some(at)) => format!("the end of a sleep {}", relative(at, now)),
            (WaitKind::Timer, None) => "the end of a sleep".to_owned(),
            (WaitKind::Signal, _) => "a signal".to_owned(),
            (WaitKind::Call, _) => format!("the call {id}"),
            (WaitKind::Promise, _) => format!("the promise {id}"),
            (WaitKind::Turn, _) => format!("its turn behind {id}"),
        }
    });
    let mut named: Vec<String> = named.collect();
    let more = (link.others as usize).saturating_sub(named.len());
    match more {
        0 => {}
        1 => named.push("one more promise".to_owned()),
        more => named.push(format!("{more} more promises")),
    }
    match named.is_empty() {
        true => String::new(),
        false => format!(", or for {}", named.join(", or ")),
    }
}

/// The reason that a person is needed, from the kind of the note.
fn halted(link: &WhyLink) -> String {
    let why = match link.note.as_ref().map(|note| note.kind.as_str()) {
        Some("divergence") => ": its code asks for something else than its journal says",
        Some("trap") => ": it trapped again and again",
        Some("failure") => ": it failed as often as it may",
        Some("waits-for-nothing") => ": it neither ended nor waits for anything",
        Some("damaged") => ": what is stored of it contradicts itself",
        _ => "",
    };
    format!("is halted, and waits for a person{why}")
}

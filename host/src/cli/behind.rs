//! Formats the limit that an execution waits for.

use segno_api::model::{BehindLimit, InvocationState, LimitHolder, LimitWait};

use super::{show::plain, time::relative};

/// Formats a limit as `shop/order, key acme, priority 2`.
pub(super) fn name(behind: &BehindLimit) -> String {
    let key = behind.key.as_ref().map(|key| format!(", key {}", plain(key)));
    let priority = behind.priority.map(|priority| format!(", priority {priority}"));
    let (key, priority) = (key.unwrap_or_default(), priority.unwrap_or_default());
    format!("{}{key}{priority}", plain(&behind.limit))
}

/// The reason that an execution waits for its limit. `None` if it does not wait.
pub(super) fn why(behind: &BehindLimit, now: i64) -> Option<String> {
    let waits = behind.waits.as_ref()?;
    let facts = facts(waits, behind.priority.is_some(), now).join(", ");
    let limit = plain(&behind.limit);
    let name = name(behind);
    Some(format!(
        "waits behind the limit of {name}: {facts}; `segno limit show {limit} --keys` shows the others"
    ))
}

fn facts(waits: &LimitWait, has_priority: bool, now: i64) -> Vec<String> {
    let LimitWait { running, total_running, .. } = waits;
    let mut facts = Vec::new();
    if let Some(at) = waits.debounced_until_ms {
        facts.push(format!("debounced, it begins {} if no other comes", relative(at, now)));
    }
    if let Some(most) = waits.concurrency {
        facts.push(format!("{running} of {most} run"));
    }
    if let Some(most) = waits.total_concurrency {
        facts.push(format!("{total_running} of {most} in all"));
    }
    if let Some(at) = waits.next_token_at_ms {
        facts.push(format!("the next token comes {}", relative(at, now)));
    }
    if let Some(at) = waits.total_next_token_at_ms {
        facts.push(format!("the next token in all {}", relative(at, now)));
    }
    let before = match (waits.before, waits.before_more) {
        (0, _) => "none".to_owned(),
        (_, true) => "more than 1,000".to_owned(),
        (before, false) => before.to_string(),
    };
    facts.push(match has_priority {
        true => format!("{before} of its priority before it"),
        false => format!("{before} before it"),
    });
    if !waits.holders.is_empty() {
        let more = if *running.max(total_running) > 3 { ", …" } else { "" };
        facts.push(format!("held by {}{more}", holders(&waits.holders)));
    }
    facts
}

/// The first few of the admitted executions.
pub(super) fn holders(holders: &[LimitHolder]) -> String {
    let named = holders.iter().take(3).map(|LimitHolder { id, state }| match state {
        InvocationState::Halted => format!("{} (halted)", plain(id)),
        _ => plain(id),
    });
    named.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(key: &str, waits: LimitWait) -> String {
        let key = Some(key.to_owned()).filter(|key| !key.is_empty());
        let limit = "shop/ship".to_owned();
        let behind = BehindLimit { limit, key, priority: None, waits: Some(waits) };
        why(&behind, 0).expect("it waits")
    }

    #[test]
    fn a_wait_says_what_is_missing() {
        let full = LimitWait { running: 5, concurrency: Some(5), before: 3, ..Default::default() };
        assert_eq!(
            said("acme", full),
            "waits behind the limit of shop/ship, key acme: 5 of 5 run, 3 before it; `segno limit show shop/ship --keys` shows the others"
        );
        let slow = LimitWait {
            before: 1_000,
            before_more: true,
            next_token_at_ms: Some(2_500),
            total_running: 9,
            total_concurrency: Some(9),
            ..Default::default()
        };
        assert_eq!(
            said("", slow),
            "waits behind the limit of shop/ship: 9 of 9 in all, the next token comes in 2.5 s, more than 1,000 before it; `segno limit show shop/ship --keys` shows the others"
        );
        let holder = |id: &str, state| LimitHolder { id: id.to_owned(), state };
        let holders =
            vec![holder("o-3", InvocationState::Halted), holder("o-1", InvocationState::Acquired)];
        let full = LimitWait { running: 2, concurrency: Some(2), holders, ..Default::default() };
        let full = said("acme", full);
        assert!(full.contains("2 of 2 run, none before it, held by o-3 (halted), o-1;"), "{full}");
        let held = LimitWait { debounced_until_ms: Some(4_000), ..Default::default() };
        let held = said("a", held);
        assert!(held.contains("debounced, it begins in 4.0 s if no other comes"), "{held}");
    }
}

//! Cursors of live reads. A cache that answers with one and the same response for ever would stop a
//! reader; each answer has a later cursor, which is a part of the next address.

use segno_core::time::Timestamp;

/// 2024-10-09T00:00:00Z, the instant of cursor 0.
const EPOCH: Timestamp = Timestamp(1_728_432_000_000);
/// Length of a cursor's interval, in milliseconds.
const INTERVAL_MS: i64 = 20_000;
/// Largest step beyond the cursor of a client: an hour.
const STEP_MAX: u64 = 180;

/// The cursor of an answer: that of the present interval, or a random later one if the client has
/// it already.
pub(super) fn cursor(now: Timestamp, given: Option<&str>, random: u64) -> String {
    let present = (now.since(EPOCH).0 / INTERVAL_MS).unsigned_abs();
    let given = given.and_then(|given| given.parse::<u64>().ok());
    match given.filter(|given| *given >= present) {
        Some(given) => given.saturating_add(1 + random % STEP_MAX).to_string(),
        None => present.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_never_goes_back() {
        let now = Timestamp(EPOCH.0 + 1_000 * INTERVAL_MS + 5);
        assert_eq!(cursor(now, None, 7), "1000");
        assert_eq!(cursor(now, Some("999"), 7), "1000");
        assert_eq!(cursor(now, Some("1000"), 7), "1008");
        assert_eq!(cursor(now, Some("5000"), 180), "5001");
        assert_eq!(cursor(now, Some("not a number"), 7), "1000");
    }
}

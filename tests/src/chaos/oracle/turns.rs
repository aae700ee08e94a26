//! Checks of the exclusive functions of one object.

use super::Verdict;

/// A turn at a counter. Instants are receipts of the ledger, which increase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Sender of the request.
    pub sender: u64,
    /// Index of the request among those of its sender, in the order in which they were accepted.
    pub number: u64,
    /// Instant of the first effect.
    pub began: u64,
    /// Instant of the last effect.
    pub ended: u64,
    /// Counter before the turn.
    pub before: u64,
    /// Counter after the turn.
    pub after: u64,
}

/// Checks that no two turns overlap, that each starts from the value the previous one left, that
/// each sender's turns run in the order in which they were accepted, and that the counter includes
/// all of them.
///
/// # Errors
/// A description of the violation.
pub fn turns(turns: &[Turn], total: u64) -> Verdict {
    let mut turns = turns.to_vec();
    turns.sort_by_key(|turn| turn.began);
    if let Some(turn) = turns.iter().find(|turn| turn.ended <= turn.began) {
        return Err(format!("{turn:?} ended before it began"));
    }
    for pair in turns.windows(2) {
        let [one, next] = pair else { continue };
        if next.began < one.ended {
            return Err(format!("{next:?} began before {one:?} had ended"));
        }
        if next.before != one.after {
            return Err(format!("{next:?} does not begin with what {one:?} left"));
        }
    }
    for (place, turn) in turns.iter().enumerate() {
        let later = turns[place..]
            .iter()
            .find(|later| later.sender == turn.sender && later.number < turn.number);
        if let Some(later) = later {
            return Err(format!("{turn:?} overtook {later:?}"));
        }
    }
    let first = turns.first().map_or(0, |turn| turn.before);
    let last = turns.last().map_or(0, |turn| turn.after);
    if (first, last, total) != (0, turns.len() as u64, turns.len() as u64) {
        return Err(format!(
            "{} turns began at {first}, ended at {last}, and left {total}",
            turns.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_overlap_are_lost_doubled_or_overtake_are_noticed() {
        let turn = |sender, number, began, before| Turn {
            sender,
            number,
            began,
            ended: began + 1,
            before,
            after: before + 1,
        };
        let fine = [turn(0, 0, 10, 0), turn(1, 0, 12, 1), turn(0, 1, 15, 2)];
        assert_eq!(turns(&fine, 3), Ok(()));
        assert_eq!(turns(&[], 0), Ok(()));
        let long = Turn { ended: 13, ..fine[0] };
        let backwards = Turn { ended: 9, ..fine[0] };
        for (turns_seen, total, said) in [
            (vec![long, fine[1], fine[2]], 3, "had ended"),
            (vec![backwards, fine[1], fine[2]], 3, "ended before it began"),
            (vec![fine[0], turn(1, 0, 12, 0), turn(0, 1, 15, 1)], 2, "what"),
            (vec![turn(0, 1, 10, 0), turn(0, 0, 12, 1)], 2, "overtook"),
            (fine.to_vec(), 4, "left 4"),
            (fine[..2].to_vec(), 3, "left 3"),
        ] {
            let wrong = turns(&turns_seen, total).expect_err(said);
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}

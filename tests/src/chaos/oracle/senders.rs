//! Checks of messages from two senders: even numbers from one, odd numbers from the other, each in
//! order.

use std::collections::BTreeMap;

use super::Verdict;

/// Checks that all numbers below `count` arrived once, and those of each sender in order.
///
/// # Errors
/// A description of the violation.
pub fn in_order(came: &[u64], count: u64) -> Verdict {
    let of = |rest| came.iter().copied().filter(|number| number % 2 == rest).collect::<Vec<_>>();
    let sent = |first: u64| (first..count).step_by(2).collect::<Vec<_>>();
    match of(0) == sent(0) && of(1) == sent(1) {
        true => Ok(()),
        false => Err(format!("{count} were sent and came as {came:?}")),
    }
}

/// Checks the same as [`in_order`], and that each number was answered with its place.
///
/// # Errors
/// A description of the violation.
pub fn entries(came: &[u64], answers: &BTreeMap<u64, u64>) -> Verdict {
    in_order(came, answers.len() as u64)?;
    for (number, place) in answers {
        if came.get(*place as usize) != Some(number) {
            return Err(format!("{number} was answered with place {place} of {came:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_doubled_overtaken_or_answered_wrongly_is_noticed() {
        let fine = BTreeMap::from([(0, 1), (1, 0), (2, 2)]);
        assert_eq!(entries(&[1, 0, 2], &fine), Ok(()));
        assert_eq!(in_order(&[], 0), Ok(()));
        for (came, said) in [
            (vec![1, 0], "3 were sent"),
            (vec![1, 0, 2, 2], "3 were sent"),
            (vec![2, 1, 0], "3 were sent"),
            (vec![1, 0, 2, 3], "3 were sent"),
            (vec![0, 1, 2], "answered with place"),
        ] {
            let wrong = entries(&came, &fine).expect_err(said);
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}

//! Checks of sagas: either all steps stay, or every step that acted is undone, in reverse order.

use std::collections::BTreeMap;

use super::Verdict;
use crate::chaos::ledger::Seen;

/// Number of the effect that undoes effect 0. The undo of effect `n` is `UNDO + n`.
const UNDO: u32 = 100;

/// Outcome of a saga.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// All steps stay.
    Kept,
    /// All steps act, and are undone.
    Aborted,
    /// This step is declined, and the steps that acted before it are undone.
    Declined(u32),
    /// The saga is cancelled at some time. Steps that acted by then are undone, and so are steps
    /// whose outcome is unknown.
    Cancelled,
}

/// Compares the effects of a saga of `steps` steps with its fate.
///
/// # Errors
/// A description of the violation.
pub fn saga(effects: &BTreeMap<u32, Seen>, steps: u32, fate: Fate) -> Verdict {
    let happened = |step: u32| effects.get(&step).and_then(|seen| seen.receipt);
    let acted: Vec<u32> = (0..steps).filter(|step| happened(*step).is_some()).collect();
    let undone: Vec<u32> = (0..steps).filter(|step| happened(UNDO + step).is_some()).collect();
    let must_act = match fate {
        Fate::Kept | Fate::Aborted => (0..steps).collect(),
        Fate::Declined(declined) => (0..declined).collect(),
        Fate::Cancelled => acted.clone(),
    };
    if acted != must_act {
        return Err(format!("steps {acted:?} acted, and {must_act:?} had to"));
    }
    let is_undone = match fate {
        Fate::Kept => undone.is_empty(),
        Fate::Aborted | Fate::Declined(_) => undone == acted,
        // A step that had begun when the saga was cancelled is undone, even if it did not act.
        Fate::Cancelled => {
            acted.iter().all(|step| undone.contains(step))
                && undone.iter().copied().eq(0..undone.len() as u32)
        }
    };
    if !is_undone {
        return Err(format!("steps {acted:?} acted, and {undone:?} were undone ({fate:?})"));
    }
    for step in &undone {
        let (act, undo) = (happened(*step), &effects[&(UNDO + step)]);
        let known = match fate {
            Fate::Cancelled => undo.of.is_none() || undo.of == act,
            Fate::Kept | Fate::Aborted | Fate::Declined(_) => undo.of == act,
        };
        if !known {
            return Err(format!("step {step} acted as {act:?}, and {:?} was undone", undo.of));
        }
        // A request in flight when the saga was cancelled may arrive late.
        let is_recorded = |step: &&u32| effects[&(UNDO + **step)].of.is_some();
        let last = acted.iter().filter(is_recorded).filter_map(|step| happened(*step)).max();
        if undo.of.is_some() && undo.receipt < last {
            return Err(format!("step {step} was undone before the last step acted"));
        }
    }
    let in_order =
        undone.windows(2).all(|pair| happened(UNDO + pair[1]) < happened(UNDO + pair[0]));
    match in_order {
        true => Ok(()),
        false => Err(format!("steps {undone:?} were not undone from the last to the first")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(receipts: &[(u32, u64, Option<u64>)]) -> BTreeMap<u32, Seen> {
        let seen = |(step, receipt, of): &(u32, u64, Option<u64>)| {
            (*step, Seen { receipt: Some(*receipt), requests: 1, of: *of })
        };
        receipts.iter().map(seen).collect()
    }

    #[test]
    fn what_is_not_undone_or_wrongly_or_in_another_order_is_noticed() {
        let kept = [(0, 5, None), (1, 6, None)];
        let undone = [kept.as_slice(), &[(101, 7, Some(6)), (100, 8, Some(5))]].concat();
        let unclear = [(0, 5, None), (101, 6, None), (100, 7, Some(5))];
        assert_eq!(saga(&seen(&kept), 2, Fate::Kept), Ok(()));
        for (steps, fate) in [(2, Fate::Aborted), (3, Fate::Declined(2)), (3, Fate::Cancelled)] {
            assert_eq!(saga(&seen(&undone), steps, fate), Ok(()));
        }
        assert_eq!(saga(&seen(&unclear), 3, Fate::Cancelled), Ok(()));
        assert_eq!(saga(&seen(&[]), 3, Fate::Cancelled), Ok(()));
        let swapped = [kept.as_slice(), &[(101, 8, Some(6)), (100, 7, Some(5))]].concat();
        let other = [kept.as_slice(), &[(101, 7, Some(5)), (100, 8, Some(5))]].concat();
        let early = [(0, 5, None), (100, 6, Some(5)), (1, 7, None), (101, 8, Some(7))];
        for (effects, steps, fate, said) in [
            (&kept[..1], 2, Fate::Kept, "had to"),
            (&undone, 2, Fate::Kept, "were undone"),
            (&undone, 3, Fate::Declined(1), "had to"),
            (&undone[..3], 2, Fate::Aborted, "were undone"),
            (&undone[..3], 2, Fate::Cancelled, "were undone"),
            (&kept, 2, Fate::Cancelled, "were undone"),
            (&swapped, 2, Fate::Aborted, "from the last"),
            (&other, 2, Fate::Aborted, "acted as"),
            (&other, 2, Fate::Cancelled, "acted as"),
            (&early, 2, Fate::Aborted, "before the last step"),
        ] {
            let wrong = saga(&seen(effects), steps, fate).expect_err(said);
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}

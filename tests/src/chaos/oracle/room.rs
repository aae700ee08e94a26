//! Checks of concurrency limits.

use std::collections::BTreeMap;

use super::Verdict;

/// Period in which an execution certainly held a permit. Instants are receipts of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Key of the limit.
    pub key: String,
    /// Name of the execution.
    pub name: String,
    /// Instant by which it certainly had begun.
    pub began: u64,
    /// Instant until which it certainly had not ended. `None`: it never reported its end.
    pub ended: Option<u64>,
}

/// Checks that at any time at most `of_key` executions of each key, and at most `in_all` executions
/// of all keys, held a permit, and that all of them ended.
///
/// # Errors
/// A description of the violation.
pub fn room(spans: &[Span], of_key: usize, in_all: usize) -> Verdict {
    if let Some(open) = spans.iter().find(|span| span.ended.is_none()) {
        return Err(format!("{open:?} has not ended"));
    }
    let mut changes: BTreeMap<u64, (&Span, bool)> = BTreeMap::new();
    for span in spans {
        changes.insert(span.began, (span, true));
        changes.extend(span.ended.map(|ended| (ended, (span, false))));
    }
    let mut inside: Vec<&Span> = Vec::new();
    for (span, begins) in changes.into_values() {
        if !begins {
            inside.retain(|other| other.name != span.name);
            continue;
        }
        inside.push(span);
        let of_its_key = inside.iter().filter(|other| other.key == span.key).count();
        if of_its_key > of_key || inside.len() > in_all {
            let names: Vec<_> = inside.iter().map(|span| span.name.as_str()).collect();
            return Err(format!(
                "{} had places at once, {of_its_key} of them of `{}`: {}",
                names.len(),
                span.key,
                names.join(", ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_many_and_one_that_never_ends_are_noticed() {
        let span = |key: &str, began, ended| Span {
            key: key.to_owned(),
            name: format!("{key}{began}"),
            began,
            ended,
        };
        let two = [span("a", 0, Some(4)), span("a", 1, Some(5)), span("a", 6, Some(9))];
        assert_eq!(room(&two, 2, 2), Ok(()));
        let third = [two.as_slice(), &[span("a", 3, Some(8))]].concat();
        let other = [two.as_slice(), &[span("b", 2, Some(3))]].concat();
        assert_eq!(room(&other, 2, 3), Ok(()));
        for (spans, said) in [
            (third, "3 had places at once, 3 of them of `a`"),
            (other, "3 had places at once, 1 of them of `b`"),
            (vec![span("a", 0, None)], "has not ended"),
        ] {
            let wrong = room(&spans, 2, 2).expect_err(said);
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}

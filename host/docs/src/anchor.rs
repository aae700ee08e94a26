//! The anchors of headings, in GitHub's form.

use std::collections::BTreeMap;

/// Generates the anchors of one page, all distinct.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    taken: BTreeMap<String, usize>,
}

impl Anchors {
    /// The anchor of a heading: its letters, digits, `-` and `_` in lower case, with `-` for each
    /// space, and a number if an earlier heading has the same.
    pub(crate) fn of(&mut self, heading: &str) -> String {
        let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
        let letters = heading.trim().chars().filter(kept).flat_map(char::to_lowercase);
        let anchor: String =
            letters.map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let earlier = self.taken.entry(anchor.clone()).or_default();
        *earlier += 1;
        match *earlier {
            1 => anchor,
            count => format!("{anchor}-{}", count - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Anchors;

    #[test]
    fn anchors_are_those_of_github() {
        let mut anchors = Anchors::default();
        for (heading, anchor) in [
            ("What is promised", "what-is-promised"),
            ("3. Hidden values", "3-hidden-values"),
            ("Which code runs, exactly?", "which-code-runs-exactly"),
            ("idempotency_key & time", "idempotency_key--time"),
            ("Limits", "limits"),
            ("Limits", "limits-1"),
            ("Limits", "limits-2"),
        ] {
            assert_eq!(anchors.of(heading), anchor);
        }
    }
}

//! Sums over executions that were run again, and groups of equal differences.

use std::{cmp::Reverse, collections::BTreeMap};

use segno_model::{RerunRow, RerunVerdict, add_costs, costs_in_words};
use serde::Serialize;
use serde_json::Number;

/// The verdicts in the order of the sums, each with its words.
const VERDICTS: [(RerunVerdict, &str); 6] = [
    (RerunVerdict::Same, "the same"),
    (RerunVerdict::Differs, "with another outcome"),
    (RerunVerdict::Failed, "failed"),
    (RerunVerdict::Diverged, "diverged"),
    (RerunVerdict::Unanswered, "without an answer"),
    (RerunVerdict::Skipped, "skipped"),
];

/// The sums over all executions.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct RerunSums {
    /// Number of executions.
    pub executions: usize,
    /// Number of executions that end as recorded.
    pub same: usize,
    /// Number of executions that end with another outcome.
    pub differs: usize,
    /// Number of executions that fail, and did not before.
    pub failed: usize,
    /// Number of executions that do not repeat the first records.
    pub diverged: usize,
    /// Number of executions that wait for something that was not recorded.
    pub unanswered: usize,
    /// Number of executions that were not run.
    pub skipped: usize,
    /// Number of commands that recordings answered.
    pub answered_commands: u64,
    /// Number of commands without a recorded answer.
    pub unanswered_commands: u64,
    /// The costs that the calls of the recorded executions reported, by unit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub recorded_cost: BTreeMap<String, Number>,
    /// The costs of those calls whose results the new runs have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cost: BTreeMap<String, Number>,
    /// Length of the recorded executions that were run.
    pub duration_ms: i64,
}

/// Executions with the same verdict and the same difference.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct RerunGroup {
    /// The verdict.
    pub verdict: RerunVerdict,
    /// The difference, in general words.
    pub difference: String,
    /// Ids of the executions.
    pub executions: Vec<String>,
}

impl RerunSums {
    /// Adds up the rows.
    pub fn of(rows: &[RerunRow]) -> Self {
        let mut sums = Self { executions: rows.len(), ..Self::default() };
        for row in rows {
            *sums.count_mut(row.verdict) += 1;
            sums.answered_commands += u64::from(row.answered);
            sums.unanswered_commands += u64::from(row.unanswered);
            add_costs(&mut sums.recorded_cost, &row.recorded_cost);
            add_costs(&mut sums.cost, &row.cost);
            if row.verdict != RerunVerdict::Skipped {
                sums.duration_ms += row.duration_ms.unwrap_or_default();
            }
        }
        sums
    }

    fn count_mut(&mut self, verdict: RerunVerdict) -> &mut usize {
        match verdict {
            RerunVerdict::Same => &mut self.same,
            RerunVerdict::Differs => &mut self.differs,
            RerunVerdict::Failed => &mut self.failed,
            RerunVerdict::Diverged => &mut self.diverged,
            RerunVerdict::Unanswered => &mut self.unanswered,
            RerunVerdict::Skipped => &mut self.skipped,
        }
    }

    fn count(&self, verdict: RerunVerdict) -> usize {
        match verdict {
            RerunVerdict::Same => self.same,
            RerunVerdict::Differs => self.differs,
            RerunVerdict::Failed => self.failed,
            RerunVerdict::Diverged => self.diverged,
            RerunVerdict::Unanswered => self.unanswered,
            RerunVerdict::Skipped => self.skipped,
        }
    }

    /// Formats the sums as sentences. `length` formats the length of the recorded executions.
    pub fn in_words(&self, length: &str) -> String {
        let counts = VERDICTS.iter().map(|(verdict, words)| (self.count(*verdict), words));
        let counts = counts.filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, words)| format!("{count} {words}")).collect();
        let all = RerunGroup::count_in_words(self.executions);
        let (answered, new) = (self.answered_commands, self.unanswered_commands);
        let cost = match self.recorded_cost.is_empty() {
            true => String::new(),
            false => {
                let [recorded, taken] = [&self.recorded_cost, &self.cost].map(costs_in_words);
                let taken = if taken.is_empty() { "nothing".to_owned() } else { taken };
                format!(" Recorded cost: {recorded}; of it taken over: {taken}.")
            }
        };
        format!(
            "{all}: {}. Commands: {answered} answered from recordings, {new} new. Recorded in {length}.{cost}",
            counts.join(", "),
        )
    }
}

impl RerunGroup {
    /// Groups the executions that do not end as recorded by equal differences: the largest group
    /// first, and what was skipped last.
    pub fn all(rows: &[RerunRow]) -> Vec<Self> {
        let mut groups: BTreeMap<(RerunVerdict, &str), Vec<String>> = BTreeMap::new();
        for row in rows {
            if let Some(difference) = &row.difference {
                let group = groups.entry((row.verdict, difference.as_str())).or_default();
                group.push(row.id.clone());
            }
        }
        let groups = groups.into_iter().map(|((verdict, difference), executions)| Self {
            verdict,
            difference: difference.to_owned(),
            executions,
        });
        let mut groups: Vec<Self> = groups.collect();
        groups.sort_by_key(|group| {
            (group.verdict == RerunVerdict::Skipped, Reverse(group.executions.len()))
        });
        groups
    }

    /// Formats a number of executions.
    pub fn count_in_words(count: usize) -> String {
        match count {
            1 => "1 execution".to_owned(),
            _ => format!("{count} executions"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, verdict: RerunVerdict, difference: Option<&str>) -> RerunRow {
        RerunRow {
            answered: 2,
            unanswered: 1,
            duration_ms: Some(1_000),
            difference: difference.map(str::to_owned),
            ..RerunRow::new(id, "m/f", verdict)
        }
    }

    #[test]
    fn equal_differences_form_a_group_and_the_largest_comes_first() {
        let rows = [
            ("a", RerunVerdict::Same, None),
            ("b", RerunVerdict::Differs, Some("at $.x")),
            ("c", RerunVerdict::Unanswered, Some("call model")),
            ("d", RerunVerdict::Skipped, Some("it has not ended")),
            ("e", RerunVerdict::Unanswered, Some("call model")),
            ("f", RerunVerdict::Failed, Some("call model")),
            ("g", RerunVerdict::Skipped, Some("it has not ended")),
            ("h", RerunVerdict::Skipped, Some("it has not ended")),
        ];
        let rows = rows.map(|(id, verdict, difference)| row(id, verdict, difference));
        let groups = RerunGroup::all(&rows);
        let groups: Vec<_> = groups
            .iter()
            .map(|it| (it.verdict.as_str(), it.difference.as_str(), it.executions.join("")))
            .collect();
        let expected = [
            ("unanswered", "call model", "ce"),
            ("differs", "at $.x", "b"),
            ("failed", "call model", "f"),
            ("skipped", "it has not ended", "dgh"),
        ];
        assert_eq!(groups, expected.map(|(verdict, of, ids)| (verdict, of, ids.to_owned())));
        let sums = RerunSums::of(&rows);
        assert_eq!((sums.executions, sums.same, sums.unanswered, sums.skipped), (8, 1, 2, 3));
        assert_eq!(sums.duration_ms, 5_000, "skipped ones do not count");
        assert_eq!(
            sums.in_words("5.0 s"),
            "8 executions: 1 the same, 1 with another outcome, 1 failed, 2 without an answer, 3 skipped. Commands: 16 answered from recordings, 8 new. Recorded in 5.0 s."
        );
    }
}

//! Costs of replays on new code, compared with the code that the executions run on.

use segno_api::model::{CheckedExecution, CostComparison};
use serde::Serialize;

use super::{
    CliError, Console,
    console::{BOLD, CYAN},
    show::{plain, size},
    table::{TextCell, TextColumn, TextTable},
};

/// The costs of the counted executions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct CostSummary {
    /// Number of counted executions.
    executions: usize,
    /// Median number of records.
    records: u64,
    /// Executed wasm instructions.
    instructions: CostMedians,
    /// Memory, in bytes.
    memory_bytes: CostMedians,
    /// The execution with the largest rise in instructions, if any rose.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_rise: Option<CostRise>,
}

/// The medians over all executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct CostMedians {
    own: u64,
    candidate: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct CostRise {
    id: String,
    own: u64,
    candidate: u64,
}

impl CostSummary {
    /// The costs of `executions`. `None` if nothing was counted.
    pub(super) fn of(executions: &[CheckedExecution]) -> Option<Self> {
        let counted: Vec<(&CheckedExecution, CostComparison)> =
            executions.iter().filter_map(|it| Some((it, it.cost?))).collect();
        let middle = |of: fn(&CostComparison) -> (u64, u64)| {
            let (own, candidate): (Vec<_>, Vec<_>) = counted.iter().map(|(_, it)| of(it)).unzip();
            Some(CostMedians { own: median(own)?, candidate: median(candidate)? })
        };
        let rise = |it: &CostComparison| ratio(it.own.instructions, it.candidate.instructions);
        let largest = counted.iter().max_by(|a, b| rise(&a.1).total_cmp(&rise(&b.1)));
        let rises = largest.filter(|(_, it)| it.candidate.instructions > it.own.instructions);
        Some(Self {
            executions: counted.len(),
            records: median(counted.iter().map(|(it, _)| it.records.into()).collect())?,
            instructions: middle(|it| (it.own.instructions, it.candidate.instructions))?,
            memory_bytes: middle(|it| (it.own.memory_bytes, it.candidate.memory_bytes))?,
            largest_rise: rises.map(|(execution, it)| CostRise {
                id: execution.id.clone(),
                own: it.own.instructions,
                candidate: it.candidate.instructions,
            }),
        })
    }

    /// Prints the costs.
    pub(super) fn print(&self, console: &mut Console) -> Result<(), CliError> {
        console.line("")?;
        let head = console.paint(BOLD, "what a replay costs");
        let (executions, records) = (self.executions, self.records);
        console.line(format!(
            "{head}  the middle of {executions} that are the same, of {records} records"
        ))?;
        let mut table = TextTable::new(&[
            TextColumn::whole(""),
            TextColumn::number("OWN CODE"),
            TextColumn::number("THIS CODE"),
            TextColumn::number("CHANGE"),
        ]);
        let CostMedians { own, candidate } = self.instructions;
        let instructions = [own, candidate].map(grouped);
        let memory = [self.memory_bytes.own, self.memory_bytes.candidate];
        for (name, texts, [own, candidate]) in
            [("instructions", instructions, [own, candidate]), ("memory", memory.map(size), memory)]
        {
            let [own_text, candidate_text] = texts;
            let change = change(own, candidate);
            table.row([name.to_owned(), own_text, candidate_text, change].map(TextCell::from));
        }
        console.table(&table)?;
        let Some(CostRise { id, own, candidate }) = &self.largest_rise else { return Ok(()) };
        let (id, rise) = (console.paint(CYAN, &plain(id)), change(*own, *candidate));
        console.paragraph("", &format!("The largest rise of instructions is {rise}: {id}"), 0)
    }
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "for a share of a hundredth")]
fn ratio(own: u64, candidate: u64) -> f64 {
    candidate as f64 / own.max(1) as f64
}

/// Formats a change as `+12 %`, or as `+0.3 %` if it is small.
fn change(own: u64, candidate: u64) -> String {
    let percent = (ratio(own, candidate) - 1.0) * 100.0;
    match percent.abs() {
        _ if own == candidate => "none".to_owned(),
        small if small < 9.95 => format!("{percent:+.1} %"),
        _ => format!("{percent:+.0} %"),
    }
}

/// Formats a number with grouped digits: `1 204 331`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use segno_api::model::{CheckVerdict, InvocationState, ReplayCost};

    fn execution(id: &str, costs: Option<(u64, u64)>) -> CheckedExecution {
        let cost = |instructions| ReplayCost { instructions, memory_bytes: 1 << 20 };
        CheckedExecution {
            id: id.to_owned(),
            function: "order".to_owned(),
            state: InvocationState::Suspended,
            module: None,
            records: 5,
            verdict: CheckVerdict::Same,
            replay: None,
            cost: costs.map(|(own, new)| CostComparison { own: cost(own), candidate: cost(new) }),
            reason: None,
        }
    }

    #[test]
    fn costs_are_the_middle_and_the_worst_is_named() {
        let executions = [
            execution("a", Some((1_000, 1_100))),
            execution("b", None),
            execution("c", Some((2_000, 6_000))),
            execution("d", Some((3_000, 3_030))),
        ];
        let costs = CostSummary::of(&executions).expect("three were counted");
        assert_eq!((costs.executions, costs.records), (3, 5));
        assert_eq!(costs.instructions, CostMedians { own: 2_000, candidate: 3_030 });
        assert_eq!(costs.largest_rise.expect("one rises").id, "c");
        assert_eq!(CostSummary::of(&executions[1..2]), None);
        let falls = CostSummary::of(&[execution("a", Some((10, 9)))]).expect("one was counted");
        assert_eq!(falls.largest_rise, None);
    }

    #[test]
    fn changes_are_written_as_shares() {
        assert_eq!(change(1_000, 1_000), "none");
        assert_eq!(change(1_000, 1_003), "+0.3 %");
        assert_eq!(change(1_000, 500), "-50 %");
        assert_eq!([7, 1_234, 12_345_678].map(grouped), ["7", "1 234", "12 345 678"]);
    }
}

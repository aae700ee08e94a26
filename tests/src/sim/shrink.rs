//! Finds the shortest script that still fails. One element after the other is removed, and stays
//! removed if the rest fails without it.

use super::{
    run::run,
    scenario::{Scenario, root},
};

/// Removes everything that the failure does not need. Returns a scenario that passes unchanged.
pub fn shrink(scenario: &Scenario) -> Scenario {
    shrink_by(scenario, &|candidate| !run(candidate).findings.is_empty())
}

/// Does the same for any kind of failure.
pub(super) fn shrink_by(scenario: &Scenario, fails: &dyn Fn(&Scenario) -> bool) -> Scenario {
    let mut shortest = scenario.clone();
    loop {
        let shorter = candidates(&shortest).into_iter().find(|candidate| fails(candidate));
        match shorter {
            Some(shorter) => shortest = shorter,
            None => return shortest,
        }
    }
}

/// Every script that is shorter by one element: a whole invocation, one operation, one fault, or
/// one host.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut candidates = Vec::new();
    let starts = scenario.ops.iter().filter(|(_, op)| op.starts());
    let roots: Vec<&str> = starts.map(|(_, op)| op.id()).collect();
    for start in &roots {
        let mut shorter = scenario.clone();
        shorter.ops.retain(|(_, op)| root(op.id()) != *start);
        candidates.push(shorter);
    }
    for fault in 0..scenario.faults.len() {
        let mut shorter = scenario.clone();
        shorter.faults.remove(fault);
        candidates.push(shorter);
    }
    for (index, (_, op)) in scenario.ops.iter().enumerate() {
        // The script itself could not end without these.
        if op.is_needed() {
            continue;
        }
        let mut shorter = scenario.clone();
        shorter.ops.remove(index);
        candidates.push(shorter);
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_fails() {
        let long = (0..).map(Scenario::new).find(|scenario| scenario.faults.len() > 6);
        let long = long.expect("some seed has many faults");
        let culprit = long.faults[3].clone();
        let fails = |candidate: &Scenario| candidate.faults.contains(&culprit);
        let short = shrink_by(&long, &fails);
        assert_eq!((short.faults, short.ops.len()), (vec![culprit], 0));
    }
}

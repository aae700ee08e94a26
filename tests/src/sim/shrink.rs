//! The shortest script that still fails: one element after the other is removed, and stays removed
//! if the rest fails without it.

use super::{
    run::run,
    scenario::{Scenario, root},
};

/// Leaves out whatever is not needed to fail. A scenario that passes is answered as it is.
pub fn shrink(scenario: &Scenario) -> Scenario {
    shrink_by(scenario, &|candidate| !run(candidate).findings.is_empty())
}

/// The same, for anything that can fail.
pub fn shrink_by(scenario: &Scenario, fails: &dyn Fn(&Scenario) -> bool) -> Scenario {
    let mut shortest = scenario.clone();
    loop {
        let shorter = candidates(&shortest).into_iter().find(|candidate| fails(candidate));
        match shorter {
            Some(shorter) => shortest = shorter,
            None => return shortest,
        }
    }
}

/// Every script that is one thing shorter: a whole invocation, one operation, one fault, one host.
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
        // Without these the script itself could not end.
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

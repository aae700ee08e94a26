//! The order of definitions, and the circles of those that contain themselves.

use crate::tree::{Definition, DefinitionBody, TypeTree};

/// The definitions in an order, and their circles.
#[derive(Debug)]
pub(crate) struct DefinitionOrder {
    /// The numbers of the definitions: parts before the whole, as far as there is no circle.
    pub(crate) parts_first: Vec<usize>,
    /// For each definition that contains itself, also indirectly, the number of its circle.
    circles: Vec<Option<usize>>,
}

impl DefinitionOrder {
    /// Orders the definitions.
    pub(crate) fn new(definitions: &[Definition]) -> Self {
        let parts: Vec<Vec<usize>> =
            definitions.iter().map(|known| parts_of(&known.body)).collect();
        let mut wholes = vec![Vec::new(); parts.len()];
        for (whole, parts) in parts.iter().enumerate() {
            for &part in parts {
                wholes[part].push(whole);
            }
        }
        let mut seen = vec![false; parts.len()];
        let mut parts_first = Vec::new();
        for start in 0..parts.len() {
            walk(start, &parts, &mut seen, &mut parts_first);
        }
        // Members of a circle reach each other in both directions.
        let mut circles = vec![None; parts.len()];
        let mut seen = vec![false; parts.len()];
        for &start in parts_first.iter().rev() {
            let mut members = Vec::new();
            walk(start, &wholes, &mut seen, &mut members);
            if members.len() > 1 || parts[start].contains(&start) {
                for member in members {
                    circles[member] = Some(start);
                }
            }
        }
        Self { parts_first, circles }
    }

    /// Returns true if the definition contains itself.
    pub(crate) fn is_in_circle(&self, number: usize) -> bool {
        self.circles[number].is_some()
    }

    /// Returns true if each of the two contains the other.
    pub(crate) fn are_in_one_circle(&self, one: usize, other: usize) -> bool {
        self.is_in_circle(one) && self.circles[one] == self.circles[other]
    }
}

/// The numbers of the definitions in a type, in its order.
pub(crate) fn numbers_in(of: &TypeTree) -> Vec<usize> {
    let mut numbers = Vec::new();
    let mut pending = vec![of];
    while let Some(part) = pending.pop() {
        if let TypeTree::Named(number) = part {
            numbers.push(*number);
        }
        pending.extend(part.parts().into_iter().rev());
    }
    numbers
}

fn parts_of(body: &DefinitionBody) -> Vec<usize> {
    body.parts().into_iter().flat_map(numbers_in).collect()
}

/// Adds everything that can be reached to `ended`, each behind what can be reached from it.
fn walk(start: usize, edges: &[Vec<usize>], seen: &mut [bool], ended: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((at, next)) = path.last_mut() {
        match edges[*at].get(*next) {
            Some(&to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    path.push((to, 0));
                }
            }
            None => {
                ended.push(*at);
                path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TypeNote;

    fn ordered(parts: &[&[usize]]) -> DefinitionOrder {
        let of = |parts: &&[usize]| {
            let items = parts.iter().map(|&part| TypeTree::Named(part)).collect();
            let body = DefinitionBody::Alias(TypeTree::Tuple { items, required: 0, rest: None });
            Definition { name: "T".into(), note: TypeNote::default(), body }
        };
        DefinitionOrder::new(&parts.iter().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn parts_come_before_the_whole() {
        assert_eq!(ordered(&[&[1, 2], &[2], &[]]).parts_first, [2, 1, 0]);
    }

    #[test]
    fn definitions_that_contain_each_other_are_in_one_circle() {
        let order = ordered(&[&[1], &[2, 3], &[1], &[], &[4, 0]]);
        let in_circle: Vec<bool> = (0..5).map(|number| order.is_in_circle(number)).collect();
        assert_eq!(in_circle, [false, true, true, false, true]);
        assert!(order.are_in_one_circle(1, 2) && !order.are_in_one_circle(1, 4));
        assert!(!order.are_in_one_circle(0, 3));
    }
}

//! One definition in place of several that are the same: schemas of several functions repeat the
//! types that the functions share.

use std::collections::BTreeMap;

use crate::tree::{Definition, DefinitionBody, TypeTree};

/// The definitions without repetitions and without those that no other and no root uses, and the
/// new number of each old one that is left.
///
/// Definitions are the same if they have the same name and the same type, also where they contain
/// themselves: they begin as one class for each name, and a class is divided as long as its members
/// differ.
pub(crate) fn unified(
    definitions: &[Definition],
    roots: &[&TypeTree],
) -> (Vec<Definition>, Vec<usize>) {
    let names: Vec<&str> = definitions.iter().map(|known| known.name.as_str()).collect();
    let mut classes = numbered(names.iter());
    loop {
        let keys: Vec<(usize, DefinitionBody)> = definitions
            .iter()
            .zip(&classes)
            .map(|(known, &class)| (class, known.body.bare().renumbered(&|number| classes[number])))
            .collect();
        let divided = numbered(keys.iter());
        if divided == classes {
            break;
        }
        classes = divided;
    }
    let used = used(definitions, roots);
    let mut all: Vec<Definition> = Vec::new();
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for (number, &class) in classes.iter().enumerate().filter(|(number, _)| used[*number]) {
        numbers.entry(class).or_insert_with(|| {
            all.push(definitions[number].clone());
            all.len() - 1
        });
    }
    let new = classes.iter().map(|class| numbers.get(class).copied().unwrap_or_default());
    let new: Vec<usize> = new.collect();
    for known in &mut all {
        known.body = known.body.renumbered(&|number| new[number]);
    }
    end_circles(&mut all);
    (all, new)
}

/// Gives aliases that are aliases of themselves the type of any value: no language has such types.
fn end_circles(definitions: &mut [Definition]) {
    for number in 0..definitions.len() {
        let mut seen = vec![false; definitions.len()];
        let mut pending = vec![number];
        while let Some(next) = pending.pop() {
            let DefinitionBody::Alias(of) = &definitions[next].body else { continue };
            let parts = match of {
                TypeTree::Union { branches, .. } => branches.as_slice(),
                one => std::slice::from_ref(one),
            };
            for part in parts {
                if let TypeTree::Named(to) = part
                    && !std::mem::replace(&mut seen[*to], true)
                {
                    pending.push(*to);
                }
            }
        }
        if seen[number] {
            definitions[number].body = DefinitionBody::Alias(TypeTree::Any);
        }
    }
}

/// True for each definition that a root uses, also indirectly.
fn used(definitions: &[Definition], roots: &[&TypeTree]) -> Vec<bool> {
    let mut used = vec![false; definitions.len()];
    let mut pending = roots.to_vec();
    while let Some(part) = pending.pop() {
        pending.extend(part.parts());
        let TypeTree::Named(to) = part else { continue };
        if !std::mem::replace(&mut used[*to], true) {
            pending.extend(definitions[*to].body.parts());
        }
    }
    used
}

/// Numbers equal values alike, in the order in which they come.
fn numbered<T: Ord>(values: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known: BTreeMap<T, usize> = BTreeMap::new();
    values
        .map(|value| {
            let next = known.len();
            *known.entry(value).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TypeNote;

    fn alias(name: &str, of: TypeTree) -> Definition {
        Definition { name: name.into(), note: TypeNote::default(), body: DefinitionBody::Alias(of) }
    }

    #[test]
    fn equal_definitions_with_one_name_become_one() {
        let list = |of| TypeTree::List(Box::new(TypeTree::Named(of)));
        let definitions = [
            alias("Tree", list(0)),
            alias("Text", TypeTree::Text),
            alias("Unused", TypeTree::Text),
            alias("Tree", list(3)),
            alias("Tree", list(1)),
        ];
        let roots = [&TypeTree::Named(0), &TypeTree::Named(3), &TypeTree::Named(4)];
        let (all, numbers) = unified(&definitions, &roots);
        assert_eq!((numbers[0], numbers[1], numbers[3], numbers[4]), (0, 1, 0, 2));
        let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
        assert_eq!(names, ["Tree", "Text", "Tree"]);
        assert_eq!(all[2].body, DefinitionBody::Alias(list(1)));
    }
}

//! Ids that resemble one that does not exist.

/// Maximum number of suggestions.
const SUGGESTIONS_MAX: usize = 5;
/// Maximum number of different characters.
const DISTANCE_MAX: usize = 3;
/// Maximum length of compared ids, in characters: longer ones are compared by their beginning.
const COMPARED_MAX: usize = 64;

/// The ids among `known` that resemble `id`, the most similar first.
pub(crate) fn similar(id: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let wanted = id.to_lowercase();
    let ranked = known.into_iter().filter_map(|known| Some((rank(&wanted, &known)?, known)));
    let mut ranked: Vec<(usize, String)> = ranked.collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().map(|(_, id)| id).take(SUGGESTIONS_MAX).collect()
}

/// The rank of a similar id: 0 for the most similar. `None` if it is not similar.
fn rank(wanted: &str, known: &str) -> Option<usize> {
    let known = known.to_lowercase();
    let distance = distance(wanted, &known);
    if distance <= DISTANCE_MAX && distance * 2 < wanted.chars().count() {
        return Some(distance);
    }
    let contains =
        wanted.len() >= 3 && known.contains(wanted) || known.len() >= 3 && wanted.contains(&known);
    contains.then_some(DISTANCE_MAX + 1)
}

/// The number of characters to insert, remove or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(COMPARED_MAX).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.chars().take(COMPARED_MAX).enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, compared) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *compared);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_ids_come_before_those_that_contain_the_id() {
        let known = ["order-1002", "order-1001", "refund-7", "order-1001/0"].map(str::to_owned);
        assert_eq!(
            similar("order-101", known.clone()),
            ["order-1001", "order-1002", "order-1001/0"]
        );
        assert_eq!(similar("refund", known.clone()), ["refund-7"]);
        assert_eq!(similar("xyz", known), [""; 0]);
    }
}

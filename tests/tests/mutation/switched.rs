//! Sources that contain all their defects, each enabled by its number, so that one build serves
//! them all. Each function with defects gets one body per defect, next to its own.

use std::{collections::BTreeMap, ops::Range};

use super::table::Mutation;

/// Environment variable with the number of the enabled defect.
pub(super) const SWITCH: &str = "SEGNO_DEFECT";

/// Code appended to `lib.rs` of a crate with switched defects.
pub(super) const MODULE: &str = r#"
/// Which defect this program has.
pub mod switched_defect {
    /// Its number; 0 for none.
    pub fn number() -> usize {
        static NUMBER: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        *NUMBER.get_or_init(|| {
            std::env::var("SEGNO_DEFECT").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
        })
    }
}
"#;

/// Text of a source that contains these defects, by number.
pub(super) fn switched(text: &str, defects: &[(usize, &Mutation)]) -> String {
    let mut bodies: BTreeMap<usize, (Range<usize>, Vec<String>)> = BTreeMap::new();
    for (number, mutation) in defects {
        let at = mutation.place(text);
        let body = body_around(text, &at)
            .unwrap_or_else(|| panic!("`{}` is not inside one function", mutation.what));
        let (before, after) = (&text[body.start..at.start], &text[at.end..body.end]);
        let arm = format!("{number} => {{\n{before}{}{after}}}\n", mutation.would_say);
        bodies.entry(body.start).or_insert_with(|| (body, Vec::new())).1.push(arm);
    }
    let mut switched = text.to_owned();
    let mut end = text.len();
    for (body, arms) in bodies.into_values().rev() {
        assert!(body.end <= end, "one function with defects is inside another: {body:?}");
        end = body.start;
        let own = format!("_ => {{\n{}}}\n", &text[body.clone()]);
        let arms = arms.concat() + &own;
        let choice = format!("match crate::switched_defect::number() {{\n{arms}}}\n");
        switched.replace_range(body, &choice);
    }
    switched
}

/// Range between the braces of the innermost function around a place. The source is formatted: a
/// function begins on its own line, its header ends with the first line that ends with a brace, and
/// its last line is a brace with the same indentation as the first line.
fn body_around(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let mut line_end = place.start;
    loop {
        let line_start = text[..line_end].rfind('\n').map_or(0, |at| at + 1);
        let line = &text[line_start..text[line_start..].find('\n')? + line_start];
        let indent = &line[..line.len() - line.trim_start().len()];
        if is_function(line.trim_start()) {
            let body_start = text[line_start..].find("{\n")? + line_start + 2;
            let last_line = format!("\n{indent}}}\n");
            let body_end = text[body_start - 1..].find(&last_line)? + body_start;
            if body_start <= place.start && place.end <= body_end {
                return Some(body_start..body_end);
            }
        }
        if line_start == 0 {
            return None;
        }
        line_end = line_start - 1;
    }
}

/// True if a line begins a function that can get several bodies.
fn is_function(line: &str) -> bool {
    let prefixes = [
        "pub ",
        "pub(super) ",
        "pub(in super::super) ",
        "pub(in crate::postgres) ",
        "pub(crate) ",
        "async ",
    ];
    let without = |line, prefix: &&str| str::strip_prefix(line, prefix).unwrap_or(line);
    prefixes.iter().fold(line, without).starts_with("fn ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
impl A {
    fn first(&self) -> u32 {
        if self.a {
            1
        }
    }

    pub(super) async fn second(
        &self,
    ) -> u32
    where
        Self: Sized,
    {
        2
    }
}
";

    fn defect(says: &'static str, would_say: &'static str) -> Mutation {
        Mutation { what: "it", file: "a.rs", says, would_say, tests: "", killer: "" }
    }

    #[test]
    fn each_defect_is_a_body_of_its_function() {
        let (one, two) =
            (defect("            1\n", "            3\n"), defect("        2\n", "        4\n"));
        let text = switched(SOURCE, &[(1, &one), (2, &two)]);
        assert!(
            text.contains("1 => {\n        if self.a {\n            3\n        }\n}"),
            "{text}"
        );
        assert!(text.contains("{\nmatch crate::switched_defect::number() {\n2 => {\n        4\n}"));
        assert_eq!(text.matches("_ => {").count(), 2, "{text}");
    }

    #[test]
    #[should_panic(expected = "is not inside one function")]
    fn what_is_in_no_function_cannot_be_switched() {
        switched(SOURCE, &[(1, &defect("impl A", "impl B"))]);
    }
}

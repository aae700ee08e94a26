//! The secrets of a module: read for an attempt, filled into headers, and hidden in everything that
//! is stored.
//!
//! A value is found in its plain form, in its JSON form, and line by line if it has several lines.
//! Other forms (Base64 of a part, one character per line) are not found: a malicious activity can
//! leak a secret.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use aho_corasick::{AhoCorasick, MatchKind};

use super::{
    Grants,
    variable::{VariableError, VariableSource},
};

/// Shorter values would match in unrelated texts.
const SHORTEST: usize = 8;
/// Minimum length of a line that is searched for separately, in bytes.
const SHORTEST_LINE: usize = 16;

/// Delimiters of a secret's name in a header.
const BEGIN: &str = "{secret:";
const END: char = '}';

/// Secret values by name, with a search automaton over them.
#[derive(Debug, Default)]
pub struct Secrets {
    values: BTreeMap<String, String>,
    finder: Option<SecretFinder>,
}

/// Finds values in texts.
#[derive(Debug)]
struct SecretFinder {
    automaton: AhoCorasick,
    patterns: Vec<String>,
    /// The replacement of each pattern.
    marks: Vec<String>,
}

/// A secret that a header names and the policy does not define.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no secret `{name}`: add `secrets.{name} = {{ from = \"VARIABLE\" }}` to `[{module}]` in policy.toml"
)]
pub struct MissingSecret {
    pub name: String,
    /// The module's section in the policy.
    pub module: String,
}

impl Grants {
    /// Reads the current secrets of the module.
    ///
    /// # Errors
    /// [`VariableError`] names the setting.
    pub fn read_secrets(&self) -> Result<Secrets, VariableError> {
        let read = |(name, source): (&String, &VariableSource)| {
            let value = source.read().and_then(|value| match value.len() {
                SHORTEST.. => Ok(value),
                length => Err(format!(
                    "has {length} bytes: a secret needs at least {SHORTEST}, so that it can be found in other text (put a setting that is no secret into `env`)"
                )),
            });
            let not_readable = |reason| VariableError {
                setting: format!("secrets.{name}"),
                module: self.module().into(),
                reason,
            };
            Ok((name.clone(), value.map_err(not_readable)?))
        };
        self.secrets.iter().map(read).collect::<Result<_, _>>().map(Secrets::of)
    }

    /// The values of the secrets that `header` names, such as `Bearer {secret:PAY}`. Empty for most
    /// headers.
    ///
    /// # Errors
    /// [`MissingSecret`] if the policy does not define the secret.
    pub fn secrets_of(&self, header: &str) -> Result<Vec<String>, MissingSecret> {
        let names = named(header);
        match names.iter().find(|name| !self.secrets.contains_key(**name)) {
            Some(name) => Err(MissingSecret { name: (*name).into(), module: self.module().into() }),
            None => Ok(names.into_iter().map(str::to_owned).collect()),
        }
    }
}

/// The names in all occurrences of `{secret:NAME}`.
fn named(header: &str) -> Vec<&str> {
    header
        .split(BEGIN)
        .skip(1)
        .filter_map(|rest| rest.split_once(END))
        .map(|(name, _)| name)
        .collect()
}

impl Secrets {
    fn of(values: BTreeMap<String, String>) -> Self {
        let (mut patterns, mut marks) = (Vec::new(), Vec::new());
        for (name, value) in &values {
            let mut forms = vec![value.clone()];
            let quoted = serde_json::to_string(value).unwrap_or_default();
            forms.push(quoted.trim_matches('"').to_owned());
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
            forms.extend(lines.map(str::to_owned));
            marks.extend(forms.iter().map(|_| mark(name)));
            patterns.extend(forms);
        }
        if patterns.is_empty() {
            return Self { values, finder: None };
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&patterns)
            .expect("a few short patterns");
        let finder = Some(SecretFinder { automaton, patterns, marks });
        Self { values, finder }
    }

    /// The subset of secrets with these names.
    #[must_use]
    pub fn only(&self, names: &BTreeSet<String>) -> Self {
        let values = self.values.iter().filter(|(name, _)| names.contains(*name));
        Self::of(values.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Returns true if there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a secret.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// `header` with names replaced by values.
    pub fn fill_in(&self, header: &str) -> String {
        let mut parts = header.split(BEGIN);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let known = part
                .split_once(END)
                .and_then(|(name, rest)| self.value(name).map(|value| (value, rest)));
            match known {
                Some((value, rest)) => filled.extend([value, rest]),
                None => filled.extend([BEGIN, part]),
            }
        }
        filled
    }

    /// The name of a secret whose value occurs in `text`.
    pub fn found_in(&self, text: &[u8]) -> Option<&str> {
        let finder = self.finder.as_ref()?;
        let found = finder.automaton.find(text)?;
        let mark = &finder.marks[found.pattern().as_usize()];
        mark.strip_prefix(BEGIN)?.strip_suffix(END)
    }

    /// The name of a secret whose value occurs in `piece`, or lies across the content before it and
    /// `piece`. If there is none, `end` becomes the end of the content, as long as a value may begin in
    /// it.
    pub fn found_after(&self, end: &mut Vec<u8>, piece: &[u8]) -> Option<&str> {
        let finder = self.finder.as_ref()?;
        let joined = [end.as_slice(), piece].concat();
        let found = self.found_in(&joined);
        if found.is_none() {
            let longest = finder.patterns.iter().map(String::len).max().unwrap_or_default();
            *end = joined[joined.len().saturating_sub(longest - 1)..].to_vec();
        }
        found
    }

    /// `text` with values replaced by `{secret:NAME}`.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.finder {
            Some(finder) if finder.automaton.is_match(text) => {
                Cow::Owned(finder.automaton.replace_all(text, &finder.marks))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// Takes the beginning of `bytes` that needs no further bytes, with values replaced. The rest
    /// may be the beginning of a value.
    pub fn hide_beginning(&self, bytes: &mut Vec<u8>) -> Vec<u8> {
        let decided = self.finder.as_ref().map_or(bytes.len(), |finder| finder.decided(bytes));
        let rest = bytes.split_off(decided);
        self.hide_bytes(std::mem::replace(bytes, rest))
    }

    /// Like [`hide`](Self::hide), for bytes.
    pub fn hide_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match &self.finder {
            Some(finder) if finder.automaton.is_match(&bytes) => {
                finder.automaton.replace_all_bytes(&bytes, &finder.marks)
            }
            _ => bytes,
        }
    }
}

impl SecretFinder {
    /// Length of the beginning of `bytes` whose values are found whatever follows.
    fn decided(&self, bytes: &[u8]) -> usize {
        let begins_value = |tail: &[u8]| {
            self.patterns
                .iter()
                .any(|pattern| pattern.len() > tail.len() && pattern.as_bytes().starts_with(tail))
        };
        let longest = self.patterns.iter().map(String::len).max().unwrap_or_default();
        let first = (bytes.len() + 1).saturating_sub(longest);
        let cut = (first..bytes.len()).find(|from| begins_value(&bytes[*from..]));
        let Some(cut) = cut else { return bytes.len() };
        // A value that begins earlier is found first, so the one that begins at the cut is none.
        let across = |found: &aho_corasick::Match| found.start() < cut && cut < found.end();
        self.automaton.find_iter(bytes).find(across).map_or(cut, |found| found.end())
    }
}

fn mark(name: &str) -> String {
    format!("{BEGIN}{name}{END}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[(&str, &str)]) -> Secrets {
        Secrets::of(values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    #[test]
    fn a_value_is_found_as_it_is_in_json_and_by_its_lines() {
        let key = "-----BEGIN-----\nabcdefghijklmnop\n-----END-----";
        let secrets = secrets(&[("PAY", "pa\"y-12345"), ("KEY", key)]);
        for (text, hidden) in [
            ("Bearer pa\"y-12345!", "Bearer {secret:PAY}!"),
            (r#"{"a":"pa\"y-12345"}"#, r#"{"a":"{secret:PAY}"}"#),
            (key, "{secret:KEY}"),
            ("line abcdefghijklmnop", "line {secret:KEY}"),
            ("pa\"y-1234", "pa\"y-1234"),
        ] {
            assert_eq!(secrets.hide(text), hidden);
            assert_eq!(secrets.hide_bytes(text.into()), hidden.as_bytes());
            assert_eq!(secrets.found_in(text.as_bytes()).is_some(), text != hidden, "{text}");
        }
        assert_eq!(secrets.found_in(key.as_bytes()), Some("KEY"));
        assert!(secrets.only(&["KEY".to_owned()].into()).found_in(b"pa\"y-12345").is_none());
    }

    #[test]
    fn a_value_is_hidden_wherever_the_text_is_cut() {
        let secrets = secrets(&[("A", "aab-12345"), ("B", "45xx-6789"), ("C", "aab-12345-longer")]);
        for text in [
            "x aab-12345xx-6789 y",
            "aaab-12345-longer",
            "aab-12345-longe",
            "45xx-67845xx-6789",
            "aab-1234",
            "nothing at all",
        ] {
            let whole = secrets.hide(text);
            for (first, second) in (0..=text.len())
                .flat_map(|first| (first..=text.len()).map(move |second| (first, second)))
            {
                let (mut seen, mut held) = (Vec::new(), Vec::new());
                for piece in [&text[..first], &text[first..second], &text[second..]] {
                    held.extend_from_slice(piece.as_bytes());
                    seen.extend(secrets.hide_beginning(&mut held));
                }
                seen.extend(secrets.hide_bytes(held));
                assert_eq!(String::from_utf8_lossy(&seen), whole, "{text} at {first}, {second}");
            }
        }
        let mut bytes = b"data: token\n\n".to_vec();
        assert_eq!(secrets.hide_beginning(&mut bytes), b"data: token\n\n", "nothing waits");
    }

    #[test]
    fn a_value_is_found_wherever_the_content_is_cut() {
        let secrets = secrets(&[("A", "aab-12345"), ("B", "a longer value, 45xx-6789")]);
        let found = |pieces: &[&str]| {
            let mut end = Vec::new();
            let name =
                pieces.iter().find_map(|piece| secrets.found_after(&mut end, piece.as_bytes()));
            assert!(end.len() < "a longer value, 45xx-6789".len(), "{end:?}");
            name
        };
        for (text, name) in [
            ("x aab-12345 y", Some("A")),
            ("x a longer value, 45xx-6789", Some("B")),
            ("aab-1234 5, a longer value", None),
        ] {
            for first in 0..=text.len() {
                for second in first..=text.len() {
                    let pieces = [&text[..first], &text[first..second], &text[second..]];
                    assert_eq!(found(&pieces), name, "{pieces:?}");
                }
            }
            let single: Vec<&str> = text.split_inclusive(|_| true).collect();
            assert_eq!(found(&single), name, "{text}");
        }
    }

    #[test]
    fn headers_are_filled_in_with_the_secrets_that_they_name() {
        let secrets = secrets(&[("PAY", "pay-12345"), ("B", "bbbbbbbb")]);
        for (header, filled) in [
            ("Bearer {secret:PAY}", "Bearer pay-12345"),
            ("{secret:B}:{secret:PAY}", "bbbbbbbb:pay-12345"),
            ("{secret:PAY", "{secret:PAY"),
            ("{secret:NO} {secret:B}", "{secret:NO} bbbbbbbb"),
            ("text/html", "text/html"),
        ] {
            assert_eq!(secrets.fill_in(header), filled);
        }
        assert_eq!(named("a {secret:B}:{secret:PAY} {secret:"), ["B", "PAY"]);
    }

    #[test]
    fn a_secret_that_is_short_or_not_set_is_named_and_not_shown() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "short\n").expect("it is written");
        let grants = Grants {
            secrets: [("PAY".to_owned(), VariableSource::File(file.path().into()))].into(),
            module: "order".into(),
            ..Grants::default()
        };
        let refused = grants.read_secrets().expect_err("it is short").to_string();
        assert!(refused.starts_with("`secrets.PAY` of `[order]` in policy.toml has 5 bytes"));
        assert!(!refused.contains("short"), "{refused}");

        std::fs::write(file.path(), "long enough\r\n").expect("it is written");
        let secrets = grants.read_secrets().expect("it can be read");
        assert_eq!(secrets.value("PAY"), Some("long enough"));

        drop(file);
        let gone = grants.read_secrets().expect_err("it is gone").to_string();
        assert!(gone.contains("No such file"), "{gone}");
        let none = grants.secrets_of("Bearer {secret:OTHER}").expect_err("it is not there");
        assert!(none.to_string().contains("`secrets.OTHER = "), "{none}");
    }
}

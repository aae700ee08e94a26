//! Names in the styles of the languages, and names that are used once.

use std::collections::BTreeSet;

/// The words of a name: `send-mail`, `sendMail` and `SendMail` are `send` and `mail`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = ' ';
    let characters: Vec<char> = name.chars().collect();
    for (at, &character) in characters.iter().enumerate() {
        if !character.is_ascii_alphanumeric() {
            last = ' ';
            continue;
        }
        let next_is_lower = characters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let begins = !last.is_ascii_alphanumeric()
            || (character.is_ascii_uppercase() && (!last.is_ascii_uppercase() || next_is_lower));
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(character.to_ascii_lowercase());
        }
        last = character;
    }
    words
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// The name as a type: `SendMail`. Empty if the name has no letter or digit of ASCII.
pub(crate) fn pascal(name: &str) -> String {
    let joined: String = words(name).iter().map(|word| capitalized(word)).collect();
    begun_with_letter(joined, "N")
}

/// The name as a variable: `sendMail`.
pub(crate) fn camel(name: &str) -> String {
    let words = words(name);
    let rest = words.iter().skip(1).map(|word| capitalized(word));
    let joined = words.first().cloned().into_iter().chain(rest).collect();
    begun_with_letter(joined, "n")
}

/// The name as a variable of Python and Rust: `send_mail`.
pub(crate) fn snake(name: &str) -> String {
    begun_with_letter(words(name).join("_"), "n")
}

fn begun_with_letter(name: String, prefix: &str) -> String {
    match name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("{prefix}{name}"),
        false => name,
    }
}

/// Returns true for letters, digits and `_` of ASCII that do not begin with a digit.
pub(crate) fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// The names of one scope.
#[derive(Debug, Default)]
pub(crate) struct NameScope(BTreeSet<String>);

impl NameScope {
    /// A scope in which these words are not free.
    pub(crate) fn reserving(words: &[&str]) -> Self {
        Self(words.iter().map(|&word| word.to_owned()).collect())
    }

    /// Returns true if the name is not free.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Takes the name, or the first free one with a number behind it. An empty name becomes
    /// `fallback`.
    pub(crate) fn take(&mut self, name: &str, fallback: &str) -> String {
        let name = if name.is_empty() { fallback } else { name };
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let free = std::iter::once(name.to_owned()).chain(numbered);
        let free = free.into_iter().find(|free| !self.0.contains(free));
        let taken = free.expect("numbers do not end");
        self.0.insert(taken.clone());
        taken
    }

    /// Takes the name; one that is not free gets `_` at its end first, as people write it.
    pub(crate) fn take_word(&mut self, name: &str, fallback: &str) -> String {
        match self.0.contains(name) {
            true => self.take(&format!("{name}_"), fallback),
            false => self.take(name, fallback),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_in_the_style_of_a_language() {
        for name in ["send-mail", "sendMail", "SendMail", "send mail", "_send__mail_"] {
            assert_eq!(pascal(name), "SendMail", "{name}");
            assert_eq!((camel(name), snake(name)), ("sendMail".into(), "send_mail".into()));
        }
        assert_eq!(
            (pascal("HTTPRequest"), snake("HTTPRequest2")),
            ("HttpRequest".into(), "http_request2".into())
        );
        assert_eq!(
            (pascal("2fa"), snake("2fa"), pascal("é")),
            ("N2fa".into(), "n2fa".into(), String::new())
        );
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number_or_an_underscore() {
        let mut scope = NameScope::reserving(&["class"]);
        assert_eq!(scope.take("Order", "Type"), "Order");
        assert_eq!(scope.take("Order", "Type"), "Order2");
        assert_eq!(scope.take("", "Type"), "Type");
        assert_eq!(scope.take_word("class", "n"), "class_");
        assert_eq!(scope.take_word("class", "n"), "class_2");
    }
}

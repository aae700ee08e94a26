//! The rule for valid names. It applies to the ids of promises and schedules, and to the names of
//! promises, signals, keys, labels, topics, runs, resources and state entries.

/// Error: a text that is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} `{}` is refused: {why}; a name has a visible character and no control characters, and is not `.` or `..`",
    .begins.escape_debug()
)]
pub struct MalformedName {
    /// Kind of the name.
    pub what: &'static str,
    /// Beginning of the text.
    pub begins: String,
    /// The defect.
    pub why: &'static str,
}

/// Checks that a name is visible and addressable: it has a visible character and no control
/// characters, and is not `.` or `..`, which vanish from a path.
///
/// The check applies when an item is created under the name. Items with other names from earlier
/// versions stay usable.
///
/// # Errors
/// [`MalformedName`].
pub fn check_name(what: &'static str, name: &str) -> Result<(), MalformedName> {
    // Fast path: nearly all names are plain.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'.';
    if name.as_bytes().first().is_some_and(|first| is_plain(*first))
        && name.bytes().all(|byte| byte.is_ascii_graphic())
    {
        return Ok(());
    }
    let why = match name {
        "" => "it is empty",
        "." | ".." => "it would vanish from a path",
        _ if name.chars().any(char::is_control) => "it holds control characters",
        _ if !name.chars().any(is_visible) => "all of it is blank or invisible",
        _ => return Ok(()),
    };
    Err(MalformedName { what, begins: name.chars().take(40).collect(), why })
}

/// Checks that the key of an object is visible. It may contain control characters, since ids
/// derived from the object escape them ([`crate::id::ObjectId`]).
///
/// # Errors
/// [`MalformedName`].
pub fn check_key(what: &'static str, key: &str) -> Result<(), MalformedName> {
    if key.chars().any(|letter| is_visible(letter) || letter.is_control()) {
        return Ok(());
    }
    let why = if key.is_empty() { "it is empty" } else { "all of it is blank or invisible" };
    Err(MalformedName { what, begins: key.chars().take(40).collect(), why })
}

/// True if the character is visible when displayed.
fn is_visible(letter: char) -> bool {
    !(letter.is_whitespace() || letter.is_control() || is_ignorable(letter))
}

/// Unicode's `Default_Ignorable_Code_Point`, and other characters that display as blanks.
fn is_ignorable(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_seen_and_addressed() {
        for name in [
            "a",
            "-x",
            "a/b",
            "a b",
            " a",
            "...",
            "x.",
            ".x",
            "é",
            "日本",
            "👍🏽",
            "a\u{200b}",
            "\u{202e}x",
        ] {
            assert_eq!(check_name("the id", name), Ok(()), "{name:?}");
        }
        for (name, why) in [
            ("", "empty"),
            (".", "path"),
            ("..", "path"),
            ("ok\nnow", "control"),
            ("a\u{0}", "control"),
            ("\t", "control"),
            ("a\u{85}", "control"),
            ("\u{7f}", "control"),
            (" ", "blank"),
            ("\u{a0}\u{3000}", "blank"),
            ("\u{200b}", "blank"),
            ("\u{feff} \u{2060}", "blank"),
            ("\u{202e}", "blank"),
            ("\u{3164}", "blank"),
        ] {
            let refused = check_name("the id", name).expect_err(name);
            assert!(refused.why.contains(why), "{name:?}: {refused}");
        }
        let refused = check_name("the name of the promise", "ok\nnow").expect_err("a line break");
        assert!(
            refused
                .to_string()
                .starts_with("the name of the promise `ok\\nnow` is refused: it holds control"),
            "{refused}"
        );
    }
}

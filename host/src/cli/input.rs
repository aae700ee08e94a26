//! JSON given on the command line: as it is, from a file, or from standard input.

use std::io::Read as _;

use serde_json::Value;

use super::CliError;

/// Reads `text` as JSON, `@FILE` as a file with JSON, and `-` as standard input.
pub(super) fn read_json(text: &str) -> Result<Value, CliError> {
    let (source, json) = match text.strip_prefix('@') {
        Some(path) => (format!("file {path}"), read_file(path)?),
        None if text == "-" => ("standard input".to_owned(), read_stdin()?),
        None => ("the argument".to_owned(), text.to_owned()),
    };
    segno_core::json::parse(&json).map_err(|error| {
        let quoting = match source.as_str() {
            "the argument" => "; strings need double quotes inside the shell's: '\"like this\"'",
            _ => "",
        };
        CliError::Usage(format!("{source} is not JSON: {error}{quoting}"))
    })
}

/// Parses `name=value`.
pub(super) fn read_label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

fn read_file(path: &str) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|source| CliError::File {
        what: "read",
        path: path.to_owned(),
        source,
    })
}

fn read_stdin() -> Result<String, CliError> {
    let mut json = String::new();
    std::io::stdin().read_to_string(&mut json).map_err(|source| CliError::File {
        what: "read",
        path: "standard input".to_owned(),
        source,
    })?;
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_from_the_argument_or_a_file() {
        assert_eq!(read_json("[1]").ok(), Some(serde_json::json!([1])));
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), "{\"a\": 1}").expect("it is writable");
        let read = read_json(&format!("@{}", file.path().display())).ok();
        assert_eq!(read, Some(serde_json::json!({ "a": 1 })));
        let refused = read_json("hello").expect_err("no JSON").to_string();
        assert!(refused.starts_with("the argument is not JSON"), "{refused}");
        assert!(
            read_json("@/does/not/exist")
                .expect_err("no file")
                .to_string()
                .contains("/does/not/exist")
        );
    }
}

//! The canonical form of exchanges. Parts that differ from run to run are replaced by names.
//!
//! ```text
//! > POST /Plain/echo
//! > content-type: application/json
//! >
//! > "hi"
//! < 200
//! < content-type: application/json
//! < x-restate-id: <invocation 1>
//! <
//! < "hi"
//! ```

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

/// Headers of answers that are part of a transcript.
const HEADERS: [&str; 4] = ["allow", "content-type", "location", "x-restate-id"];
/// Maximum width of a line, beyond which a JSON value is split.
const WIDTH: usize = 100;
/// Prefixes of ids, and their names. An awakeable's prefix depends on the version of the protocol.
const IDS: [(&str, &str); 6] = [
    ("inv_1", "invocation"),
    ("dp_1", "deployment"),
    ("sign_1", "awakeable"),
    ("prom_1", "awakeable"),
    ("sub_1", "subscription"),
    ("snap_1", "snapshot"),
];

/// Exchanges so far, in canonical form.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    text: String,
    /// Words that are replaced, with their names.
    named: Vec<(String, String)>,
    /// Ids seen so far, with their names.
    ids: BTreeMap<String, String>,
    /// Number of named ids of each kind.
    counted: BTreeMap<&'static str, usize>,
}

impl Transcript {
    /// Replaces `word` by `name` from now on.
    pub(super) fn name(&mut self, word: &str, name: &str) {
        self.named.push((word.to_owned(), format!("<{name}>")));
    }

    /// Adds a request.
    pub(super) fn request(&mut self, line: &str, headers: &[(String, String)], body: &[u8]) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line('>', line);
        for (name, value) in headers {
            self.line('>', &format!("{name}: {value}"));
        }
        self.body('>', body);
    }

    /// Adds an answer. An error of the runtime itself is reduced to the parts that programs read.
    pub(super) fn answer(&mut self, status: u16, headers: &[(String, String)], body: &[u8]) {
        self.line('<', &status.to_string());
        let shown = headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str()));
        let mut shown: Vec<_> = shown.collect();
        shown.sort();
        for (name, value) in shown {
            self.line('<', &format!("{name}: {value}"));
        }
        let is_text = |(name, value): &(String, String)| {
            name == "content-type" && value.starts_with("text/plain")
        };
        if status >= 400 && headers.iter().any(is_text) {
            self.line('<', "");
            self.line('<', "<text>");
        } else {
            self.body('<', body);
        }
    }

    /// Adds a command, and its output.
    pub(super) fn printed(&mut self, command: &str, printed: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line('$', command);
        for line in printed.lines() {
            self.line('|', line);
        }
    }

    /// Adds a remark of the scene.
    pub(super) fn remark(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.line('#', text);
    }

    /// The whole transcript.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn body(&mut self, mark: char, body: &[u8]) {
        if body.is_empty() {
            return;
        }
        self.line(mark, "");
        let text = match (serde_json::from_slice::<Value>(body), std::str::from_utf8(body)) {
            (Ok(document), _) => {
                let mut text = String::new();
                print(&canonical(document), 0, &mut text);
                text
            }
            (Err(_), Ok(text)) => text.trim_end().to_owned(),
            (Err(_), Err(_)) => format!("{body:02x?}"),
        };
        for line in text.lines() {
            self.line(mark, line);
        }
    }

    fn line(&mut self, mark: char, text: &str) {
        let text = self.masked(text);
        let line = if text.is_empty() { mark.to_string() } else { format!("{mark} {text}") };
        writeln!(self.text, "{line}").expect("text grows");
    }

    /// The text with names in place of the parts that differ from run to run.
    fn masked(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, name) in &self.named {
            text = text.replace(word, name);
        }
        let mut masked = String::new();
        let mut rest = text.as_str();
        let mut in_word = false;
        while let Some(first) = rest.chars().next() {
            let length = if in_word { None } else { instant(rest) };
            if let Some(length) = length {
                masked.push_str("<time>");
                rest = &rest[length..];
                continue;
            }
            let kind = IDS.iter().find(|(prefix, _)| !in_word && rest.starts_with(prefix));
            if let Some((_, kind)) = kind {
                let end = rest.find(|c| !part_of_id(c)).unwrap_or(rest.len());
                let (id, after) = rest.split_at(end);
                masked.push_str(&self.id(kind, id));
                rest = after;
                continue;
            }
            in_word = part_of_id(first);
            masked.push(first);
            rest = &rest[first.len_utf8()..];
        }
        masked
    }

    fn id(&mut self, kind: &'static str, id: &str) -> String {
        if let Some(name) = self.ids.get(id) {
            return name.clone();
        }
        let number = self.counted.entry(kind).or_default();
        *number += 1;
        let name = format!("<{kind} {number}>");
        self.ids.insert(id.to_owned(), name.clone());
        name
    }
}

fn part_of_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Length of the RFC 3339 instant at the start of the text. `None` if there is none.
fn instant(text: &str) -> Option<usize> {
    let shape = "dddd-dd-ddTdd:dd:dd";
    let fits = |(shape, c): (char, char)| match shape {
        'd' => c.is_ascii_digit(),
        other => c == other,
    };
    if text.len() < shape.len() || !shape.chars().zip(text.chars()).all(fits) {
        return None;
    }
    let rest = &text[shape.len()..];
    let fraction = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
    let zone = &rest[fraction..];
    let zone = if zone.starts_with('Z') { 1 } else { "+00:00".len() };
    Some(shape.len() + fraction + zone)
}

/// The document with sorted keys, without texts for people, and with lists sorted if their order
/// has no meaning.
pub(super) fn canonical(document: Value) -> Value {
    match document {
        Value::Object(members) => {
            let mut members: BTreeMap<_, _> = members.into_iter().collect();
            let is_for_people = members.len() == 1
                || members.get("source").is_some_and(|source| source == "ingress")
                || members.contains_key("restate_code");
            if let Some(message) = members.get_mut("message")
                && is_for_people
            {
                *message = "<text>".into();
            }
            if let Some(trace) = members.get_mut("stacktrace") {
                *trace = "<text>".into();
            }
            let members = members.into_iter().map(|(name, value)| {
                let value = canonical(value);
                let value = if name == "services" { in_order(value) } else { value };
                (name, value)
            });
            Value::Object(members.collect())
        }
        Value::Array(values) => {
            let mut values: Vec<_> = values.into_iter().map(canonical).collect();
            if values.iter().all(|value| value["name"].is_string()) {
                values.sort_by_key(|value| value["name"].to_string());
            }
            Value::Array(values)
        }
        other => other,
    }
}

fn in_order(mut names: Value) -> Value {
    if let Some(names) = names.as_array_mut() {
        names.sort_by_key(|name| name.as_str().map(str::to_owned));
    }
    names
}

/// Prints JSON in as few lines as the width allows.
fn print(value: &Value, indent: usize, text: &mut String) {
    let whole = value.to_string();
    if indent + whole.len() <= WIDTH {
        text.push_str(&whole);
        return;
    }
    let inner = indent + 2;
    let (open, close, items): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Object(members) => {
            ('{', '}', members.iter().map(|(name, value)| (Some(name), value)).collect())
        }
        Value::Array(values) => ('[', ']', values.iter().map(|value| (None, value)).collect()),
        _ => return text.push_str(&whole),
    };
    let count = items.len();
    text.push(open);
    for (number, (name, value)) in items.into_iter().enumerate() {
        write!(text, "\n{:inner$}", "").expect("text grows");
        if let Some(name) = name {
            write!(text, "\"{name}\": ").expect("text grows");
        }
        print(value, inner, text);
        if number + 1 < count {
            text.push(',');
        }
    }
    write!(text, "\n{:indent$}{close}", "").expect("text grows");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_times_have_names_in_the_order_of_their_appearance() {
        let mut transcript = Transcript::default();
        transcript.name("http://127.0.0.1:80", "service");
        transcript.request("GET /inv_1b/x", &[], b"");
        let body =
            br#"{"b":"inv_1a","a":"2026-01-01T10:20:30.5Z http://127.0.0.1:80","c":["inv_1b"]}"#;
        transcript.answer(200, &[("date".to_owned(), "now".to_owned())], body);
        let expected = r#"> GET /<invocation 1>/x
< 200
<
< {"a":"<time> <service>","b":"<invocation 2>","c":["<invocation 1>"]}
"#;
        assert_eq!(transcript.text(), expected);
    }

    #[test]
    fn what_is_said_to_people_only_is_left_out() {
        let mut transcript = Transcript::default();
        let json = [("content-type".to_owned(), "application/json".to_owned())];
        transcript.answer(404, &json, br#"{"message":"gone","code":404,"source":"ingress"}"#);
        transcript.answer(409, &json, br#"{"message":"mine","code":409,"source":"invocation"}"#);
        let expected = r#"< 404
< content-type: application/json
<
< {"code":404,"message":"<text>","source":"ingress"}
< 409
< content-type: application/json
<
< {"code":409,"message":"mine","source":"invocation"}
"#;
        assert_eq!(transcript.text(), expected);
    }

    #[test]
    fn long_documents_are_divided_where_they_have_to_be() {
        let long = "x".repeat(WIDTH);
        let mut text = String::new();
        print(&serde_json::json!({ "a": [1, 2], "b": [long] }), 0, &mut text);
        assert_eq!(text, format!("{{\n  \"a\": [1,2],\n  \"b\": [\n    \"{long}\"\n  ]\n}}"));
    }
}

//! The ends of content that an attempt writes in pieces: each may be the beginning of a secret's
//! value, which the next piece completes.

use std::collections::BTreeMap;

use super::ActivityState;
use crate::{Failure, Payload, policy::Secrets};

/// Maximum number of streams whose end waits.
const STREAMS_MAX: usize = 64;

#[derive(Default)]
pub(crate) struct UndecidedEnds {
    /// The last bytes of a blob, by its writer.
    blobs: BTreeMap<u32, Vec<u8>>,
    /// Bytes that are not appended yet, by the name of their stream.
    streams: BTreeMap<String, UndecidedBytes>,
}

struct UndecidedBytes {
    content_type: String,
    bytes: Vec<u8>,
}

impl UndecidedEnds {
    /// The last bytes of a blob, as far as they matter.
    pub(super) fn of_blob(&self, writer: u32) -> Vec<u8> {
        self.blobs.get(&writer).cloned().unwrap_or_default()
    }

    /// Sets the last bytes of a blob. Empty ones are forgotten.
    pub(super) fn set_blob(&mut self, writer: u32, end: Vec<u8>) {
        match end.is_empty() {
            true => drop(self.blobs.remove(&writer)),
            false => drop(self.blobs.insert(writer, end)),
        }
    }

    /// The bytes of a stream that may be appended now that these follow, with values hidden.
    fn decided(
        &mut self,
        secrets: &Secrets,
        name: &str,
        content_type: &str,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, Failure> {
        let mut all = self.streams.remove(name).map(|held| held.bytes).unwrap_or_default();
        all.extend(bytes);
        let decided = secrets.hide_beginning(&mut all);
        if all.is_empty() {
            return Ok(decided);
        }
        if self.streams.len() >= STREAMS_MAX {
            let message = format!(
                "{STREAMS_MAX} streams end with what may be the beginning of a secret: write to fewer at once"
            );
            return Err(Failure { code: 400, message, details: None });
        }
        let held = UndecidedBytes { content_type: content_type.to_owned(), bytes: all };
        self.streams.insert(name.to_owned(), held);
        Ok(decided)
    }
}

impl ActivityState {
    /// Appends bytes or text to a stream. What may be the beginning of a secret's value waits for
    /// the next item, or for the end of the attempt.
    pub(super) async fn append_bytes(
        &mut self,
        name: &str,
        content_type: &str,
        item: Payload,
    ) -> Result<(), Failure> {
        let bytes = match item {
            Payload::Bytes(bytes) => bytes,
            Payload::Json(text) => {
                serde_json::from_str::<String>(&text).map_or(text.into_bytes(), String::into_bytes)
            }
        };
        let decided = self.undecided.decided(&self.secrets, name, content_type, bytes)?;
        if decided.is_empty() {
            return Ok(());
        }
        self.host.stream_append(name, content_type, Payload::Bytes(decided)).await
    }

    /// Appends what waits: of this stream, or of all.
    pub(super) async fn append_undecided(&mut self, name: Option<&str>) -> Result<(), Failure> {
        let is_asked = |stream: &String, _: &mut UndecidedBytes| name.is_none_or(|it| it == stream);
        let held: Vec<_> = self.undecided.streams.extract_if(.., is_asked).collect();
        for (stream, UndecidedBytes { content_type, bytes }) in held {
            let item = Payload::Bytes(self.secrets.hide_bytes(bytes));
            self.host.stream_append(&stream, &content_type, item).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn secrets(value: &str) -> Secrets {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), value).expect("it is written");
        let policy = format!("[shop]\nsecrets.PAY = {{ file = \"{}\" }}", file.path().display());
        let policy = toml::from_str::<Policy>(&policy).expect("the policy is valid");
        policy.grants("shop").read_secrets().expect("it can be read")
    }

    #[test]
    fn a_value_is_hidden_wherever_the_items_of_a_stream_are_cut() {
        let secrets = secrets("long-enöugh");
        for (text, hidden) in [
            ("you: long-enöugh, y", "you: {secret:PAY}, y"),
            ("lolong-enöugh", "lo{secret:PAY}"),
            ("a longer answer, lon", "a longer answer, lon"),
        ] {
            for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let (mut ends, mut seen) = (UndecidedEnds::default(), Vec::new());
                for piece in [&text[..cut], &text[cut..]] {
                    let decided = ends.decided(&secrets, "s", "text/plain", piece.into());
                    let decided = decided.expect("there is room");
                    assert!(str::from_utf8(&decided).is_ok(), "whole characters at {cut}");
                    seen.extend(decided);
                    // Another stream does not complete the value.
                    ends.decided(&secrets, "other", "text/plain", vec![b'x']).expect("it is short");
                }
                let held = ends.streams.remove("s").map(|held| held.bytes).unwrap_or_default();
                seen.extend(secrets.hide_bytes(held));
                assert_eq!(String::from_utf8_lossy(&seen), hidden, "{text} at {cut}");
            }
        }
        let mut ends = UndecidedEnds::default();
        let mut hold = |n: usize| ends.decided(&secrets, &n.to_string(), "a/b", vec![b'l']);
        assert!((0..STREAMS_MAX).all(|n| hold(n) == Ok(Vec::new())));
        assert_eq!(hold(STREAMS_MAX).map_err(|failure| failure.code), Err(400));
    }
}

//! Lines and server-sent events in bytes that arrive in pieces.

/// An event of a stream of server-sent events (`text/event-stream`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// The type of the event; `message` if it has none.
    pub event: String,
    /// The data; several lines are joined by line feeds.
    pub data: String,
    /// The last id that the server has sent; empty if none.
    pub id: String,
}

/// Cuts bytes into lines, which end with a line feed, a carriage return, or both.
#[derive(Default)]
pub(super) struct LineCutter {
    bytes: Vec<u8>,
    /// Number of bytes that belong to lines that were taken.
    taken: usize,
    /// True if the last line ended with a carriage return, whose line feed may follow.
    after_return: bool,
}

impl LineCutter {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(piece);
    }

    /// The next line that has ended, without its end.
    pub(super) fn line(&mut self) -> Option<String> {
        let rest = self.bytes.get(self.taken..)?;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            self.taken += usize::from(rest[0] == b'\n');
        }
        let rest = &self.bytes[self.taken..];
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        self.after_return = rest[length] == b'\r';
        let line = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.taken += length + 1;
        Some(line)
    }

    /// The rest after the last line that has ended. `None` if it is empty.
    pub(super) fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.bytes).split_off(std::mem::take(&mut self.taken));
        let rest = rest.strip_prefix(b"\n").filter(|_| self.after_return).unwrap_or(&rest);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(rest).into_owned())
    }
}

/// Makes events of lines.
#[derive(Default)]
pub(super) struct EventParser {
    event: String,
    data: Option<String>,
    id: String,
    has_begun: bool,
}

impl EventParser {
    /// Adds a line. Returns the event that it ends.
    pub(super) fn line(&mut self, line: &str) -> Option<ServerEvent> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix('\u{feff}').filter(|_| is_first).unwrap_or(line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let data = self.data.take()?;
            let event = if event.is_empty() { "message".to_owned() } else { event };
            return Some(ServerEvent { event, data, id: self.id.clone() });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            ("event", _) => value.clone_into(&mut self.event),
            ("id", _) if !value.contains('\0') => value.clone_into(&mut self.id),
            // Comments, and fields for browsers.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut cutter = LineCutter::default();
        let mut lines = Vec::new();
        for piece in pieces {
            cutter.push(piece);
            lines.extend(std::iter::from_fn(|| cutter.line()));
        }
        lines.extend(cutter.rest());
        lines
    }

    #[test]
    fn lines_are_the_same_wherever_the_bytes_are_cut() {
        let text = "één\r\n\r\ntwo\rthree\n\n€".as_bytes();
        let whole = ["één", "", "two", "three", "", "€"];
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(lines(&pieces), whole, "{first}, {second}");
            }
        }
        assert_eq!(lines(&[b"a\r", b"\n"]), ["a"]);
    }

    #[test]
    fn events_have_a_type_data_and_the_last_id() {
        let text = "\u{feff}: a comment\nid: 7\nevent: token\ndata: a\ndata:  b\n\nretry: 5\n\ndata\n\ndata: cut off";
        let mut parser = EventParser::default();
        let events: Vec<_> =
            lines(&[text.as_bytes()]).iter().filter_map(|line| parser.line(line)).collect();
        let event = |event: &str, data: &str| ServerEvent {
            event: event.into(),
            data: data.into(),
            id: "7".into(),
        };
        assert_eq!(events, [event("token", "a\n b"), event("message", "")]);
    }
}

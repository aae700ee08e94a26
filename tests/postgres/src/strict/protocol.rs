//! Messages of the wire protocol: a type, a length and a body.

use std::io::{self, Read, Write};

/// A message with a type.
#[derive(Debug, Clone)]
pub(super) struct WireMessage {
    pub(super) kind: u8,
    pub(super) body: Vec<u8>,
}

impl WireMessage {
    pub(super) fn new(kind: u8, body: impl Into<Vec<u8>>) -> Self {
        Self { kind, body: body.into() }
    }

    /// A simple query.
    pub(super) fn query(text: &str) -> Self {
        Self::new(b'Q', [text.as_bytes(), b"\0"].concat())
    }

    /// An error with its SQLSTATE.
    pub(super) fn error(severity: &str, code: &str, message: &str) -> Self {
        let fields = [('S', severity), ('V', severity), ('C', code), ('M', message)];
        let fields = fields.map(|(field, text)| format!("{field}{text}\0")).concat();
        Self::new(b'E', [fields.as_bytes(), b"\0"].concat())
    }

    /// The server is ready; `status` is that of the transaction.
    pub(super) fn ready(status: u8) -> Self {
        Self::new(b'Z', [status])
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut kind = [0];
        from.read_exact(&mut kind)?;
        Ok(Self { kind: kind[0], body: body(from)? })
    }

    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&[self.kind])?;
        to.write_all(&length(&self.body))?;
        to.write_all(&self.body)
    }

    /// The texts at the beginning of the body, each of which ends with a zero byte.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned())
    }
}

/// The first message of a client, which has no type: its code and its parameters.
pub(super) struct StartupMessage {
    pub(super) code: u32,
    body: Vec<u8>,
}

impl StartupMessage {
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let body = body(from)?;
        let code = body.first_chunk().map_or(0, |code| u32::from_be_bytes(*code));
        Ok(Self { code, body })
    }

    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&length(&self.body))?;
        to.write_all(&self.body)
    }

    /// True if the client sets this parameter.
    pub(super) fn sets(&self, name: &str) -> bool {
        let fields = self.body.get(4..).unwrap_or_default().split(|byte| *byte == 0);
        fields.step_by(2).any(|field| field == name.as_bytes())
    }
}

fn body(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length).saturating_sub(4);
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    Ok(body)
}

fn length(body: &[u8]) -> [u8; 4] {
    (body.len() as u32 + 4).to_be_bytes()
}

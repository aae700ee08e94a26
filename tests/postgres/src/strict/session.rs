//! One client and its session. The client sends messages up to a `Sync` or a simple query, and then
//! waits for the answer: so one thread serves both directions.

use std::{
    collections::HashMap,
    io::{self, BufReader, BufWriter, Write as _},
    os::unix::net::UnixStream,
};

use super::{
    protocol::{StartupMessage, WireMessage},
    rules::{RefusedStatement, Rules, is_write},
};

/// Codes of first messages: a question for encryption, and a cancellation.
const ENCRYPTION: [u32; 2] = [80_877_103, 80_877_104];
const CANCEL: u32 = 80_877_102;

/// Status of a session between transactions, and in a transaction.
const IDLE: u8 = b'I';
const OPEN: u8 = b'T';
const FAILED: u8 = b'E';

struct StrictSession<'a> {
    rules: &'a Rules,
    client: BufReader<UnixStream>,
    answers: BufWriter<UnixStream>,
    server: BufReader<UnixStream>,
    questions: BufWriter<UnixStream>,
    status: u8,
    /// True if the transaction has written.
    wrote: bool,
    /// The statements that are prepared, by name.
    prepared: HashMap<String, String>,
}

/// Serves a client until it leaves.
pub(super) fn serve(client: UnixStream, server: UnixStream, rules: &Rules) -> io::Result<()> {
    let mut session = StrictSession {
        rules,
        answers: BufWriter::new(client.try_clone()?),
        client: BufReader::new(client),
        questions: BufWriter::new(server.try_clone()?),
        server: BufReader::new(server),
        status: IDLE,
        wrote: false,
        prepared: HashMap::new(),
    };
    if !session.start()? {
        return Ok(());
    }
    loop {
        let mut batch = Vec::new();
        loop {
            let message = WireMessage::read(&mut session.client)?;
            let (is_last, leaves) = (matches!(message.kind, b'Q' | b'S'), message.kind == b'X');
            if leaves {
                return Ok(());
            }
            batch.push(message);
            if is_last {
                break;
            }
        }
        match session.judge(&batch) {
            Ok(()) => session.pass(&batch)?,
            Err(refused) => session.refuse(&refused)?,
        }
        if session.status == IDLE {
            session.end_transaction()?;
        }
    }
}

impl StrictSession<'_> {
    /// Starts the session. Returns false if there is none.
    fn start(&mut self) -> io::Result<bool> {
        let startup = loop {
            let startup = StartupMessage::read(&mut self.client)?;
            if !ENCRYPTION.contains(&startup.code) {
                break startup;
            }
            self.answers.write_all(b"N")?;
            self.answers.flush()?;
        };
        if startup.code != CANCEL
            && !self.rules.strictness.keeps_sessions
            && startup.sets("options")
        {
            let message = "unsupported startup parameter: options";
            WireMessage::error("FATAL", "08P01", message).write(&mut self.answers)?;
            self.answers.flush()?;
            return Ok(false);
        }
        startup.write(&mut self.questions)?;
        self.questions.flush()?;
        if startup.code == CANCEL {
            return Ok(false);
        }
        self.answer(true)?;
        Ok(true)
    }

    /// Looks at the messages before the server sees them.
    fn judge(&mut self, batch: &[WireMessage]) -> Result<(), RefusedStatement> {
        for message in batch {
            let mut texts = message.texts();
            let mut text = || texts.next().unwrap_or_default();
            match message.kind {
                b'P' => {
                    let (name, statement) = (text(), text());
                    self.rules.check_text(&statement)?;
                    self.prepared.insert(name, statement);
                }
                b'B' => {
                    let (_, name) = (text(), text());
                    let statement = self.known(&name)?.clone();
                    self.check_execution(&statement)?;
                }
                b'D' if message.body.first() == Some(&b'S') => {
                    self.known(text().trim_start_matches('S'))?;
                }
                b'Q' => {
                    let statement = text();
                    self.rules.check_text(&statement)?;
                    self.check_execution(&statement)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Result<&String, RefusedStatement> {
        self.prepared.get(name).ok_or_else(|| RefusedStatement {
            code: "26000",
            message: format!("prepared statement \"{name}\" does not exist"),
        })
    }

    fn check_execution(&mut self, statement: &str) -> Result<(), RefusedStatement> {
        let commits = statement.trim_start().to_uppercase().starts_with("COMMIT");
        if commits && self.status == OPEN && self.wrote {
            return self.rules.check_commit();
        }
        if is_write(statement) {
            self.rules.check_write()?;
            self.wrote = true;
            if self.status == IDLE {
                self.rules.check_commit()?;
            }
        }
        Ok(())
    }

    /// Passes messages and their answers on.
    fn pass(&mut self, batch: &[WireMessage]) -> io::Result<()> {
        for message in batch {
            message.write(&mut self.questions)?;
        }
        self.questions.flush()?;
        self.answer(true)
    }

    /// Answers with an error. A commit that fails ends its transaction; after other statements it
    /// has failed.
    fn refuse(&mut self, refused: &RefusedStatement) -> io::Result<()> {
        WireMessage::error("ERROR", refused.code, &refused.message).write(&mut self.answers)?;
        if self.status == OPEN {
            let ends = refused.code == "40001";
            self.ask(if ends { "ROLLBACK" } else { "SELECT 1/0" })?;
            self.status = if ends { IDLE } else { FAILED };
        }
        WireMessage::ready(self.status).write(&mut self.answers)?;
        self.answers.flush()
    }

    fn end_transaction(&mut self) -> io::Result<()> {
        self.wrote = false;
        if self.rules.strictness.keeps_sessions {
            return Ok(());
        }
        self.prepared.remove("");
        if !self.prepared.is_empty() {
            self.prepared.clear();
            self.ask("DEALLOCATE ALL")?;
        }
        Ok(())
    }

    /// Asks the server without the client.
    fn ask(&mut self, text: &str) -> io::Result<()> {
        WireMessage::query(text).write(&mut self.questions)?;
        self.questions.flush()?;
        self.answer(false)
    }

    /// Reads the answer of the server, and passes it on if the client asked.
    fn answer(&mut self, passes_on: bool) -> io::Result<()> {
        loop {
            let message = WireMessage::read(&mut self.server)?;
            if passes_on {
                message.write(&mut self.answers)?;
            }
            // A server that refuses a client closes without a further message.
            if passes_on && message.kind == b'E' {
                self.answers.flush()?;
            }
            if message.kind == b'Z' {
                self.status = message.body.first().copied().unwrap_or(IDLE);
                return self.answers.flush();
            }
        }
    }
}

//! A runtime for tests: keeps one journal, and connects an attempt to the runtime's state machine.

use bytes::Bytes;

use super::DeploymentAttempt;
use crate::{
    ProtocolVersion,
    frame::{Frame, FrameDecoder},
    immutable::{Command, Input, Message, Notification},
    runtime::immutable::{CommandAction, ImmutableRuntimeAttempt as Runtime},
    wire::{StartMessage, ValueMessage},
};

/// A frame that was sent: sender, type, and field numbers in ascending order.
pub(super) type SentFrame = (char, u16, Vec<u32>);

pub(super) struct RuntimeServer {
    pub(super) version: ProtocolVersion,
    pub(super) start: StartMessage,
    pub(super) journal: Vec<Bytes>,
    pub(super) runtime: Runtime,
    /// All frames that were sent, in both directions.
    pub(super) trace: Vec<SentFrame>,
}

impl RuntimeServer {
    /// Creates an invocation and its first attempt.
    pub(super) fn begin(
        version: ProtocolVersion,
        start: StartMessage,
        input: &str,
    ) -> (Self, DeploymentAttempt) {
        let value = Some(ValueMessage { content: input.to_owned().into() });
        let input = Input { value, ..Input::default() };
        let input = Message::Command(input.into()).encode(version).to_bytes();
        let (runtime, _) = Runtime::open(version, start.clone(), [&input[..]]).unwrap();
        let mut server = Self { version, start, journal: vec![input], runtime, trace: Vec::new() };
        let attempt = server.again();
        (server, attempt)
    }

    /// Begins another attempt with the current journal.
    pub(super) fn again(&mut self) -> DeploymentAttempt {
        let records = self.journal.iter().map(|record| &record[..]);
        let (runtime, bytes) = Runtime::open(self.version, self.start.clone(), records).unwrap();
        self.runtime = runtime;
        let mut attempt = DeploymentAttempt::new(self.version);
        self.send(&mut attempt, &bytes);
        assert!(attempt.is_ready());
        attempt
    }

    /// Sends bytes of the runtime in pieces of three bytes.
    pub(super) fn send(&mut self, attempt: &mut DeploymentAttempt, bytes: &[u8]) {
        self.record('R', bytes);
        for piece in bytes.chunks(3) {
            attempt.receive(piece).expect("a runtime keeps the protocol");
        }
    }

    /// Passes the attempt's output to the runtime, and stores its commands.
    pub(super) fn exchange(&mut self, attempt: &mut DeploymentAttempt) -> Vec<CommandAction> {
        let bytes = attempt.take_output();
        self.receive(&bytes)
    }

    /// Passes bytes of a deployment to the runtime, and stores the commands.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Vec<CommandAction> {
        self.record('S', bytes);
        let actions = self.runtime.receive(bytes).expect("a deployment keeps the protocol");
        for action in &actions {
            if let CommandAction::Append { record, .. } = action {
                self.journal.push(record.clone());
            }
        }
        actions
    }

    /// Stores a notification and sends it to the attempt.
    pub(super) fn tell(&mut self, attempt: &mut DeploymentAttempt, notification: Notification) {
        let bytes = self.store(notification);
        self.send(attempt, &bytes);
    }

    /// Stores a notification. Returns the bytes to send for it.
    pub(super) fn store(&mut self, notification: Notification) -> Bytes {
        let bytes = self.runtime.notify(&notification).expect("it was asked for");
        let message = Message::Notification(notification);
        self.journal.push(message.encode(self.version).to_bytes());
        bytes
    }

    /// Ends the request's body.
    pub(super) fn half_close(&mut self, attempt: &mut DeploymentAttempt) {
        self.runtime.half_close();
        attempt.end_of_input().unwrap();
    }

    /// Returns the commands of the journal.
    pub(super) fn commands(&self) -> Vec<Command> {
        let messages = self.journal.iter().map(|record| {
            Message::decode(&Frame::from_bytes(record).unwrap(), self.version).unwrap()
        });
        let commands = messages.filter_map(|message| match message {
            Message::Command(command) => Some(command),
            _ => None,
        });
        commands.collect()
    }

    fn record(&mut self, side: char, bytes: &[u8]) {
        let mut decoder = FrameDecoder::default();
        decoder.feed(bytes);
        while let Some(frame) = decoder.next_frame().unwrap() {
            let mut payload = &frame.payload[..];
            let mut fields = Vec::new();
            while !payload.is_empty() {
                let (tag, kind) = prost::encoding::decode_key(&mut payload).unwrap();
                let context = prost::encoding::DecodeContext::default();
                prost::encoding::skip_field(kind, tag, &mut payload, context).unwrap();
                fields.push(tag);
            }
            fields.sort_unstable();
            fields.dedup();
            self.trace.push((side, frame.number, fields));
        }
    }
}

//! The runtime's side of an attempt, as far as it is the same in both families: the streams of
//! frames, and the end of the attempt.

use std::fmt::Debug;

use bytes::{Bytes, BytesMut};

use crate::{
    failure,
    frame::{Frame, FrameDecoder, MESSAGE_LIMIT},
    version::{ProtocolFamily, ProtocolVersion},
    violation::{FrameType, ProtocolViolation},
    wire::StartMessage,
};

/// The journal of an attempt in one family, and the actions that follow from its frames.
pub trait AttemptJournal: Debug + Default {
    type Action;

    const FAMILY: ProtocolFamily;

    /// Returns the type of a frame by number.
    fn frame_type(number: u16) -> FrameType;

    /// Encodes the first frame.
    fn start(start: StartMessage, version: ProtocolVersion) -> Frame;

    /// Adds a stored frame.
    fn replay(&mut self, frame: &Frame, version: ProtocolVersion) -> Result<(), ProtocolViolation>;

    /// Handles a frame of the deployment. `half_closed` is true if the request's body has ended.
    fn receive(
        &mut self,
        frame: &Frame,
        version: ProtocolVersion,
        half_closed: bool,
    ) -> Result<Self::Action, ProtocolViolation>;

    /// Returns true if the attempt ends with this action.
    fn ends(action: &Self::Action) -> bool;
}

/// State machine of the runtime's side of an attempt.
#[derive(Debug)]
pub struct RuntimeAttempt<J> {
    pub(super) version: ProtocolVersion,
    pub(super) journal: J,
    decoder: FrameDecoder,
    /// The frame that ended the attempt.
    ended_by: Option<FrameType>,
    /// True if the request's body has ended.
    half_closed: bool,
}

impl<J: AttemptJournal> RuntimeAttempt<J> {
    /// Begins an attempt with the frames of the journal, in the order of storage. Writes the number
    /// of frames into `start`. Returns the bytes to send.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] in the journal itself, with the index of the frame in the journal.
    ///
    /// # Panics
    /// If `version` is of the other family.
    pub fn open<'a>(
        version: ProtocolVersion,
        start: StartMessage,
        journal: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Self, Bytes), ProtocolViolation> {
        Self::open_with_limit(version, start, journal, MESSAGE_LIMIT)
    }

    /// Like [`open`](Self::open), with another maximum message length, in bytes.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] in the journal itself.
    ///
    /// # Panics
    /// If `version` is of the other family.
    pub fn open_with_limit<'a>(
        version: ProtocolVersion,
        start: StartMessage,
        journal: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> Result<(Self, Bytes), ProtocolViolation> {
        assert_eq!(version.family(), J::FAMILY, "{version} has journals of the other family");
        let mut attempt = Self {
            version,
            journal: J::default(),
            decoder: FrameDecoder::new(limit),
            ended_by: None,
            half_closed: false,
        };
        let mut replay = BytesMut::new();
        let mut known_entries = 0;
        for record in journal {
            let frame = attempt.replay(record).map_err(|violation| violation.at(known_entries))?;
            frame.write(&mut replay);
            known_entries += 1;
        }
        if known_entries == 0 {
            return Err(ProtocolViolation::new("a journal has its input at least"));
        }
        let mut out = BytesMut::new();
        J::start(StartMessage { known_entries, ..start }, version).write(&mut out);
        out.unsplit(replay);
        Ok((attempt, out.freeze()))
    }

    /// Adds a frame of the journal, and returns it as it is to be sent.
    fn replay(&mut self, record: &[u8]) -> Result<Frame, ProtocolViolation> {
        let frame = Frame::from_bytes(record);
        let frame = frame.ok_or_else(|| ProtocolViolation::new("is not one frame"))?;
        let frame = frame.without_request();
        self.journal.replay(&frame, self.version)?;
        Ok(frame)
    }

    /// Takes a piece of the response.
    ///
    /// # Errors
    /// A [`ProtocolViolation`]; the attempt is then over.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<J::Action>, ProtocolViolation> {
        self.decoder.feed(bytes);
        let mut actions = Vec::new();
        while let Some(action) = self.next().inspect_err(|violation| {
            self.ended_by = violation.frame;
        })? {
            actions.push(action);
        }
        Ok(actions)
    }

    fn next(&mut self) -> Result<Option<J::Action>, ProtocolViolation> {
        let frame = self.decoder.next_frame().map_err(|refused| {
            ProtocolViolation::of(J::frame_type(refused.number), refused.to_string())
        })?;
        let Some(frame) = frame else { return Ok(None) };
        let kind = J::frame_type(frame.number);
        if let Some(end) = self.ended_by {
            return Err(ProtocolViolation::of(kind, format!("comes after {end}")));
        }
        let action = self.journal.receive(&frame, self.version, self.half_closed)?;
        if J::ends(&action) {
            self.ended_by = Some(kind);
        }
        Ok(Some(action))
    }

    /// Ends the request's body. The deployment continues until it has to wait, and then suspends.
    pub fn half_close(&mut self) {
        self.half_closed = true;
    }

    /// Handles the end of the response's body.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if it ended within a frame, or before the attempt was over.
    pub fn end_of_input(&mut self) -> Result<(), ProtocolViolation> {
        let pending = self.decoder.pending();
        let what = match (pending, self.ended_by) {
            (0, Some(_)) => return Ok(()),
            (0, None) => "the response ended without End, Suspension or Error".to_owned(),
            _ => format!("the response was cut off {pending} bytes into a frame"),
        };
        let violation = ProtocolViolation::new(what).with_code(failure::INTERNAL);
        self.ended_by = self.ended_by.or(Some(FrameType { number: 0, name: "end of input" }));
        Err(violation)
    }

    /// Returns true after an end, a suspension, an error or a violation.
    pub fn is_over(&self) -> bool {
        self.ended_by.is_some()
    }

    /// Returns true if nothing can be sent any more.
    pub(super) fn is_closed(&self) -> bool {
        self.half_closed || self.ended_by.is_some()
    }

    /// Returns the bytes of a frame to send; empty if nothing can be sent any more.
    pub(super) fn send(&self, frame: &Frame) -> Bytes {
        if self.is_closed() { Bytes::new() } else { frame.to_bytes() }
    }
}

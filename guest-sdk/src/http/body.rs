//! A response whose body is read in pieces, as they arrive.

#[cfg(not(target_arch = "wasm32"))]
use std::collections::VecDeque;

use super::{
    Response,
    lines::{EventParser, LineCutter, ServerEvent},
};
use crate::{
    activity::ActivityContext,
    bindings::segno::workflow::http_bodies::ResponseHead,
    error::{Error, Result},
};

/// Maximum size of a piece, in bytes.
const PIECE_BYTES_MAX: u32 = 64 << 10;
/// Number of bytes of a body that an error may show.
const SHOWN_BYTES: usize = 800;

/// A response whose status and headers have arrived, and whose body is read in pieces, as they
/// arrive. Dropping it ends the response. An attempt has at most 16 open responses.
///
/// ```
/// # extern crate segno_sdk as segno;
/// use segno::http::{Request, Response};
///
/// #[segno::activity]
/// async fn ask(ctx: segno::ActivityContext, question: String) -> segno::Result<String> {
///     let request = Request::post("https://model.example/chat").json(&question);
///     let tokens = ctx.stream("tokens");
///     let mut answer = String::new();
///     for event in ctx.http_open(request).await?.ok()?.events() {
///         let event = event?;
///         tokens.append(&event.data)?;
///         answer += &event.data;
///     }
///     Ok(answer)
/// }
///
/// #[segno::workflow]
/// async fn answer(ctx: segno::Context, question: String) -> segno::Result<String> {
///     ctx.call(ask, &question).await
/// }
///
/// let mut test = segno::testing::Test::new();
/// test.on_http("POST", "https://model.example/", |_| {
///     Ok(Response::in_pieces(200, ["data: Hel", "lo\n\ndata:  you\n\n"]))
/// });
/// assert_eq!(test.run(answer, &"?".to_owned()).unwrap(), "Hello you");
/// assert_eq!(test.stream::<String>("tokens"), ["Hello", " you"]);
/// ```
pub struct OpenResponse {
    context: ActivityContext,
    head: ResponseHead,
    is_open: bool,
}

impl OpenResponse {
    pub(crate) fn new(context: ActivityContext, head: ResponseHead) -> Self {
        Self { context, head, is_open: true }
    }

    /// The HTTP status code.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// Returns true for a status from 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.head.status)
    }

    /// The value of the first header of this name, case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        super::header(&self.head.headers, name)
    }

    /// Waits for the next bytes of the body. `None` at its end.
    ///
    /// # Errors
    /// Code 408 if nothing came in time, 413 if the body is larger than the host's limit, 502 if
    /// the connection broke.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>> {
        if !self.is_open {
            return Ok(None);
        }
        let read = self.context.operations().http_read(self.head.response, PIECE_BYTES_MAX);
        // A response that failed, or is at its end, is open no more.
        self.is_open = matches!(&read, Ok(piece) if !piece.is_empty());
        let piece = read.map_err(Error::from_failure)?;
        Ok(self.is_open.then_some(piece))
    }

    /// Reads the rest of the body.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_to_end(mut self) -> Result<Response> {
        let mut body = Vec::new();
        while let Some(piece) = self.read()? {
            body.extend(piece);
        }
        let headers = std::mem::take(&mut self.head.headers);
        Ok(Response { headers, ..Response::new(self.head.status, body) })
    }

    /// Returns the response if its status is a success.
    ///
    /// # Errors
    /// Otherwise as [`Response::ok`].
    pub fn ok(mut self) -> Result<Self> {
        if self.is_success() {
            return Ok(self);
        }
        let mut beginning = Vec::new();
        while beginning.len() < SHOWN_BYTES {
            match self.read() {
                Ok(Some(piece)) => beginning.extend(piece),
                Ok(None) | Err(_) => break,
            }
        }
        Response::new(self.head.status, beginning).ok().map(|_| self)
    }

    /// The lines of the body, without their ends, as they arrive. Bytes that are not UTF-8 are
    /// replaced.
    pub fn lines(self) -> Lines {
        Lines { response: Some(self), cutter: LineCutter::default() }
    }

    /// The server-sent events of the body (`text/event-stream`), as they arrive.
    pub fn events(self) -> Events {
        Events { lines: self.lines(), parser: EventParser::default() }
    }
}

impl Drop for OpenResponse {
    fn drop(&mut self) {
        if self.is_open {
            self.context.operations().http_close(self.head.response);
        }
    }
}

/// The lines of a body, by [`OpenResponse::lines`].
pub struct Lines {
    /// `None` when the body is at its end.
    response: Option<OpenResponse>,
    cutter: LineCutter,
}

impl Iterator for Lines {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.cutter.line() {
                return Some(Ok(line));
            }
            match self.response.as_mut()?.read() {
                Ok(Some(piece)) => self.cutter.push(&piece),
                Ok(None) => {
                    self.response = None;
                    return self.cutter.rest().map(Ok);
                }
                Err(error) => {
                    self.response = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The server-sent events of a body, by [`OpenResponse::events`]. An event that no empty line ends
/// is left out, as the standard says.
pub struct Events {
    lines: Lines,
    parser: EventParser,
}

impl Iterator for Events {
    type Item = Result<ServerEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.lines.next()? {
                Ok(line) => {
                    if let Some(event) = self.parser.line(&line) {
                        return Some(Ok(event));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// The pieces of a response in a test, and the error with which its body breaks off.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) struct TestBody {
    pieces: VecDeque<Vec<u8>>,
    broken: Option<Error>,
}

#[cfg(not(target_arch = "wasm32"))]
impl TestBody {
    pub(crate) fn new(pieces: Vec<Vec<u8>>, broken: Option<Error>) -> Self {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        Self { pieces, broken }
    }

    /// At most `limit` of the next bytes. Empty at the end of the body.
    pub(crate) fn read(&mut self, limit: usize) -> Result<Vec<u8>> {
        let Some(mut piece) = self.pieces.pop_front() else {
            return self.broken.take().map_or(Ok(Vec::new()), Err);
        };
        if piece.len() > limit {
            self.pieces.push_front(piece.split_off(limit));
        }
        Ok(piece)
    }
}

//! Reading streams in a workflow.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    context::Context,
    error::{Error, Result},
};

/// The built-in function that reads.
pub(crate) const READ_STREAM: &str = "segno:stream";

/// A stream of any invocation that a workflow reads, while it grows and afterwards. What was read
/// is recorded, so a replay reads the same.
///
/// ```
/// # extern crate segno_sdk as segno;
/// #[segno::workflow]
/// async fn count(ctx: segno::Context, to: u64) -> segno::Result<()> {
///     let numbers = ctx.stream("numbers");
///     (0..to).try_for_each(|number| numbers.append(&number))
/// }
///
/// #[segno::workflow]
/// async fn sum(ctx: segno::Context, to: u64) -> segno::Result<u64> {
///     let counting = ctx.call(count, &to).send().await?;
///     let mut numbers = ctx.read_stream(&counting, "numbers");
///     let mut sum = 0;
///     while let Some(part) = numbers.next::<u64>().await? {
///         sum += part.iter().sum::<u64>();
///     }
///     Ok(sum)
/// }
///
/// let mut test = segno::testing::Test::new();
/// assert_eq!(test.run(sum, &5).unwrap(), 10);
/// ```
#[derive(Clone)]
pub struct StreamReader {
    context: Context,
    invocation: String,
    name: String,
    position: u64,
    is_over: bool,
}

/// An answer of the host.
#[derive(Deserialize)]
struct StreamPart {
    items: Option<Vec<Value>>,
    text: Option<String>,
    base64: Option<String>,
    next: u64,
    closed: bool,
}

impl StreamPart {
    fn is_empty(&self) -> bool {
        let has_text = [&self.text, &self.base64].into_iter().flatten().any(|it| !it.is_empty());
        !has_text && self.items.as_ref().is_none_or(Vec::is_empty)
    }
}

impl StreamReader {
    pub(crate) fn new(context: &Context, invocation: &str, name: &str) -> Self {
        let (invocation, name) = (invocation.to_owned(), name.to_owned());
        Self { context: context.clone(), invocation, name, position: 0, is_over: false }
    }

    /// Begins at this position: a number of messages, or of bytes in a stream that is not JSON.
    #[must_use]
    pub fn from(mut self, position: u64) -> Self {
        self.position = position;
        self
    }

    /// The position after what was read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The messages that follow, as soon as there are any. `None` at the end of the stream.
    ///
    /// # Errors
    /// Code 404 if there is no such invocation, or it has ended without the stream; 400 if a
    /// message is not a `T`; 422 if the stream has no messages, or the invocation is out of reach.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<Vec<T>>> {
        let Some(part) = self.part().await? else { return Ok(None) };
        let items =
            part.items.ok_or_else(|| self.misread("bytes: use `next_text` or `next_bytes`"))?;
        let item = |item| serde_json::from_value(item);
        let items: Result<Vec<T>, _> = items.into_iter().map(item).collect();
        items.map(Some).map_err(|error| {
            let message = format!("a message of the stream `{}`: {error}", self.name);
            Error::terminal(Error::BAD_INPUT, message)
        })
    }

    /// The text that follows, of a stream of text, as soon as there is any. `None` at the end.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    pub async fn next_text(&mut self) -> Result<Option<String>> {
        let Some(part) = self.part().await? else { return Ok(None) };
        part.text.map(Some).ok_or_else(|| self.misread("no text: use `next` or `next_bytes`"))
    }

    /// The bytes that follow, of a stream of neither messages nor text. `None` at the end.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    pub async fn next_bytes(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(part) = self.part().await? else { return Ok(None) };
        let bytes = part.base64.and_then(|text| BASE64_STANDARD.decode(text).ok());
        bytes.map(Some).ok_or_else(|| self.misread("no bytes: use `next` or `next_text`"))
    }

    async fn part(&mut self) -> Result<Option<StreamPart>> {
        while !self.is_over {
            let query = json!({
                "invocation": self.invocation, "stream": self.name, "position": self.position,
            });
            let part: StreamPart = self.context.call_named(READ_STREAM, &query).await?;
            (self.position, self.is_over) = (part.next, part.closed);
            if !part.is_empty() {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    fn misread(&self, what: &str) -> Error {
        Error::terminal(Error::REFUSED, format!("the stream `{}` consists of {what}", self.name))
    }
}

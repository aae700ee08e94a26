//! Streams: what an invocation writes while it runs, for readers outside.

use std::sync::Arc;

use serde::Serialize;

use crate::{
    attempt_operations::AttemptOperations,
    error::{Error, Result},
    invocation::CurrentInvocation,
    journal::WorkflowCommand,
    payload::{self, Payload},
};

const JSON: &str = "application/json";
/// Begins the name of a stream of the invocation's object in commands. Names have no slash.
pub(crate) const OF_OBJECT: &str = "object/";

/// A stream of this invocation, by its name. Readers follow it over HTTP, from any position, while
/// it grows.
///
/// The items are JSON messages. In a stream with another [content type](Self::content_type), items
/// are bytes, and a string stands for its text. The stream is closed when the invocation ends, if
/// not before. A stream of an object stays open.
///
/// ```
/// # extern crate segno_sdk as segno;
/// #[segno::workflow]
/// async fn report(ctx: segno::Context, chapters: Vec<String>) -> segno::Result<()> {
///     let progress = ctx.stream("progress");
///     for chapter in &chapters {
///         progress.append(chapter)?;
///     }
///     Ok(())
/// }
///
/// let mut test = segno::testing::Test::new();
/// test.run(report, &vec!["one".to_owned(), "two".to_owned()]).unwrap();
/// assert_eq!(test.stream::<String>("progress"), ["one", "two"]);
/// ```
#[derive(Clone)]
pub struct Stream {
    invocation: Arc<CurrentInvocation>,
    name: String,
    content_type: String,
}

/// A stream that an activity appends to: of the workflow that called it, or of the activity itself.
///
/// Items are stored within a moment, and at the end of the attempt at the latest. The next attempt
/// of the same call finds them stored: [`kept`](Self::kept) is their number.
///
/// ```
/// # extern crate segno_sdk as segno;
/// #[segno::activity]
/// async fn count(ctx: segno::ActivityContext, to: u64) -> segno::Result<()> {
///     let numbers = ctx.stream("numbers");
///     for number in numbers.kept()?..to {
///         numbers.append(&number)?;
///         if number == 1 && ctx.attempt() == 1 {
///             return Err(segno::Error::retryable("the connection broke"));
///         }
///     }
///     Ok(())
/// }
///
/// #[segno::workflow]
/// async fn show(ctx: segno::Context, to: u64) -> segno::Result<()> {
///     ctx.call(count, &to).await
/// }
///
/// let mut test = segno::testing::Test::new();
/// test.run(show, &4).unwrap();
/// assert_eq!(test.stream::<u64>("numbers"), [0, 1, 2, 3]);
/// ```
pub struct AttemptStream<'a> {
    attempt: &'a dyn AttemptOperations,
    name: String,
    content_type: String,
}

impl Stream {
    pub(crate) fn new(invocation: &Arc<CurrentInvocation>, name: &str) -> Self {
        let (name, content_type) = (name.to_owned(), JSON.to_owned());
        Self { invocation: invocation.clone(), name, content_type }
    }

    pub(crate) fn of_object(invocation: &Arc<CurrentInvocation>, name: &str) -> Self {
        Self::new(invocation, &format!("{OF_OBJECT}{name}"))
    }

    /// Sets the content type, such as `text/plain`. The first append makes the stream with it.
    #[must_use]
    pub fn content_type(mut self, content_type: &str) -> Self {
        content_type.clone_into(&mut self.content_type);
        self
    }

    /// Appends an item. It is stored with the next commit of the workflow.
    ///
    /// # Errors
    /// Code 409 if the workflow has closed the stream, 422 if the item cannot be written as JSON.
    pub fn append<T: Serialize + ?Sized>(&self, item: &T) -> Result<()> {
        self.write(encoded(&self.name, item)?)
    }

    /// Appends bytes, as they are.
    ///
    /// # Errors
    /// Code 400 if the stream is JSON, 409 if the workflow has closed it.
    pub fn append_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.write(raw(&self.name, &self.content_type, bytes)?)
    }

    /// Closes the stream: readers know that nothing follows. Closing it again does nothing.
    pub fn close(&self) {
        if self.invocation.close_stream(&self.name) {
            let (name, content_type) = (self.name.clone(), self.content_type.clone());
            self.invocation.write(WorkflowCommand::CloseStream { name, content_type });
        }
    }

    fn write(&self, item: Payload) -> Result<()> {
        if self.invocation.is_stream_closed(&self.name) {
            let message = format!("the stream `{}` is closed: nothing can be appended", self.name);
            return Err(Error::terminal(409, message));
        }
        let (name, content_type) = (self.name.clone(), self.content_type.clone());
        self.invocation.write(WorkflowCommand::AppendStream { name, content_type, item });
        Ok(())
    }
}

impl<'a> AttemptStream<'a> {
    pub(crate) fn new(attempt: &'a dyn AttemptOperations, name: &str) -> Self {
        Self { attempt, name: name.to_owned(), content_type: JSON.to_owned() }
    }

    /// Sets the content type, such as `text/plain`. The first append makes the stream with it.
    #[must_use]
    pub fn content_type(mut self, content_type: &str) -> Self {
        content_type.clone_into(&mut self.content_type);
        self
    }

    /// The number of messages, or of bytes in a stream that is not JSON, that this call has
    /// appended in earlier attempts, and in this one as far as they are stored.
    ///
    /// # Errors
    /// The host could not read them.
    pub fn kept(&self) -> Result<u64> {
        self.attempt.stream_kept(&self.name).map_err(Error::from_failure)
    }

    /// Appends an item. Waits while too much is not stored yet.
    ///
    /// # Errors
    /// Code 409 if the stream has another content type or its workflow has ended, 413 if it is too
    /// large, 422 if the item cannot be written as JSON. The error may concern an earlier item.
    pub fn append<T: Serialize + ?Sized>(&self, item: &T) -> Result<()> {
        self.write(&encoded(&self.name, item)?)
    }

    /// Appends bytes, as they are.
    ///
    /// # Errors
    /// Code 400 if the stream is JSON; otherwise as [`append`](Self::append).
    pub fn append_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.write(&raw(&self.name, &self.content_type, bytes)?)
    }

    fn write(&self, item: &Payload) -> Result<()> {
        let appended = self.attempt.stream_append(&self.name, &self.content_type, item);
        appended.map_err(Error::from_failure)
    }
}

/// True for the content type of a stream of messages, with parameters or without.
pub(crate) fn is_json(content_type: &str) -> bool {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case(JSON)
}

fn encoded<T: Serialize + ?Sized>(name: &str, item: &T) -> Result<Payload> {
    payload::encode(&format!("the item of the stream `{name}`"), item)
}

fn raw(name: &str, content_type: &str, bytes: &[u8]) -> Result<Payload> {
    if is_json(content_type) {
        let message = format!(
            "bytes cannot be appended to `{name}`, a stream of JSON: set its content type, or append a value"
        );
        return Err(Error::terminal(400, message));
    }
    Ok(Payload::Bytes(bytes.to_vec()))
}

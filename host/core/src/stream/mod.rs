//! Durable streams: append-only sequences of bytes or of JSON messages. A stream belongs to an
//! execution or to an object, and is removed with it, or to nothing.
//!
//! **Offsets.** A position is the number of messages before it in a stream of JSON, and the number
//! of bytes before it in any other stream.
//!
//! **The end.** A stream is closed by a request, or by the settlement of its execution. The latter
//! is not written: a stream of a settled execution is closed.
//!
//! **Writers.** A producer numbers its batches, so that a repeated batch is stored once
//! ([`ProducerPosition`]). An attempt of an activity is a producer whose epoch is the version of
//! its claim.
//!
//! **Objects.** The streams of an object belong to a promise of the object that is never settled.
//! So they are removed with the object's content, and no execution closes them.
//!
//! **Forks.** A fork of a stream copies the data before a position, so that no stream refers to the
//! data of another.

mod chunk;
mod difference;
mod items;
mod rate;
mod request;
mod row;

pub use self::{
    chunk::{StreamChunk, WriterGeneration},
    difference::{StreamDifference, stream_difference},
    items::{ItemsError, StreamItems, is_json},
    rate::StreamRate,
    request::{NewStream, ProducerPosition, StreamAppend, StreamForkPoint, StreamItem},
    row::{
        DurableStream, ProducerState, StreamClosure, StreamLifetime, StreamOrigin, StreamStatus,
    },
};

/// Content type of a stream that does not say.
pub const DEFAULT_CONTENT_TYPE: &str = "application/octet-stream";
/// Content type of streams of messages.
pub const JSON_CONTENT_TYPE: &str = "application/json";
/// Begins the name of a recorded append to a stream of the execution's object. Names of streams have
/// no slash.
pub const OF_OBJECT: &str = "object/";
/// Maximum number of producers whose position a stream keeps. Beyond it, the position of the
/// producer that appended least recently is forgotten.
pub const PRODUCERS_MAX: usize = 64;
/// Maximum length of the id of a producer and of a sequence label, in bytes.
pub const LABEL_BYTES_MAX: usize = 1_024;
/// Largest epoch and number of a producer: 2^53 - 1, the largest integer of JavaScript.
pub const PRODUCER_NUMBER_MAX: u64 = (1 << 53) - 1;

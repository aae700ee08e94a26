//! Large values: parameters, results, journal rows and entries of objects that are longer than
//! [`INLINE_BYTES_MAX`]. Their content is cut into chunks where the content says so, and a chunk is
//! stored once, however many values contain it. The column then holds the list of the chunks.
//!
//! ```text
//! promises.param, promises.value, object_state.value   a list if the length column beside it is not NULL
//! journal.records                                      a list if its first byte is LIST_MARK
//! value_chunks   digest, bytes, data                   data is compressed if it is shorter than bytes
//! value_uses     owner, digest                         who contains the chunk; the last use takes the chunk with it
//! ```
//! A step of an agent that carries the whole conversation so far thus costs what is new of it.

mod chunk_list;
mod chunk_set;
mod owner;
mod value_rows;

pub(crate) use self::{
    chunk_list::ChunkList,
    chunk_set::ChunkSet,
    owner::{ValueOwner, of_object_prefix},
    value_rows::{ValueRows, chunk_cells},
};

/// Longest value that its own row holds, in bytes.
pub(crate) const INLINE_BYTES_MAX: usize = 64 << 10;

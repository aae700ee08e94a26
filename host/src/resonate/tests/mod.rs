//! The operations over a host without workers of its own, asked as clients ask.

mod decoder;
mod differential;
mod http;
mod neighbours;
mod operations;
mod rights;
mod traces;
mod world;

//! The rules of Segno.

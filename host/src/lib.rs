//! Segno, the host.

//! The attributes.

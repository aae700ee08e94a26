//! The cryptography library of TLS.

/// Installs the cryptography library for every client of this process; call before the first client
/// is built.
pub fn provide_tls() {
    // The first provider stays; refusing a second installation does no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

//! The cryptography of TLS.

/// Names the cryptography that every client of this process uses; reqwest wants to be told before the first.
pub fn provide_tls() {
    // The first provider installed stays; a second attempt is refused, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

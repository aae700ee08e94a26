//! TLS of the HTTP clients. Every client trusts the system's root certificates, which the first
//! connection of this process reads: that takes some milliseconds and a megabyte, and most hosts
//! never connect.

use std::sync::{Arc, OnceLock};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring::default_provider},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;

/// A configuration that offers these protocols, the preferred one first.
pub(super) fn tls(protocols: &[&str]) -> ClientConfig {
    // For crates that make their own configuration. The first provider stays installed; later
    // attempts fail, which does no harm.
    let _ = default_provider().install_default();
    let verifier = SystemVerifier::of_process();
    let mut tls = ClientConfig::builder_with_provider(Arc::clone(&verifier.provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of both versions")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    tls.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    tls
}

/// Verifies servers as the system does, from the first connection on.
#[derive(Debug)]
struct SystemVerifier {
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Verifier>,
}

impl SystemVerifier {
    fn new() -> Self {
        Self { provider: Arc::new(default_provider()), verifier: OnceLock::new() }
    }

    /// The verifier of all clients of this process.
    fn of_process() -> Arc<Self> {
        static VERIFIER: OnceLock<Arc<SystemVerifier>> = OnceLock::new();
        Arc::clone(VERIFIER.get_or_init(|| Arc::new(Self::new())))
    }

    /// # Errors
    /// The system has no root certificates. The next call looks again.
    fn verifier(&self) -> Result<&Verifier, Error> {
        match self.verifier.get() {
            Some(verifier) => Ok(verifier),
            None => {
                let verifier = Verifier::new(Arc::clone(&self.provider))?;
                Ok(self.verifier.get_or_init(|| verifier))
            }
        }
    }
}

impl ServerCertVerifier for SystemVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = self.verifier()?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rustls::{
        CertificateError, Error,
        client::danger::ServerCertVerifier as _,
        pki_types::{CertificateDer, ServerName, UnixTime},
    };

    use super::{SystemVerifier, tls};

    #[test]
    fn a_configuration_offers_its_protocols_and_reads_no_certificates() {
        let verifier = SystemVerifier::new();
        let schemes = verifier.supported_verify_schemes();
        assert!(!schemes.is_empty());
        assert!(verifier.verifier.get().is_none());
        assert_eq!(tls(&["h2"]).alpn_protocols, [b"h2"]);
        // The system's verifier takes the same signatures.
        if let Ok(system) = verifier.verifier() {
            assert_eq!(system.supported_verify_schemes(), schemes);
        }
    }

    #[test]
    fn a_server_with_another_certificate_is_refused() {
        let verifier = SystemVerifier::new();
        let name = ServerName::try_from("example.org").expect("a name");
        let certificate = CertificateDer::from_slice(b"no certificate");
        let verified = verifier.verify_server_cert(&certificate, &[], &name, &[], UnixTime::now());
        let error = verified.expect_err("it is none");
        // A system may have no root certificates.
        let is_refusal = matches!(
            error,
            Error::InvalidCertificate(CertificateError::BadEncoding) | Error::General(_)
        );
        assert!(is_refusal, "{error:?}");
    }
}

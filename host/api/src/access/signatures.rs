//! Verification of token signatures with the cryptography library that TLS already uses.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwkUtils, JwtSigner, JwtVerifier},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::{
    hmac,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
        RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, UnparsedPublicKey,
        VerificationAlgorithm,
    },
};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    jwk_utils: JwkUtils::new_unimplemented(),
};

/// Installs the provider in the JWT library. Must be called before the library is used.
pub(super) fn provide() {
    // The first provider stays, and it is this one, so a failing second installation is harmless.
    let _ = PROVIDER.install_default();
}

/// Refuses to sign: this host signs no tokens.
fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::InvalidAlgorithm.into())
}

struct SignatureCheck {
    algorithm: Algorithm,
    key: Vec<u8>,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    match key.kind() {
        DecodingKeyKind::SecretOrDer(key) => {
            Ok(Box::new(SignatureCheck { algorithm: *algorithm, key: key.clone() }))
        }
        DecodingKeyKind::RsaModulusExponent { .. } => Err(ErrorKind::InvalidKeyFormat.into()),
    }
}

impl JwtVerifier for SignatureCheck {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for SignatureCheck {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let public: &dyn VerificationAlgorithm = match self.algorithm {
            Algorithm::HS256 => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, &self.key);
                return hmac::verify(&key, message, signature).map_err(|_| signature::Error::new());
            }
            Algorithm::RS256 => &RSA_PKCS1_2048_8192_SHA256,
            Algorithm::RS384 => &RSA_PKCS1_2048_8192_SHA384,
            Algorithm::RS512 => &RSA_PKCS1_2048_8192_SHA512,
            Algorithm::PS256 => &RSA_PSS_2048_8192_SHA256,
            Algorithm::PS384 => &RSA_PSS_2048_8192_SHA384,
            Algorithm::PS512 => &RSA_PSS_2048_8192_SHA512,
            Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
            Algorithm::ES384 => &ECDSA_P384_SHA384_FIXED,
            Algorithm::EdDSA => &ED25519,
            _ => return Err(signature::Error::new()),
        };
        let key = UnparsedPublicKey::new(public, &self.key);
        key.verify(message, signature).map_err(|_| signature::Error::new())
    }
}

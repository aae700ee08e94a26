//! Reading of a key file: determines the key and the algorithms that it is for. A public key must
//! never be accepted as a secret: a token signed with the public key as a secret would then be
//! valid.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, Engine as _};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use simple_asn1::ASN1Block;

/// The minimum length of a secret, in bytes: a shorter one could be guessed.
const SECRET_BYTES: usize = 32;
/// The minimum number of different bytes in a secret.
const SECRET_VARIETY: usize = 8;
/// The maximum length of a binary secret, in bytes: most public keys are longer.
const BINARY_BYTES: usize = 128;
/// The sizes, in bits, of accepted RSA keys.
const RSA_BITS: std::ops::RangeInclusive<u64> = 2_048..=8_192;

const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// The reason why a key is refused.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the key {path}")]
    File {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file holds a private key.
    #[error("{0} holds a private key: give the public one, which is enough to check tokens")]
    Private(String),
    /// The PEM file holds no public key of a known kind.
    #[error(
        "{0} holds no public key that is known here: RSA, EC on P-256 or P-384, or Ed25519, as PEM"
    )]
    Unknown(String),
    /// The PEM file holds several blocks.
    #[error("{0} holds more than one PEM block: give each key in a file of its own")]
    Several(String),
    /// The RSA key is too weak, or too large to compute with.
    #[error(
        "{path} holds an RSA key of {bits} bits: use one of {} to {} bits",
        RSA_BITS.start(),
        RSA_BITS.end()
    )]
    RsaSize {
        /// The path of the file.
        path: String,
        /// The size of the key, in bits.
        bits: u64,
    },
    /// The secret is too short.
    #[error(
        "{path} holds a secret of {bytes} bytes: use at least {SECRET_BYTES}, as random as can be"
    )]
    Short {
        /// The path of the file.
        path: String,
        /// The length of the secret, in bytes.
        bytes: usize,
    },
    /// The content is not clearly a secret.
    #[error("{path} holds {what}, which is not taken for a secret: {instead}")]
    NotASecret {
        /// The path of the file.
        path: String,
        /// Apparent content of the file.
        what: &'static str,
        /// Advice on what to supply instead.
        instead: &'static str,
    },
}

/// A key, and the algorithms for which it is valid.
#[derive(Clone)]
pub(super) struct VerificationKey {
    pub(super) key: DecodingKey,
    pub(super) algorithms: &'static [Algorithm],
}

impl VerificationKey {
    /// Reads a key from the content of a file: a public key as PEM, or a secret.
    pub(super) fn of(text: &[u8], path: String) -> Result<Self, KeyError> {
        match armours(text) {
            0 => secret(text, path),
            1 => public(text, path),
            _ if is_private(text) => Err(KeyError::Private(path)),
            _ => Err(KeyError::Several(path)),
        }
    }
}

fn armours(text: &[u8]) -> usize {
    text.windows(11).filter(|part| part == b"-----BEGIN ").count()
}

fn is_private(text: &[u8]) -> bool {
    text.windows(12).any(|part| part == b"PRIVATE KEY-")
}

/// Reads the public key in a PEM file.
fn public(pem: &[u8], path: String) -> Result<VerificationKey, KeyError> {
    if is_private(pem) {
        return Err(KeyError::Private(path));
    }
    if let Ok(key) = DecodingKey::from_rsa_pem(pem) {
        let bits = match key.kind() {
            DecodingKeyKind::SecretOrDer(der) => modulus_bits(der),
            DecodingKeyKind::RsaModulusExponent { .. } => None,
        };
        return match bits {
            Some(bits) if RSA_BITS.contains(&bits) => Ok(VerificationKey { key, algorithms: RSA }),
            Some(bits) => Err(KeyError::RsaSize { path, bits }),
            None => Err(KeyError::Unknown(path)),
        };
    }
    if let Ok(key) = DecodingKey::from_ed_pem(pem) {
        return Ok(VerificationKey { key, algorithms: &[Algorithm::EdDSA] });
    }
    let key = DecodingKey::from_ec_pem(pem).map_err(|_| KeyError::Unknown(path.clone()))?;
    // An uncompressed point: one byte, then two coordinates.
    let algorithms: &[Algorithm] = match key.kind() {
        DecodingKeyKind::SecretOrDer(key) if key.len() == 65 => &[Algorithm::ES256],
        DecodingKeyKind::SecretOrDer(key) if key.len() == 97 => &[Algorithm::ES384],
        _ => return Err(KeyError::Unknown(path)),
    };
    Ok(VerificationKey { key, algorithms })
}

/// Size in bits of an RSA key: `SEQUENCE { modulus INTEGER, exponent INTEGER }` (RFC 8017, appendix
/// A.1.1).
fn modulus_bits(der: &[u8]) -> Option<u64> {
    match simple_asn1::from_der(der).ok()?.as_slice() {
        [ASN1Block::Sequence(_, numbers)] => match numbers.as_slice() {
            [ASN1Block::Integer(_, modulus), ASN1Block::Integer(..)] => Some(modulus.bits()),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a secret: one line of text, or random bytes. Refuses all usual encodings of public keys.
fn secret(text: &[u8], path: String) -> Result<VerificationKey, KeyError> {
    let secret = text.trim_ascii_end();
    if secret.len() < SECRET_BYTES {
        return Err(KeyError::Short { path, bytes: secret.len() });
    }
    if let Some((what, instead)) = other_than_a_secret(secret) {
        return Err(KeyError::NotASecret { path, what, instead });
    }
    Ok(VerificationKey { key: DecodingKey::from_secret(secret), algorithms: &[Algorithm::HS256] })
}

const GIVE: &str = "give a public key as PEM (\"-----BEGIN PUBLIC KEY-----\"), or a secret as one line of at least 32 \
                    random characters, such as `openssl rand -base64 48` makes";
const FROM_DER: &str = "write it as PEM: `openssl pkey -pubin -inform DER -in FILE -out FILE.pem`";
const FROM_SSH: &str = "write it as PEM: `ssh-keygen -e -m PKCS8 -f FILE > FILE.pem`";
const FROM_JWK: &str =
    "write each key of it as PEM (\"-----BEGIN PUBLIC KEY-----\") in a file of its own";

/// Returns the apparent content and advice on what to supply instead; `None` if the content is
/// clearly a secret.
fn other_than_a_secret(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    if is_der(bytes) {
        return Some(("a key in DER", FROM_DER));
    }
    if is_ssh(bytes) {
        return Some(("an OpenSSH public key", FROM_SSH));
    }
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) else {
        return other_than_random(bytes);
    };
    let text = text.trim_start_matches('\u{feff}').trim();
    let begins =
        |optimistic_start: &[&str]| optimistic_start.iter().any(|with| text.starts_with(with));
    if begins(&["{", "["]) {
        return Some(("JSON, as a JWK or a set of them", FROM_JWK));
    }
    if begins(&["ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-", "---- BEGIN SSH2"]) {
        return Some(("an OpenSSH public key", FROM_SSH));
    }
    if begins(&["<"]) {
        return Some(("XML", GIVE));
    }
    if begins(&["http://", "https://", "data:", "file:"]) {
        return Some(("an address, not a key", GIVE));
    }
    if text.contains(char::is_control) {
        return Some(("a text of several lines, or with control characters", GIVE));
    }
    for bytes in decoded(text) {
        if is_der(&bytes) {
            return Some(("a key in DER as base64 or hex", FROM_DER));
        }
        if is_ssh(&bytes) {
            return Some(("an OpenSSH public key", FROM_SSH));
        }
        if bytes.first().is_some_and(|first| matches!(first, b'{' | b'[' | b'<'))
            && std::str::from_utf8(&bytes).is_ok()
        {
            return Some(("an encoded text", GIVE));
        }
    }
    let different: std::collections::BTreeSet<u8> = bytes.iter().copied().collect();
    (different.len() < SECRET_VARIETY).then_some(("a text that can be guessed", GIVE))
}

/// Like [`other_than_a_secret`], for content that is not text.
fn other_than_random(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    // UTF-16 has a zero byte in each ASCII letter.
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    if zeros * 4 > bytes.len() {
        return Some(("a text in UTF-16, or mostly zeros", GIVE));
    }
    // Curve points: one byte for the form, then one or two coordinates.
    let is_point = match bytes.first() {
        Some(2 | 3) => matches!(bytes.len(), 33 | 49 | 67),
        Some(4) => matches!(bytes.len(), 65 | 97 | 133),
        _ => false,
    };
    if is_point {
        return Some(("what looks like a point on a curve", GIVE));
    }
    (bytes.len() > BINARY_BYTES).then_some(("more than 128 bytes in binary", GIVE))
}

/// Returns true if the content is one DER value, as keys and certificates are.
fn is_der(bytes: &[u8]) -> bool {
    match simple_asn1::from_der(bytes).as_deref() {
        Ok([ASN1Block::Sequence(_, parts)]) => !parts.is_empty(),
        _ => false,
    }
}

/// Returns true if the content is a key in the SSH wire format: the length of a name, then the
/// name.
fn is_ssh(bytes: &[u8]) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return false };
    let name = usize::try_from(u32::from_be_bytes(*length)).ok().and_then(|end| rest.get(..end));
    name.is_some_and(|name| {
        [&b"ssh-"[..], b"ecdsa-", b"sk-"].iter().any(|beginning| name.starts_with(beginning))
    })
}

/// Decodes a line of text in every encoding that fits.
fn decoded(text: &str) -> Vec<Vec<u8>> {
    let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let padded = compact.trim_end_matches('=');
    let padded = format!("{padded}{}", "=".repeat((4 - padded.len() % 4) % 4));
    let hex = compact.replace(':', "");
    let hex = (0..hex.len() / 2).map(|byte| {
        let digits = hex.get(2 * byte..2 * byte + 2)?;
        u8::from_str_radix(digits, 16).ok()
    });
    [
        BASE64_STANDARD.decode(&padded).ok(),
        BASE64_URL_SAFE.decode(&padded).ok(),
        hex.collect::<Option<Vec<u8>>>(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

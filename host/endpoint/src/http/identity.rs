//! Authentication of callers: requests signed by a runtime with a key that the operator configured.
//!
//! ```text
//! publickeyv1_BASE58                       the key, 32 bytes of Ed25519
//! x-restate-signature-scheme: v1           the request is signed (`unsigned`: it is not)
//! x-restate-jwt-v1: HEADER.CLAIMS.SIGNATURE    alg EdDSA; aud is the path, between nbf and exp
//! ```

use axum::http::HeaderMap;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::signature::{ED25519, UnparsedPublicKey};
use segno_core::time::Timestamp;
use serde::Deserialize;

const PREFIX: &str = "publickeyv1_";
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const KEY_BYTES: usize = 32;
const SCHEME: &str = "x-restate-signature-scheme";
const TOKEN: &str = "x-restate-jwt-v1";

/// The keys of permitted runtimes. Without keys, every client that reaches the endpoint may call
/// it.
#[derive(Debug, Clone, Default)]
pub struct IdentityKeys {
    keys: Vec<[u8; KEY_BYTES]>,
}

/// A text that is not a valid key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is no identity key: {why}")]
pub struct IdentityKeyError {
    pub key: String,
    /// Description of the fault.
    pub why: &'static str,
}

/// The reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityRefusal {
    /// The request is not signed.
    #[error(
        "the request is not signed; this endpoint takes requests that are signed with one of its identity keys"
    )]
    Unsigned,
    /// The signature scheme is unknown.
    #[error("the signature scheme `{0}` is not known; `v1` is")]
    Scheme(String),
    /// The token is malformed.
    #[error("the token in `{TOKEN}` cannot be read: {0}")]
    Token(&'static str),
    /// The token is signed with another key.
    #[error("no identity key of this endpoint verifies the token in `{TOKEN}`")]
    Signature,
    /// The token is for another path.
    #[error("the token in `{TOKEN}` is for `{0}`")]
    Audience(String),
    /// The token has expired, or is not valid yet.
    #[error("the token in `{TOKEN}` is valid from {from} to {to}, and it is {now} (in seconds)")]
    Time {
        /// Beginning of the token's validity, in seconds since the Unix epoch.
        from: i64,
        /// End of the token's validity, in seconds since the Unix epoch.
        to: i64,
        /// The current time on this host, in seconds since the Unix epoch.
        now: i64,
    },
}

#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
}

#[derive(Deserialize)]
struct IdentityClaims {
    aud: TokenAudience,
    nbf: i64,
    exp: i64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenAudience {
    One(String),
    Some(Vec<String>),
}

impl IdentityKeys {
    /// Accepts runtimes with these keys.
    ///
    /// # Errors
    /// [`IdentityKeyError`].
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<Self, IdentityKeyError> {
        let keys = keys.into_iter().map(read_key).collect::<Result<_, _>>()?;
        Ok(Self { keys })
    }

    /// Returns true if requests must be signed.
    pub fn is_required(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Checks the headers of a request for `path`.
    ///
    /// # Errors
    /// [`IdentityRefusal`].
    pub fn check(
        &self,
        headers: &HeaderMap,
        path: &str,
        now: Timestamp,
    ) -> Result<(), IdentityRefusal> {
        if !self.is_required() {
            return Ok(());
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        match text(SCHEME) {
            Some("v1") => {}
            None | Some("unsigned") => return Err(IdentityRefusal::Unsigned),
            Some(other) => return Err(IdentityRefusal::Scheme(other.chars().take(64).collect())),
        }
        let token = text(TOKEN).ok_or(IdentityRefusal::Unsigned)?;
        self.check_token(token, path, now)
    }

    fn check_token(&self, token: &str, path: &str, now: Timestamp) -> Result<(), IdentityRefusal> {
        let mut parts = token.split('.');
        let (Some(head), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(IdentityRefusal::Token("it has not three parts"));
        };
        if read::<TokenHeader>(head)?.alg != "EdDSA" {
            return Err(IdentityRefusal::Token("its algorithm is not EdDSA"));
        }
        let signature = decode(signature)?;
        let signed = &token[..head.len() + 1 + claims.len()];
        let is_of = |key: &[u8; KEY_BYTES]| {
            UnparsedPublicKey::new(&ED25519, key).verify(signed.as_bytes(), &signature).is_ok()
        };
        if !self.keys.iter().any(is_of) {
            return Err(IdentityRefusal::Signature);
        }
        let claims: IdentityClaims = read(claims)?;
        let for_path = match &claims.aud {
            TokenAudience::One(one) => one == path,
            TokenAudience::Some(some) => some.iter().any(|one| one == path),
        };
        if !for_path {
            let named = match claims.aud {
                TokenAudience::One(one) => one,
                TokenAudience::Some(some) => some.join(", "),
            };
            return Err(IdentityRefusal::Audience(named));
        }
        let (from, to, now) = (claims.nbf, claims.exp, now.0.div_euclid(1_000));
        if now < from || now >= to {
            return Err(IdentityRefusal::Time { from, to, now });
        }
        Ok(())
    }
}

fn decode(part: &str) -> Result<Vec<u8>, IdentityRefusal> {
    BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| IdentityRefusal::Token("a part is not base64"))
}

fn read<T: for<'de> Deserialize<'de>>(part: &str) -> Result<T, IdentityRefusal> {
    serde_json::from_slice(&decode(part)?)
        .map_err(|_| IdentityRefusal::Token("a part is not the JSON that it has to be"))
}

fn read_key(key: &str) -> Result<[u8; KEY_BYTES], IdentityKeyError> {
    let invalid = |why| IdentityKeyError { key: key.chars().take(80).collect(), why };
    let digits =
        key.strip_prefix(PREFIX).ok_or_else(|| invalid("it does not begin with `publickeyv1_`"))?;
    let bytes = base58(digits).ok_or_else(|| invalid("the rest is not in base 58"))?;
    bytes.try_into().map_err(|_| invalid("it has not 32 bytes"))
}

/// Decodes a base-58 number. Each leading digit 1 stands for a zero byte.
fn base58(digits: &str) -> Option<Vec<u8>> {
    // Longer text is not a key, and would take long to decode.
    if digits.len() > 2 * KEY_BYTES {
        return None;
    }
    let mut number: Vec<u8> = Vec::new(); // the lowest byte first
    for digit in digits.bytes() {
        let mut carry = ALPHABET.iter().position(|known| *known == digit)?;
        for byte in &mut number {
            carry += usize::from(*byte) * 58;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            number.push((carry & 0xff) as u8);
            debug_assert!(carry < 256, "58 times 255 and a carry below 58 fill two bytes");
        }
    }
    let zeros = digits.bytes().take_while(|digit| *digit == b'1').count();
    number.extend(std::iter::repeat_n(0, zeros));
    number.reverse();
    Some(number)
}

#[cfg(test)]
mod tests;

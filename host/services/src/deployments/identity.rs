//! The identity of this host, for deployments that accept requests of no other caller. Each request
//! carries a token that is signed with an Ed25519 key, contains the path of the request, and is
//! valid for one minute. Deployments are configured with the public key as text.
//!
//! ```text
//! x-restate-signature-scheme: v1                  unsigned: this host has no key
//! x-restate-jwt-v1: HEADER.CLAIMS.SIGNATURE       a JSON Web Token (RFC 7519, RFC 8037)
//!   HEADER  {"typ":"JWT","alg":"EdDSA","kid":"publickeyv1_…"}
//!   CLAIMS  {"aud":"/invoke/SERVICE/HANDLER","nbf":…,"iat":…,"exp":…}, in seconds
//! ```

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use segno_core::time::Timestamp;
use serde_json::json;

/// The header with the signature scheme of a request.
pub const SCHEME_HEADER: &str = "x-restate-signature-scheme";
/// The header with the token.
pub const TOKEN_HEADER: &str = "x-restate-jwt-v1";
/// The value of the scheme header without a key.
pub const UNSIGNED: &str = "unsigned";
/// The value of the scheme header with a key.
pub const SIGNED: &str = "v1";

/// The validity of a token after its signing, and before it, to allow for clock differences, in
/// seconds.
const HOLDS: i64 = 60;
/// The prefix of a public key as text.
const PUBLIC: &str = "publickeyv1_";
/// The base58 alphabet of Bitcoin, without characters that look alike.
const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// The delimiters of a private key in PEM.
const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// A key that signs requests.
pub struct RequestIdentity {
    key: Ed25519KeyPair,
    public: String,
}

/// The reason why a key is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    /// The text contains no private key in PEM.
    #[error("it holds no `{BEGIN}`: make one with `openssl genpkey -algorithm ed25519`")]
    NotPem,
    /// The key is not an Ed25519 key.
    #[error("it holds no private key of Ed25519: {0}")]
    NotEd25519(String),
}

impl RequestIdentity {
    /// Reads the key from PEM text, in PKCS #8.
    ///
    /// # Errors
    /// [`KeyRefusal`].
    pub fn of_pem(pem: &str) -> Result<Self, KeyRefusal> {
        let (_, rest) = pem.split_once(BEGIN).ok_or(KeyRefusal::NotPem)?;
        let (text, _) = rest.split_once(END).ok_or(KeyRefusal::NotPem)?;
        let text: String = text.split_whitespace().collect();
        let refused = |error: String| KeyRefusal::NotEd25519(error);
        let der = BASE64_STANDARD.decode(text).map_err(|error| refused(error.to_string()))?;
        // OpenSSL omits the public key, so there is nothing to compare the private key with.
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der)
            .map_err(|error| refused(error.to_string()))?;
        let public = format!("{PUBLIC}{}", base58(key.public_key().as_ref()));
        Ok(Self { key, public })
    }

    /// The public key as text, for the configuration of deployments.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// A token for a request to this path.
    pub fn token(&self, path: &str, now: Timestamp) -> String {
        let seconds = now.0.div_euclid(1_000);
        let header = json!({ "typ": "JWT", "alg": "EdDSA", "kid": self.public });
        let claims = json!({
            "aud": path,
            "nbf": seconds - HOLDS,
            "iat": seconds,
            "exp": seconds + HOLDS,
        });
        let [header, claims] =
            [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

/// Base58 of these bytes. A leading zero byte becomes a leading zero digit.
fn base58(bytes: &[u8]) -> String {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let digits = std::iter::repeat_n(0, zeros).chain(digits.into_iter().rev());
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};
    use serde_json::Value as Json;

    use super::*;

    /// The key of RFC 8032, section 7.1, test 1, as OpenSSL writes it.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

    #[test]
    fn a_token_says_for_what_it_is_and_is_signed() {
        let identity = RequestIdentity::of_pem(KEY).expect("a key");
        let token = identity.token("/invoke/Greeter/greet", Timestamp(1_700_000_000_999));
        let parts: Vec<&str> = token.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { panic!("{token}") };
        let read = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).expect("base64");
        let json = |part| serde_json::from_slice::<Json>(&read(part)).expect("JSON");
        let kid = identity.public();
        assert_eq!(kid, "publickeyv1_FVen3X669xLzsi6N2V91DoiyzHzg1uAgqiT8jZ9nS96Z");
        assert_eq!(json(header), json!({ "typ": "JWT", "alg": "EdDSA", "kid": kid }));
        assert_eq!(
            json(claims),
            json!({
                "aud": "/invoke/Greeter/greet",
                "nbf": 1_699_999_940,
                "iat": 1_700_000_000,
                "exp": 1_700_000_060,
            })
        );
        let signed = format!("{header}.{claims}");
        let public = UnparsedPublicKey::new(&ED25519, identity.key.public_key().as_ref());
        public.verify(signed.as_bytes(), &read(signature)).expect("its signature");
        public.verify(b"something else", &read(signature)).expect_err("of nothing else");
    }

    #[test]
    fn keys_as_text_are_those_of_others() {
        // The vectors of draft-msporny-base58.
        for (bytes, text) in [
            (&b"Hello World!"[..], "2NEpo7TZRRrLZSi2U"),
            (
                b"The quick brown fox jumps over the lazy dog.",
                "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z",
            ),
            (&[0, 0, 0x28, 0x7f, 0xb4, 0xcd], "11233QC4"),
            (&[], ""),
        ] {
            assert_eq!(base58(bytes), text);
        }
    }

    #[test]
    fn other_keys_are_refused() {
        let refused = |pem: &str| RequestIdentity::of_pem(pem).err();
        assert_eq!(refused("no key"), Some(KeyRefusal::NotPem));
        let public = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
        assert_eq!(refused(public), Some(KeyRefusal::NotPem));
        let broken = KEY.replace("MC4C", "MC4D");
        assert!(matches!(refused(&broken), Some(KeyRefusal::NotEd25519(_))));
        assert!(matches!(refused(&KEY.replace("MC4C", "!")), Some(KeyRefusal::NotEd25519(_))));
    }
}

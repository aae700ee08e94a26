//! Signed tokens (JWT): validation, and the rights that a token grants. Independent of operations.
//!
//! ```text
//! {"exp": 1790000000, "role": "admin"}             everything
//! {"exp": 1790000000, "prefix": ""}                everything
//! {"exp": 1790000000, "prefix": "team-a:"}         ids that begin with the prefix
//! ```

mod key;

use std::{fmt, path::Path};

use jsonwebtoken::{Algorithm, Validation, errors::ErrorKind};
use segno_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;

use self::key::VerificationKey;
use super::signatures;

pub use key::KeyError;

/// Maximum length of a token, in bytes.
const LONGEST: usize = 8_192;
/// Tolerance in seconds for a signer's clock that runs ahead.
const SKEW_S: f64 = 60.0;

/// The rights of a client: over everything, or over ids with a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRights {
    /// Prefix of the ids; empty for everything.
    prefix: String,
    /// When the rights expire.
    until: Timestamp,
}

impl ClientRights {
    /// Rights over everything, without expiry.
    pub fn all() -> Self {
        Self { prefix: String::new(), until: Timestamp::NEVER }
    }

    /// Rights over ids with this prefix, until `until`.
    pub fn below(prefix: impl Into<String>, until: Timestamp) -> Self {
        Self { prefix: prefix.into(), until }
    }

    /// Returns true if the rights include `id`.
    pub fn over(&self, id: &str) -> bool {
        id.starts_with(&self.prefix)
    }

    /// The required prefix of ids; `None` if any id is included.
    pub fn prefix(&self) -> Option<&str> {
        Some(self.prefix.as_str()).filter(|prefix| !prefix.is_empty())
    }

    /// When the rights expire.
    pub fn until(&self) -> Timestamp {
        self.until
    }
}

/// The reason why a token is refused. The messages contain nothing of the token except fixed words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// The text is not a JWT.
    #[error(
        "the token is malformed: it is not three parts of base64url with JSON in the first two"
    )]
    Malformed,
    /// The token is longer than `LONGEST`.
    #[error("the token is longer than {LONGEST} bytes")]
    Long,
    /// The token is unsigned, or signed with an algorithm for which this host has no key.
    #[error("the keys of this host do not support the algorithm of the token ({0})")]
    Algorithm(String),
    /// No key of this host matches the signature.
    #[error("no key of this host verifies the signature of the token")]
    Signature,
    /// The token has a critical extension that this host does not know.
    #[error("the token needs an extension that this host does not know (`crit`)")]
    Critical,
    /// The token does not expire.
    #[error("the token has no expiry time (`exp`)")]
    Endless,
    /// The token has expired.
    #[error("the token has expired: get a new one")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet (`nbf`)")]
    Early,
    /// The token is from another issuer.
    #[error("the token comes from an issuer that this host does not trust (`iss`)")]
    Issuer,
    /// The token is for another audience.
    #[error("the token is for another audience than this host (`aud`)")]
    Audience,
    /// The token has no claim that grants rights.
    #[error("the token allows nothing: it has neither `role` \"admin\" nor a text as `prefix`")]
    NoPrefix,
}

/// The keys, the issuer and the audience of accepted tokens.
#[derive(Clone)]
pub struct TokenVerifier {
    keys: Vec<VerificationKey>,
    issuer: Option<String>,
    audience: Option<String>,
}

/// The claims of a token that this host checks.
#[derive(Deserialize)]
struct TokenClaims {
    #[serde(default)]
    exp: Option<f64>,
    #[serde(default)]
    nbf: Option<f64>,
    #[serde(default)]
    iss: Json,
    #[serde(default)]
    role: Json,
    #[serde(default)]
    prefix: Json,
}

impl fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keys, issuer, audience } = self;
        write!(f, "Jwt {{ {} keys, issuer: {issuer:?}, audience: {audience:?} }}", keys.len())
    }
}

impl TokenVerifier {
    /// Accepts tokens of `issuer` for `audience`; `None` accepts any.
    pub fn new(issuer: Option<String>, audience: Option<String>) -> Self {
        signatures::provide();
        Self { keys: Vec::new(), issuer, audience }
    }

    /// Adds a key: a public one as PEM, or a secret that is shared with the issuer (HS256).
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn add_file(&mut self, path: &Path) -> Result<(), KeyError> {
        let shown = path.display().to_string();
        let text =
            std::fs::read(path).map_err(|source| KeyError::File { path: shown.clone(), source })?;
        self.add(&text, shown)
    }

    fn add(&mut self, text: &[u8], shown: String) -> Result<(), KeyError> {
        self.keys.push(VerificationKey::of(text, shown)?);
        Ok(())
    }

    /// Validates a token and returns the rights that it grants.
    ///
    /// # Errors
    /// [`TokenRefusal`].
    pub fn rights(&self, token: &str, now: Timestamp) -> Result<ClientRights, TokenRefusal> {
        if token.len() > LONGEST {
            return Err(TokenRefusal::Long);
        }
        let algorithm = algorithm(token)?;
        let fitting = self.keys.iter().filter(|key| key.algorithms.contains(&algorithm));
        let mut refused = TokenRefusal::Algorithm(format!("{algorithm:?}"));
        for key in fitting {
            match jsonwebtoken::decode::<TokenClaims>(token, &key.key, &self.validation(algorithm))
            {
                Ok(token) => return self.allowed(&token.claims, now),
                Err(error) => refused = bad(error.kind()),
            }
            if refused != TokenRefusal::Signature {
                break;
            }
        }
        Err(refused)
    }

    /// Configures the library to check neither times nor the issuer: times are checked with the
    /// clock of the host, and the library would treat the issuer as a list.
    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        validation.validate_aud = self.audience.is_some();
        if let Some(audience) = &self.audience {
            validation.set_audience(&[audience]);
            validation.required_spec_claims.insert("aud".to_owned());
        }
        validation
    }

    /// Returns the rights that claims with a valid signature grant.
    fn allowed(&self, claims: &TokenClaims, now: Timestamp) -> Result<ClientRights, TokenRefusal> {
        // RFC 7519, section 4.1.1: `iss` is a single text, compared exactly.
        if self.issuer.as_ref().is_some_and(|issuer| claims.iss != issuer.as_str()) {
            return Err(TokenRefusal::Issuer);
        }
        let now_s = now.0 as f64 / 1_000.0;
        let until = claims.exp.filter(|until| until.is_finite()).ok_or(TokenRefusal::Endless)?;
        if until <= now_s {
            return Err(TokenRefusal::Expired);
        }
        if claims.nbf.is_some_and(|from| from > now_s + SKEW_S) {
            return Err(TokenRefusal::Early);
        }
        let prefix = match claims.role == "admin" {
            true => "",
            false => claims.prefix.as_str().ok_or(TokenRefusal::NoPrefix)?,
        };
        Ok(ClientRights::below(prefix, Timestamp((until * 1_000.0) as i64)))
    }
}

/// Returns the algorithm in the header of a token. It only selects the keys to try.
fn algorithm(token: &str) -> Result<Algorithm, TokenRefusal> {
    use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
    let mut parts = token.split('.');
    let header = parts.next().filter(|_| parts.count() == 2).ok_or(TokenRefusal::Malformed)?;
    let header = BASE64_URL_SAFE_NO_PAD.decode(header).map_err(|_| TokenRefusal::Malformed)?;
    let header: Json = serde_json::from_slice(&header).map_err(|_| TokenRefusal::Malformed)?;
    if header.get("crit").is_some() {
        return Err(TokenRefusal::Critical);
    }
    let name = header.get("alg").and_then(Json::as_str).ok_or(TokenRefusal::Malformed)?;
    name.parse().map_err(|_| {
        // The sender chose this name, so the message repeats only a short one.
        let is_short = name.len() <= 16 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        TokenRefusal::Algorithm(if is_short {
            name.to_owned()
        } else {
            "an unknown one".to_owned()
        })
    })
}

fn bad(kind: &ErrorKind) -> TokenRefusal {
    match kind {
        ErrorKind::InvalidSignature => TokenRefusal::Signature,
        ErrorKind::InvalidAudience => TokenRefusal::Audience,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => TokenRefusal::Audience,
        _ => TokenRefusal::Malformed,
    }
}

#[cfg(test)]
mod tests;

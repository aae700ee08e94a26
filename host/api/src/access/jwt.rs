//! Tokens that somebody else signed (JWT): whether one is good, and what it allows. It knows no operation.
//!
//! ```text
//! {"exp": 1790000000, "role": "admin"}             everything
//! {"exp": 1790000000, "prefix": ""}                everything
//! {"exp": 1790000000, "prefix": "team-a:"}         what has an id that begins so
//! ```

mod key;

use std::{fmt, path::Path};

use jsonwebtoken::{Algorithm, Validation, errors::ErrorKind};
use segno_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;

use self::key::Key;
use super::signatures;

pub use key::KeyError;

/// Longer texts are no tokens.
const LONGEST: usize = 8_192;
/// So far the clock of whoever signs may be ahead.
const SKEW_S: f64 = 60.0;

/// What somebody may do: everything, or what has an id that begins in a certain way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Empty for everything.
    prefix: String,
    /// Until when.
    until: Timestamp,
}

impl Rights {
    /// Everything, for ever.
    pub fn all() -> Self {
        Self { prefix: String::new(), until: Timestamp::NEVER }
    }

    /// What has an id that begins so, until then.
    pub fn below(prefix: impl Into<String>, until: Timestamp) -> Self {
        Self { prefix: prefix.into(), until }
    }

    /// Whether these are rights over `id`.
    pub fn over(&self, id: &str) -> bool {
        id.starts_with(&self.prefix)
    }

    /// The beginning that ids must have; none: any id will do.
    pub fn prefix(&self) -> Option<&str> {
        Some(self.prefix.as_str()).filter(|prefix| !prefix.is_empty())
    }

    /// Until when.
    pub fn until(&self) -> Timestamp {
        self.until
    }
}

/// Why a token is not taken. None of these repeats anything of the token but what it claims in words of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Bad {
    /// It is no JWT.
    #[error(
        "the token is malformed: it is not three parts of base64url with JSON in the first two"
    )]
    Malformed,
    /// It is longer than any that is taken.
    #[error("the token is longer than {LONGEST} bytes")]
    Long,
    /// It is not signed, or in a way that no key of this host is for.
    #[error("the token is signed with another algorithm than the keys of this host are for ({0})")]
    Algorithm(String),
    /// None of the keys fits.
    #[error("the signature of the token fits none of the keys of this host")]
    Signature,
    /// It says that a claim must be understood that is not.
    #[error("the token needs an extension that this host does not know (`crit`)")]
    Critical,
    /// It never ends.
    #[error("the token has no time at which it expires (`exp`)")]
    Endless,
    /// It has ended.
    #[error("the token has expired: get a new one")]
    Expired,
    /// It is not good yet.
    #[error("the token is not valid yet (`nbf`)")]
    Early,
    /// Somebody else gave it out.
    #[error("the token was given out by another issuer than this host trusts (`iss`)")]
    Issuer,
    /// It is for others.
    #[error("the token is not meant for this host (`aud`)")]
    Audience,
    /// It says nothing of what it allows.
    #[error("the token allows nothing: it has neither `role` \"admin\" nor a text as `prefix`")]
    NoPrefix,
}

/// Whose tokens are taken.
#[derive(Clone)]
pub struct Jwt {
    keys: Vec<Key>,
    issuer: Option<String>,
    audience: Option<String>,
}

/// What a token says, as far as it matters here.
#[derive(Deserialize)]
struct Claims {
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

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keys, issuer, audience } = self;
        write!(f, "Jwt {{ {} keys, issuer: {issuer:?}, audience: {audience:?} }}", keys.len())
    }
}

impl Jwt {
    /// Takes tokens that were given out by `issuer`, and are meant for `audience`, where these are given.
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
        self.keys.push(Key::of(text, shown)?);
        Ok(())
    }

    /// What a token allows.
    ///
    /// # Errors
    /// [`Bad`].
    pub fn rights(&self, token: &str, now: Timestamp) -> Result<Rights, Bad> {
        if token.len() > LONGEST {
            return Err(Bad::Long);
        }
        let algorithm = algorithm(token)?;
        let fitting = self.keys.iter().filter(|key| key.algorithms.contains(&algorithm));
        let mut refused = Bad::Algorithm(format!("{algorithm:?}"));
        for key in fitting {
            match jsonwebtoken::decode::<Claims>(token, &key.key, &self.validation(algorithm)) {
                Ok(token) => return self.allowed(&token.claims, now),
                Err(error) => refused = bad(error.kind()),
            }
            if refused != Bad::Signature {
                break;
            }
        }
        Err(refused)
    }

    /// Times are looked at by ourselves, by the clock of the host, and the issuer, which the library takes as a list, too.
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

    /// What claims allow whose signature fits.
    fn allowed(&self, claims: &Claims, now: Timestamp) -> Result<Rights, Bad> {
        // RFC 7519, section 4.1.1: `iss` is one text, compared as it stands.
        if self.issuer.as_ref().is_some_and(|issuer| claims.iss != issuer.as_str()) {
            return Err(Bad::Issuer);
        }
        let now_s = now.0 as f64 / 1_000.0;
        let until = claims.exp.filter(|until| until.is_finite()).ok_or(Bad::Endless)?;
        if until <= now_s {
            return Err(Bad::Expired);
        }
        if claims.nbf.is_some_and(|from| from > now_s + SKEW_S) {
            return Err(Bad::Early);
        }
        let prefix = match claims.role == "admin" {
            true => "",
            false => claims.prefix.as_str().ok_or(Bad::NoPrefix)?,
        };
        Ok(Rights::below(prefix, Timestamp((until * 1_000.0) as i64)))
    }
}

/// The algorithm that the header of a token names, which decides nothing but which keys are tried.
fn algorithm(token: &str) -> Result<Algorithm, Bad> {
    use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
    let mut parts = token.split('.');
    let header = parts.next().filter(|_| parts.count() == 2).ok_or(Bad::Malformed)?;
    let header = BASE64_URL_SAFE_NO_PAD.decode(header).map_err(|_| Bad::Malformed)?;
    let header: Json = serde_json::from_slice(&header).map_err(|_| Bad::Malformed)?;
    if header.get("crit").is_some() {
        return Err(Bad::Critical);
    }
    let name = header.get("alg").and_then(Json::as_str).ok_or(Bad::Malformed)?;
    name.parse().map_err(|_| {
        // Others chose it: no more of it is shown than any algorithm has.
        let is_short = name.len() <= 16 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Bad::Algorithm(if is_short { name.to_owned() } else { "an unknown one".to_owned() })
    })
}

fn bad(kind: &ErrorKind) -> Bad {
    match kind {
        ErrorKind::InvalidSignature => Bad::Signature,
        ErrorKind::InvalidAudience => Bad::Audience,
        ErrorKind::MissingRequiredClaim(claim) if claim == "aud" => Bad::Audience,
        _ => Bad::Malformed,
    }
}

#[cfg(test)]
mod tests;

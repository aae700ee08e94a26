//! Tokens of a signer, and a host that accepts them.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::hmac;
use serde_json::{Value, json};

use crate::{AccessControl, TokenVerifier};

const SECRET: &str = "as long as a secret has to be, and hard to guess";

/// The year 2100, when these tokens expire, in seconds since the Unix epoch.
pub const LATER: i64 = 4_102_444_800;
/// The static token of the host.
pub const HOST: &str = "host";

/// Builds a token with these claims.
pub fn token(claims: &Value) -> String {
    let part = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    let message = format!("{}.{}", part(&json!({ "alg": "HS256" })), part(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

/// Builds a token for ids with this prefix.
pub fn of(prefix: &str) -> String {
    token(&json!({ "exp": LATER, "prefix": prefix }))
}

/// Builds a token for all ids.
pub fn admin() -> String {
    token(&json!({ "exp": LATER, "role": "admin" }))
}

/// Access rules of a host on loopback that accepts signed tokens and its static token.
pub fn access() -> AccessControl {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("{SECRET}\n")).expect("it is writable");
    let mut jwt = TokenVerifier::new(None, None);
    jwt.add_file(file.path()).expect("a key");
    let address = ([127, 0, 0, 1], 7766).into();
    AccessControl::signed(address, Some(HOST), Some(jwt), false, vec![]).expect("it is safe")
}

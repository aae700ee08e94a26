//! Fuzzing of short texts: tokens and cron expressions.

use std::sync::LazyLock;

use segno_api::TokenVerifier;
use segno_core::{promise::Cron, time::Timestamp};
use segno_env::Env;

/// A secret that did not sign any of the seeds.
const SECRET: &[u8] = b"a secret of forty bytes, which is plenty";

/// Number of occurrences computed for an expression.
const OCCURRENCES: usize = 5;

/// Verifies a token of a request.
pub(super) fn token(bytes: &[u8]) {
    static JWT: LazyLock<TokenVerifier> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let file = folder.path().join("secret");
        std::fs::write(&file, SECRET).expect("a secret is written");
        let mut jwt = TokenVerifier::new(Some("issuer".to_owned()), Some("audience".to_owned()));
        jwt.add_file(&file).expect("a secret is taken");
        jwt
    });
    let Ok(token) = std::str::from_utf8(bytes) else { return };
    let rights = JWT.rights(token, Env::system().clock.now());
    assert!(rights.is_err(), "a token that was never signed gives {rights:?}");
}

pub(super) fn token_seeds() -> Vec<Vec<u8>> {
    // {"alg":"HS256","typ":"JWT"} and
    // {"role":"admin","iss":"issuer","aud":"audience","exp":9999999999}, unsigned.
    const HEAD: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
    const NONE: &str = "eyJhbGciOiJub25lIn0";
    const CLAIMS: &str =
        "eyJyb2xlIjoiYWRtaW4iLCJpc3MiOiJpc3N1ZXIiLCJhdWQiOiJhdWRpZW5jZSIsImV4cCI6OTk5OTk5OTk5OX0";
    let texts = [format!("{HEAD}.{CLAIMS}.AAAA"), format!("{NONE}.{CLAIMS}."), "a.b.c".to_owned()];
    texts.map(String::into_bytes).to_vec()
}

/// Parses a schedule's expression. The occurrences of a valid one must be in order.
pub(super) fn cron(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for zone in ["UTC", "America/New_York"] {
        let Ok(cron) = Cron::parse(text, zone.parse().expect("a zone")) else { return };
        let mut last = Timestamp(1_795_212_473_000);
        for at in cron.all_after(last).take(OCCURRENCES) {
            assert!(at > last, "`{text}` goes from {last:?} to {at:?} in {zone}");
            last = at;
        }
    }
}

pub(super) fn cron_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "* * * * *",
        "*/15 0 1,15 * 1-5",
        "0 9 * * MON-FRI",
        "0 0 12 1 1 * 2030",
        "0 0 L * *",
        "0 0 * * 5#2",
        "30 4 1W * *",
        "@daily",
        "0 0 29 2 *",
        "59 59 23 31 12 7 9999",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

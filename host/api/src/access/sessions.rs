//! Browser sessions: a cookie represents the token with which the session was opened.
//!
//! The token is kept in memory and checked again with each request. So a session never has more
//! rights than its token, and ends with it. A request that changes something also sends the
//! session's CSRF text in a header, which no page of another site can know, and its `Origin`.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use axum::http::{HeaderMap, Method, header};
use ring::rand::{SecureRandom as _, SystemRandom};
use segno_core::time::{Millis, Timestamp};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::ApiError;

/// The header with the CSRF text.
pub(crate) const CSRF: &str = "x-segno-csrf";
/// Maximum duration of a session.
pub(crate) const LONGEST: Millis = Millis::seconds(12 * 60 * 60);
/// Maximum number of sessions. A new session replaces the one that ends first.
const SESSIONS: usize = 1_000;

/// The open sessions, by hash of the cookie's secret: the memory of the host reveals no cookie.
#[derive(Debug, Default)]
pub(crate) struct BrowserSessions(Mutex<HashMap<[u8; 32], BrowserSession>>);

/// An open session.
#[derive(Clone)]
pub(crate) struct BrowserSession {
    token: String,
    /// The CSRF text that modifying requests must send.
    pub(crate) csrf: String,
    /// The end of the session.
    pub(crate) ends_at: Timestamp,
}

impl std::fmt::Debug for BrowserSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session {{ ends_at: {:?} }}", self.ends_at)
    }
}

impl BrowserSession {
    /// The token that the session represents.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Checks that a potentially modifying request comes from a page of this host.
    ///
    /// # Errors
    /// [`ApiError::NoCsrf`] if the header is missing or wrong. [`ApiError::ForeignOrigin`] if the
    /// request has no origin; foreign origins are refused earlier.
    pub(crate) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
        if method.is_safe() {
            return Ok(());
        }
        if !headers.contains_key(header::ORIGIN) {
            return Err(ApiError::ForeignOrigin("(none)".to_owned()));
        }
        let given = headers.get(CSRF).map_or(&b""[..], |given| given.as_bytes());
        match bool::from(given.ct_eq(self.csrf.as_bytes())) {
            true => Ok(()),
            false => Err(ApiError::NoCsrf),
        }
    }
}

impl BrowserSessions {
    /// Opens a session for a token whose rights end at `until`. Returns the cookie's secret and the
    /// session.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn open(
        &self,
        token: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(String, BrowserSession), ApiError> {
        let (secret, csrf) = (secret()?, secret()?);
        let ends_at = until.min(now + LONGEST);
        let session = BrowserSession { token: token.to_owned(), csrf, ends_at };
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, session| session.ends_at > now);
        if open.len() >= SESSIONS {
            let first = open.iter().min_by_key(|(_, session)| session.ends_at);
            if let Some(first) = first.map(|(key, _)| *key) {
                open.remove(&first);
            }
        }
        open.insert(key(&secret), session.clone());
        Ok((secret, session))
    }

    /// Finds the session of the cookie in these headers.
    pub(crate) fn find(&self, headers: &HeaderMap, now: Timestamp) -> Option<BrowserSession> {
        let key = key(&cookie(headers)?);
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(&key).filter(|session| session.ends_at > now).cloned()
    }

    /// Ends the session of the cookie in these headers.
    pub(crate) fn close(&self, headers: &HeaderMap) {
        if let Some(secret) = cookie(headers) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key(&secret));
        }
    }
}

/// Builds the header that makes a browser keep `secret` for `seconds` seconds.
pub(crate) fn set_cookie(headers: &HeaderMap, secret: &str, seconds: i64) -> String {
    // The `Origin` of a browser's POST shows if the page came over TLS, which a proxy may
    // terminate.
    let origin = headers.get(header::ORIGIN).map_or(&b""[..], |origin| origin.as_bytes());
    let secure = if origin.starts_with(b"https://") { "; Secure" } else { "" };
    let name = cookie_name(headers);
    format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// Name of the cookie. Browsers send a cookie to all ports of a host name, so the name contains the
/// port.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port);
    match port.filter(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(port) => format!("segno_session_{port}"),
        None => "segno_session".to_owned(),
    }
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let name = cookie_name(headers);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs =
        cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| known.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn key(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// 32 random bytes as hexadecimal digits.
fn secret() -> Result<String, ApiError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ApiError::Internal("the system gives no random numbers".to_owned()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_cookie(line: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, "localhost:7766".parse().expect("a host"));
        headers.insert(header::COOKIE, line.parse().expect("a cookie"));
        headers
    }

    #[test]
    fn a_session_is_found_by_its_cookie_until_it_ends() {
        let sessions = BrowserSessions::default();
        let (now, until) = (Timestamp(1_000), Timestamp(5_000));
        let (secret, session) = sessions.open("s3cret", until, now).expect("random numbers");
        assert_eq!((session.token(), session.ends_at), ("s3cret", until));
        let found = |line: String, now| sessions.find(&with_cookie(&line), now).is_some();
        assert!(found(format!("a=b; segno_session_7766={secret}"), now));
        assert!(!found(format!("segno_session_7766={secret}"), until));
        assert!(!found(format!("segno_session_7767={secret}"), now), "another host's");
        assert!(!found(format!("segno_session_7766={}", key_text(&secret)), now));
        sessions.close(&with_cookie(&format!("segno_session_7766={secret}")));
        assert!(!found(format!("segno_session_7766={secret}"), now));
    }

    fn key_text(secret: &str) -> String {
        key(secret).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn there_is_always_room_for_a_new_session() {
        let sessions = BrowserSessions::default();
        let open = |number: i64| {
            let until = Timestamp(10_000 + number);
            sessions.open("token", until, Timestamp(0)).expect("random numbers").0
        };
        let first = open(0);
        let rest: Vec<String> = (1..=SESSIONS as i64).map(open).collect();
        let found = |secret: &str| {
            let headers = with_cookie(&format!("segno_session_7766={secret}"));
            sessions.find(&headers, Timestamp(1)).is_some()
        };
        assert!(!found(&first) && rest.iter().all(|secret| found(secret)));
    }

    #[test]
    fn a_cookie_is_secure_where_the_page_was() {
        let mut headers = with_cookie("a=b");
        assert!(!set_cookie(&headers, "x", 5).contains("Secure"));
        headers.insert(header::ORIGIN, "https://localhost:7766".parse().expect("an origin"));
        let cookie = set_cookie(&headers, "x", 5);
        let all = "segno_session_7766=x; Path=/; HttpOnly; SameSite=Strict; Max-Age=5; Secure";
        assert_eq!(cookie, all);
    }
}

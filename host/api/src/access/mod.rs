//! Authentication of requests, and protection against web pages that address a host on the
//! visitor's machine.
//!
//! A browser sets `Host` and `Origin` from the page's own URL. A page that resolves its own name to
//! 127.0.0.1 (DNS rebinding) still sends its own name as `Host`. A page that requests 127.0.0.1
//! directly sends its own `Origin`.

mod jwt;
pub(crate) mod sessions;
mod signatures;

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header, uri::Authority},
    middleware::Next,
    response::Response,
};
use segno_core::time::Timestamp;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::{Api, error::ApiError};

use jwt::TokenRefusal;
pub use jwt::{ClientRights, KeyError, TokenVerifier};

/// The reason why a host may not listen with these settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The host would accept requests from other machines without a token.
    #[error(
        "{0} can be reached from other machines: give a token with `--token` or SEGNO_TOKEN, or keys of tokens with \
         `--jwt-key`, or allow every client with `--insecure`"
    )]
    Open(SocketAddr),
    /// The token is easy to guess, or cannot be sent in a header.
    #[error("the token is no token: {0}")]
    Token(&'static str),
}

/// The checks of every request. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AccessControl {
    /// Hash of the token. Comparing hashes also hides the length of the token.
    token: Option<[u8; 32]>,
    /// Signers whose tokens are accepted in addition.
    jwt: Option<Arc<TokenVerifier>>,
    listens_on: IpAddr,
    names: Arc<[String]>,
}

impl AccessControl {
    /// Creates the checks of a host that listens on `address`. `names` are further host names of
    /// the host.
    ///
    /// # Errors
    /// [`AccessError`] if other machines could use the host without a token.
    pub fn new(
        address: SocketAddr,
        token: Option<&str>,
        insecure: bool,
        names: Vec<String>,
    ) -> Result<Self, AccessError> {
        Self::signed(address, token, None, insecure, names)
    }

    /// Like [`new`](Self::new), for a host that also accepts signed tokens (JWT).
    ///
    /// # Errors
    /// [`AccessError`] if other machines could use the host without a token.
    pub fn signed(
        address: SocketAddr,
        token: Option<&str>,
        jwt: Option<TokenVerifier>,
        insecure: bool,
        names: Vec<String>,
    ) -> Result<Self, AccessError> {
        if token.is_none() && jwt.is_none() && !insecure && !address.ip().is_loopback() {
            return Err(AccessError::Open(address));
        }
        if let Some(token) = token {
            if token.is_empty() {
                return Err(AccessError::Token("it is empty"));
            }
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(AccessError::Token("it may hold visible ASCII characters only"));
            }
        }
        let names = names.into_iter().map(|name| name.to_ascii_lowercase()).collect();
        let token = token.map(|token| Sha256::digest(token).into());
        Ok(Self { token, jwt: jwt.map(Arc::new), listens_on: address.ip(), names })
    }

    /// Returns true if requests need a token.
    pub fn needs_token(&self) -> bool {
        self.token.is_some() || self.jwt.is_some()
    }

    /// Returns true if signed tokens are accepted. Clients may then have different rights.
    pub fn takes_signed_tokens(&self) -> bool {
        self.jwt.is_some()
    }

    fn check_host(&self, authority: &str) -> Result<(), ApiError> {
        let foreign = || ApiError::ForeignHost(authority.to_owned());
        let parsed: Authority = authority.parse().map_err(|_| foreign())?;
        if authority.contains('@') {
            return Err(foreign());
        }
        let host = parsed.host().trim_matches(['[', ']']).to_ascii_lowercase();
        let is_ours = match host.parse::<IpAddr>() {
            // A page cannot make its own name look like an address, so a host that listens on all
            // addresses accepts any address.
            Ok(address) => {
                address.is_loopback()
                    || address == self.listens_on
                    || self.listens_on.is_unspecified()
            }
            Err(_) => host == "localhost" || self.names.contains(&host),
        };
        if is_ours { Ok(()) } else { Err(foreign()) }
    }

    fn check_origin(&self, origin: &str, host: &str) -> Result<(), ApiError> {
        let foreign = || ApiError::ForeignOrigin(origin.to_owned());
        let authority = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"))
            .ok_or_else(foreign)?;
        if authority.eq_ignore_ascii_case(host) { Ok(()) } else { Err(foreign()) }
    }

    /// Refuses a request whose `Host` or `Origin` is not this host's. `allowed` accepts a foreign
    /// origin.
    pub fn check_sender(&self, request: &Request, allowed: bool) -> Result<(), ApiError> {
        let headers = request.headers();
        let unreadable = |()| ApiError::ForeignHost("(none, or several)".to_owned());
        let authority = request.uri().authority().map(Authority::as_str);
        // An HTTP/2 request names its host only in its URI.
        let host = only(headers, &header::HOST).map_err(unreadable)?.or(authority);
        let host = host.ok_or(()).map_err(unreadable)?;
        self.check_host(host)?;
        authority.map_or(Ok(()), |authority| self.check_host(authority))?;
        let origin = only(headers, &header::ORIGIN)
            .map_err(|()| ApiError::ForeignOrigin("(several)".to_owned()))?;
        match origin {
            Some(origin) if !allowed => self.check_origin(origin, host),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the rights of the sender of this token.
    ///
    /// # Errors
    /// [`ApiError::Unauthorized`] if the token is missing or invalid. [`ApiError::NoRights`] if the
    /// token is valid but grants nothing.
    pub(crate) fn rights(
        &self,
        given: Option<&str>,
        now: Timestamp,
    ) -> Result<ClientRights, ApiError> {
        if !self.needs_token() {
            return Ok(ClientRights::all());
        }
        let asks = || ApiError::Unauthorized("this host asks for a token".to_owned());
        let given = given.ok_or_else(asks)?;
        if let Some(expected) = &self.token {
            let given: [u8; 32] = Sha256::digest(given).into();
            if bool::from(given.ct_eq(expected)) {
                return Ok(ClientRights::all());
            }
        }
        let Some(jwt) = &self.jwt else {
            let reason = "the token is not the one this host was started with";
            return Err(ApiError::Unauthorized(reason.to_owned()));
        };
        jwt.rights(given, now).map_err(|bad| match bad {
            TokenRefusal::NoPrefix => ApiError::NoRights(bad.to_string()),
            bad => ApiError::Unauthorized(bad.to_string()),
        })
    }

    /// Returns the rights of the sender of these headers. `beside` is a token sent by other means,
    /// which takes precedence.
    ///
    /// # Errors
    /// As [`AccessControl::rights`].
    pub fn rights_of(
        &self,
        headers: &HeaderMap,
        beside: Option<&str>,
        now: Timestamp,
    ) -> Result<ClientRights, ApiError> {
        if beside.is_some() || !self.needs_token() {
            return self.rights(beside, now);
        }
        let unreadable =
            || ApiError::Unauthorized("the Authorization header holds no bearer token".to_owned());
        let header = headers.get(header::AUTHORIZATION);
        let token = header.map(|header| bearer(header).ok_or_else(unreadable)).transpose()?;
        self.rights(token, now)
    }
}

pub(crate) fn bearer(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case("bearer ").then(|| token.trim_ascii())
}

/// Returns the single value of a header. Fails if there are several values.
fn only<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(());
    }
    first.map(|value| value.to_str().map_err(|_| ())).transpose()
}

/// Middleware that passes on requests with rights over every id: those of a token, or of the
/// session that a cookie names. Liveness, readiness, the index page, and the files of the console
/// contain no data of this host and need no token.
pub(crate) async fn guard(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let allowed = path.starts_with(super::streams::headers::PREFIX) && api.origins.allow(&request);
    api.access.check_sender(&request, allowed)?;
    if !matches!(path, "/" | "/health" | "/ready") && !super::served::serves(path) {
        let now = api.host.env.clock.now();
        let session = api.session(request.headers(), now);
        if let Some(session) = &session {
            session.check(request.method(), request.headers())?;
        }
        let beside = session.as_ref().map(|session| session.token());
        // Most routes behind this guard concern any id.
        if api.access.rights_of(request.headers(), beside, now)?.prefix().is_some() {
            let reason = "the token allows only what has an id with a certain beginning, which holds for the \
                          Resonate protocol; here a token for everything is asked for";
            return Err(ApiError::NoRights(reason.to_owned()));
        }
    }
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(address: &str, names: &[&str]) -> AccessControl {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        AccessControl::new(address.parse().expect("an address"), None, true, names)
            .expect("it is insecure")
    }

    #[test]
    fn another_address_than_loopback_needs_a_token() {
        let open: SocketAddr = "0.0.0.0:7766".parse().expect("an address");
        let refused =
            AccessControl::new(open, None, false, vec![]).expect_err("anybody could use it");
        assert_eq!(refused, AccessError::Open(open));
        assert!(AccessControl::new(open, Some("secret"), false, vec![]).is_ok());
        assert!(AccessControl::new(open, None, true, vec![]).is_ok());
        assert!(
            AccessControl::new("[::1]:1".parse().expect("an address"), None, false, vec![]).is_ok()
        );
        assert!(AccessControl::new(open, Some(""), false, vec![]).is_err());
        assert!(AccessControl::new(open, Some("two words"), false, vec![]).is_err());
    }

    #[test]
    fn hosts_are_told_apart() {
        let loopback = on("127.0.0.1:7766", &["segno.internal"]);
        for ours in [
            "127.0.0.1:7766",
            "localhost",
            "LOCALHOST:9",
            "[::1]:7766",
            "127.8.8.8",
            "segno.INTERNAL:1",
        ] {
            assert!(loopback.check_host(ours).is_ok(), "{ours}");
        }
        for foreign in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:7766",
            "10.0.0.1",
            "localhost@evil.example",
            "evil.example@localhost",
            "",
        ] {
            assert!(loopback.check_host(foreign).is_err(), "{foreign}");
        }
        assert!(on("10.0.0.1:1", &[]).check_host("10.0.0.1:1").is_ok());
        assert!(on("10.0.0.1:1", &[]).check_host("10.0.0.2:1").is_err());
        assert!(on("0.0.0.0:1", &[]).check_host("10.0.0.2:1").is_ok());
        assert!(on("0.0.0.0:1", &[]).check_host("evil.example").is_err());
    }

    #[test]
    fn only_the_own_origin_is_ours() {
        let access = on("127.0.0.1:7766", &[]);
        let check = |origin| access.check_origin(origin, "localhost:7766").is_ok();
        assert!(check("http://localhost:7766"));
        for foreign in
            ["null", "http://localhost:3000", "http://evil.example", "file://", "localhost:7766"]
        {
            assert!(!check(foreign), "{foreign}");
        }
    }
}

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::json;

use super::*;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

struct Signer {
    pair: Ed25519KeyPair,
}

impl Signer {
    fn new(seed: u8) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a seed");
        Self { pair }
    }

    fn key(&self) -> String {
        format!("{PREFIX}{}", encoded(self.pair.public_key().as_ref()))
    }

    fn token(&self, alg: &str, aud: &str, from_s: i64, to_s: i64) -> String {
        let part = |json: serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let head = part(json!({ "typ": "JWT", "alg": alg, "kid": self.key() }));
        let at = NOW.0 / 1_000;
        let claims = part(json!({ "aud": aud, "nbf": at + from_s, "iat": at, "exp": at + to_s }));
        let signed = format!("{head}.{claims}");
        let signature = self.pair.sign(signed.as_bytes());
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }
}

fn encoded(bytes: &[u8]) -> String {
    let mut digits: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = usize::from(*byte);
        for digit in &mut digits {
            carry += usize::from(*digit) * 256;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    digits.extend(std::iter::repeat_n(0, zeros));
    digits.iter().rev().map(|digit| char::from(ALPHABET[usize::from(*digit)])).collect()
}

fn headers(scheme: &'static str, token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(SCHEME, scheme.parse().expect("a value"));
    headers.insert(TOKEN, token.parse().expect("a value"));
    headers
}

#[test]
fn base_58_is_read_as_others_write_it() {
    for (bytes, text) in [
        (&b""[..], ""),
        (b"\0", "1"),
        (b"\0\0\x01", "112"),
        (b"Hello World!", "2NEpo7TZRRrLZSi2U"),
        (b"\x00\x00\x28\x7f\xb4\xcd", "11233QC4"),
    ] {
        assert_eq!(base58(text).as_deref(), Some(bytes), "{text}");
        assert_eq!(encoded(bytes), text);
    }
    assert_eq!(base58("0"), None);
    assert_eq!(base58(&"z".repeat(65)), None);
}

#[test]
fn what_is_no_key_is_refused_by_its_reason() {
    assert!(IdentityKeys::new([&*Signer::new(1).key()]).is_ok());
    for (key, why) in [
        ("", "publickeyv1_"),
        ("publickeyv2_1", "publickeyv1_"),
        ("publickeyv1_0", "base 58"),
        ("publickeyv1_11", "32 bytes"),
    ] {
        let refused = IdentityKeys::new([key]).expect_err(key).to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_request_is_let_in_with_a_token_for_its_path_and_time_by_one_of_the_keys() {
    let (one, other, stranger) = (Signer::new(1), Signer::new(2), Signer::new(3));
    let (first, second) = (one.key(), other.key());
    let identity = IdentityKeys::new([&*first, &*second]).expect("keys");
    let path = "/invoke/order/order";
    let check = |token: &str| identity.check(&headers("v1", token), path, NOW);
    for signer in [&one, &other] {
        assert_eq!(check(&signer.token("EdDSA", path, -60, 60)), Ok(()));
    }
    assert_eq!(check(&stranger.token("EdDSA", path, -60, 60)), Err(IdentityRefusal::Signature));
    let elsewhere = check(&one.token("EdDSA", "/invoke/order/ship", -60, 60));
    assert_eq!(elsewhere, Err(IdentityRefusal::Audience("/invoke/order/ship".to_owned())));
    for (from, to) in [(1, 60), (-60, 0), (-60, -1)] {
        let refused = check(&one.token("EdDSA", path, from, to));
        assert!(matches!(refused, Err(IdentityRefusal::Time { .. })), "{from} {to}");
    }
    assert!(matches!(check(&one.token("none", path, -60, 60)), Err(IdentityRefusal::Token(_))));
    for broken in ["", "a.b", "a.b.c", "a.b.c.d", "....", "e30.e30.e30"] {
        assert!(matches!(check(broken), Err(IdentityRefusal::Token(_))), "{broken}");
    }
    let token = one.token("EdDSA", path, -60, 60);
    let mut tampered = token.clone().into_bytes();
    let claims = token.find('.').expect("it has parts") + 5;
    tampered[claims] = if tampered[claims] == b'A' { b'B' } else { b'A' };
    let tampered = String::from_utf8(tampered).expect("text");
    assert_eq!(check(&tampered), Err(IdentityRefusal::Signature));
}

#[test]
fn what_is_not_signed_is_let_in_where_no_key_is_named() {
    let signer = Signer::new(1);
    let identity = IdentityKeys::new([&*signer.key()]).expect("a key");
    let open = IdentityKeys::default();
    assert_eq!(open.check(&HeaderMap::new(), "/discover", NOW), Ok(()));
    assert_eq!(identity.check(&HeaderMap::new(), "/discover", NOW), Err(IdentityRefusal::Unsigned));
    let token = signer.token("EdDSA", "/discover", -60, 60);
    let unsigned = identity.check(&headers("unsigned", &token), "/discover", NOW);
    assert_eq!(unsigned, Err(IdentityRefusal::Unsigned));
    let odd = identity.check(&headers("v2", &token), "/discover", NOW);
    assert_eq!(odd, Err(IdentityRefusal::Scheme("v2".to_owned())));
}

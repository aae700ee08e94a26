//! Valid tokens for every kind of key, and every way in which a token can be invalid.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::{
    hmac,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _},
};
use serde_json::json;

use super::*;

const SECRET: &[u8] = b"a secret that is hard to guess, as long as it has to be";
const NOW: Timestamp = Timestamp(1_800_000_000_000);
const NOW_S: i64 = NOW.0 / 1_000;

/// Made with openssl, like the token below, which is valid until 2100.
const RSA_KEY: &str = "\
-----BEGIN PUBLIC KEY-----\n\
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAvoHuorTclDmVSCRvrn0O\n\
xkPaqwB69fs64JlvQahm6qcjcEaaTz+L3/vVcPI+n0SyraRdti51iVj3N4tFL6FP\n\
PrQsHC+yhfji6AgZ0U2wI4Oi6irqdWnG6ZYrZRsb/SP25fZPoQmaWC1z3GCPfXX5\n\
Ig6oAHz+prl80kV7T003MX2ZbZcyp48HjzQIH8TSS0AK0upjRBewqWeCoPZE8XNX\n\
hNeBbplifBkgPPF8UfgGtEoRyHuBYkOUY1aEoweDVdKRKBv5egVBFSRatddSiSIm\n\
rdo3vk6zTFUMyG4w6HrjgdaBq8r6QW3t8+2tQrNgjSPsswd2LlfUrevgiVmGkYcJ\n\
HQIDAQAB\n\
-----END PUBLIC KEY-----\n";
const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjQxMDI0NDQ4MDAsInByZWZpeCI6InRlYW0tYToifQ.p0\
    L9Atv0lZv5s1Ma6OvDkYGX7earTa3bcr4mYvDe6U2WOR-pLqjZGjctP3Bx8s_DUoZ5RZB4PvP640tZ8BY6mK9Bi8KW\
    Ve2V6o0JV0uA579e-gKEnhQIw5lXHUjrxC_36LCFxwKiSJIZCkQGSnQfqwFATMxNqcd6yFLIvrifaRpTcMCKJZrvmB\
    KoKF-Gu0IJehTCcgxY90nsnnEGSm93uhXmG8_nDw1s9FDkNN3lS8jfRqbJaSBEwktG2tUQJOABgLMEl09J_p2j0Nef\
    ETGHtvmf2tM3fVgo1tifR7WMXLG3EYzr4a18PwZ0V3frrtvwtnYY6-6uRub44av0WtQcwQ";

fn encoded(json: &Json) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(json.to_string())
}

/// Builds a token with a signature by `sign`.
fn token(header: &Json, claims: &Json, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", encoded(header), encoded(claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn hs256(secret: &[u8]) -> impl Fn(&[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    move |message| hmac::sign(&key, message).as_ref().to_vec()
}

/// Builds a token signed with the secret.
fn signed(claims: Json) -> String {
    token(&json!({ "alg": "HS256", "typ": "JWT" }), &claims, hs256(SECRET))
}

fn with(issuer: Option<&str>, audience: Option<&str>, keys: &[&[u8]]) -> TokenVerifier {
    let mut jwt = TokenVerifier::new(issuer.map(str::to_owned), audience.map(str::to_owned));
    for key in keys {
        jwt.add(key, "key".to_owned()).expect("a key");
    }
    jwt
}

fn rights(claims: Json) -> Result<ClientRights, TokenRefusal> {
    with(None, None, &[SECRET]).rights(&signed(claims), NOW)
}

/// Encodes a public key as PEM, from the algorithm identifier and the key.
fn pem(kind: &[u8], key: &[u8]) -> String {
    let key = BASE64_STANDARD.encode([kind, key].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n")
}

const ED25519: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
const P256: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";

struct Signers {
    random: SystemRandom,
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
}

impl Signers {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        let ed = Ed25519KeyPair::from_pkcs8(ed.as_ref()).expect("a key");
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let ec = EcdsaKeyPair::from_pkcs8(algorithm, ec.as_ref(), &random).expect("a key");
        Self { random, ed, ec }
    }

    fn keys(&self) -> [String; 2] {
        [pem(ED25519, self.ed.public_key().as_ref()), pem(P256, self.ec.public_key().as_ref())]
    }

    fn tokens(&self) -> [String; 2] {
        let claims = json!({ "exp": NOW_S + 60, "prefix": "a" });
        let ed = token(&json!({ "alg": "EdDSA" }), &claims, |message| {
            self.ed.sign(message).as_ref().to_vec()
        });
        let ec = token(&json!({ "alg": "ES256" }), &claims, |message| {
            self.ec.sign(&self.random, message).expect("a signature").as_ref().to_vec()
        });
        [ed, ec]
    }
}

#[test]
fn a_token_is_good_under_the_key_it_was_signed_for_and_under_no_other() {
    let signers = Signers::new();
    let [ed_key, ec_key] = signers.keys();
    let [ed, ec] = signers.tokens();
    let secret = signed(json!({ "exp": NOW_S + 60, "prefix": "a" }));
    let keys = [ed_key.as_bytes(), ec_key.as_bytes(), SECRET, RSA_KEY.as_bytes()];
    let tokens = [ed.as_str(), &ec, &secret, RSA_TOKEN];
    let all = with(None, None, &keys);
    for (own, token) in tokens.iter().enumerate() {
        assert!(all.rights(token, NOW).expect("it is good").prefix().is_some());
        for (other, key) in keys.iter().enumerate() {
            let answered = with(None, None, &[key]).rights(token, NOW);
            match own == other {
                true => assert!(answered.is_ok(), "{own}: {answered:?}"),
                false => assert!(
                    matches!(answered, Err(TokenRefusal::Algorithm(_))),
                    "{own} under {other}"
                ),
            }
        }
    }
    let strangers = Signers::new();
    for token in strangers.tokens() {
        assert_eq!(all.rights(&token, NOW), Err(TokenRefusal::Signature));
    }
    let other = token(&json!({ "alg": "HS256" }), &json!({ "exp": NOW_S + 60 }), hs256(b"guessed"));
    assert_eq!(all.rights(&other, NOW), Err(TokenRefusal::Signature));
    // The public key used as a shared secret.
    let confused = json!({ "exp": NOW_S + 60, "role": "admin" });
    let confused = token(&json!({ "alg": "HS256" }), &confused, hs256(RSA_KEY.as_bytes()));
    let answered = with(None, None, &[RSA_KEY.as_bytes()]).rights(&confused, NOW);
    assert_eq!(answered, Err(TokenRefusal::Algorithm("HS256".to_owned())));
}

#[test]
fn several_keys_of_one_kind_are_tried() {
    let (one, two) = (Signers::new(), Signers::new());
    let keys = [one.keys(), two.keys()].concat();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let jwt = with(None, None, &keys);
    for token in [one.tokens(), two.tokens()].concat() {
        assert!(jwt.rights(&token, NOW).is_ok());
    }
}

#[test]
fn a_changed_token_is_refused() {
    let good = signed(json!({ "exp": NOW_S + 60, "prefix": "a" }));
    let jwt = with(None, None, &[SECRET]);
    assert!(jwt.rights(&good, NOW).is_ok());
    let (message, signature) = good.rsplit_once('.').expect("a signature");
    let (header, _) = message.split_once('.').expect("claims");
    let widened = encoded(&json!({ "exp": NOW_S + 60, "prefix": "" }));
    let swapped = format!("{header}.{widened}.{signature}");
    assert_eq!(jwt.rights(&swapped, NOW), Err(TokenRefusal::Signature));
    assert_eq!(jwt.rights(&format!("{message}."), NOW), Err(TokenRefusal::Signature));
}

#[test]
fn unsigned_and_unknown_algorithms_are_refused_by_name() {
    let claims = json!({ "exp": NOW_S + 60, "role": "admin" });
    let jwt = with(None, None, &[SECRET]);
    for (algorithm, told) in [
        ("none", "none"),
        ("None", "None"),
        ("HS512", "HS512"),
        ("RS256", "RS256"),
        ("<script>alert(1)</script>", "an unknown one"),
    ] {
        for sign in [hs256(SECRET)(b"x"), Vec::new()] {
            let token = token(&json!({ "alg": algorithm }), &claims, |_| sign.clone());
            assert_eq!(jwt.rights(&token, NOW), Err(TokenRefusal::Algorithm(told.to_owned())));
        }
    }
    let critical = json!({ "alg": "HS256", "crit": ["b64"], "b64": false });
    let critical = token(&critical, &claims, hs256(SECRET));
    assert_eq!(jwt.rights(&critical, NOW), Err(TokenRefusal::Critical));
}

#[test]
fn what_is_no_token_is_refused_without_being_repeated() {
    let jwt = with(None, None, &[SECRET]);
    for text in ["", ".", "..", "...", "hello", "a.b.c", "e30.e30.e30", "ключ.é.x", "e30.e30", "\0"]
    {
        let bad = jwt.rights(text, NOW).expect_err(text);
        assert_eq!(bad, TokenRefusal::Malformed, "{text}");
    }
    assert_eq!(jwt.rights(&"x".repeat(LONGEST + 1), NOW), Err(TokenRefusal::Long));
    // The signature is valid, but the payload is not a JSON object.
    for claims in [json!([1]), json!("text"), json!({ "exp": "soon" }), json!({ "exp": [] })] {
        assert_eq!(rights(claims), Err(TokenRefusal::Malformed));
    }
}

#[test]
fn a_token_is_good_for_its_time() {
    let claims = |exp: Json, nbf: Json| {
        let mut claims = json!({ "prefix": "a" });
        for (name, value) in [("exp", exp), ("nbf", nbf)] {
            if !value.is_null() {
                claims[name] = value;
            }
        }
        rights(claims).map(|rights| rights.until())
    };
    assert_eq!(claims(json!(NOW_S + 1), Json::Null), Ok(Timestamp(NOW.0 + 1_000)));
    assert_eq!(claims(json!(NOW_S as f64 + 0.5), Json::Null), Ok(Timestamp(NOW.0 + 500)));
    assert_eq!(claims(json!(NOW_S), Json::Null), Err(TokenRefusal::Expired));
    assert_eq!(claims(json!(0), Json::Null), Err(TokenRefusal::Expired));
    assert_eq!(claims(Json::Null, Json::Null), Err(TokenRefusal::Endless));
    assert!(claims(json!(NOW_S + 1), json!(NOW_S + 60)).is_ok());
    assert_eq!(claims(json!(NOW_S + 1), json!(NOW_S + 61)), Err(TokenRefusal::Early));
}

#[test]
fn claims_say_what_is_allowed() {
    let claims = |more: Json| {
        let mut claims = json!({ "exp": NOW_S + 60 });
        let more = more.as_object().expect("an object").clone();
        claims.as_object_mut().expect("an object").extend(more);
        rights(claims)
    };
    let prefix = |more: Json| claims(more).map(|rights| rights.prefix().map(str::to_owned));
    assert_eq!(prefix(json!({ "prefix": "a:" })), Ok(Some("a:".to_owned())));
    assert_eq!(prefix(json!({ "prefix": "" })), Ok(None));
    assert_eq!(prefix(json!({ "role": "admin" })), Ok(None));
    assert_eq!(prefix(json!({ "role": "admin", "prefix": "a" })), Ok(None));
    assert_eq!(prefix(json!({ "role": "reader", "prefix": "a" })), Ok(Some("a".to_owned())));
    for nothing in [
        json!({}),
        json!({ "prefix": null }),
        json!({ "prefix": 7 }),
        json!({ "prefix": [""] }),
        json!({ "role": "Admin" }),
        json!({ "role": ["admin"] }),
    ] {
        assert_eq!(prefix(nothing.clone()), Err(TokenRefusal::NoPrefix), "{nothing}");
    }
    let of_a = claims(json!({ "prefix": "a:" })).expect("rights");
    assert!(of_a.over("a:1") && of_a.over("a:") && !of_a.over("a") && !of_a.over("b:a:"));
}

#[test]
fn issuer_and_audience_are_checked_where_they_are_asked_for() {
    let ask = |issuer, audience, more: Json| {
        let mut claims = json!({ "exp": NOW_S + 60, "prefix": "" });
        let more = more.as_object().expect("an object").clone();
        claims.as_object_mut().expect("an object").extend(more);
        with(issuer, audience, &[SECRET]).rights(&signed(claims), NOW).err()
    };
    let (iss, aud) = (Some("me"), Some("segno"));
    assert_eq!(ask(None, None, json!({ "iss": "x", "aud": "y" })), None);
    assert_eq!(ask(iss, None, json!({ "iss": "me" })), None);
    assert_eq!(ask(iss, None, json!({ "iss": "you" })), Some(TokenRefusal::Issuer));
    assert_eq!(ask(iss, None, json!({})), Some(TokenRefusal::Issuer));
    // A single text, compared exactly.
    for other in [
        json!(["me"]),
        json!(["me", "you"]),
        json!({ "me": 1 }),
        json!(" me"),
        json!("Me"),
        Json::Null,
    ] {
        assert_eq!(ask(iss, None, json!({ "iss": other })), Some(TokenRefusal::Issuer), "{other}");
    }
    assert_eq!(ask(None, aud, json!({ "aud": "segno" })), None);
    assert_eq!(ask(None, aud, json!({ "aud": ["other", "segno"] })), None);
    assert_eq!(ask(None, aud, json!({ "aud": "other" })), Some(TokenRefusal::Audience));
    assert_eq!(ask(None, aud, json!({})), Some(TokenRefusal::Audience));
}

#[test]
fn keys_that_are_none_are_refused_by_name() {
    let add = |text: &[u8]| TokenVerifier::new(None, None).add(text, "key.pem".to_owned());
    let refused = |text: &[u8]| add(text).expect_err("it is no key").to_string();
    assert!(refused(b"short").contains("a secret of 5 bytes: use at least 32"));
    assert!(refused(&[b'7'; 31]).contains("31 bytes"));
    assert!(refused(&[&[b' '; 40][..], b"\n"].concat()).contains("0 bytes"), "blanks at the end");
    let private = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert!(refused(private.as_bytes()).contains("give the public one"));
    let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(refused(other.as_bytes()).contains("no public key that is known here"));
    assert!(refused(b"-----BEGIN PUBLIC KEY-----\n").contains("no public key"));
    let missing =
        TokenVerifier::new(None, None).add_file(Path::new("/does/not/exist")).expect_err("none");
    assert!(missing.to_string().contains("/does/not/exist"));
}

#[test]
fn a_public_key_in_whatever_form_is_not_taken_for_a_secret() {
    let add = |text: &[u8]| TokenVerifier::new(None, None).add(text, "key".to_owned());
    let refused = |text: &[u8], named: &str| {
        let error = add(text).expect_err(named).to_string();
        assert!(error.contains(named) && error.len() > named.len() + 40, "{named}: {error}");
    };
    let body: String = RSA_KEY.lines().filter(|line| !line.starts_with('-')).collect();
    let der = BASE64_STANDARD.decode(&body).expect("base64");
    let ssh = [&b"\0\0\0\x0bssh-ed25519\0\0\0\x20"[..], &[0x5a; 32]].concat();
    let ssh64 = BASE64_STANDARD.encode(&ssh);
    let point = [&[4][..], &[0xa7; 64]].concat();
    let utf16: Vec<u8> = RSA_KEY.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let hex: String = der.iter().map(|byte| format!("{byte:02x}")).collect();
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
    let jwks = json!({ "keys": [jwk] }).to_string();
    refused(jwks.as_bytes(), "a JWK");
    refused(format!("\u{feff}\n{jwks}").as_bytes(), "a JWK");
    refused(jwk.to_string().as_bytes(), "a JWK");
    refused(json!([jwk]).to_string().as_bytes(), "a JWK");
    refused(BASE64_STANDARD.encode(&jwks).as_bytes(), "an encoded text");
    refused(&der, "a key in DER");
    refused(&[ED25519, &[0xa7; 32]].concat(), "a key in DER");
    refused(body.as_bytes(), "a key in DER as base64");
    refused(BASE64_URL_SAFE_NO_PAD.encode(&der).as_bytes(), "a key in DER as base64");
    refused(hex.as_bytes(), "a key in DER as base64 or hex");
    refused(format!("ssh-ed25519 {ssh64} me@example\n").as_bytes(), "an OpenSSH public key");
    refused(ssh64.as_bytes(), "an OpenSSH public key");
    refused(&ssh, "an OpenSSH public key");
    let ssh2 = format!("---- BEGIN SSH2 PUBLIC KEY ----\n{ssh64}\n---- END SSH2 PUBLIC KEY ----\n");
    refused(ssh2.as_bytes(), "an OpenSSH public key");
    refused(b"<RSAKeyValue><Modulus>vge6tNyUOZVIJG+ufQ</Modulus></RSAKeyValue>", "XML");
    refused(b"https://issuer.example/.well-known/jwks.json", "an address");
    refused(&utf16, "UTF-16");
    refused(&point, "a point on a curve");
    refused(&[0xa7; 200], "more than 128 bytes");
    let wrapped = RSA_KEY.replace("-----BEGIN PUBLIC KEY-----\n", "").replace("-----END", "-- END");
    refused(wrapped.as_bytes(), "several lines");
    refused(&[b'7'; 40], "can be guessed");
    // A random secret is still accepted as one.
    let random = b"\xf3\x9a\x01\xc4\x5e\x77\xd8\x0b\x91\x2c\xe6\x4d\xb8\x1f\x63\xaa\xf3\x8a\x11\xc5\x5f\x79\xd2\x0e\x92\x2f\xe1\x4e\xb9\x10\x64\xab";
    add(random).expect("random bytes");
    add(BASE64_STANDARD.encode(random).as_bytes()).expect("random bytes as base64");
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    add(hex.as_bytes()).expect("random bytes as hex");
    add(SECRET).expect("a sentence");
}

#[test]
fn an_rsa_key_that_is_small_is_refused_and_so_are_two_keys_in_a_file() {
    let add = |text: &[u8]| TokenVerifier::new(None, None).add(text, "key.pem".to_owned());
    let refused = |text: &str| add(text.as_bytes()).expect_err("it is no key").to_string();
    // As openssl writes a key of 1024 bits, with and without the algorithm identifier.
    let modulus = [&[0x02, 0x81, 0x81, 0x00][..], &[0xc7; 128]].concat();
    let numbers = [&[0x30, 0x81, 0x89][..], &modulus, &[0x02, 0x03, 0x01, 0x00, 0x01]].concat();
    let armoured = |kind: &str, der: &[u8]| {
        let body = BASE64_STANDARD.encode(der);
        format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n")
    };
    let spki = [
        &b"\x30\x81\x9f\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x81\x8d\x00"[..],
        &numbers,
    ]
    .concat();
    for small in [armoured("PUBLIC KEY", &spki), armoured("RSA PUBLIC KEY", &numbers)] {
        let said = refused(&small);
        assert!(said.contains("an RSA key of 1024 bits: use one of 2048 to 8192 bits"), "{said}");
    }
    let other = armoured("RSA PUBLIC KEY", b"\x30\x03\x02\x01\x05");
    assert!(refused(&other).contains("no public key"));
    assert!(refused(&[RSA_KEY, RSA_KEY].concat()).contains("more than one PEM block"));
    let private = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert!(refused(&[RSA_KEY, private].concat()).contains("a private key"));
}

#[test]
fn nothing_that_is_shown_of_keys_or_refusals_holds_a_secret() {
    let jwt = with(None, None, &[SECRET]);
    assert!(!format!("{jwt:?}").contains("guess"));
    let claims = json!({ "exp": NOW_S - 1, "prefix": "hidden" });
    let token = signed(claims);
    let bad = jwt.rights(&token, NOW).expect_err("it has expired").to_string();
    assert!(!token.split('.').any(|part| bad.contains(part)) && !bad.contains("hidden"), "{bad}");
}

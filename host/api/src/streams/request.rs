//! Headers of requests that write.

use axum::http::{HeaderMap, HeaderName, header};
use segno_core::{
    id::StreamId,
    stream::{
        LABEL_BYTES_MAX, PRODUCER_NUMBER_MAX, ProducerPosition, StreamForkPoint, StreamLifetime,
    },
    time::{Millis, Timestamp},
    value::Text,
};

use super::{
    super::ApiError,
    headers::{
        CLOSED, EXPIRES_AT, FORK_OFFSET, FORK_SUB_OFFSET, FORKED_FROM, LABEL, PREFIX,
        PRODUCER_EPOCH, PRODUCER_ID, PRODUCER_SEQ, TTL,
    },
    offset::position,
};

/// Longest lifetime of an idle stream: 100 years, in seconds.
const TTL_MAX: i64 = 3_155_760_000;

/// The text of a header. `None` if there is none.
pub(super) fn text<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, ApiError> {
    let value = headers.get(name).map(|value| value.to_str());
    value.transpose().map_err(|_| bad(name, "holds other characters than visible ASCII"))
}

/// The content type of the body.
pub(super) fn content_type(headers: &HeaderMap) -> Result<Option<Text>, ApiError> {
    let given = text(headers, &header::CONTENT_TYPE)?.map(str::trim);
    Ok(given.filter(|given| !given.is_empty()).map(Text::from))
}

/// True if the request closes the stream.
pub(super) fn closes(headers: &HeaderMap) -> bool {
    let value = headers.get(CLOSED).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The lifetime of a new stream. `None` if the request does not say.
pub(super) fn lifetime(headers: &HeaderMap) -> Result<Option<StreamLifetime>, ApiError> {
    match (text(headers, &TTL)?, text(headers, &EXPIRES_AT)?) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            Err(bad(&TTL, "and `stream-expires-at` are both given: give one of them"))
        }
        (Some(ttl), None) => whole_number(ttl)
            .and_then(|seconds| i64::try_from(seconds).ok())
            .filter(|seconds| *seconds <= TTL_MAX)
            .map(|seconds| Some(StreamLifetime::Idle(Millis::seconds(seconds))))
            .ok_or_else(|| bad(&TTL, "is no number of seconds (digits only, at most 100 years)")),
        (None, Some(at)) => Timestamp::parse_utc(at)
            .map(|at| Some(StreamLifetime::Until(at)))
            .ok_or_else(|| bad(&EXPIRES_AT, "is no instant such as 2031-02-03T04:05:06Z")),
    }
}

/// The point of a fork. `None` if the request makes a new stream.
pub(super) fn fork_point(headers: &HeaderMap) -> Result<Option<StreamForkPoint>, ApiError> {
    let offset = text(headers, &FORK_OFFSET)?;
    let sub_offset = text(headers, &FORK_SUB_OFFSET)?;
    let Some(source) = text(headers, &FORKED_FROM)? else {
        return match (offset, sub_offset) {
            (None, None) => Ok(None),
            _ => Err(bad(&FORK_OFFSET, "is given without `stream-forked-from`")),
        };
    };
    let path = source.strip_prefix(PREFIX).filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| bad(&FORKED_FROM, "is no path of a stream: `/v1/stream/…`"))?;
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8();
    let source = decoded.map_err(|_| bad(&FORKED_FROM, "is not UTF-8 once it is decoded"))?;
    let offset = match offset {
        None => None,
        Some("-1") => Some(0),
        Some(given) => {
            let given = position(given);
            Some(given.ok_or_else(|| bad(&FORK_OFFSET, "is no offset of this host"))?)
        }
    };
    let sub_offset = match sub_offset {
        None => 0,
        Some(given) => whole_number(given)
            .ok_or_else(|| bad(&FORK_SUB_OFFSET, "is no whole number (digits only)"))?,
    };
    Ok(Some(StreamForkPoint { source: StreamId::new(&*source), offset, sub_offset }))
}

/// The position of the producer. `None` if the request names none.
pub(super) fn producer(headers: &HeaderMap) -> Result<Option<ProducerPosition>, ApiError> {
    let id = text(headers, &PRODUCER_ID)?;
    let (epoch, seq) = (text(headers, &PRODUCER_EPOCH)?, text(headers, &PRODUCER_SEQ)?);
    let (Some(id), Some(epoch), Some(seq)) = (id, epoch, seq) else {
        return match (id, epoch, seq) {
            (None, None, None) => Ok(None),
            _ => Err(bad(&PRODUCER_ID, "needs `producer-epoch` and `producer-seq` beside it")),
        };
    };
    let number = |name: &HeaderName, given: &str| {
        let number = whole_number(given).filter(|number| *number <= PRODUCER_NUMBER_MAX);
        number.ok_or_else(|| bad(name, "is no whole number up to 2^53 - 1"))
    };
    Ok(Some(ProducerPosition {
        id: label(&PRODUCER_ID, id)?,
        epoch: number(&PRODUCER_EPOCH, epoch)?,
        seq: number(&PRODUCER_SEQ, seq)?,
    }))
}

/// The sequence label of an append.
pub(super) fn sequence_label(headers: &HeaderMap) -> Result<Option<Text>, ApiError> {
    text(headers, &LABEL)?.map(|given| label(&LABEL, given)).transpose()
}

fn label(name: &HeaderName, given: &str) -> Result<Text, ApiError> {
    match given.len() {
        0 => Err(bad(name, "is empty")),
        1..=LABEL_BYTES_MAX => Ok(Text::from(given)),
        _ => Err(bad(name, "is longer than 1,024 bytes")),
    }
}

/// A number of digits only, without leading zeros.
fn whole_number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let shortest = text == "0" || !text.starts_with('0');
    (plain && shortest).then(|| text.parse().ok()).flatten()
}

fn bad(name: &HeaderName, reason: &str) -> ApiError {
    ApiError::BadHeader { header: name.to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let value = |(name, value): &(HeaderName, &str)| {
            (name.clone(), value.parse().expect("a header value"))
        };
        pairs.iter().map(value).collect()
    }

    #[test]
    fn a_lifetime_is_digits_or_an_instant() {
        let ttl = |text| lifetime(&headers(&[(TTL, text)])).ok().flatten();
        assert_eq!(ttl("60"), Some(StreamLifetime::Idle(Millis(60_000))));
        for bad in ["+60", "060", "6e1", "1.5", "", "-1", "99999999999999999999"] {
            assert_eq!(ttl(bad), None, "{bad}");
        }
        let until = lifetime(&headers(&[(EXPIRES_AT, "2031-02-03T04:05:06Z")]));
        assert!(matches!(until, Ok(Some(StreamLifetime::Until(_)))));
        assert!(lifetime(&headers(&[(EXPIRES_AT, "tomorrow")])).is_err());
    }

    #[test]
    fn a_producer_is_given_whole() {
        let whole = [(PRODUCER_ID, "p"), (PRODUCER_EPOCH, "0"), (PRODUCER_SEQ, "7")];
        let given = producer(&headers(&whole)).ok().flatten().expect("a producer");
        assert_eq!((&*given.id, given.epoch, given.seq), ("p", 0, 7));
        assert!(producer(&headers(&whole[..2])).is_err());
        assert!(matches!(producer(&HeaderMap::new()), Ok(None)));
        let large = [(PRODUCER_ID, "p"), (PRODUCER_EPOCH, "0"), (PRODUCER_SEQ, "9007199254740992")];
        assert!(producer(&headers(&large)).is_err());
    }
}

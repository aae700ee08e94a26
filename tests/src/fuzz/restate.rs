//! Fuzzing of Restate's protocol: a deployment's output, a runtime's output, and manifests.
//!
//! An input of the first two is a byte that selects the protocol version, then the stream.

use std::iter;

use segno_restate::{
    ProtocolVersion::{self, *},
    ProtocolViolation, StartMessage, deployment,
    frame::{Frame, FrameDecoder},
    immutable::{self, Combinator, Future, NotificationId},
    manifest::{Manifest, ManifestVersion},
    mutable, runtime,
    wire::{ValueMessage, Void},
};

/// Maximum size of a message, in bytes.
const LIMIT: usize = 1 << 16;

/// Decodes a stream of V1 to V3 from a deployment, on the runtime's side.
pub(super) fn entries(bytes: &[u8]) {
    let Some((version, stream)) = spoken(bytes, &[V1, V2, V3]) else { return };
    for frame in frames(stream) {
        if let Ok(message) = mutable::Message::decode(&frame, version) {
            let again = message.encode(version);
            assert_eq!(mutable::Message::decode(&again, version), Ok(message));
        }
    }
    let journal = entry_journal().map(|message| message.encode(version).to_bytes());
    same_in_any_pieces(stream, || {
        let records = journal.iter().map(|record| &record[..]);
        let opened = runtime::mutable::MutableRuntimeAttempt::open_with_limit(
            version,
            StartMessage::default(),
            records,
            LIMIT,
        );
        let (mut attempt, _) = opened.expect("a valid journal");
        move |piece: &[u8]| attempt.receive(piece)
    });
}

pub(super) fn entries_seeds() -> Vec<Vec<u8>> {
    let result = || Some(mutable::EntryResult::Value("v".into()));
    let run = mutable::Run { name: "r".into(), result: result() };
    let get = mutable::GetState { key: "k".into(), result: result(), ..Default::default() };
    let call = mutable::Call {
        service_name: "S".into(),
        idempotency_key: Some("i".into()),
        ..Default::default()
    };
    let begun = mutable::GetCallInvocationId { call_entry_index: 1, ..Default::default() };
    let output = mutable::Output { result: result(), ..Default::default() };
    let messages = [
        mutable::Message::Entry(run.into()),
        mutable::Message::Entry(get.into()),
        mutable::Message::Entry(mutable::Awakeable::default().into()),
        mutable::Message::Entry(call.into()),
        mutable::Message::Entry(begun.into()),
        mutable::Message::Entry(output.into()),
        mutable::Message::End,
    ];
    let suspension = mutable::Suspension { entry_indexes: vec![1, 2] };
    let error = mutable::ErrorMessage { code: 500, message: "m".into(), ..Default::default() };
    let ends = [mutable::Message::Suspension(suspension), mutable::Message::Error(error)];
    let stream = |messages: &[mutable::Message]| {
        let bytes = messages.iter().flat_map(|message| message.encode(V3).to_bytes());
        iter::once(2).chain(bytes).collect()
    };
    let mut seeds: Vec<Vec<u8>> =
        ends.iter().map(|end| stream(std::slice::from_ref(end))).collect();
    seeds.push(stream(&messages));
    seeds
}

/// A journal with a pending call and a pending sleep.
fn entry_journal() -> [mutable::Message; 3] {
    [
        mutable::Message::Entry(mutable::Input::default().into()),
        mutable::Message::Entry(mutable::Call::default().into()),
        mutable::Message::Entry(mutable::Sleep::default().into()),
    ]
}

/// Decodes a stream of V5 to V8, on the runtime's side and on the deployment's side.
pub(super) fn commands(bytes: &[u8]) {
    let Some((version, stream)) = spoken(bytes, &[V5, V6, V7, V8]) else { return };
    for frame in frames(stream) {
        if let Ok(message) = immutable::Message::decode(&frame, version) {
            if let immutable::Message::Suspension(suspension) = &message {
                let all = suspension
                    .awaiting
                    .is_satisfied(|_| Some(immutable::NotificationOutcome::Failed));
                let none = suspension.awaiting.is_satisfied(|_| None);
                assert!(all || !none, "what came is taken away by what comes");
            }
            let again = message.encode(version);
            assert_eq!(immutable::Message::decode(&again, version), Ok(message));
        }
    }
    let journal = command_journal().map(|message| message.encode(version).to_bytes());
    same_in_any_pieces(stream, || {
        let records = journal.iter().map(|record| &record[..]);
        let opened = runtime::immutable::ImmutableRuntimeAttempt::open_with_limit(
            version,
            StartMessage::default(),
            records,
            LIMIT,
        );
        let (mut attempt, _) = opened.expect("a valid journal");
        move |piece: &[u8]| attempt.receive(piece)
    });
    if version < V8 {
        request(version, stream);
    }
}

/// Reads the stream as a request, for a handler that sleeps and suspends regardless of its
/// notifications.
fn request(version: ProtocolVersion, stream: &[u8]) {
    let mut attempt = deployment::DeploymentAttempt::with_limit(version, LIMIT);
    let taken = attempt.receive(stream);
    assert_eq!(taken.is_err(), attempt.is_over());
    let ended = attempt.end_of_input();
    assert_eq!(attempt.is_over(), taken.is_err() || ended.is_err());
    if attempt.is_over() {
        assert!(!attempt.take_output().is_empty(), "an attempt ends with an error");
        return;
    }
    let slept = attempt.sleep(1, "");
    while let Ok(Some(_)) = attempt.next_notification() {}
    if let Ok(id) = slept {
        // Further journal entries are a divergence, and must not cause a panic.
        let _ = attempt.suspend(Future::first_of([NotificationId::Completion(id)]));
    }
    for frame in frames(&attempt.take_output()) {
        immutable::Message::decode(&frame, version).expect("a deployment keeps the protocol");
    }
}

pub(super) fn commands_seeds() -> Vec<Vec<u8>> {
    let value = || ValueMessage { content: "v".into() };
    let call = immutable::Call {
        service_name: "S".into(),
        scope: Some("s".into()),
        invocation_id_completion_id: 10,
        result_completion_id: 11,
        ..Default::default()
    };
    let run = immutable::Run { result_completion_id: 12, name: "r".into() };
    let proposal = immutable::ProposeRunCompletion {
        result_completion_id: 12,
        result: Some(immutable::Proposal::Value("v".into())),
    };
    let state = immutable::EagerState::Void(Void {});
    let get =
        immutable::GetEagerState { key: "k".into(), result: Some(state), ..Default::default() };
    let result = Some(immutable::OutputResult::Value(value()));
    let output = immutable::Output { result, ..Default::default() };
    let response = [
        immutable::Message::Command(call.into()),
        immutable::Message::Command(run.into()),
        immutable::Message::ProposeRunCompletion(proposal),
        immutable::Message::Command(get.into()),
        immutable::Message::Command(output.into()),
        immutable::Message::End,
    ];
    let nested = Future::all_of([NotificationId::Completion(1), NotificationId::Signal(17)]);
    let awaiting = Future {
        nested: vec![nested],
        named_signals: vec!["s".into()],
        ..Future::of(Combinator::AllSucceededOrFirstFailed)
    };
    let suspension = [immutable::Message::Suspension(immutable::Suspension { awaiting })];
    let start = StartMessage { id: "id".into(), known_entries: 4, ..StartMessage::default() };
    let [input, sleep, slept] = command_journal();
    let cancel = immutable::Message::Notification(immutable::Notification::cancel());
    let request = [immutable::Message::Start(start), input, sleep, cancel, slept];
    let stream = |messages: &[immutable::Message]| {
        let bytes = messages.iter().flat_map(|message| message.encode(V7).to_bytes());
        iter::once(2).chain(bytes).collect()
    };
    vec![stream(&response), stream(&suspension), stream(&request)]
}

/// A journal with a completed sleep.
fn command_journal() -> [immutable::Message; 3] {
    let sleep = immutable::Sleep { result_completion_id: 1, ..Default::default() };
    let slept = immutable::Notification::completion(
        immutable::NotificationKind::Sleep,
        1,
        immutable::NotificationResult::Void,
    );
    [
        immutable::Message::Command(immutable::Input::default().into()),
        immutable::Message::Command(sleep.into()),
        immutable::Message::Notification(slept),
    ]
}

/// Reads a manifest. A valid one must survive a write and another read, in every version that
/// supports it.
pub(super) fn manifest(bytes: &[u8]) {
    for version in ManifestVersion::ALL {
        match Manifest::read(bytes, version) {
            Ok(manifest) => {
                let written = manifest.write(version);
                assert_eq!(Manifest::read(&written, version), Ok(manifest));
            }
            Err(invalid) => assert!(!invalid.faults.is_empty() && !invalid.to_string().is_empty()),
        }
    }
}

pub(super) fn manifest_seeds() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"minProtocolVersion":5,"maxProtocolVersion":7,"services":[]}"#,
        r#"{"protocolMode":"BIDI_STREAM","minProtocolVersion":5,"maxProtocolVersion":6,"services":[{"name":"S","ty":"WORKFLOW","handlers":[{"name":"run","workflowCompletionRetention":1,"input":{"jsonSchema":null}},{"name":"get","ty":"SHARED","metadata":{"a":"b"}}]}]}"#,
        r#"{"minProtocolVersion":1,"maxProtocolVersion":2,"lambdaCompression":"zstd","services":[{"name":"o.O","ty":"VIRTUAL_OBJECT","retryPolicyExponentiationFactor":1.5,"retryPolicyOnMaxAttempts":"KILL","handlers":[{"name":"h","output":{"contentType":"*/*","setContentTypeIfEmpty":true}}]}]}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// The version that the first byte selects, and the stream after it.
fn spoken<'a>(
    bytes: &'a [u8],
    versions: &[ProtocolVersion],
) -> Option<(ProtocolVersion, &'a [u8])> {
    let (first, stream) = bytes.split_first()?;
    Some((versions[usize::from(*first) % versions.len()], stream))
}

/// Complete frames of a stream, up to one that is too long.
fn frames(stream: &[u8]) -> impl Iterator<Item = Frame> {
    let mut decoder = FrameDecoder::new(LIMIT);
    decoder.feed(stream);
    iter::from_fn(move || decoder.next_frame().ok().flatten())
}

/// Checks that a machine handles a stream in the same way however it is split.
fn same_in_any_pieces<A, M>(stream: &[u8], open: impl Fn() -> M)
where
    A: std::fmt::Debug + PartialEq,
    M: FnMut(&[u8]) -> Result<Vec<A>, ProtocolViolation>,
{
    let whole = open()(stream);
    let mut machine = open();
    let mut actions = Vec::new();
    for piece in stream.chunks(3) {
        match machine(piece) {
            Ok(more) => actions.extend(more),
            Err(violation) => {
                assert_eq!(whole, Err(violation));
                return;
            }
        }
    }
    assert_eq!(whole, Ok(actions));
}

//! Fuzzing of stored data: journal records and exports.

use std::{io::Read as _, sync::Arc};

use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use segno_core::{
    command::{ClaimRequest, Command},
    config::Config,
    id::Holder,
    invocation::{decode_records, encode_records},
    promise::NewPromise,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::notifier::CommitNotifier;
use segno_env::Env;
use segno_store::{
    Store as _,
    archive::{ArchiveReader, ArchiveWriter},
    sqlite::{SqliteConfig, SqliteImport, SqliteStore},
};
use tokio::runtime::Builder;

/// The golden file of journal records.
const RECORDS: &[u8] = include_bytes!("../../../host/core/tests/golden/records-1.bin");

/// First line of an export. The rest is compressed.
const MAGIC: &[u8] = b"SEGNO STORE 1\n";

/// Maximum size of an input, in bytes, which bounds the time per input.
const LONGEST: usize = 64 << 10;

/// Decodes a batch of records as stored in a row. Decoded records must survive another encoding and
/// decoding.
pub(super) fn records(bytes: &[u8]) {
    let Ok(records) = decode_records(bytes) else { return };
    let again = decode_records(&encode_records(&records)).expect("what was written is read");
    assert_eq!(again, records);
}

pub(super) fn records_seeds() -> Vec<Vec<u8>> {
    vec![RECORDS.to_vec()]
}

/// Imports the compressed content of an export into an empty store.
pub(super) fn export(bytes: &[u8]) {
    if bytes.len() > LONGEST {
        return;
    }
    let mut frame = FrameEncoder::new(MAGIC.to_vec());
    std::io::Write::write_all(&mut frame, bytes).expect("memory takes it");
    let file = frame.finish().expect("memory takes it");
    let Ok(mut reader) = ArchiveReader::begin(&file[..]) else { return };
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    // The import is refused, because the digest at the end is that of the seed.
    let filled = runtime.block_on(SqliteImport::from_source(folder.path(), &mut reader));
    drop(filled);
}

pub(super) fn export_seeds() -> Vec<Vec<u8>> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let file = runtime.block_on(exported());
    let mut bytes = Vec::new();
    let mut frame = FrameDecoder::new(&file[MAGIC.len()..]);
    frame.read_to_end(&mut bytes).expect("an export can be read");
    vec![bytes]
}

/// Export of a small store.
async fn exported() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let config = SqliteConfig::new(folder.path());
    let (env, notifier) = (Env::system(), Arc::new(CommitNotifier::default()));
    let store = SqliteStore::open(config, Config::default(), env, notifier).await;
    let store = store.expect("an empty store opens");
    let request = ClaimRequest {
        holder: Holder { node: "n".into(), incarnation: 1 },
        nonce: 1,
        ttl: Millis(60_000),
    };
    let tags = [(tags::TARGET, "poll://any@workers")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let new = NewPromise {
        id: "a".into(),
        param: Value::default(),
        tags: Tags::from_iter(tags),
        timeout_at: Timestamp::NEVER,
    };
    store.execute(vec![Command::TaskCreate { new, request }]).await.expect("a claim");
    let mut writer = ArchiveWriter::begin(Vec::new()).expect("memory takes it");
    store.scan().export(&mut writer).await.expect("it is packed");
    store.close().await;
    writer.end().expect("it ends")
}

//! Fuzzing of bundles: unchanged, and with repaired links, so that the fuzzer reaches the content
//! of the parts.

use segno_bundle::{BundleHead, BundleItem, BundleReader, BundleWriter, redacted};
use segno_core::id::Digest;
use segno_engine::bundles::BundleContents;

/// The golden bundles of the format.
const BUNDLES: [&[u8]; 3] = [
    include_bytes!("../../../host/bundle/tests/golden/bundle-1.segno-bundle"),
    include_bytes!("../../../host/bundle/tests/golden/bundle-1-streams.segno-bundle"),
    include_bytes!("../../../host/bundle/tests/golden/bundle-1-blobs.segno-bundle"),
];

/// First line, followed by the parts.
const FIRST_LINE: &[u8] = b"SEGNO BUNDLE 1\n";
/// Lengths of a part's header and of a link, in bytes.
const HEADER: usize = 10;
const LINK: usize = 32;

/// Maximum size of an input, in bytes, which bounds the time per input.
const LONGEST: usize = 64 << 10;

/// Reads a bundle. A bundle that can be read must survive a write and another read, and can be
/// redacted without a panic.
pub(super) fn read(bytes: &[u8]) {
    if bytes.len() > LONGEST {
        return;
    }
    let _ = BundleContents::default().add(bytes);
    let chained = chained(bytes);
    let _ = BundleContents::default().add(&chained[..]);
    let Some((head, read)) = items(&chained) else { return };
    let again = written(&head, &read);
    let (head_again, read_again) = items(&again).expect("what was written is read");
    assert_eq!(head_again, head);
    assert_eq!(format!("{read_again:?}"), format!("{read:?}"));
    read.into_iter().for_each(|item| drop(redacted(item)));
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    BUNDLES.map(<[u8]>::to_vec).to_vec()
}

/// The same parts with correct links, up to the last whole part.
fn chained(bytes: &[u8]) -> Vec<u8> {
    let mut chained = FIRST_LINE.to_vec();
    let mut link = Digest::of(FIRST_LINE).0;
    let mut rest = bytes.get(FIRST_LINE.len()..).unwrap_or_default();
    while let Some((header, after)) = rest.split_at_checked(HEADER) {
        let length = u32::from_le_bytes([header[2], header[3], header[4], header[5]]) as usize;
        let Some((body, after)) = after.split_at_checked(length) else { break };
        link = Digest::of(&[&link[..], header, body].concat()).0;
        chained.extend([header, body, &link[..]].concat());
        rest = after.get(LINK..).unwrap_or_default();
    }
    chained.extend_from_slice(rest);
    chained
}

fn items(bytes: &[u8]) -> Option<(BundleHead, Vec<BundleItem>)> {
    let mut reader = BundleReader::begin(bytes).ok()?;
    let mut items = Vec::new();
    while let Some(item) = reader.next_item().ok()? {
        items.push(item);
    }
    Some((reader.head().clone(), items))
}

fn written(head: &BundleHead, items: &[BundleItem]) -> Vec<u8> {
    let mut writer = BundleWriter::begin(Vec::new(), head).expect("memory takes it");
    let mut items = items.iter().peekable();
    while let Some(item) = items.next() {
        match item {
            BundleItem::Execution(execution) => writer.execution(execution),
            BundleItem::Record(record) => writer.record(record),
            BundleItem::Line(line) => writer.line(line),
            BundleItem::Stream(stream) => writer.stream(stream),
            BundleItem::StreamItems(items) => writer.stream_items(items),
            BundleItem::Module(module) => {
                let component = match items.peek() {
                    Some(BundleItem::Component(component)) => Some(component.as_slice()),
                    _ => None,
                };
                writer.module(module, component)
            }
            BundleItem::Component(_) => Ok(()),
            BundleItem::Blob(blob) => writer.blob(blob).map(drop),
            BundleItem::BlobPiece(piece) => writer.blob_content(piece),
        }
        .expect("memory takes it");
    }
    writer.end().expect("memory takes it").0
}

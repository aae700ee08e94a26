//! The keys of limits, by id.

use segno_core::{
    limit::{Partition, PartitionId, PartitionReadiness, TokenBucket},
    unreadable::Subject,
};

use super::{
    ColumnKind::{Int, Text},
    ConflictRule, NamedTable, SqlTable,
};
use crate::sql::{
    CellRow, RowFields, SqlCell, SqlFailure,
    rows::{at, id, needed, number, small},
};

pub(super) const ROWS: NamedTable = NamedTable {
    table: SqlTable {
        name: "partitions",
        columns: "partition, limit_name, class, turn, look_at, running, full_at_us, lanes, latest, not_before, debounced_since",
        kinds: &[Text, Text, Int, Int, Int, Int, Int, Text, Text, Int, Int],
        key: 1,
        again: ConflictRule::Replaces,
    },
    load: "load keys of limits",
    put: "put keys of limits",
    wanted: |rows| rows.partitions.iter().map(PartitionId::as_str).collect(),
    want: |id, rows| {
        rows.partitions.insert(id.into());
    },
    subject: |id| Subject::Limit(PartitionId::from(id).limit()),
    read: |row, view| partition(&row).map(|(id, partition)| view.put_partition(id, partition)),
    written: |delta| {
        let written = delta.partitions.iter();
        written.filter_map(|(id, row)| row.as_ref().map(|row| cells(id, row))).collect()
    },
    deleted: |delta| {
        let gone = delta.partitions.iter().filter(|(_, row)| row.is_none());
        gone.map(|(id, _)| vec![id.as_str().into()]).collect()
    },
};

fn cells(id: &PartitionId, partition: &Partition) -> CellRow {
    let (class, turn, look_at) = match partition.standing {
        PartitionReadiness::Rest => (SqlCell::Null, SqlCell::Null, SqlCell::Null),
        PartitionReadiness::Ready { class, turn } => {
            (i64::from(class).into(), turn.into(), SqlCell::Null)
        }
        PartitionReadiness::At(at) => (SqlCell::Null, SqlCell::Null, at.0.into()),
    };
    let lanes = serde_json::to_string(&partition.lanes).expect("lanes are JSON");
    vec![
        id.as_str().into(),
        id.limit().as_str().into(),
        class,
        turn,
        look_at,
        partition.running.into(),
        partition.bucket.micros().into(),
        lanes.into(),
        partition.latest.as_ref().map(|id| id.as_str()).into(),
        partition.not_before.0.into(),
        partition.debounced_since.map_or(SqlCell::Null, |at| at.0.into()),
    ]
}

pub(crate) fn partition(row: &impl RowFields) -> Result<(PartitionId, Partition), SqlFailure> {
    let key = PartitionId::from(&*needed(row.text(0)?, &"partitions", "partition")?);
    let standing = match (row.int(2)?, at(row, 4)?) {
        (Some(_), _) => PartitionReadiness::Ready {
            class: small(row, 2, &key, "class")?,
            turn: number(row, 3, &key, "turn")?.cast_unsigned(),
        },
        (None, Some(at)) => PartitionReadiness::At(at),
        (None, None) => PartitionReadiness::Rest,
    };
    let lanes = row.text(7)?.and_then(|json| serde_json::from_str(&json).ok());
    let partition = Partition {
        running: number(row, 5, &key, "running")?.cast_unsigned(),
        bucket: TokenBucket::from_micros(number(row, 6, &key, "full_at_us")?),
        lanes: needed(lanes, &key, "lanes")?,
        latest: row.text(8)?.map(|_| id(row, 8)).transpose()?,
        not_before: needed(at(row, 9)?, &key, "not_before")?,
        debounced_since: at(row, 10)?,
        standing,
    };
    Ok((key, partition))
}

#[cfg(test)]
mod tests {
    use segno_core::limit::Lane;

    use super::*;

    /// Stores contain this form since the first version.
    #[test]
    fn lanes_are_stored_as_they_are_written_here() {
        let lanes = [(0, Lane { waiting: 3, turn: 7_000_000 }), (9, Lane { waiting: 1, turn: 0 })];
        let partition = Partition { lanes: lanes.into(), ..Partition::default() };
        let cells = cells(&"m/f@k".into(), &partition);
        let stored = r#"{"0":{"waiting":3,"turn":7000000},"9":{"waiting":1,"turn":0}}"#;
        assert!(matches!(&cells[7], SqlCell::Text(text) if **text == *stored), "{:?}", cells[7]);
    }
}

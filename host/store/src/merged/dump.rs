//! The union of the contents of several databases.

use segno_core::snapshot::Snapshot;

/// Adds the rows of a database to those of others. Rows that several databases have are equal.
pub(super) fn union(mut all: Snapshot, part: Snapshot) -> Snapshot {
    macro_rules! extend {
        ($($rows:ident),* $(,)?) => {
            let Snapshot { first_version, $($rows),* } = part;
            all.first_version = all.first_version.max(first_version);
            $(all.$rows.extend($rows);)*
        };
    }
    extend!(
        promises,
        tasks,
        callbacks,
        listeners,
        outbox,
        journals,
        aliases,
        hosts,
        signal_keys,
        schedules,
        resources,
        resource_leases,
        facts,
        graph_nodes,
        graph_facts,
        tree_counts,
        budgets,
        lines,
        state,
        limits,
        partitions,
        places,
        streams,
        stream_chunks,
    );
    all
}

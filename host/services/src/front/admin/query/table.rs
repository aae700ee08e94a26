//! The tables of queries.

use super::{
    columns::{self, TableColumn},
    value::ColumnType,
};

/// Columns of invocations whose conditions narrow the read.
const OF_INVOCATION: [&str; 6] =
    ["id", "target", "target_service_name", "target_service_key", "target_handler_name", "status"];
/// Columns of objects whose conditions narrow the read. The last one is for their content.
const OF_OBJECT: [&str; 4] = ["service_name", "scope", "service_key", "key"];

macro_rules! tables {
    ($($(#[$about:meta])* $table:ident = $name:literal, $columns:ident, $narrows:expr;)+) => {
        /// A table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum QueryTable {
            $($(#[$about])* $table,)+
        }

        impl QueryTable {
            /// All tables.
            pub(super) const ALL: [Self; [$(Self::$table),+].len()] = [$(Self::$table),+];

            /// Name, columns, and columns whose conditions narrow the read.
            fn definition(self) -> (&'static str, &'static [TableColumn], &'static [&'static str]) {
                match self {
                    $(Self::$table => ($name, columns::$columns, $narrows),)+
                }
            }
        }
    };
}

tables! {
    /// Invocations of services.
    Invocation = "sys_invocation", INVOCATION, &OF_INVOCATION;
    /// Invocations of services, with other status names.
    InvocationStatus = "sys_invocation_status", INVOCATION, &OF_INVOCATION;
    /// Journals of invocations.
    Journal = "sys_journal", JOURNAL, &["id"];
    /// Events of invocations outside their journals.
    JournalEvents = "sys_journal_events", JOURNAL_EVENTS, &["id"];
    /// State of objects.
    State = "state", STATE, &OF_OBJECT;
    /// Services.
    Service = "sys_service", SERVICE, &[];
    /// Deployments.
    Deployment = "sys_deployment", DEPLOYMENT, &[];
    /// Promises of workflows.
    Promise = "sys_promise", PROMISE, &OF_OBJECT;
    /// Invocations that wait for their turn.
    Inbox = "sys_inbox", INBOX, &["target"];
    /// Holders of the turns of keys.
    KeyedServiceStatus = "sys_keyed_service_status", TURNS, &OF_OBJECT[..3];
    /// Concurrency rules.
    Rules = "sys_rules", RULES, &[];
    /// Virtual queues.
    Queues = "sys_vqueue_meta", QUEUES, &[];
    /// List of tables.
    Tables = "information_schema.tables", TABLES, &[];
    /// List of columns.
    Columns = "information_schema.columns", COLUMNS, &[];
}

impl QueryTable {
    /// Name of the table.
    pub(super) fn name(self) -> &'static str {
        self.definition().0
    }

    /// The names of all tables.
    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Returns the table with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Columns of the table.
    pub(super) fn columns(self) -> &'static [TableColumn] {
        self.definition().1
    }

    /// Returns the columns whose conditions narrow the read.
    pub(super) fn narrows(self) -> &'static [&'static str] {
        self.definition().2
    }

    /// Returns the column whose values the reader requires.
    pub(super) fn read_by(self) -> Option<&'static str> {
        match self {
            Self::Journal | Self::JournalEvents => Some("id"),
            _ => None,
        }
    }

    /// Returns the column by which the table is sorted in descending order, as far as clocks of
    /// several hosts allow: invocations are listed by creation, newest first.
    pub(super) fn newest_first(self) -> Option<&'static str> {
        matches!(self, Self::Invocation | Self::InvocationStatus).then_some("created_at")
    }

    /// Returns true if a column of this name is an instant, in any table.
    pub(super) fn has_time(column: &str) -> bool {
        let columns = Self::ALL.into_iter().flat_map(Self::columns);
        columns
            .filter(|known| known.kind == ColumnType::Time)
            .any(|known| known.name.eq_ignore_ascii_case(column))
    }
}

//! The wire types of the API, used by the host, the client and the command line.
//!
//! Instants are milliseconds since the Unix epoch and end in `_at_ms`; durations end in `_ms`.
//! Absent optional fields are omitted.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod blob;
mod budget;
mod bundle;
mod check;
mod cloud;
mod event;
mod flat;
mod fork;
mod function_name;
mod graph;
mod handler;
mod health;
mod invocation;
mod journal;
mod limit;
mod limit_rule;
mod log;
mod module;
mod object;
mod problem;
mod promise;
mod query;
mod replay;
mod rerun;
mod resource;
mod saga;
mod schedule;
mod session;
mod start;
mod stream;
mod task;
mod tree;
mod whole;
mod why;

pub use blob::{BlobAddress, BlobList, BlobQuery, BlobView, ListedBlob};
pub use budget::{
    BudgetAccount, BudgetUnit, BudgetView, SetBudget, add_costs, costs_in_words, unit_amount,
    unit_number,
};
pub use bundle::BundleQuery;
pub use check::{
    CheckPage, CheckRequest, CheckVerdict, CheckedExecution, CostComparison, MoveInvocation, Moved,
    ReplayCost, ShadowLook, ShadowRequest,
};
pub use cloud::{CloudEvent, EventId};
pub use event::{AcknowledgeEvents, Acknowledged, EventPage, EventQuery};
pub use fork::{
    DryAnswer, DryEnd, DryRun, DryStep, DryStream, ForkInvocation, Forked, ForkedFrom, GivenResult,
    LeftOutCommand, UnansweredPolicy,
};
pub use function_name::{FunctionName, function_label, short_target};
pub use graph::{
    GraphChecked, GraphFact, GraphHistory, GraphHistoryQuery, GraphNode, GraphNodeState,
    GraphPersistence, GraphQuery, GraphReset, GraphRun, GraphStarted, RetryGraph, StartGraph,
};
pub use handler::{
    AskQuery, Handler, HandlerKind, QueryAnswer, SendQuery, SendUpdate, StartFirst, UpdateAnswer,
    UpdateState, UpdateWait,
};
pub use health::{Health, Index, Readiness};
pub use invocation::{
    CancelProgress, Generation, Invocation, InvocationCounts, InvocationOutcome, InvocationPage,
    InvocationState, InvocationSummary, Lease, Note, Progress, StuckView, Unread, UnreadableRow,
    Wait, WaitKind,
};
pub use journal::{JournalPage, JournalRecord, OutcomeView, RecordKind};
pub use limit::{
    BehindLimit, LimitBefore, LimitChanged, LimitHolder, LimitItem, LimitKey, LimitList,
    LimitListQuery, LimitQuery, LimitSource, LimitView, LimitWait, SetLimit,
};
pub use limit_rule::{
    LimitBounds, LimitDebounce, LimitOrder, LimitPriority, LimitRate, LimitRule, LimitSingleton,
};
pub use log::{LogLevel, LogLine, LogPage};
pub use module::{
    Deployed, Function, FunctionKind, Import, ImportStatus, Message, MessageKind, Module,
    ModuleDescription, ModuleList, ObjectAccess, Retry, Undeployed,
};
pub use object::{
    CallObject, ChangeState, ObjectItem, ObjectList, ObjectPromiseView, ObjectQuery, ObjectView,
    StateQuery,
};
pub use problem::Problem;
pub use promise::{
    CreatePromise, FailureView, KeptFor, PromiseCreated, PromisePage, PromiseQuery, PromiseState,
    PromiseSummary, PromiseView, RejectPromise, ResolvePromise,
};
pub use query::{DeployQuery, InvocationQuery, RangeQuery, WaitQuery};
pub use replay::{
    DivergenceView, FieldDifference, OpenPlaceView, Replay, ReplayRequest, ReplayVerdict,
};
pub use rerun::{
    FirstUnanswered, RerunFilter, RerunPage, RerunRequest, RerunRow, RerunVerdict, ValueDifference,
};
pub use resource::{ResourceLeaseView, ResourceView, TakeResource, WriteResource};
pub use saga::{SagaPage, SagaState, SagaStepState, SagaStepView, SagaView, UndoState, UndoView};
pub use schedule::{
    Backfill, Backfilled, CreateSchedule, LastRun, Overlap, ScheduleCreated, ScheduleList,
    ScheduleQuery, ScheduleView, SkipsView, Trigger, Triggered, Upcoming,
};
pub use session::Session;
pub use start::{Accepted, SendSignal, SignalAccepted, StartInvocation, StartRetry, Started};
pub use stream::{ChangedIds, StreamList, StreamQuery, StreamView};
pub use task::{
    ContinueInvocation, Continued, ReleaseTask, RemoveQuery, Removed, RestartInvocation, TaskPage,
    TaskQuery, TaskState, TaskView,
};
pub use tree::{NodeKind, TreeNode, TreePage, TreeQuery};
pub use why::{Why, WhyAlternative, WhyLink, WhyMessage, WhyReason};

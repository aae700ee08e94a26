use crate::{
    command::{Command, HeartbeatItem},
    config::Config,
    footprint::CHILD_PAGE,
    id::{Claim, Holder, HostName, PromiseId, Version},
    promise::{
        NewPromise, OutboxKey, OutboxMessage, OutboxRow, Promise, PromiseSpec, PromiseState,
        Settlement, Verdict,
    },
    reply::{HeartbeatResult, PruneResult, Refusal, Reply, RetentionReason},
    time::Timestamp,
    transition::transition,
    unreadable::Subject,
    value::{Tags, Text, Value},
    view::View,
};

const NOW: Timestamp = Timestamp(1_000);

fn decide(view: &View, command: &Command) -> crate::transition::Decision {
    transition(view, command, NOW, &Config::default())
}

fn pending(id: &str, made_by: Option<&str>) -> Promise {
    let spec = PromiseSpec {
        id: id.into(),
        param: Value::default(),
        tags: Tags::new(),
        made_by: made_by.map(PromiseId::from),
        timeout_at: Timestamp::NEVER,
        created_at: Timestamp(0),
    };
    Promise { spec: spec.into(), state: PromiseState::Pending }
}

/// A view in which this promise is unreadable.
fn damaged(id: &str) -> View {
    let mut view = View::new();
    view.put_unreadable(Subject::Promise(id.into()), Text::from("its tags are no tags"));
    view
}

#[test]
fn a_command_that_names_what_cannot_be_read_is_refused_by_name_and_changes_nothing() {
    let mut view = damaged("bad");
    view.put_promise(pending("good", None));
    let new = NewPromise {
        id: "bad".into(),
        param: Value::default(),
        tags: Tags::new(),
        timeout_at: Timestamp::NEVER,
    };
    let settle = |id: &str| Command::PromiseSettle {
        id: id.into(),
        verdict: Verdict::Resolved,
        value: Value::default(),
    };
    let due = Command::PromiseDue { id: "bad".into() };
    for command in [Command::PromiseCreate(new), settle("bad"), due] {
        let decision = decide(&view, &command);
        let Reply::Refused(refusal @ Refusal::Unreadable { .. }) = decision.reply else {
            panic!("{:?}", decision.reply)
        };
        assert!(refusal.to_string().contains("`bad` cannot be read: its tags"), "{refusal}");
        assert!(decision.delta.is_empty() && decision.effects.is_empty());
    }
    assert!(matches!(decide(&view, &settle("good")).reply, Reply::Promise { changed: true, .. }));
}

#[test]
fn a_promise_settles_though_who_waits_for_it_cannot_be_read() {
    let mut view = damaged("awaiter");
    view.put_promise(pending("gate", None));
    view.put_callback("gate".into(), "awaiter".into(), false);
    let settle = Command::PromiseSettle {
        id: "gate".into(),
        verdict: Verdict::Resolved,
        value: Value::default(),
    };
    let delta = decide(&view, &settle).delta;
    assert!(!delta.promises[&PromiseId::from("gate")].is_pending());
    // The consumed callback is kept until the awaiter is readable again.
    let callback = (PromiseId::from("gate"), PromiseId::from("awaiter"));
    assert_eq!(delta.callbacks[&callback], Some(true));
}

#[test]
fn a_heartbeat_extends_the_claims_that_can_be_read() {
    let view = damaged("bad");
    let holder = Holder { node: HostName::from("n"), incarnation: 1 };
    let claim = Claim { id: "bad".into(), version: Version(1) };
    let items = vec![HeartbeatItem { claim, progress: None }];
    let reply = decide(&view, &Command::TaskHeartbeat { holder, items }).reply;
    assert_eq!(reply, Reply::Heartbeat(vec![HeartbeatResult::Stale]));
}

#[test]
fn all_children_are_asked_to_stop_though_one_cannot_be_read() {
    // A store loads a page of children; one of them is damaged.
    let mut view = damaged("p/0");
    let settled = pending("p", None);
    let settlement = Settlement { verdict: Verdict::Resolved, value: None, settled_at: NOW };
    view.put_promise(settled.settled(settlement));
    for child in 1..CHILD_PAGE {
        let id = format!("p/{child}");
        view.put_promise(pending(&id, Some("p")));
    }
    let key = OutboxKey::CancelChildren("p".into());
    view.put_outbox(
        key.clone(),
        OutboxRow::new(OutboxMessage::CancelChildren { after: None }, NOW),
    );
    let delta = decide(&view, &Command::OutboxDue { key: key.clone() }).delta;
    let further = delta.outbox[&key].as_ref().expect("there may be more behind the page");
    assert!(
        matches!(further.message, OutboxMessage::CancelChildren { after: Some(_) }),
        "{further:?}"
    );
}

#[test]
fn a_tree_stays_while_a_member_cannot_be_read() {
    let mut view = damaged("root/0");
    let settlement =
        Settlement { verdict: Verdict::Resolved, value: None, settled_at: Timestamp(0) };
    view.put_promise(pending("root", None).settled(settlement));
    let members = [PromiseId::from("root"), PromiseId::from("root/0")].into();
    view.put_tree("root".into(), crate::view::TreeMembers { members, whole: true });
    let prune = Command::Prune { top: "root".into(), before: NOW, part: false, state: false };
    let kept = RetentionReason::Unreadable { id: "root/0".into() };
    assert_eq!(decide(&view, &prune).reply, Reply::Pruned(PruneResult::Kept(kept)));
}

#[test]
fn what_cannot_be_read_can_be_deleted_where_its_row_is_all_of_it() {
    let mut view = View::new();
    let key = OutboxKey::Unblock("p".into(), Text::from("poll://me"));
    view.put_unreadable(Subject::Schedule("s".into()), Text::from("no"));
    view.put_unreadable(Subject::Message(key.clone()), Text::from("no"));
    let refused = |reply: Reply| matches!(reply, Reply::Refused(Refusal::Unreadable { .. }));
    assert!(refused(decide(&view, &Command::ScheduleDue { id: "s".into() }).reply));
    assert!(refused(decide(&view, &Command::OutboxDue { key: key.clone() }).reply));
    let deleted = decide(&view, &Command::ScheduleDelete { id: "s".into() });
    assert_eq!(deleted.delta.schedules.get(&"s".into()), Some(&None));
    view.apply(&deleted.delta);
    let acknowledged = decide(&view, &Command::OutboxAck { key: key.clone() });
    assert_eq!(acknowledged.delta.outbox.get(&key), Some(&None));
    view.apply(&acknowledged.delta);
    assert!(!view.has_unreadable());
}

#[test]
fn a_view_forgets_what_could_not_be_read_with_its_composite() {
    let mut view = damaged("bad");
    view.evict(&"bad".into());
    assert!(!view.has_unreadable());
}

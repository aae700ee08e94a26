use crate::{
    command::Command,
    id::PromiseId,
    invocation::JournalHead,
    promise::Verdict,
    reply::Reply,
    world::{self, CheckedStore},
};

#[test]
fn a_journal_goes_once_its_execution_has_ended_and_the_outcome_stays() {
    let mut world = CheckedStore::new();
    let id = PromiseId::from("order");
    let remove = || Command::JournalRemove { id: PromiseId::from("order") };
    assert_eq!(world.refused(remove()).kind(), "not-found");
    world.done(world::create("order/p", &[]));
    let of_no_task = Command::JournalRemove { id: PromiseId::from("order/p") };
    assert_eq!(world.refused(of_no_task).kind(), "not-found");
    world.done(world::workflow("order"));
    let claim = world.acquire("order", 1);
    world.done(world::fence(claim.clone(), vec![world::started()], Vec::new()));
    assert_eq!(world.refused(remove()).kind(), "wrong-state");
    let fulfill = || world::fulfill(claim.clone());
    world.done(fulfill());
    world.wait(60_000);
    world.done(remove());
    assert_eq!(world.model.head(&id), JournalHead::default());
    let task = world.model.task(&id).expect("it is kept");
    let said = task.journal_removed().expect("it says so").message.clone();
    assert!(said.contains("was removed on 1970-01-01T00:01:01Z"), "{said}");
    world.wait(60_000);
    world.done(remove());
    let again = world.model.task(&id).and_then(|task| task.journal_removed()).cloned();
    assert_eq!(again.map(|note| note.message), Some(said), "what is gone is gone once");
    assert_eq!(world.verdict("order"), Some(Verdict::Resolved));
    let Reply::Promise { changed: false, .. } = world.done(world::workflow("order")) else {
        panic!("a start once more is answered with what is there")
    };
    world.done(fulfill());
}

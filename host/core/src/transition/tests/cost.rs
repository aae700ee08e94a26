use crate::{
    transition::transition,
    world::{self, CheckedStore},
};

/// The number of rows read for a durable step depends only on its command, not on the size of the
/// store.
#[test]
fn a_fence_reads_as_many_rows_in_a_large_store_as_in_a_small_one() {
    let [small, large] = [held(0), held(2_000)].map(|world| {
        let fence = world::fence(world::claim("w", 1), vec![world::started()], Vec::new());
        let view = world.model.view(&fence, &world.config);
        let on_view = transition(&view, &fence, world.now, &world.config);
        let on_all = transition(&world.model, &fence, world.now, &world.config);
        assert_eq!(on_view.reply, on_all.reply);
        view.rows()
    });
    assert!(small > 0, "the task and its journal are read");
    assert_eq!(small, large);
}

/// A claim on `w`, in a store with this number of other workflows.
fn held(others: u32) -> CheckedStore {
    let mut world = CheckedStore::new();
    world.done(world::workflow("w"));
    world.acquire("w", 1);
    for number in 0..others {
        let other = world::workflow(&format!("other/{number}"));
        let decision = transition(&world.model, &other, world.now, &world.config);
        world.model.apply(&decision.delta);
    }
    world
}

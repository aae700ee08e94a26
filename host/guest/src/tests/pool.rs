//! Components that need a large part of the pool: they wait for places and do not block others.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::poll;
use wasmtime::component::{Component, Linker};

use super::*;
use crate::{InvalidComponent, snapshot::Initialization};

/// A component with some 900 core instances, which take 15 places.
fn large() -> Arc<[u8]> {
    with_core_instances(&Guest::default().component(), 900)
}

/// The component with `count` more instances of an empty core module.
fn with_core_instances(component: &[u8], count: usize) -> Arc<[u8]> {
    let mut modules = 0;
    let mut depth = 0;
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        match payload.expect("the component is well formed") {
            wasmparser::Payload::ModuleSection { .. } => {
                modules += usize::from(depth == 0);
                depth += 1;
            }
            wasmparser::Payload::ComponentSection { .. } => depth += 1,
            wasmparser::Payload::End(_) => depth -= 1,
            _ => {}
        }
    }
    let empty_module = b"\0asm\x01\0\0\0";
    let mut instances = leb(count);
    for _ in 0..count {
        instances.push(0);
        instances.extend(leb(modules));
        instances.push(0);
    }
    let mut bytes = component.to_vec();
    for (id, section) in [(1, empty_module.as_slice()), (2, &instances)] {
        bytes.push(id);
        bytes.extend(leb(section.len()));
        bytes.extend_from_slice(section);
    }
    bytes.into()
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// The result of `work`, which must complete without waiting for other instances.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    let mut work = Box::pin(work);
    for _ in 0..1_000 {
        if let std::task::Poll::Ready(answer) = poll!(&mut work) {
            return answer;
        }
        tokio::task::yield_now().await;
    }
    panic!("it waits");
}

#[tokio::test]
async fn an_instance_takes_as_many_places_as_its_core_instances_need() {
    let (small, large) = (Guest::default().component(), large());
    let wasm = host_with(&[&small, &large], |config| config.limits.instances = 20);
    let _small = instantiate(&wasm, &small).await;
    assert_eq!(wasm.free_slots(), 19);
    let _large = instantiate(&wasm, &large).await;
    assert_eq!(wasm.free_slots(), 19 - 15);
}

#[tokio::test]
async fn a_module_waits_for_its_share_while_others_begin() {
    let (small, large) = (Guest::default().component(), large());
    // Three quarters of the pool hold two of them, the whole pool holds three.
    let wasm = host_with(&[&small, &large], |config| config.limits.instances = 48);
    // The module is compiled from here on: below, the only waits are for places.
    drop(instantiate(&wasm, &small).await);
    let first = instantiate(&wasm, &large).await;
    let _second = instantiate(&wasm, &large).await;
    let mut third = Box::pin(instantiate(&wasm, &large));
    for _ in 0..10 {
        assert!(poll!(&mut third).is_pending());
        tokio::task::yield_now().await;
    }
    // Other modules find places, and so do uploads, even of this module once it has been described.
    let mut others = Vec::new();
    for _ in 0..10 {
        others.push(soon(instantiate(&wasm, &small)).await);
    }
    drop(others);
    let another = with_core_instances(&small, 200);
    wasm.inspect(another).await.expect("an upload is taken while the pool is used");
    assert!(poll!(&mut third).is_pending());
    drop(first);
    soon(third).await;
}

#[tokio::test]
async fn what_only_waits_is_given_up_for_what_begins() {
    let large = large();
    let wasm = host_with(&[&large], |config| config.limits.instances = 20);
    let warm = Arc::new(std::sync::Mutex::new(vec![instantiate(&wasm, &large).await]));
    let asked = Arc::new(AtomicUsize::new(0));
    let (kept, count) = (Arc::clone(&warm), Arc::clone(&asked));
    wasm.when_full(Arc::new(move |module| {
        assert_eq!(module, Some(Digest::of(&large)), "its own module is at its share");
        count.fetch_add(1, Ordering::Relaxed);
        kept.lock().expect("not poisoned").pop().is_some()
    }));
    let large = self::large();
    let second = soon(instantiate(&wasm, &large)).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert!(!second.is_in_the_way());
    let mut third = Box::pin(instantiate(&wasm, &large));
    assert!(poll!(&mut third).is_pending());
    assert!(second.is_in_the_way(), "it is not worth keeping while another waits");
    drop(second);
    soon(third).await;
}

#[tokio::test]
async fn a_component_that_never_fits_is_refused_by_name() {
    let wasm = host_with(&[], |config| config.limits.instances = 8);
    let refused = wasm.inspect(large()).await.expect_err("it does not fit");
    assert!(matches!(refused, InvalidComponent::TooDemanding { .. }), "{refused:?}");
    let message = refused.to_string();
    assert!(
        message.contains("core instances") && message.contains("limits.instances"),
        "{message}"
    );

    let beyond = with_core_instances(&Guest::default().component(), 1_100);
    let message = wasm.inspect(beyond).await.expect_err("no pool takes it").to_string();
    assert!(message.contains("instances count exceeds limit of 1000"), "{message}");
}

#[tokio::test]
async fn a_pool_without_room_is_no_fault_of_a_guest() {
    let component = Guest::default().component();
    let wasm = host_with(&[&component], |config| config.limits.instances = 1);
    // Bypasses the pool's admission, which would prevent this.
    let hoarder = wat::parse_str("(component (core module $m) (core instance (instantiate $m)))");
    let engine = wasm.engine.wasmtime(Initialization::OnInstantiation);
    let hoarder = Component::from_binary(engine, &hoarder.expect("well formed"));
    let hoarder = hoarder.expect("it compiles");
    let linker = Linker::new(engine);
    let mut hoarded = Vec::new();
    loop {
        let mut store = wasmtime::Store::new(engine, ());
        store.set_epoch_deadline(1_000);
        match linker.instantiate_async(&mut store, &hoarder).await {
            Ok(_) => hoarded.push(store),
            Err(error) => {
                assert!(error.is::<wasmtime::PoolConcurrencyLimitError>(), "{error:?}");
                break;
            }
        }
    }
    let refused = wasm.instantiate(Digest::of(&component), None).await.err();
    assert!(matches!(refused, Some(GuestError::Host(_))), "{refused:?}");
    drop(hoarded);
    instantiate(&wasm, &component).await;
}

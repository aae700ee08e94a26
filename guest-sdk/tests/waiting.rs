//! Waiting for several futures, dropping the losers, and cancellation.

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use std::time::Duration;

use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use segno::{ActivityContext, Context, Either, Error, Result, testing::Test};

const SECOND: Duration = Duration::from_secs(1);

#[segno::activity]
async fn slow(ctx: ActivityContext, seconds: u32) -> Result<u32> {
    // An attempt takes no virtual time, so a slow activity consists of several attempts, each a
    // tenth of a second or more apart.
    if ctx.attempt() <= seconds { Err(Error::retryable("not yet")) } else { Ok(seconds) }
}

#[test]
fn the_combinators_of_futures_work() {
    #[segno::workflow]
    async fn mixed(ctx: Context) -> Result<Vec<u32>> {
        let mut unordered: FuturesUnordered<_> =
            [3, 1, 2].iter().map(|n| ctx.call(slow, n)).collect();
        let mut results = Vec::new();
        while let Some(result) = unordered.next().await {
            results.push(result?);
        }
        let (four, five) = futures::join!(ctx.call(slow, &4), ctx.call(slow, &5));
        results.extend([four?, five?]);
        let mut six = ctx.call(slow, &6).fuse();
        let mut tick = ctx.sleep(Duration::from_millis(1)).fuse();
        futures::select_biased! {
            six = six => results.push(six?),
            ticked = tick => ticked?,
        }
        results.push(six.await?);
        Ok(results)
    }
    let mut test = Test::new();
    assert_eq!(test.run(mixed, &()).unwrap(), [1, 2, 3, 4, 5, 6]);
    test.replay_check();
}

#[test]
fn a_started_call_runs_while_others_are_awaited() {
    #[segno::workflow]
    async fn early(ctx: Context) -> Result<u32> {
        let handle = ctx.call(slow, &1).start();
        assert_eq!((handle.command(), handle.id()), (0, "test/0".to_owned()));
        ctx.sleep(10 * SECOND).await?;
        handle.await
    }
    let mut test = Test::new();
    assert_eq!(test.run(early, &()).unwrap(), 1);
    assert_eq!(test.elapsed(), 10 * SECOND);
    assert_eq!(test.forgotten(), Vec::<u32>::new());
}

#[test]
fn a_loser_is_forgotten_and_a_borrowed_one_is_not() {
    #[segno::workflow]
    async fn race(ctx: Context) -> Result<u32> {
        let mut kept = ctx.sleep(20 * SECOND).start();
        match segno::select(&mut kept, segno::select(ctx.sleep(9 * SECOND), ctx.sleep(SECOND)))
            .await
        {
            Either::Right(Either::Right(slept)) => slept?,
            _ => panic!("the shortest sleep wins"),
        }
        kept.await?;
        Ok(1)
    }
    let mut test = Test::new();
    test.run(race, &()).unwrap();
    assert_eq!(test.forgotten(), [1]);
    assert_eq!(test.elapsed(), 20 * SECOND);
    test.replay_check();
}

#[test]
fn a_timeout_ends_any_future() {
    #[segno::workflow]
    async fn limited(ctx: Context) -> Result<u32> {
        let quick = ctx.timeout(60 * SECOND, ctx.call(slow, &1)).await?;
        let never = ctx.timeout(SECOND, ctx.promise::<()>()).await.unwrap_err();
        assert_eq!((never.code(), never.message()), (408, "1s timed out"));
        Ok(quick)
    }
    let mut test = Test::new();
    assert_eq!(test.run(limited, &()).unwrap(), 1);
    assert_eq!(test.forgotten(), [1, 2], "the timer of the first, the promise of the second");
}

#[test]
fn one_can_cancel_what_one_started() {
    #[segno::workflow]
    async fn child(ctx: Context) -> Result<u32> {
        let error = ctx.sleep(3600 * SECOND).await.unwrap_err();
        assert!(error.is_cancelled() && ctx.is_cancelled());
        Ok(7)
    }
    #[segno::workflow]
    async fn parent(ctx: Context) -> Result<u32> {
        let sleep = ctx.sleep(3600 * SECOND).start();
        let call = ctx.call(child, &()).start();
        ctx.cancel(&sleep).await?;
        ctx.cancel(&call).await?;
        assert!(sleep.await.unwrap_err().is_cancelled());
        assert!(!ctx.is_cancelled());
        call.await
    }
    let mut test = Test::new();
    assert_eq!(test.run(parent, &()).unwrap(), 7, "a workflow decides itself how it ends");
    assert_eq!(test.elapsed(), Duration::ZERO);
    test.replay_check();
}

#[test]
fn cancellation_fails_the_pending_awaits_and_no_later_ones() {
    #[segno::workflow(signals)]
    async fn cancelled(ctx: Context) -> Result<Vec<u32>> {
        let untouched = ctx.sleep(3 * SECOND).start();
        let mut signals = ctx.signals();
        let (slept, promised, signal) =
            segno::join3(ctx.sleep(60 * SECOND), ctx.promise::<()>(), signals.receive()).await;
        let mut codes = vec![
            slept.unwrap_err().code(),
            promised.unwrap_err().code(),
            signal.unwrap_err().code(),
        ];
        // Compensation runs as usual, and handles that were not awaited at that time are not
        // affected.
        codes.push(ctx.call(slow, &1).await?);
        untouched.await?;
        codes.push(signals.receive().await?.json()?);
        Ok(codes)
    }
    let mut test = Test::new();
    test.cancel_after(SECOND);
    test.signal("late", &5).after(10 * SECOND);
    assert_eq!(test.run(cancelled, &()).unwrap(), [499, 499, 499, 1, 5]);
    assert_eq!(test.elapsed(), 10 * SECOND);
    test.replay_check();
}

#[test]
fn an_unhandled_cancellation_is_the_outcome() {
    #[segno::workflow]
    async fn sleeper(ctx: Context) -> Result<()> {
        ctx.sleep(60 * SECOND).await
    }
    let mut test = Test::new();
    test.cancel_after(SECOND);
    assert!(test.run(sleeper, &()).unwrap_err().is_cancelled());
}

#[test]
fn contexts_and_steps_can_be_sent() {
    fn sendable<T: Send>(value: T) -> T {
        value
    }
    #[segno::workflow]
    async fn boxed(ctx: Context) -> Result<()> {
        let ctx = sendable(ctx);
        let step = ctx.sleep(SECOND).boxed();
        drop(sendable(ctx.promise::<()>()));
        drop(sendable(ctx.call(slow, &1)));
        step.await
    }
    Test::new().run(boxed, &()).unwrap();
}

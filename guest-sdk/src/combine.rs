//! Combinators that wait for several futures. Those of the `futures` crate work as well; of its
//! `select!` use the biased form, since the other one uses a random generator that a replay cannot
//! reproduce.

use std::{future::Future, pin::pin, task::Poll};

pub use futures_util::future::{
    Either, join, join_all, join3, join4, try_join, try_join_all, try_join3, try_join4,
};

/// Returns the output of the future that is ready first. The other is dropped, so the host need not
/// deliver its result. If both are ready, the first argument wins.
pub async fn select<A: Future, B: Future>(first: A, second: B) -> Either<A::Output, B::Output> {
    let mut first = pin!(first);
    let mut second = pin!(second);
    std::future::poll_fn(|polling| {
        if let Poll::Ready(output) = first.as_mut().poll(polling) {
            return Poll::Ready(Either::Left(output));
        }
        second.as_mut().poll(polling).map(Either::Right)
    })
    .await
}

//! The value in a workflow's memory that it shares with its queries and updates.

use std::{
    any::{Any, type_name},
    future::{Future, poll_fn},
    sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError},
};

use crate::{
    bindings::segno::workflow::types as wit,
    error::{Error, Result},
    invocation::CurrentInvocation,
};

/// Failure code of a query that arrives before the workflow shares its value.
const TOO_EARLY: u32 = 425;

/// A value that a workflow shares with its queries and updates, created by
/// [`Context::share`](crate::Context::share). Cheap to clone: every clone refers to the same value.
///
/// The value is in the memory of the workflow. It is not stored: a replay rebuilds it by the same
/// writes in the same order.
///
/// ```
/// # extern crate segno_sdk as segno;
/// # use segno::{Context, Result, Shared, testing::Test};
/// /// What may be seen of an order.
/// #[derive(Default)]
/// struct Progress {
///     step: String,
///     approved: bool,
/// }
///
/// #[segno::workflow]
/// async fn order(ctx: Context) -> Result<String> {
///     let progress = ctx.share(Progress::default());
///     progress.write(|progress| progress.step = "waits for its approval".to_owned());
///     progress.until(|progress| progress.approved).await?;
///     progress.write(|progress| progress.step = "approved".to_owned());
///     ctx.updates_done().await;
///     Ok(progress.read(|progress| progress.step.clone()))
/// }
///
/// /// Approves the order.
/// #[segno::update(order)]
/// async fn approve(_ctx: Context, progress: Shared<Progress>) -> Result<()> {
///     progress.write(|progress| progress.approved = true);
///     Ok(())
/// }
///
/// let mut test = Test::new();
/// let approved = test.update(approve, &());
/// assert_eq!(test.run(order, &()).unwrap(), "approved");
/// approved.answer().unwrap();
/// ```
pub struct Shared<T> {
    invocation: Arc<CurrentInvocation>,
    value: Arc<RwLock<T>>,
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { invocation: self.invocation.clone(), value: self.value.clone() }
    }
}

impl<T> Shared<T> {
    /// Reads the value.
    ///
    /// # Panics
    /// If called in the closure of a [`write`](Self::write) of the same value.
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&reading(&self.value))
    }

    /// Changes the value, and wakes the futures of [`until`](Self::until), which check their
    /// conditions again.
    ///
    /// # Panics
    /// If called in the closure of a [`read`](Self::read) or `write` of the same value, or in the
    /// closure of a [`run`](crate::Context::run), which a replay does not execute.
    pub fn write<R>(&self, write: impl FnOnce(&mut T) -> R) -> R {
        self.invocation.refuse_inside_run(|| format!("a write of the shared {}", shown::<T>()));
        let result = write(&mut writing(&self.value));
        self.invocation.wake_listeners();
        result
    }

    /// Waits until the condition holds, because an update or another part of the workflow changed
    /// the value. It is evaluated after each change.
    ///
    /// # Errors
    /// Code 499 if the invocation is cancelled while it waits.
    pub fn until<C: FnMut(&T) -> bool>(
        &self,
        mut condition: C,
    ) -> impl Future<Output = Result<()>> + use<T, C> {
        let shared = self.clone();
        let listening = ListenerRegistration::new(&self.invocation);
        poll_fn(move |polling| {
            let holds = shared.read(&mut condition);
            listening.invocation.poll_condition(listening.key, holds, polling.waker())
        })
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    pub(crate) fn begin(invocation: &Arc<CurrentInvocation>, value: T) -> Self {
        invocation.refuse_inside_run(|| format!("sharing of {}", shown::<T>()));
        let value = Arc::new(RwLock::new(value));
        let mut slot = invocation.slot();
        let known = slot.as_ref().map(|slot| (slot.shown)());
        if let Some(known) = known {
            drop(slot);
            panic!(
                "a workflow shares one value, and this one shares {known} already: add to its fields what {} has",
                shown::<T>()
            );
        }
        *slot = Some(SharedSlot { value: value.clone(), shown: shown::<T> });
        drop(slot);
        Self { invocation: invocation.clone(), value }
    }
}

/// The slot of an invocation for its shared value.
pub(crate) struct SharedSlot {
    value: Arc<dyn Any + Send + Sync>,
    /// The type's name, for messages.
    shown: fn() -> String,
}

/// Reads the shared value of `function` as a `T`; `what` names the reader.
///
/// # Errors
/// Code 425 if no value is shared yet, 500 if its type is different.
pub(crate) fn find<T: Send + Sync + 'static>(
    invocation: &Arc<CurrentInvocation>,
    function: &str,
    what: &str,
) -> Result<Shared<T>, wit::Failure> {
    let slot = invocation.slot();
    let failure = |code, message| Error::with_code(code, message).into_failure();
    let Some(slot) = &*slot else {
        let message = format!("`{function}` has not shared a {} yet", shown::<T>());
        return Err(failure(TOO_EARLY, message));
    };
    match slot.value.clone().downcast::<RwLock<T>>() {
        Ok(value) => Ok(Shared { invocation: invocation.clone(), value }),
        Err(_) => {
            let (shared, wanted) = ((slot.shown)(), shown::<T>());
            let message = format!("`{function}` shares a {shared}, but {what} takes a {wanted}");
            Err(failure(Error::FAILED, message))
        }
    }
}

/// Workflows run on one thread: if the lock is held, the caller is inside the holder's closure.
fn reading<T>(value: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    match value.try_read() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            panic!("the shared {} is read inside the closure that writes it", shown::<T>())
        }
    }
}

fn writing<T>(value: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    match value.try_write() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => panic!(
            "the shared {} is written inside a closure that reads or writes it",
            shown::<T>()
        ),
    }
}

/// A registration of a future that waits for a change.
struct ListenerRegistration {
    invocation: Arc<CurrentInvocation>,
    key: u64,
}

impl ListenerRegistration {
    fn new(invocation: &Arc<CurrentInvocation>) -> Self {
        Self { invocation: invocation.clone(), key: invocation.add_listener() }
    }
}

impl Drop for ListenerRegistration {
    fn drop(&mut self) {
        self.invocation.remove_listener(self.key);
    }
}

/// The name of a type without its path, in backquotes.
fn shown<T>() -> String {
    format!("`{}`", without_paths(type_name::<T>()))
}

fn without_paths(name: &str) -> String {
    let mut short = String::new();
    let mut begin = 0;
    for letter in name.chars() {
        if letter == ':' {
            // Each colon of `::`: the text before it is a module path.
            short.truncate(begin);
            continue;
        }
        short.push(letter);
        if !(letter.is_alphanumeric() || letter == '_') {
            begin = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::without_paths;

    #[test]
    fn a_type_is_named_without_its_path() {
        for (name, short) in [
            ("u32", "u32"),
            ("shop::order::Progress", "Progress"),
            ("alloc::vec::Vec<(a::B, core::option::Option<u8>)>", "Vec<(B, Option<u8>)>"),
            ("&[shop::my_order::Item; 3]", "&[Item; 3]"),
        ] {
            assert_eq!(without_paths(name), short);
        }
    }
}

//! Resource accounting of one instance, checked against its limits.

use std::{sync::Arc, time::Duration};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::{ResourceLimiter, UpdateDeadline};

use super::{
    Limits,
    engine::TICK_MS,
    interpreter::Interpreter,
    log_room::LogBudget,
    trap::TrapCause,
    turns::{InstanceTurn, TooManyComputing},
};

/// Maximum CPU time after its limit in which an interpreter says where it is.
const LAST_WORDS_MS: u64 = 200;
/// Minimum CPU time within an epoch for a guest to count as computing, not merely delayed.
const WORTH_A_TURN: Duration = Duration::from_millis(TICK_MS / 2);

/// Memory that an uncommitted command takes beside its payload, in bytes: without it, some hundred
/// thousand small commands would fill the memory uncounted.
const COMMAND_BYTES: usize = 512;
/// Maximum total that one call may hand over, as a multiple of the maximum payload size.
const PAYLOADS: usize = 8;

/// The resource budget of one instance. Refuses growth beyond the limits with -1, and counts the
/// epochs of a call.
pub(super) struct ComputeBudget {
    limits: Arc<Limits>,
    /// The turn that the guest waits for at the end of each epoch.
    turn: InstanceTurn,
    log_room: LogBudget,
    /// Bytes that this call handed over and that stay in memory until they are committed.
    handed_over: usize,
    memory_bytes: usize,
    table_elements: usize,
    /// Size of the last refused growth, in bytes: it explains the abort that follows.
    refused_bytes: Option<usize>,
    /// True if the last allowed growth was also within the maximum that the guest itself declares.
    within_declared: bool,
    /// The interpreter of a source module.
    interpreter: Option<Interpreter>,
    /// CPU time of this call, in milliseconds, when its interpreter was interrupted: the call is out
    /// of time, and goes on only to say where it is.
    interrupted_ms: Option<u64>,
    /// Epochs used by this call, in tenths.
    used: u64,
    /// True if the guest waited for the host in this epoch, and so did not use all of it.
    waited: bool,
    /// CPU time of the thread at the last epoch end that this call saw, or at its start if other
    /// calls were computing.
    seen: Option<Duration>,
}

impl ComputeBudget {
    /// Creates a fresh budget. The guest waits for `turn` at the end of each epoch.
    pub(super) fn new(limits: Arc<Limits>, turn: InstanceTurn) -> Self {
        Self {
            log_room: LogBudget::new(limits.log_bytes, limits.log_line_bytes),
            handed_over: 0,
            limits,
            turn,
            memory_bytes: 0,
            table_elements: 0,
            refused_bytes: None,
            within_declared: true,
            interpreter: None,
            interrupted_ms: None,
            used: 0,
            waited: false,
            seen: None,
        }
    }

    /// Amount that the host may allocate for one call by the guest, in wasmtime's fuel (about one
    /// byte each): twice the limit, so that a payload slightly above the limit still gets a named
    /// refusal.
    pub(super) fn crossing_fuel(&self) -> usize {
        self.limits.output_bytes.saturating_mul(2).saturating_add(64 << 10)
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The limits on log lines, shared with the guest's output streams.
    pub(super) fn log_room(&self) -> &LogBudget {
        &self.log_room
    }

    /// Counts a command with a payload of `size` bytes.
    ///
    /// # Errors
    /// The call has handed over more than its limit.
    pub(super) fn hand_over(&mut self, size: usize) -> wasmtime::Result<()> {
        let limit = self.limits.output_bytes.saturating_mul(PAYLOADS);
        self.handed_over = self.handed_over.saturating_add(size.saturating_add(COMMAND_BYTES));
        if self.handed_over > limit {
            let (what, size) = ("output in one call".to_owned(), self.handed_over);
            return Err(TrapCause::OutputTooLarge { what, size, limit }.into());
        }
        Ok(())
    }

    /// Size of linear memories and tables, in bytes.
    pub(super) fn footprint(&self) -> usize {
        self.memory_bytes + self.table_elements * size_of::<usize>()
    }

    /// Begins with the interpreter of a new instance. Counts the memory of its image, of which
    /// wasmtime counts only the size that is declared.
    ///
    /// # Errors
    /// It is larger than the limit.
    pub(super) fn begin_with(
        &mut self,
        image_bytes: usize,
        interpreter: Interpreter,
    ) -> wasmtime::Result<()> {
        let limit = self.limits.memory_bytes;
        wasmtime::ensure!(
            image_bytes as u64 <= limit,
            "its memory has {image_bytes} bytes after its sources are loaded; the limit is {limit} (`limits.memory_bytes`)"
        );
        self.memory_bytes = self.memory_bytes.max(image_bytes);
        self.interpreter = Some(interpreter);
        Ok(())
    }

    /// The interpreter of a source module.
    pub(super) fn interpreter(&self) -> Option<&Interpreter> {
        self.interpreter.as_ref()
    }

    /// The error of a call that is out of time, and goes on only to say where it is.
    ///
    /// # Errors
    /// The call is one of these.
    pub(super) fn check_time(&self) -> Result<(), TrapCause> {
        match self.interrupted_ms {
            Some(_) => Err(TrapCause::OutOfTime { limit_ms: self.limits.cpu_ms }),
            None => Ok(()),
        }
    }

    /// Memory size that the guest requested and was refused, in bytes. `None` if nothing was
    /// refused.
    pub(super) fn refused_bytes(&self) -> Option<usize> {
        self.refused_bytes
    }

    /// Begins a new call and starts counting its CPU time.
    pub(super) fn begin_call(&mut self) {
        self.used = 0;
        self.interrupted_ms = None;
        self.handed_over = 0;
        self.log_room.begin_call();
        self.turn.end();
        // Reading the CPU time costs a noticeable part of a short call. It pays off while other
        // calls compute: if this call computes too, it leaves the threads for short calls one epoch
        // earlier.
        self.seen = self.turn.somebody_computes().then(cpu_of_thread);
    }

    /// Ends a call and its turn, so that waiting calls can continue.
    pub(super) fn end_call(&mut self) {
        self.turn.end();
    }

    pub(super) fn turn(&self) -> InstanceTurn {
        self.turn.clone()
    }

    /// Called when the guest is about to wait for the host, which uses none of its CPU time.
    /// Effects outside cannot be undone, so from here on the call is never rejected for a later
    /// retry.
    pub(super) fn waited(&mut self) {
        self.turn.stay();
        self.waited = true;
        self.seen = None;
        self.turn.end();
    }

    /// Counts an epoch that passed in this call.
    pub(super) fn tick(&mut self) -> wasmtime::Result<UpdateDeadline> {
        // Above zero, so that a loop that keeps calling the host ends as well.
        self.used += if std::mem::take(&mut self.waited) { 1 } else { 10 };
        let (used_ms, limit_ms) = (self.used * TICK_MS / 10, self.limits.cpu_ms);
        if used_ms > limit_ms && !self.says_where(used_ms) {
            return Err(TrapCause::OutOfTime { limit_ms }.into());
        }
        let is_long = self.turn.is_long() || (self.turn.takes_turns() && self.computes());
        let next = match is_long {
            true => self
                .turn
                .next(self.used / 10)
                .map_err(|TooManyComputing { limit }| TrapCause::Crowded { limit })?,
            false => None,
        };
        Ok(match next {
            Some(next) => UpdateDeadline::YieldCustom(1, Box::pin(next)),
            None => UpdateDeadline::Continue(1),
        })
    }

    /// Returns true if a call that is out of time goes on, because its interpreter ends it.
    fn says_where(&mut self, used_ms: u64) -> bool {
        if let Some(interrupted_ms) = self.interrupted_ms {
            return used_ms <= interrupted_ms + LAST_WORDS_MS;
        }
        let is_interrupted = self.interpreter.as_mut().is_some_and(Interpreter::interrupt);
        if is_interrupted {
            self.interrupted_ms = Some(used_ms);
            self.log_room.close();
        }
        is_interrupted
    }

    /// Returns true if this call has computed since the last check. False for a call that has just
    /// begun, and for one that the operating system did not schedule: such a call ends soon.
    fn computes(&mut self) -> bool {
        let now = cpu_of_thread();
        let before = self.seen.replace(now);
        before.is_some_and(|before| now.saturating_sub(before) >= WORTH_A_TURN)
    }
}

fn cpu_of_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

impl ResourceLimiter for ComputeBudget {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.memory_bytes.saturating_add(desired.saturating_sub(current));
        if total as u64 > self.limits.memory_bytes {
            self.refused_bytes = Some(total);
            return Ok(false);
        }
        self.within_declared = maximum.is_none_or(|maximum| desired <= maximum);
        if self.within_declared {
            self.memory_bytes = total;
        }
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        if self.within_declared {
            // The machine is short of memory. The guest must not observe that: on another host the
            // growth would have succeeded.
            return Err(TrapCause::HostMemory(format!("{error:#}")).into());
        }
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.table_elements.saturating_add(desired.saturating_sub(current));
        let allowed = total <= self.limits.table_elements as usize;
        if allowed && maximum.is_none_or(|maximum| desired <= maximum) {
            self.table_elements = total;
        }
        Ok(allowed)
    }
}

#[cfg(test)]
mod tests {
    use segno_core::id::Digest;

    use super::*;
    use crate::turns::FairScheduler;

    const MODULE: Digest = Digest([1; 32]);

    #[test]
    fn a_call_takes_turns_once_it_has_computed_through_an_epoch() {
        let mut budget = ComputeBudget::new(
            Arc::default(),
            InstanceTurn::new(Some(FairScheduler::new(1, 8)), MODULE),
        );
        let goes_on = |deadline| matches!(deadline, Ok(UpdateDeadline::Continue(1)));
        budget.begin_call();
        assert!(goes_on(budget.tick()), "it may have begun a moment ago");
        assert!(goes_on(budget.tick()), "it was held up: it used no time meanwhile");
        let began = cpu_of_thread();
        while cpu_of_thread() - began < WORTH_A_TURN {}
        assert!(!goes_on(budget.tick()));
        assert!(!goes_on(budget.tick()), "and stays among those who take turns");
        budget.begin_call();
        assert!(goes_on(budget.tick()), "the next call begins anew");
    }

    #[tokio::test]
    async fn beside_others_that_compute_the_first_epoch_counts() {
        let turns = FairScheduler::new(1, 8);
        let other = InstanceTurn::new(Some(turns.clone()), MODULE);
        let mut budget = ComputeBudget::new(Arc::default(), InstanceTurn::new(Some(turns), MODULE));
        let goes_on = |deadline| matches!(deadline, Ok(UpdateDeadline::Continue(1)));
        other.next(1).expect("there is no crowd").expect("it takes turns").await;
        budget.begin_call();
        assert!(goes_on(budget.tick()), "it was held up: it used no time meanwhile");
        budget.begin_call();
        let began = cpu_of_thread();
        while cpu_of_thread() - began < WORTH_A_TURN {}
        assert!(!goes_on(budget.tick()));
        other.end();
        budget.begin_call();
        assert!(goes_on(budget.tick()), "no other call is delayed");
    }
}

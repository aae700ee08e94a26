//! Stacks of instances of source modules.

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::param::page_size;
use wasmtime::{StackCreator, StackMemory};

use super::{UNUSED, range::AddressRange};

/// Makes stacks, and keeps those that are given back.
#[derive(Clone, Default)]
pub(crate) struct MappedStacks {
    unused: Arc<Mutex<Vec<AddressRange>>>,
}

// SAFETY: a stack is used by nothing else while it exists, its addresses are whole pages, and those
// of the guard below it are never accessible.
unsafe impl StackCreator for MappedStacks {
    fn new_stack(&self, size: usize, zeroed: bool) -> wasmtime::Result<Box<dyn StackMemory>> {
        let guard = page_size();
        let all = guard + size.next_multiple_of(guard);
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let range = unused.pop_if(|range| !zeroed && range.len == all);
        drop(unused);
        let range = match range {
            Some(range) => range,
            None => {
                let mut range = AddressRange::new(all)?;
                range.open(guard..all)?;
                range
            }
        };
        Ok(Box::new(MappedStack { range: Some(range), guard, all: self.clone() }))
    }
}

/// The stack of one instance.
struct MappedStack {
    /// Taken when it is dropped.
    range: Option<AddressRange>,
    guard: usize,
    all: MappedStacks,
}

impl MappedStack {
    fn range(&self) -> &AddressRange {
        self.range.as_ref().expect("it is taken when the stack is dropped")
    }
}

// SAFETY: the addresses are those of the stack, which is made of whole pages, and the page below it
// is inaccessible.
unsafe impl StackMemory for MappedStack {
    fn top(&self) -> *mut u8 {
        self.range().at(self.range().len)
    }

    fn range(&self) -> Range<usize> {
        let range = self.range();
        range.at(self.guard).addr()..range.at(range.len).addr()
    }

    fn guard_range(&self) -> Range<*mut u8> {
        self.range().at(0)..self.range().at(self.guard)
    }
}

impl Drop for MappedStack {
    fn drop(&mut self) {
        let Some(range) = self.range.take() else { return };
        let mut unused = self.all.unused.lock().unwrap_or_else(PoisonError::into_inner);
        if unused.len() < UNUSED {
            unused.push(range);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unused_stack_is_used_again_unless_it_has_to_be_zero() {
        let stacks = MappedStacks::default();
        let first = stacks.new_stack(100_000, false).expect("there are addresses");
        let addresses = first.range();
        assert!(addresses.len() >= 100_000 && first.top().addr() == addresses.end);
        assert_eq!(first.guard_range().end.addr(), addresses.start);
        drop(first);
        let other = stacks.new_stack(200_000, false).expect("there are addresses");
        let zeroed = stacks.new_stack(100_000, true).expect("there are addresses");
        assert!(zeroed.range() != addresses && other.range() != addresses);
        let again = stacks.new_stack(100_000, false).expect("there are addresses");
        assert_eq!(again.range(), addresses);
    }
}

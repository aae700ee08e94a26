//! Reads and writes the state of an instance, through the functions of its accessor.

use wasmtime::{
    Store,
    component::{ComponentNamedList, Instance, Lift, Lower, TypedFunc},
};

use super::{
    accessor::{ACCESSORS, CLOBBERED, export},
    memory::{Memory, MemoryChange, MemoryPart, PartChange, place},
};

/// Size of a wasm page, the unit in which a memory grows, in bytes.
const WASM_PAGE_BYTES: u32 = 64 << 10;
/// Maximum number of bytes copied in one call.
const CHUNK_BYTES: usize = 1 << 20;
/// Maximum number of handles that are taken one by one.
const HANDLES_MAX: usize = 4_096;

/// The functions of the accessors of one instance, one for each memory that its component has.
pub(crate) struct InstanceAccess {
    instance: Instance,
}

impl InstanceAccess {
    /// Access to an instance whose component was made accessible.
    pub(crate) fn of(instance: Instance) -> Self {
        Self { instance }
    }

    /// Reads all memories and mutable globals of the instance.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Memory> {
        let mut parts = Vec::new();
        for accessor in self.accessors(store)? {
            parts.push(accessor.read(store).await?);
        }
        Ok(Memory { parts, drawn: Vec::new() })
    }

    /// Applies `change` to a new instance.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        change: &MemoryChange,
    ) -> wasmtime::Result<()> {
        let accessors = self.accessors(store)?;
        wasmtime::ensure!(accessors.len() == change.parts.len(), "it has other parts");
        for (accessor, change) in accessors.into_iter().zip(&change.parts) {
            accessor.write(store, change).await?;
        }
        Ok(())
    }

    fn accessors<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<PartAccess>> {
        let mut found = |part: &usize| {
            let name = export(*part, "pages");
            self.instance.get_export_index(&mut *store, None, &name).is_some()
        };
        let parts: Vec<usize> = (0..ACCESSORS).take_while(|part| found(part)).collect();
        wasmtime::ensure!(!parts.is_empty(), "this instance was not made to be read");
        Ok(parts.into_iter().map(|part| PartAccess { instance: self.instance, part }).collect())
    }
}

/// The functions of one accessor.
struct PartAccess {
    instance: Instance,
    part: usize,
}

impl PartAccess {
    async fn read<T: Send + 'static>(&self, store: &mut Store<T>) -> wasmtime::Result<MemoryPart> {
        let (pages,): (u32,) = self.call(store, "pages", ()).await?;
        let len = pages as usize * WASM_PAGE_BYTES as usize;
        let mut bytes = Vec::with_capacity(len);
        if len > 0 {
            let (first,): (u64,) = self.call(store, "peek", (0_u32,)).await?;
            while bytes.len() < len {
                let chunk = CHUNK_BYTES.min(len - bytes.len());
                let at = place(bytes.len());
                let (read,): (Vec<u8>,) = self.call(store, "read", (at, place(chunk))).await?;
                bytes.extend(read);
            }
            bytes[..CLOBBERED].copy_from_slice(&first.to_le_bytes());
            let () = self.call(store, "poke", (0_u32, first)).await?;
        }
        let (count,): (u32,) = self.call(store, "globals", ()).await?;
        let mut globals = Vec::new();
        for index in 0..count {
            let (bits,): (u64,) = self.call(store, "get", (index,)).await?;
            globals.push(bits);
        }
        let handles = match self.takes_handles(store) {
            true => self.free_handles(store).await?,
            false => Vec::new(),
        };
        Ok(MemoryPart { bytes, globals, handles })
    }

    fn takes_handles<T: Send + 'static>(&self, store: &mut Store<T>) -> bool {
        let name = export(self.part, "take");
        self.instance.get_export_index(&mut *store, None, &name).is_some()
    }

    /// The order in which freed handles are reused, up to the point where the table hands out
    /// consecutive new numbers, as an unused table does. All handles are given back.
    ///
    /// # Errors
    /// Some handles are missing: the guest holds them.
    async fn free_handles<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<u32>> {
        let limit = store.max_component_handles();
        store.set_max_component_handles(usize::MAX);
        let limit_in_table = u32::try_from(limit).unwrap_or(u32::MAX).min(u32::MAX >> 5);
        let (mut order, mut highest) = (Vec::new(), 0);
        loop {
            let most = limit_in_table.saturating_sub(highest);
            let (fresh,): (u32,) = self.call(store, "fresh", (highest + 1, most)).await?;
            if fresh == most {
                break;
            }
            let (handle,): (u32,) = self.call(store, "take", ()).await?;
            order.push(handle);
            highest = highest.max(handle);
            wasmtime::ensure!(
                order.len() <= HANDLES_MAX,
                "it held more than {HANDLES_MAX} handles of resources"
            );
        }
        for handle in order.iter().rev() {
            let () = self.call(store, "give", (*handle,)).await?;
        }
        store.set_max_component_handles(limit);
        let held = highest as usize - order.len();
        wasmtime::ensure!(held == 0, "it holds open handles of resources ({held})");
        Ok(order)
    }

    /// Makes an instance that holds no handles reuse them in this order.
    async fn order_handles<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        order: &[u32],
    ) -> wasmtime::Result<()> {
        let used = self.free_handles(store).await?.len().max(order.len());
        for _ in 0..used {
            let (_,): (u32,) = self.call(store, "take", ()).await?;
        }
        // The handle that is given back last is reused first.
        let unused = order.len() + 1..=used;
        for handle in order.iter().copied().chain(unused.map(place)).rev() {
            let () = self.call(store, "give", (handle,)).await?;
        }
        Ok(())
    }

    async fn write<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        change: &PartChange,
    ) -> wasmtime::Result<()> {
        let (pages,): (u32,) = self.call(store, "pages", ()).await?;
        let more = (change.len / WASM_PAGE_BYTES).checked_sub(pages);
        let more = more.ok_or_else(|| wasmtime::format_err!("its memory was smaller"))?;
        let (grown,): (u32,) = self.call(store, "grow", (more,)).await?;
        wasmtime::ensure!(grown == pages, "its memory cannot be as large as it was");
        for (at, run) in &change.runs {
            for (n, chunk) in run.chunks(CHUNK_BYTES).enumerate() {
                let () = self.call(store, "aim", (at + place(n * CHUNK_BYTES),)).await?;
                let () = self.call(store, "write", (chunk,)).await?;
            }
        }
        let (count,): (u32,) = self.call(store, "globals", ()).await?;
        wasmtime::ensure!(count as usize == change.globals.len(), "it has other variables");
        for (index, bits) in (0..count).zip(&change.globals) {
            let () = self.call(store, "set", (index, *bits)).await?;
        }
        if self.takes_handles(store) {
            self.order_handles(store, &change.handles).await?;
        }
        Ok(())
    }

    async fn call<T: Send + 'static, P, R>(
        &self,
        store: &mut Store<T>,
        name: &str,
        params: P,
    ) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let name = export(self.part, name);
        let function: TypedFunc<P, R> = self.instance.get_typed_func(&mut *store, &name)?;
        function.call_async(store, params).await
    }
}

//! Reads and writes what an instance keeps, through the functions of its accessor.

use wasmtime::{
    Store,
    component::{ComponentNamedList, Instance, Lift, Lower, TypedFunc},
};

use super::{
    accessor::CLOBBERED,
    memory::{Memory, MemoryChange, place},
};

/// Bytes of a page of wasm, in which a memory grows.
const WASM_PAGE_BYTES: u32 = 64 << 10;
/// Bytes that cross in one call.
const CHUNK_BYTES: usize = 1 << 20;

/// The functions of the accessor of one instance.
pub(crate) struct Access {
    instance: Instance,
}

impl Access {
    /// Of an instance of a component that was made accessible.
    pub(crate) fn of(instance: Instance) -> Self {
        Self { instance }
    }

    /// All that the instance keeps in its memory and its variables.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Memory> {
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
        Ok(Memory { bytes, globals, drawn: Vec::new() })
    }

    /// Makes a new instance one that has changed in this way.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        change: &MemoryChange,
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
        let name = format!("segno-snapshot-{name}");
        let function: TypedFunc<P, R> = (self.instance.get_typed_func(&mut *store, &name))
            .map_err(|error| wasmtime::format_err!("{name}, which reads its instances: {error}"))?;
        function.call_async(store, params).await
    }
}

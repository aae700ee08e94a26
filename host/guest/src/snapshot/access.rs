//! Reads and writes the state of an instance, through the functions of its accessor.

use wasmtime::{
    Store,
    component::{ComponentExportIndex, ComponentNamedList, Instance, Lift, Lower, TypedFunc},
};

use super::{
    accessor::{ACCESSORS, CLOBBERED, export, initializer},
    image::{ImagePart, ModuleImage},
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

    /// Initializes a new instance of a runtime whose memory does not begin with an image.
    pub(crate) async fn initialize<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<()> {
        for number in 0.. {
            let found = self.instance.get_export_index(&mut *store, None, &initializer(number));
            let Some(found) = found else { break };
            let initialize = self.instance.get_typed_func::<(), ()>(&mut *store, found)?;
            initialize.call_async(&mut *store, ()).await?;
        }
        Ok(())
    }

    /// Gives a new instance of a runtime, whose memory is that of `image`, the rest of its state.
    pub(crate) async fn begin<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        image: &ModuleImage,
    ) -> wasmtime::Result<()> {
        for (number, part) in image.parts().iter().enumerate() {
            if part.globals.is_empty() && part.handles.is_none() {
                continue;
            }
            let accessor = PartAccess::find(self.instance, store, number);
            let accessor = accessor.ok_or_else(|| wasmtime::format_err!("it has other parts"))?;
            accessor.begin(store, part).await?;
        }
        Ok(())
    }

    fn accessors<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
    ) -> wasmtime::Result<Vec<PartAccess>> {
        let found = (0..ACCESSORS).map_while(|part| PartAccess::find(self.instance, store, part));
        let parts: Vec<PartAccess> = found.collect();
        wasmtime::ensure!(!parts.is_empty(), "this instance was not made to be read");
        Ok(parts)
    }
}

/// The functions of one accessor, by the names of their exports.
struct PartAccess {
    instance: Instance,
    pages: ComponentExportIndex,
    grow: ComponentExportIndex,
    peek: ComponentExportIndex,
    poke: ComponentExportIndex,
    read: ComponentExportIndex,
    aim: ComponentExportIndex,
    write: ComponentExportIndex,
    globals: ComponentExportIndex,
    get: ComponentExportIndex,
    set: ComponentExportIndex,
    /// `None` if the instance cannot hold handles, or another accessor takes them.
    handles: Option<HandleAccess>,
}

/// The functions of an accessor that take and give back handles.
#[derive(Clone, Copy)]
struct HandleAccess {
    take: ComponentExportIndex,
    give: ComponentExportIndex,
    fresh: ComponentExportIndex,
}

impl PartAccess {
    /// Returns `None` if the instance has no accessor with this number.
    fn find<T: Send + 'static>(
        instance: Instance,
        store: &mut Store<T>,
        part: usize,
    ) -> Option<Self> {
        let mut found = |name| instance.get_export_index(&mut *store, None, &export(part, name));
        let handles = match (found("take"), found("give"), found("fresh")) {
            (Some(take), Some(give), Some(fresh)) => Some(HandleAccess { take, give, fresh }),
            _ => None,
        };
        Some(Self {
            instance,
            pages: found("pages")?,
            grow: found("grow")?,
            peek: found("peek")?,
            poke: found("poke")?,
            read: found("read")?,
            aim: found("aim")?,
            write: found("write")?,
            globals: found("globals")?,
            get: found("get")?,
            set: found("set")?,
            handles,
        })
    }

    async fn read<T: Send + 'static>(&self, store: &mut Store<T>) -> wasmtime::Result<MemoryPart> {
        let (pages,): (u32,) = self.call(store, self.pages, ()).await?;
        let len = pages as usize * WASM_PAGE_BYTES as usize;
        let mut bytes = Vec::with_capacity(len);
        if len > 0 {
            let (first,): (u64,) = self.call(store, self.peek, (0_u32,)).await?;
            while bytes.len() < len {
                let chunk = CHUNK_BYTES.min(len - bytes.len());
                let at = place(bytes.len());
                let (read,): (Vec<u8>,) = self.call(store, self.read, (at, place(chunk))).await?;
                bytes.extend(read);
            }
            bytes[..CLOBBERED].copy_from_slice(&first.to_le_bytes());
            let () = self.call(store, self.poke, (0_u32, first)).await?;
        }
        let (count,): (u32,) = self.call(store, self.globals, ()).await?;
        let mut globals = Vec::new();
        for index in 0..count {
            let (bits,): (u64,) = self.call(store, self.get, (index,)).await?;
            globals.push(bits);
        }
        let handles = match self.handles {
            Some(functions) => self.free_handles(store, functions).await?,
            None => Vec::new(),
        };
        Ok(MemoryPart { bytes, globals, handles })
    }

    /// The order in which freed handles are reused, up to the point where the table hands out
    /// consecutive new numbers, as an unused table does. All handles are given back.
    ///
    /// # Errors
    /// Some handles are missing: the guest holds them.
    async fn free_handles<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        functions: HandleAccess,
    ) -> wasmtime::Result<Vec<u32>> {
        let HandleAccess { take, give, fresh } = functions;
        let limit = store.max_component_handles();
        store.set_max_component_handles(usize::MAX);
        let limit_in_table = u32::try_from(limit).unwrap_or(u32::MAX).min(u32::MAX >> 5);
        let (mut order, mut highest) = (Vec::new(), 0);
        loop {
            let most = limit_in_table.saturating_sub(highest);
            let (consecutive,): (u32,) = self.call(store, fresh, (highest + 1, most)).await?;
            if consecutive == most {
                break;
            }
            let (handle,): (u32,) = self.call(store, take, ()).await?;
            order.push(handle);
            highest = highest.max(handle);
            wasmtime::ensure!(
                order.len() <= HANDLES_MAX,
                "it held more than {HANDLES_MAX} handles of resources"
            );
        }
        for handle in order.iter().rev() {
            let () = self.call(store, give, (*handle,)).await?;
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
        functions: HandleAccess,
        order: &[u32],
    ) -> wasmtime::Result<()> {
        let HandleAccess { take, give, .. } = functions;
        let used = self.free_handles(store, functions).await?.len().max(order.len());
        for _ in 0..used {
            let (_,): (u32,) = self.call(store, take, ()).await?;
        }
        // The handle that is given back last is reused first.
        let unused = order.len() + 1..=used;
        for handle in order.iter().copied().chain(unused.map(place)).rev() {
            let () = self.call(store, give, (handle,)).await?;
        }
        Ok(())
    }

    async fn write<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        change: &PartChange,
    ) -> wasmtime::Result<()> {
        self.grow_to(store, change.len).await?;
        for (at, run) in &change.runs {
            for (n, chunk) in run.chunks(CHUNK_BYTES).enumerate() {
                self.write_at(store, at + place(n * CHUNK_BYTES), chunk).await?;
            }
        }
        let (count,): (u32,) = self.call(store, self.globals, ()).await?;
        wasmtime::ensure!(count as usize == change.globals.len(), "it has other variables");
        for (index, bits) in (0..count).zip(&change.globals) {
            let () = self.call(store, self.set, (index, *bits)).await?;
        }
        if let Some(functions) = self.handles {
            self.order_handles(store, functions, &change.handles).await?;
        }
        Ok(())
    }

    async fn begin<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        part: &ImagePart,
    ) -> wasmtime::Result<()> {
        for (index, bits) in &part.globals {
            let () = self.call(store, self.set, (*index, *bits)).await?;
        }
        if let (Some(functions), Some(order)) = (self.handles, &part.handles) {
            self.order_handles(store, functions, order).await?;
        }
        Ok(())
    }

    async fn grow_to<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        len: u32,
    ) -> wasmtime::Result<()> {
        let (pages,): (u32,) = self.call(store, self.pages, ()).await?;
        let more = (len / WASM_PAGE_BYTES).checked_sub(pages);
        let more = more.ok_or_else(|| wasmtime::format_err!("its memory was smaller"))?;
        if more > 0 {
            let (grown,): (u32,) = self.call(store, self.grow, (more,)).await?;
            wasmtime::ensure!(grown == pages, "its memory cannot be as large as it was");
        }
        Ok(())
    }

    async fn write_at<T: Send + 'static>(
        &self,
        store: &mut Store<T>,
        at: u32,
        bytes: &[u8],
    ) -> wasmtime::Result<()> {
        let () = self.call(store, self.aim, (at,)).await?;
        self.call(store, self.write, (bytes,)).await
    }

    async fn call<T: Send + 'static, P, R>(
        &self,
        store: &mut Store<T>,
        name: ComponentExportIndex,
        params: P,
    ) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let function: TypedFunc<P, R> = self.instance.get_typed_func(&mut *store, name)?;
        function.call_async(store, params).await
    }
}

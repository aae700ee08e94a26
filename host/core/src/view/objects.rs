//! Queues of objects, and their state.

use std::ops::Bound;

use super::View;
use crate::{
    footprint::Footprint,
    id::{Digest, ObjectId},
    object::{ModuleFacts, ObjectQueue, StateKey},
    promise::Promise,
    tags,
    value::{Payload, Text},
};

impl View {
    pub fn line(&self, object: &ObjectId) -> Option<&ObjectQueue> {
        self.lookups.objects.lines.get(object)
    }

    pub fn lines(&self) -> impl Iterator<Item = (&ObjectId, &ObjectQueue)> {
        self.lookups.objects.lines.iter()
    }

    pub fn states(&self) -> impl Iterator<Item = (&StateKey, &Payload)> {
        self.lookups.objects.state.iter()
    }

    pub fn state_of(&self, object: &ObjectId) -> impl Iterator<Item = (&Text, &Payload)> {
        let object = object.clone();
        let rows = self.lookups.objects.state.range((object.clone(), Text::default())..);
        let of_object = rows.take_while(move |((of, _), _)| *of == object);
        of_object.map(|((_, name), value)| (name, value))
    }

    pub fn promises_of(&self, object: &ObjectId) -> impl Iterator<Item = &Promise> {
        let [after, before] = object.promises();
        let between = (Bound::Excluded(after), Bound::Excluded(before));
        let object = object.clone();
        let promises = self.promises.range(between).map(|(_, promise)| promise);
        promises.filter(move |promise| tags::object(&promise.spec.tags) == Some(object.as_str()))
    }

    pub fn put_line(&mut self, object: ObjectId, line: ObjectQueue) {
        self.lookups.objects.lines.insert(object, line);
    }

    pub fn put_state(&mut self, key: StateKey, value: Payload) {
        self.lookups.objects.state.insert(key, value);
    }

    /// Facts about a module. `None` if it was not uploaded.
    pub fn module_facts(&self, module: &Digest) -> Option<&ModuleFacts> {
        self.modules.get(module)
    }

    /// Adds an uploaded module with its facts.
    pub fn put_module_facts(&mut self, module: Digest, facts: ModuleFacts) {
        self.modules.insert(module, facts);
    }

    /// Copies the wanted queues into another view.
    pub(crate) fn load_lines(&self, wanted: &Footprint, to: &mut View) {
        for object in &wanted.lines {
            let line = self.line(object);
            line.into_iter().for_each(|line| to.put_line(object.clone(), line.clone()));
        }
    }
}

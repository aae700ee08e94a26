//! The lines of objects, and their state.

use std::ops::Bound;

use super::View;
use crate::{
    footprint::Footprint,
    id::{Digest, ObjectId},
    object::{Line, ModuleFacts, StateKey},
    promise::Promise,
    tags,
    value::{Payload, Text},
};

impl View {
    /// The line of this object.
    pub fn line(&self, object: &ObjectId) -> Option<&Line> {
        self.lookups.objects.lines.get(object)
    }

    /// The lines of all objects, by object.
    pub fn lines(&self) -> impl Iterator<Item = (&ObjectId, &Line)> {
        self.lookups.objects.lines.iter()
    }

    /// The state of all objects, by object and name.
    pub fn states(&self) -> impl Iterator<Item = (&StateKey, &Payload)> {
        self.lookups.objects.state.iter()
    }

    /// The state of an object, by name.
    pub fn state_of(&self, object: &ObjectId) -> impl Iterator<Item = (&Text, &Payload)> {
        let object = object.clone();
        let rows = self.lookups.objects.state.range((object.clone(), Text::default())..);
        let of_object = rows.take_while(move |((of, _), _)| *of == object);
        of_object.map(|((_, name), value)| (name, value))
    }

    /// The promises of an object, by name.
    pub fn promises_of(&self, object: &ObjectId) -> impl Iterator<Item = &Promise> {
        let [after, before] = object.promises();
        let between = (Bound::Excluded(after), Bound::Excluded(before));
        let object = object.clone();
        let promises = self.promises.range(between).map(|(_, promise)| promise);
        promises.filter(move |promise| tags::object(&promise.spec.tags) == Some(object.as_str()))
    }

    /// Puts the line of an object.
    pub fn put_line(&mut self, object: ObjectId, line: Line) {
        self.lookups.objects.lines.insert(object, line);
    }

    /// Puts a part of the state of an object.
    pub fn put_state(&mut self, key: StateKey, value: Payload) {
        self.lookups.objects.state.insert(key, value);
    }

    /// What is known of a module.
    pub fn module_facts(&self, module: &Digest) -> Option<&ModuleFacts> {
        self.modules.get(module)
    }

    /// Says that a module was uploaded, and what is known of it.
    pub fn put_module_facts(&mut self, module: Digest, facts: ModuleFacts) {
        self.modules.insert(module, facts);
    }

    /// Puts what is wanted of them into another view.
    pub(crate) fn load_lines(&self, wanted: &Footprint, to: &mut View) {
        for object in &wanted.lines {
            let line = self.line(object);
            line.into_iter().for_each(|line| to.put_line(object.clone(), line.clone()));
        }
    }
}

//! Schedules of recurring executions, keyed by id.

use super::View;
use crate::{
    delta::Delta, footprint::Footprint, id::ScheduleId, promise::Schedule, unreadable::Subject,
};

impl View {
    pub fn schedule(&self, id: &ScheduleId) -> Option<&Schedule> {
        self.lookups.schedules.0.get(id)
    }

    pub fn schedules(&self) -> impl Iterator<Item = &Schedule> {
        self.lookups.schedules.0.values()
    }

    pub fn put_schedule(&mut self, schedule: Schedule) {
        self.readable(|| Subject::Schedule(schedule.id.clone()));
        self.lookups.schedules.0.insert(schedule.id.clone(), schedule);
    }

    pub fn remove_schedule(&mut self, id: &ScheduleId) {
        self.readable(|| Subject::Schedule(id.clone()));
        self.lookups.schedules.0.remove(id);
    }

    pub(super) fn write_schedules(&mut self, delta: &Delta) {
        for (id, row) in &delta.schedules {
            match row {
                Some(schedule) => self.put_schedule(schedule.clone()),
                None => self.remove_schedule(id),
            }
        }
    }

    /// Copies the wanted schedules into another view.
    pub(crate) fn load_schedules(&self, wanted: &Footprint, to: &mut View) {
        for id in &wanted.schedules {
            self.schedule(id).into_iter().for_each(|schedule| to.put_schedule(schedule.clone()));
        }
    }
}

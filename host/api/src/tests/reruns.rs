//! Pages of reruns end after their time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use segno_core::time::Timestamp;
use segno_env::{Clock, Env};
use serde_json::json;

use super::ApiWorld;

/// A clock on which this number of seconds passes with each measurement of a duration.
struct SlowClock {
    step: u64,
    elapsed: AtomicU64,
}

impl Clock for SlowClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.elapsed.fetch_add(self.step, Ordering::Relaxed))
    }
}

#[tokio::test]
async fn a_page_ends_after_ten_seconds_and_the_next_one_goes_on() {
    for (step, pages) in [(0, &[20][..]), (3, &[16, 4]), (5, &[8, 8, 4])] {
        let clock = Arc::new(SlowClock { step, elapsed: AtomicU64::new(0) });
        let world = ApiWorld::within(Env { clock, ..Env::system() }, |access| access);
        let ids: Vec<String> = (0..20).map(|number| format!("e-{number}")).collect();
        let (mut found, mut after) = (Vec::new(), json!(null));
        loop {
            let request = json!({ "ids": ids, "at": 1, "limit": 100, "after": after });
            let page = world.post("/v1/rerun", request).await.ok();
            found.push(page["items"].as_array().map_or(0, Vec::len));
            after = page["next"].clone();
            if after.is_null() {
                break;
            }
        }
        assert_eq!(found, pages, "{step} s for each measurement");
    }
}

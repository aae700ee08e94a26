//! How many executions of the functions of a component may run, and how fast they begin, if it says
//! so.

use segno_core::{
    limit::{self, Rule},
    time::Millis,
};
use wasmtime::component::{ComponentType, Lift};

use super::{invalid::Invalid, report::FunctionReport};

/// What is limited of one function.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct FunctionLimits {
    /// A workflow or an activity.
    pub function: String,
    /// Where the key stands in the input.
    pub key: Option<String>,
    /// The bounds of each key.
    #[component(name = "per-key")]
    pub per_key: Bounds,
    /// The bounds of all keys together.
    pub total: Bounds,
    /// Who goes first.
    pub priority: Option<Priority>,
    /// What happens to an execution of a key that has one already.
    pub singleton: Option<Singleton>,
    /// Executions of a key wait until no other has come for a while.
    pub debounce: Option<Debounce>,
}

/// How many at a time, and how many in a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Bounds {
    /// Executions that were admitted and have not settled.
    pub concurrency: Option<u32>,
    /// Admissions.
    pub rate: Option<Rate>,
}

/// Admissions in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Rate {
    /// How many in a period.
    pub count: u32,
    /// The period, in milliseconds.
    #[component(name = "period-ms")]
    pub period_ms: u64,
    /// The most that may begin at once.
    pub burst: u32,
}

/// Where the priority of an execution stands in the input, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Priority {
    /// The path of a number.
    pub path: String,
    /// What a higher one means.
    pub order: Order,
}

/// What a higher priority means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Order {
    /// It goes first.
    #[component(name = "strict")]
    Strict,
    /// It has more turns.
    #[component(name = "weighted")]
    Weighted,
}

/// What happens to an execution of a key that has one already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Singleton {
    /// It does not begin.
    #[component(name = "skip")]
    Skip,
    /// The other one is cancelled.
    #[component(name = "replace")]
    Replace,
}

/// Only the last of several executions of a key begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Debounce {
    /// It begins when no other has come for so long, in milliseconds.
    #[component(name = "period-ms")]
    pub period_ms: u64,
    /// And at the latest so long after the first.
    #[component(name = "longest-ms")]
    pub longest_ms: Option<u64>,
}

impl FunctionLimits {
    /// Number of bytes of the texts.
    pub(super) fn size(&self) -> usize {
        let key = self.key.as_ref().map_or(0, String::len);
        let path = self.priority.as_ref().map_or(0, |priority| priority.path.len());
        self.function.len() + key + path
    }

    /// The same as a rule, which may make no sense.
    fn rule(self) -> Rule {
        let Self { function: _, key, per_key, total, priority, singleton, debounce } = self;
        Rule {
            key: key.map(Into::into),
            per_key: per_key.into(),
            total: total.into(),
            priority: priority.map(|Priority { path, order }| limit::Priority {
                path: path.into(),
                order: match order {
                    Order::Strict => limit::Order::Strict,
                    Order::Weighted => limit::Order::Weighted,
                },
            }),
            singleton: singleton.map(|singleton| match singleton {
                Singleton::Skip => limit::Singleton::Skip,
                Singleton::Replace => limit::Singleton::Replace,
            }),
            debounce: debounce.map(|Debounce { period_ms, longest_ms }| limit::Debounce {
                period_ms: millis(period_ms),
                longest_ms: longest_ms.map(millis),
            }),
            ..Rule::default()
        }
    }
}

impl From<Bounds> for limit::Bounds {
    fn from(Bounds { concurrency, rate }: Bounds) -> Self {
        let rate = rate.map(|Rate { count, period_ms, burst }| limit::Rate {
            count,
            period_ms: millis(period_ms),
            burst,
        });
        Self { concurrency, rate }
    }
}

/// What does not fit is as long as can be, and so refused.
fn millis(length: u64) -> Millis {
    Millis(length.try_into().unwrap_or(i64::MAX))
}

/// The reports with what is limited of each function.
pub(super) fn with_limits(
    mut reports: Vec<FunctionReport>,
    limits: &[FunctionLimits],
) -> Result<Vec<FunctionReport>, Invalid> {
    for limit in limits {
        let bad = |reason: String| Invalid::BadLimit { function: limit.function.clone(), reason };
        let report = reports.iter_mut().find(|report| report.name == limit.function);
        let report = report.ok_or_else(|| bad("the module has no such function".to_owned()))?;
        let rule = limit.clone().rule();
        rule.check().map_err(|error| bad(error.to_string()))?;
        if report.limit.replace(rule).is_some() {
            return Err(bad("the function has two limits".to_owned()));
        }
    }
    Ok(reports)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionDescription, FunctionKind};

    fn report(name: &str) -> FunctionReport {
        let described = FunctionDescription {
            name: name.to_owned(),
            kind: FunctionKind::Activity,
            summary: None,
            input_schema: None,
            output_schema: None,
            signals: false,
            timeout_ms: None,
            retry: None,
        };
        FunctionReport::new(&described).expect("it has no schema")
    }

    fn limit() -> FunctionLimits {
        FunctionLimits {
            function: "send".to_owned(),
            key: None,
            per_key: Bounds { concurrency: Some(5), rate: None },
            total: Bounds::default(),
            priority: None,
            singleton: None,
            debounce: None,
        }
    }

    fn refused(limits: &[FunctionLimits]) -> String {
        let refused = with_limits(vec![report("order"), report("send")], limits);
        refused.expect_err("it is refused").to_string()
    }

    #[test]
    fn a_limit_is_a_rule_of_its_function() {
        let order = FunctionLimits {
            function: "order".to_owned(),
            key: Some("customer.id".to_owned()),
            per_key: Bounds {
                concurrency: None,
                rate: Some(Rate { count: 10, period_ms: 1_000, burst: 20 }),
            },
            total: Bounds { concurrency: Some(100), rate: None },
            priority: Some(Priority { path: "urgency".to_owned(), order: Order::Weighted }),
            debounce: Some(Debounce { period_ms: 5_000, longest_ms: Some(60_000) }),
            ..limit()
        };
        let reports = with_limits(vec![report("order"), report("send")], &[limit(), order]);
        let reports = reports.expect("they are fine");
        let rules: Vec<String> = reports
            .iter()
            .map(|report| serde_json::to_string(&report.limit).expect("a rule is JSON"))
            .collect();
        assert_eq!(
            rules,
            [
                r#"{"key":"customer.id","per_key":{"rate":{"count":10,"period_ms":1000,"burst":20}},"total":{"concurrency":100},"priority":{"path":"urgency","order":"weighted"},"debounce":{"period_ms":5000,"longest_ms":60000}}"#,
                r#"{"per_key":{"concurrency":5}}"#,
            ]
        );
    }

    #[test]
    fn a_limit_that_cannot_be_used_is_refused_with_its_function_and_the_reason() {
        let zero = Bounds { concurrency: Some(0), rate: None };
        let long = Rate { count: 1, period_ms: u64::MAX, burst: 1 };
        let long = Bounds { concurrency: None, rate: Some(long) };
        let elsewhere = FunctionLimits { function: "ship".to_owned(), ..limit() };
        let singleton = Some(Singleton::Skip);
        for (limits, said) in [
            (
                vec![elsewhere],
                "the limit of `ship` cannot be used: the module has no such function",
            ),
            (
                vec![limit(), limit()],
                "the limit of `send` cannot be used: the function has two limits",
            ),
            (
                vec![FunctionLimits { per_key: zero, ..limit() }],
                "the limit of `send` cannot be used: a concurrency of 0 would let nothing begin",
            ),
            (vec![FunctionLimits { per_key: long, ..limit() }], "is too large"),
            (vec![FunctionLimits { per_key: Bounds::default(), ..limit() }], "says nothing"),
            (vec![FunctionLimits { total: limit().per_key, ..limit() }], "give the limit a key"),
            (vec![FunctionLimits { key: Some(".".to_owned()), ..limit() }], "`.` is no path"),
            (vec![FunctionLimits { singleton, ..limit() }], "a singleton has a concurrency of 1"),
        ] {
            let error = refused(&limits);
            assert!(error.contains(said), "{error}");
        }
    }
}

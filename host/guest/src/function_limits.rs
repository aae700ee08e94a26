//! The limits on concurrency and rate that a component declares for its functions.

use segno_core::{
    limit::{self, Rule},
    time::Millis,
};
use wasmtime::component::{ComponentType, Lift};

use super::{invalid::Invalid, report::FunctionReport};

/// The declared limits of one function.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct FunctionLimits {
    /// Name of a workflow or an activity.
    pub function: String,
    /// Path of the key in the input. `None` if the limits have no key.
    pub key: Option<String>,
    /// The limits for each key.
    #[component(name = "per-key")]
    pub per_key: Bounds,
    /// The limits for all keys together.
    pub total: Bounds,
    /// The order of waiting executions by priority.
    pub priority: Option<Priority>,
    /// The treatment of a new execution whose key already has one.
    pub singleton: Option<Singleton>,
    /// Delays the executions of a key until no other has arrived for a while.
    pub debounce: Option<Debounce>,
}

/// Limits on concurrency and rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Bounds {
    /// Maximum number of executions that are admitted and not yet settled.
    pub concurrency: Option<u32>,
    /// Maximum rate of admissions.
    pub rate: Option<Rate>,
}

/// A rate of admissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Rate {
    /// Number of admissions per period.
    pub count: u32,
    /// The period, in milliseconds.
    #[component(name = "period-ms")]
    pub period_ms: u64,
    /// Maximum number of admissions in one burst.
    pub burst: u32,
}

/// The source and the meaning of an execution's priority.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Priority {
    /// Path of a number in the input.
    pub path: String,
    /// The effect of a higher priority.
    pub order: Order,
}

/// The effect of a higher priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Order {
    /// The execution with the higher priority goes first.
    #[component(name = "strict")]
    Strict,
    /// The execution with the higher priority gets more turns.
    #[component(name = "weighted")]
    Weighted,
}

/// The treatment of a new execution whose key already has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum Singleton {
    /// The new execution does not begin.
    #[component(name = "skip")]
    Skip,
    /// The earlier execution is cancelled.
    #[component(name = "replace")]
    Replace,
}

/// Admits only the last of several executions of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct Debounce {
    /// Quiet period before the execution begins, in milliseconds: no other of the same key has
    /// arrived for that long.
    #[component(name = "period-ms")]
    pub period_ms: u64,
    /// Maximum delay since the first execution of the series, in milliseconds.
    #[component(name = "longest-ms")]
    pub longest_ms: Option<u64>,
}

impl FunctionLimits {
    /// Size of the texts, in bytes.
    pub(super) fn size(&self) -> usize {
        let key = self.key.as_ref().map_or(0, String::len);
        let path = self.priority.as_ref().map_or(0, |priority| priority.path.len());
        self.function.len() + key + path
    }

    /// Converts the limits to a rule, which is not validated yet.
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

/// Converts milliseconds. A value out of range saturates, and is refused later.
fn millis(length: u64) -> Millis {
    Millis(length.try_into().unwrap_or(i64::MAX))
}

/// Adds the declared limits to the reports of functions.
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

//! The limits on concurrency and rate that a component declares for its functions.

use segno_core::{
    limit::{self, AdmissionRule},
    time::Millis,
};
use wasmtime::component::{ComponentType, Lift};

use super::{invalid::InvalidComponent, report::FunctionReport};

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
    pub per_key: DeclaredBounds,
    /// The limits for all keys together.
    pub total: DeclaredBounds,
    /// The order of waiting executions by priority.
    pub priority: Option<DeclaredPriority>,
    /// The treatment of a new execution whose key already has one.
    pub singleton: Option<DeclaredSingleton>,
    /// Delays the executions of a key until no other has arrived for a while.
    pub debounce: Option<DeclaredDebounce>,
}

/// Limits on concurrency and rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct DeclaredBounds {
    /// Maximum number of executions that are admitted and not yet settled.
    pub concurrency: Option<u32>,
    /// Maximum rate of admissions.
    pub rate: Option<DeclaredRate>,
}

/// A rate of admissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub struct DeclaredRate {
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
pub struct DeclaredPriority {
    /// Path of a number in the input.
    pub path: String,
    /// The effect of a higher priority.
    pub order: DeclaredOrder,
}

/// The effect of a higher priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
pub enum DeclaredOrder {
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
pub enum DeclaredSingleton {
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
pub struct DeclaredDebounce {
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
    fn rule(self) -> AdmissionRule {
        let Self { function: _, key, per_key, total, priority, singleton, debounce } = self;
        AdmissionRule {
            key: key.map(Into::into),
            per_key: per_key.into(),
            total: total.into(),
            priority: priority.map(|DeclaredPriority { path, order }| limit::PriorityRule {
                path: path.into(),
                order: match order {
                    DeclaredOrder::Strict => limit::PriorityOrder::Strict,
                    DeclaredOrder::Weighted => limit::PriorityOrder::Weighted,
                },
            }),
            singleton: singleton.map(|singleton| match singleton {
                DeclaredSingleton::Skip => limit::SingletonPolicy::Skip,
                DeclaredSingleton::Replace => limit::SingletonPolicy::Replace,
            }),
            debounce: debounce.map(|DeclaredDebounce { period_ms, longest_ms }| {
                limit::DebounceRule {
                    period_ms: millis(period_ms),
                    longest_ms: longest_ms.map(millis),
                }
            }),
            ..AdmissionRule::default()
        }
    }
}

impl From<DeclaredBounds> for limit::AdmissionBounds {
    fn from(DeclaredBounds { concurrency, rate }: DeclaredBounds) -> Self {
        let rate = rate.map(|DeclaredRate { count, period_ms, burst }| limit::AdmissionRate {
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
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    for limit in limits {
        let bad = |reason: String| InvalidComponent::BadLimit {
            function: limit.function.clone(),
            reason,
        };
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
            commits_each: false,
        };
        FunctionReport::new(&described).expect("it has no schema")
    }

    fn limit() -> FunctionLimits {
        FunctionLimits {
            function: "send".to_owned(),
            key: None,
            per_key: DeclaredBounds { concurrency: Some(5), rate: None },
            total: DeclaredBounds::default(),
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
            per_key: DeclaredBounds {
                concurrency: None,
                rate: Some(DeclaredRate { count: 10, period_ms: 1_000, burst: 20 }),
            },
            total: DeclaredBounds { concurrency: Some(100), rate: None },
            priority: Some(DeclaredPriority {
                path: "urgency".to_owned(),
                order: DeclaredOrder::Weighted,
            }),
            debounce: Some(DeclaredDebounce { period_ms: 5_000, longest_ms: Some(60_000) }),
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
        let zero = DeclaredBounds { concurrency: Some(0), rate: None };
        let long = DeclaredRate { count: 1, period_ms: u64::MAX, burst: 1 };
        let long = DeclaredBounds { concurrency: None, rate: Some(long) };
        let elsewhere = FunctionLimits { function: "ship".to_owned(), ..limit() };
        let singleton = Some(DeclaredSingleton::Skip);
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
            (
                vec![FunctionLimits { per_key: DeclaredBounds::default(), ..limit() }],
                "says nothing",
            ),
            (vec![FunctionLimits { total: limit().per_key, ..limit() }], "give the limit a key"),
            (vec![FunctionLimits { key: Some(".".to_owned()), ..limit() }], "`.` is no path"),
            (vec![FunctionLimits { singleton, ..limit() }], "a singleton has a concurrency of 1"),
        ] {
            let error = refused(&limits);
            assert!(error.contains(said), "{error}");
        }
    }
}

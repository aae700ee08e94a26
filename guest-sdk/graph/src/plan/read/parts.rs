//! Reads the parts of nodes: texts, numbers, durations, templates, conditions.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Number, Value};

use super::{Fields, NodeDraft, PlanReader, join, listed};
use crate::plan::{Condition, ConditionTest, template::is_pointer, tree::PlanValue};

const TESTS: [&str; 7] = ["is", "is_not", "above", "below", "at_least", "at_most", "exists"];
const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 24 * 3_600);

impl PlanReader {
    /// Reads the fields of a table; unknown fields are noted as faults.
    pub(super) fn table<'t>(
        &mut self,
        tree: &'t PlanValue,
        path: &str,
        known: &[&str],
    ) -> Option<Fields<'t>> {
        let PlanValue::Table(table) = tree else {
            self.wrong_type(path, tree, &format!("a table with {}", listed(known)));
            return None;
        };
        let mut fields = Fields::new();
        for (key, value) in table {
            if !known.contains(&key.as_str()) {
                let message =
                    format!("there is no field `{key}` here: the fields are {}", listed(known));
                self.fault(&join(path, key), message);
            } else if fields.insert(key, value).is_some() {
                self.twice(path, key);
            }
        }
        Some(fields)
    }

    fn twice(&mut self, path: &str, key: &str) {
        self.fault(&join(path, key), format!("`{key}` is written twice: remove one"));
    }

    /// Reads a non-empty text.
    pub(super) fn text<'t>(&mut self, tree: &'t PlanValue, path: &str) -> Option<&'t str> {
        match tree {
            PlanValue::Text(text) if text.is_empty() => {
                self.fault(path, "the text is empty: write something, or remove the field");
                None
            }
            PlanValue::Text(text) => Some(text),
            other => {
                self.wrong_type(path, other, "a text");
                None
            }
        }
    }

    /// Reads a list of texts without duplicates.
    pub(super) fn texts<'t>(&mut self, tree: &'t PlanValue, path: &str) -> Vec<&'t str> {
        let PlanValue::List(list) = tree else {
            self.wrong_type(path, tree, "a list of names");
            return Vec::new();
        };
        let mut seen = BTreeSet::new();
        let mut texts = Vec::with_capacity(list.len());
        for one in list {
            let Some(text) = self.text(one, path) else { continue };
            if seen.insert(text) {
                texts.push(text);
            } else {
                self.fault(path, format!("`{text}` is there twice: remove one"));
            }
        }
        texts
    }

    /// Reads a whole number from 1 to `most`.
    pub(super) fn whole(&mut self, tree: &PlanValue, path: &str, most: u32) -> Option<u32> {
        // 8.0 is accepted as a whole number, as in a JSON Schema.
        let whole = |number: f64| (number.fract() == 0.0).then_some(number as u64);
        let number = match tree {
            PlanValue::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            _ => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (1..=most).contains(number));
        if number.is_none() {
            self.fault(path, format!("write a whole number from 1 to {most}"));
        }
        number
    }

    pub(super) fn duration(&mut self, tree: &PlanValue, path: &str) -> Option<Duration> {
        let PlanValue::Text(text) = tree else {
            self.wrong_type(path, tree, "a duration as a text, for example `30s` or `1h 30m`");
            return None;
        };
        match humantime::parse_duration(text) {
            Ok(length) if length <= MAX_DURATION => Some(length),
            Ok(_) => {
                self.fault(path, format!("`{text}` is too long: 100 years are the most"));
                None
            }
            Err(_) => {
                let message =
                    format!("`{text}` is no duration: write for example `30s`, `5m` or `1h 30m`");
                self.fault(path, message);
                None
            }
        }
    }

    /// Reads any data with places to fill in. The nodes that the places refer to are noted in the
    /// draft.
    pub(super) fn template<'t>(
        &mut self,
        tree: &'t PlanValue,
        path: &str,
        draft: &mut NodeDraft<'t>,
    ) -> Value {
        match tree {
            PlanValue::List(list) => {
                let items = list.iter().enumerate();
                items
                    .map(|(at, one)| self.template(one, &join(path, &at.to_string()), draft))
                    .collect()
            }
            PlanValue::Table(table) if table.iter().any(|(key, _)| key == "$from") => {
                self.place(tree, path, draft);
                tree.value()
            }
            PlanValue::Table(table) => {
                let mut object = Map::new();
                for (key, one) in table {
                    let value = self.template(one, &join(path, key), draft);
                    if object.insert(key.clone(), value).is_some() {
                        self.twice(path, key);
                    }
                }
                Value::Object(object)
            }
            PlanValue::Null | PlanValue::Bool(_) | PlanValue::Number(_) | PlanValue::Text(_) => {
                tree.value()
            }
        }
    }

    /// Reads `{"$from"}` or `{"$from", "at"}`.
    fn place<'t>(&mut self, tree: &'t PlanValue, path: &str, draft: &mut NodeDraft<'t>) {
        let Some(fields) = self.table(tree, path, &["$from", "at"]) else { return };
        if let Some(from) = fields.get("$from") {
            let path = join(path, "$from");
            draft.references.extend(self.text(from, &path).map(|name| (path, name)));
        }
        if let Some(at) = fields.get("at") {
            self.pointer(at, &join(path, "at"));
        }
    }

    fn pointer<'t>(&mut self, tree: &'t PlanValue, path: &str) -> Option<&'t str> {
        match tree {
            PlanValue::Text(text) if is_pointer(text) => Some(text),
            PlanValue::Text(text) => {
                let message = format!(
                    "`{text}` is no JSON pointer: begin each step with `/`, and \
                     write `~0` for `~` and `~1` for `/`"
                );
                self.fault(path, message);
                None
            }
            other => {
                self.wrong_type(path, other, "a JSON pointer, for example `/url`");
                None
            }
        }
    }

    pub(super) fn condition<'t>(
        &mut self,
        tree: &'t PlanValue,
        path: &str,
        draft: &mut NodeDraft<'t>,
    ) -> Option<Condition> {
        let has = |key: &str| matches!(tree, PlanValue::Table(table) if table.iter().any(|(one, _)| one == key));
        if has("all") || has("any") {
            let key = if has("all") { "all" } else { "any" };
            let list = *self.table(tree, path, &[key])?.get(key)?;
            let path = join(path, key);
            let several = match list {
                PlanValue::List(list) if !list.is_empty() => {
                    let read = list
                        .iter()
                        .enumerate()
                        .map(|(at, one)| self.condition(one, &join(&path, &at.to_string()), draft));
                    // All parts are read, so that the faults of all are noted.
                    read.collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>()?
                }
                _ => {
                    self.fault(&path, "write a list of at least one condition");
                    return None;
                }
            };
            return Some(if key == "all" {
                Condition::All(several)
            } else {
                Condition::Any(several)
            });
        }
        if has("not") {
            let not = *self.table(tree, path, &["not"])?.get("not")?;
            return Some(Condition::Not(Box::new(self.condition(
                not,
                &join(path, "not"),
                draft,
            )?)));
        }
        self.test(tree, path, draft)
    }

    fn test<'t>(
        &mut self,
        tree: &'t PlanValue,
        path: &str,
        draft: &mut NodeDraft<'t>,
    ) -> Option<Condition> {
        let known: Vec<&str> =
            ["from", "at"].into_iter().chain(TESTS).chain(["all", "any", "not"]).collect();
        let fields = self.table(tree, path, &known)?;
        let from = match fields.get("from") {
            Some(from) => self.text(from, &join(path, "from")),
            None => {
                self.fault(path, "the condition lacks `from`: name the node that it is about");
                None
            }
        };
        draft.references.extend(from.map(|name| (join(path, "from"), name)));
        let at = match fields.get("at") {
            Some(at) => self.pointer(at, &join(path, "at")),
            None => Some(""),
        };
        let tests: Vec<&str> = TESTS.into_iter().filter(|test| fields.contains_key(test)).collect();
        let [test] = tests[..] else {
            let message = format!("write exactly one of {}", listed(&TESTS));
            self.fault(path, message);
            return None;
        };
        let test = self.operand(test, fields[test], &join(path, test))?;
        Some(Condition::Value { from: from?.into(), at: at?.into(), test })
    }

    fn operand(&mut self, test: &str, tree: &PlanValue, path: &str) -> Option<ConditionTest> {
        let number: fn(Number) -> ConditionTest = match test {
            "is" | "is_not" => {
                let value = self.plain(tree, path);
                return Some(if test == "is" {
                    ConditionTest::Is(value)
                } else {
                    ConditionTest::IsNot(value)
                });
            }
            "exists" => {
                let PlanValue::Bool(exists) = tree else {
                    self.wrong_type(path, tree, "`true` or `false`");
                    return None;
                };
                return Some(ConditionTest::Exists(*exists));
            }
            "above" => ConditionTest::Above,
            "below" => ConditionTest::Below,
            "at_least" => ConditionTest::AtLeast,
            _ => ConditionTest::AtMost,
        };
        let PlanValue::Number(than) = tree else {
            self.wrong_type(path, tree, "a number");
            return None;
        };
        Some(number(than.clone()))
    }

    /// Reads data without places.
    fn plain(&mut self, tree: &PlanValue, path: &str) -> Value {
        match tree {
            PlanValue::Table(table) => {
                let mut seen = BTreeSet::new();
                for (key, one) in table {
                    self.plain(one, &join(path, key));
                    if !seen.insert(key) {
                        self.twice(path, key);
                    }
                }
            }
            PlanValue::List(list) => {
                for (at, one) in list.iter().enumerate() {
                    self.plain(one, &join(path, &at.to_string()));
                }
            }
            PlanValue::Null | PlanValue::Bool(_) | PlanValue::Number(_) | PlanValue::Text(_) => {}
        }
        tree.value()
    }
}

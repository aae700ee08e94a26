//! The outside world as a file: the outcomes of activities and requests, and the items sent to the
//! workflow.

use std::collections::BTreeMap;

use segno_guest::Outcome;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::schedule::RelativeId;

/// The contents of a script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerifyScript {
    /// True if the outcome may depend on the order of completions.
    pub orders_may_differ: bool,
    /// True if the outcome must not depend on a timer that fires before a completion.
    pub timers_must_not_differ: bool,
    /// Outcomes of activities and requests. The component itself performs those that are not
    /// listed.
    #[serde(rename = "answer")]
    pub answers: Vec<ScriptedAnswer>,
    /// Items sent from outside. Those with the same receiver and name keep their order.
    #[serde(rename = "send")]
    pub sends: Vec<ScriptedSend>,
    /// Compensations: the function, or the request as `POST URL`, that undoes an effect, by the one
    /// it undoes.
    pub compensates: BTreeMap<String, String>,
}

/// The outcomes of a function or a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedAnswer {
    pub function: Option<String>,
    /// The request, as method and beginning of the address.
    pub http: Option<String>,
    /// Matches only calls whose input (or body) contains this value.
    pub input: Option<Json>,
    /// The command that it was recorded for; it matches before others with the same input. `None`
    /// if it was written by hand.
    #[serde(skip)]
    pub recorded_at: Option<RelativeId>,
    /// One outcome per attempt; the last one also applies to all further attempts.
    pub outcomes: Vec<ScriptedOutcome>,
}

/// The outcome of one attempt.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedOutcome {
    pub value: Option<Json>,
    /// The status of the response to a request. Default: 200.
    pub status: Option<u16>,
    /// The headers of the response.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body of the response, as JSON.
    pub body: Option<Json>,
    /// Failure code of the activity, or of the network for a request.
    pub fails: Option<u32>,
    pub message: Option<String>,
    /// Minimum duration, in milliseconds.
    #[serde(default)]
    pub after_ms: u64,
    /// The recorded outcome, which replaces all of the above.
    #[serde(skip)]
    pub recorded: Option<Outcome>,
}

/// An item sent from outside, once.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedSend {
    /// Name of a signal to send.
    pub signal: Option<String>,
    /// Name of a promise to settle.
    pub promise: Option<String>,
    /// Place of the child that receives it. `None` for the root.
    pub to: Option<String>,
    pub value: Option<Json>,
    /// Failure code with which the promise is rejected.
    pub fails: Option<u32>,
    pub message: Option<String>,
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VerifyScriptError {
    /// The text is not TOML, or has unknown keys.
    #[error("the script cannot be read: {0}")]
    Unreadable(Box<toml::de::Error>),
    /// A part is invalid.
    #[error("the script's {part}: {why}")]
    Part {
        /// The invalid part.
        part: String,
        /// The fault, and the expected form.
        why: String,
    },
    /// The script names a function that no component has.
    #[error(
        "the script's {part} names `{name}`, and no component has such a function; they have {known}"
    )]
    NoFunction {
        /// The part that names it.
        part: String,
        name: String,
        /// All known functions.
        known: String,
    },
}

impl VerifyScript {
    /// Parses a script.
    ///
    /// # Errors
    /// [`VerifyScriptError`].
    pub fn read(text: &str) -> Result<Self, VerifyScriptError> {
        let script: Self =
            toml::from_str(text).map_err(|error| VerifyScriptError::Unreadable(Box::new(error)))?;
        for (number, answer) in script.answers.iter().enumerate() {
            answer.check().map_err(|why| {
                let part = format!("[[answer]] number {}", number + 1);
                VerifyScriptError::Part { part, why: why.to_owned() }
            })?;
        }
        for (number, sending) in script.sends.iter().enumerate() {
            sending.check().map_err(|why| {
                let part = format!("[[send]] number {}", number + 1);
                VerifyScriptError::Part { part, why: why.to_owned() }
            })?;
        }
        Ok(script)
    }

    /// Adds recorded items after those of this script.
    pub fn extend(&mut self, recorded: Self) {
        self.answers.extend(recorded.answers);
        let sent = |sending: &ScriptedSend| !self.sends.iter().any(|own| own.follows(sending));
        let more: Vec<ScriptedSend> = recorded.sends.into_iter().filter(sent).collect();
        self.sends.extend(more);
    }

    /// Checks that the script's functions are among `known`.
    ///
    /// # Errors
    /// [`VerifyScriptError::NoFunction`].
    pub fn fits(&self, known: &[&str]) -> Result<(), VerifyScriptError> {
        let written = |answer: &&ScriptedAnswer| answer.recorded_at.is_none();
        let answers = self.answers.iter().filter(written);
        let answers = answers.enumerate().filter_map(|(number, answer)| {
            Some((format!("[[answer]] number {}", number + 1), answer.function.as_deref()?))
        });
        let pairs = self.compensates.iter().flat_map(|(done, undone)| [done, undone]);
        let pairs = pairs
            .filter(|name| !name.contains(' '))
            .map(|name| ("[compensates]".to_owned(), name.as_str()));
        for (part, name) in answers.chain(pairs) {
            if !known.contains(&name) {
                let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
                let (name, known) = (name.to_owned(), known.join(", "));
                return Err(VerifyScriptError::NoFunction { part, name, known });
            }
        }
        Ok(())
    }

    /// The outcome of attempt `attempt`, from 1, of an activity called by the command at this
    /// place.
    pub fn of_function(
        &self,
        function: &str,
        input: &Json,
        place: &RelativeId,
        attempt: u32,
    ) -> Option<&ScriptedOutcome> {
        let fits = |answer: &&ScriptedAnswer| answer.function.as_deref() == Some(function);
        self.outcome(fits, input, place, attempt)
    }

    /// The outcome of attempt `attempt`, from 1, of a request `METHOD URL` issued by the command at
    /// this place.
    pub fn of_request(
        &self,
        request: &str,
        body: &Json,
        place: &RelativeId,
        attempt: u32,
    ) -> Option<&ScriptedOutcome> {
        let fits = |answer: &&ScriptedAnswer| {
            answer.http.as_deref().is_some_and(|http| request.starts_with(http))
        };
        self.outcome(fits, body, place, attempt)
    }

    fn outcome<'a>(
        &'a self,
        fits: impl Fn(&&'a ScriptedAnswer) -> bool,
        input: &Json,
        place: &RelativeId,
        attempt: u32,
    ) -> Option<&'a ScriptedOutcome> {
        let asked = |answer: &&ScriptedAnswer| {
            answer.input.as_ref().is_none_or(|expected| contains(input, expected))
        };
        let is_there = |answer: &&'a ScriptedAnswer| answer.recorded_at.as_ref() == Some(place);
        let fitting = || self.answers.iter().filter(|answer| fits(answer));
        let answer = match fitting().find(|answer| asked(answer)) {
            Some(first) if first.recorded_at.is_none() => first,
            Some(first) => fitting().find(|it| asked(it) && is_there(it)).unwrap_or(first),
            // Falls back to the recording at the same place with another input: inputs may contain
            // ids.
            None => fitting().find(is_there)?,
        };
        let at = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        answer.outcomes.get(at).or(answer.outcomes.last())
    }
}

impl ScriptedAnswer {
    fn check(&self) -> Result<(), &'static str> {
        match (&self.function, &self.http) {
            (Some(_), None) | (None, Some(_)) => {}
            _ => return Err("it needs either `function` or `http`"),
        }
        if self.outcomes.is_empty() {
            return Err("`outcomes` is empty: give one for each attempt; the last one is repeated");
        }
        for outcome in &self.outcomes {
            let of_request =
                outcome.status.is_some() || outcome.body.is_some() || !outcome.headers.is_empty();
            if self.function.is_some() && of_request {
                return Err(
                    "`status`, `headers` and `body` are of requests; an activity has a `value`",
                );
            }
            if self.http.is_some() && outcome.value.is_some() {
                return Err(
                    "`value` is of activities; an answer to a request has `status` and `body`",
                );
            }
            if outcome.fails.is_some() && (outcome.value.is_some() || of_request) {
                return Err("an outcome that `fails` has no value");
            }
        }
        Ok(())
    }
}

impl ScriptedSend {
    fn check(&self) -> Result<(), &'static str> {
        match (&self.signal, &self.promise, self.fails) {
            (Some(_), None, None) | (None, Some(_), _) => {}
            (Some(_), None, Some(_)) => return Err("a signal cannot fail"),
            _ => return Err("it needs either `signal` or `promise`"),
        }
        match self.fails.is_some() && self.value.is_some() {
            true => Err("a promise that `fails` has no value"),
            false => Ok(()),
        }
    }

    /// A description of the item.
    pub fn label(&self) -> String {
        let to = self.to.as_ref().map(|to| format!(" of {to}")).unwrap_or_default();
        match (&self.signal, &self.promise, self.fails) {
            (Some(signal), ..) => format!("signal `{signal}`{to} is sent"),
            (_, Some(promise), Some(code)) => {
                format!("promise `{promise}`{to} is rejected with {code}")
            }
            (_, Some(promise), None) => format!("promise `{promise}`{to} is resolved"),
            (None, None, _) => String::new(),
        }
    }

    /// Returns true if it must come after `other`, which was written first.
    pub fn follows(&self, other: &Self) -> bool {
        (&self.signal, &self.promise, &self.to) == (&other.signal, &other.promise, &other.to)
    }
}

/// Returns true if `value` has everything that `expected` has.
fn contains(value: &Json, expected: &Json) -> bool {
    match (value, expected) {
        (Json::Object(value), Json::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| value.get(name).is_some_and(|value| contains(value, expected))),
        (Json::Array(value), Json::Array(expected)) => {
            value.len() == expected.len()
                && value.iter().zip(expected).all(|(value, expected)| contains(value, expected))
        }
        (value, expected) => value == expected,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WHOLE: &str = r#"
        orders_may_differ = true

        [[answer]]
        function = "ship"
        input = { sku = "tea" }
        outcomes = [{ fails = 503, message = "busy" }, { value = "parcel-1" }]

        [[answer]]
        http = "POST http://payments/"
        outcomes = [{ body = { accepted = true } }]

        [[send]]
        promise = "approval"
        value = true

        [compensates]
        reserve = "release"
        "POST http://payments/charges" = "POST http://payments/refunds"
    "#;

    #[test]
    fn outcomes_are_found_by_input_and_attempt() {
        let script = VerifyScript::read(WHOLE).expect("a script");
        let place = RelativeId("3".to_owned());
        let ship =
            |input: Json, attempt| script.of_function("ship", &input, &place, attempt).cloned();
        assert_eq!(ship(json!({ "sku": "tea", "n": 1 }), 1).expect("an outcome").fails, Some(503));
        for attempt in [2, 9] {
            let outcome = ship(json!({ "sku": "tea" }), attempt).expect("an outcome");
            assert_eq!(outcome.value, Some(json!("parcel-1")));
        }
        assert!(ship(json!({ "sku": "pot" }), 1).is_none());
        assert!(script.of_request("POST http://payments/charges", &json!({}), &place, 1).is_some());
        assert!(script.of_request("GET http://payments/charges", &json!({}), &place, 1).is_none());
        assert!(script.fits(&["ship", "reserve", "release"]).is_ok());
    }

    #[test]
    fn what_was_recorded_is_found_by_its_input_and_else_by_its_place() {
        let answer = |place: &str, input: Json, value: &str| ScriptedAnswer {
            function: Some("ship".to_owned()),
            input: Some(input),
            recorded_at: Some(RelativeId(place.to_owned())),
            outcomes: vec![ScriptedOutcome { value: Some(json!(value)), ..Default::default() }],
            ..ScriptedAnswer::default()
        };
        let tea = || json!({ "sku": "tea" });
        let answers =
            vec![answer("1", tea(), "a"), answer("2", tea(), "b"), answer("3", json!("o-1"), "c")];
        let mut script = VerifyScript::default();
        script.extend(VerifyScript { answers, ..VerifyScript::default() });
        let ship = |place: &str, input: Json| {
            let found = script.of_function("ship", &input, &RelativeId(place.to_owned()), 1);
            found.and_then(|outcome| outcome.value.clone())
        };
        assert_eq!(ship("1", tea()), Some(json!("a")));
        assert_eq!(ship("2", tea()), Some(json!("b")));
        assert_eq!(ship("9", tea()), Some(json!("a")), "asked elsewhere, it is the first");
        assert_eq!(ship("3", json!("it")), Some(json!("c")), "asked otherwise, it is that place's");
        assert_eq!(ship("9", json!("it")), None);
    }

    #[test]
    fn a_bad_script_says_what_is_wrong_with_which_part() {
        for (text, why) in [
            ("answers = 1", "unknown field `answers`"),
            ("[[answer]]\noutcomes = [{}]", "[[answer]] number 1: it needs either"),
            ("[[answer]]\nfunction = \"f\"\noutcomes = []", "`outcomes` is empty"),
            ("[[answer]]\nfunction = \"f\"\noutcomes = [{ status = 200 }]", "are of requests"),
            ("[[answer]]\nhttp = \"GET x\"\noutcomes = [{ value = 1 }]", "is of activities"),
            ("[[answer]]\nfunction = \"f\"\noutcomes = [{ fails = 1, value = 1 }]", "has no value"),
            ("[[send]]\nvalue = 1", "[[send]] number 1: it needs either"),
            ("[[send]]\nsignal = \"s\"\nfails = 1", "a signal cannot fail"),
        ] {
            let refused = VerifyScript::read(text).expect_err(text).to_string();
            assert!(refused.contains(why), "{refused}");
        }
        let script = VerifyScript::read("[compensates]\nbook = \"cancel\"").expect("a script");
        let refused = script.fits(&["book", "pay"]).expect_err("no `cancel`").to_string();
        assert!(
            refused.contains("names `cancel`") && refused.contains("`book`, `pay`"),
            "{refused}"
        );
    }
}

//! The world outside as a file: what activities and requests come to, and what is sent to the workflow.

use std::collections::BTreeMap;

use segno_guest::Outcome;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::schedule::Place;

/// The contents of a script.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Whether the outcome may depend on the order of completions.
    pub orders_may_differ: bool,
    /// Whether the outcome must not depend on a timer that comes before a completion.
    pub timers_must_not_differ: bool,
    /// What activities and requests come to; what is not named is performed by the component itself.
    #[serde(rename = "answer")]
    pub answers: Vec<Answer>,
    /// What is sent from outside. Those of one receiver and name keep their order.
    #[serde(rename = "send")]
    pub sends: Vec<Sending>,
    /// What undoes what: a function, or a request as `POST URL`, by the one it undoes.
    pub compensates: BTreeMap<String, String>,
}

/// What a function or a request comes to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The activity.
    pub function: Option<String>,
    /// The request: its method and the beginning of its address.
    pub http: Option<String>,
    /// Only calls whose input (or body) contains this.
    pub input: Option<Json>,
    /// The command that it was recorded of, which comes before others with the same input; none: it
    /// was written by hand.
    #[serde(skip)]
    pub recorded_at: Option<Place>,
    /// One for each attempt; the last one for all further attempts.
    pub outcomes: Vec<ScriptedOutcome>,
}

/// One outcome.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedOutcome {
    /// The result of an activity.
    pub value: Option<Json>,
    /// The status of an answer to a request; 200 if it does not say.
    pub status: Option<u16>,
    /// The headers of the answer.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body of the answer, as JSON.
    pub body: Option<Json>,
    /// It fails with this code; of a request, the network does.
    pub fails: Option<u32>,
    /// The message of the failure.
    pub message: Option<String>,
    /// It takes at least this long.
    #[serde(default)]
    pub after_ms: u64,
    /// What was recorded, in place of all of the above.
    #[serde(skip)]
    pub recorded: Option<Outcome>,
}

/// Something sent from outside, once.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sending {
    /// A signal of this name.
    pub signal: Option<String>,
    /// A promise of this name is settled.
    pub promise: Option<String>,
    /// The child that it is for, by its place; none: the root.
    pub to: Option<String>,
    /// The value.
    pub value: Option<Json>,
    /// The promise is rejected with this code.
    pub fails: Option<u32>,
    /// The message of the failure.
    pub message: Option<String>,
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadScript {
    /// It is no TOML, or has other keys than these.
    #[error("the script cannot be read: {0}")]
    Unreadable(Box<toml::de::Error>),
    /// A part of it makes no sense.
    #[error("the script's {part}: {why}")]
    Part {
        /// Which part.
        part: String,
        /// What is wrong with it, and what would be right.
        why: String,
    },
    /// It names a function that no component has.
    #[error(
        "the script's {part} names `{name}`, and no component has such a function; they have {known}"
    )]
    NoFunction {
        /// Which part.
        part: String,
        /// The name.
        name: String,
        /// All functions.
        known: String,
    },
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// [`BadScript`].
    pub fn read(text: &str) -> Result<Self, BadScript> {
        let script: Self =
            toml::from_str(text).map_err(|error| BadScript::Unreadable(Box::new(error)))?;
        for (number, answer) in script.answers.iter().enumerate() {
            answer.check().map_err(|why| {
                let part = format!("[[answer]] number {}", number + 1);
                BadScript::Part { part, why: why.to_owned() }
            })?;
        }
        for (number, sending) in script.sends.iter().enumerate() {
            sending.check().map_err(|why| {
                let part = format!("[[send]] number {}", number + 1);
                BadScript::Part { part, why: why.to_owned() }
            })?;
        }
        Ok(script)
    }

    /// Adds what was recorded: what is written here goes before it.
    pub fn extend(&mut self, recorded: Self) {
        self.answers.extend(recorded.answers);
        let sent = |sending: &Sending| !self.sends.iter().any(|own| own.follows(sending));
        let more: Vec<Sending> = recorded.sends.into_iter().filter(sent).collect();
        self.sends.extend(more);
    }

    /// Checks that the functions it names are among `known`.
    ///
    /// # Errors
    /// [`BadScript::NoFunction`].
    pub fn fits(&self, known: &[&str]) -> Result<(), BadScript> {
        let written = |answer: &&Answer| answer.recorded_at.is_none();
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
                return Err(BadScript::NoFunction { part, name, known });
            }
        }
        Ok(())
    }

    /// The outcome of attempt `attempt`, from 1, of an activity that the command at this place called.
    pub fn of_function(
        &self,
        function: &str,
        input: &Json,
        place: &Place,
        attempt: u32,
    ) -> Option<&ScriptedOutcome> {
        let fits = |answer: &&Answer| answer.function.as_deref() == Some(function);
        self.outcome(fits, input, place, attempt)
    }

    /// The outcome of attempt `attempt`, from 1, of a request `METHOD URL` of the command at this place.
    pub fn of_request(
        &self,
        request: &str,
        body: &Json,
        place: &Place,
        attempt: u32,
    ) -> Option<&ScriptedOutcome> {
        let fits =
            |answer: &&Answer| answer.http.as_deref().is_some_and(|http| request.starts_with(http));
        self.outcome(fits, body, place, attempt)
    }

    fn outcome<'a>(
        &'a self,
        fits: impl Fn(&&'a Answer) -> bool,
        input: &Json,
        place: &Place,
        attempt: u32,
    ) -> Option<&'a ScriptedOutcome> {
        let asked = |answer: &&Answer| {
            answer.input.as_ref().is_none_or(|expected| contains(input, expected))
        };
        let is_there = |answer: &&'a Answer| answer.recorded_at.as_ref() == Some(place);
        let fitting = || self.answers.iter().filter(|answer| fits(answer));
        let answer = match fitting().find(|answer| asked(answer)) {
            Some(first) if first.recorded_at.is_none() => first,
            Some(first) => fitting().find(|it| asked(it) && is_there(it)).unwrap_or(first),
            // What was asked there then, whatever is asked now: inputs may have ids in them.
            None => fitting().find(is_there)?,
        };
        let at = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        answer.outcomes.get(at).or(answer.outcomes.last())
    }
}

impl Answer {
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

impl Sending {
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

    /// What it is, in words.
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

    /// Whether it comes after `other`, if that was written first.
    pub fn follows(&self, other: &Self) -> bool {
        (&self.signal, &self.promise, &self.to) == (&other.signal, &other.promise, &other.to)
    }
}

/// Whether `value` has everything that `expected` has.
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
        let script = Script::read(WHOLE).expect("a script");
        let place = Place("3".to_owned());
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
        let answer = |place: &str, input: Json, value: &str| Answer {
            function: Some("ship".to_owned()),
            input: Some(input),
            recorded_at: Some(Place(place.to_owned())),
            outcomes: vec![ScriptedOutcome { value: Some(json!(value)), ..Default::default() }],
            ..Answer::default()
        };
        let tea = || json!({ "sku": "tea" });
        let answers =
            vec![answer("1", tea(), "a"), answer("2", tea(), "b"), answer("3", json!("o-1"), "c")];
        let mut script = Script::default();
        script.extend(Script { answers, ..Script::default() });
        let ship = |place: &str, input: Json| {
            let found = script.of_function("ship", &input, &Place(place.to_owned()), 1);
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
            let refused = Script::read(text).expect_err(text).to_string();
            assert!(refused.contains(why), "{refused}");
        }
        let script = Script::read("[compensates]\nbook = \"cancel\"").expect("a script");
        let refused = script.fits(&["book", "pay"]).expect_err("no `cancel`").to_string();
        assert!(
            refused.contains("names `cancel`") && refused.contains("`book`, `pay`"),
            "{refused}"
        );
    }
}

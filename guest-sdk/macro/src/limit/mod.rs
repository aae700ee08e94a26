//! Parses `limit(key = "customer.id", concurrency = 5, rate = "10/s")`: the limits on concurrency
//! and rate of a function.
//!
//! Limits that the host would refuse at upload are refused here, at their place in the source.

mod value;

use std::collections::BTreeSet;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Error, Ident, LitStr, parenthesized, parse::ParseStream};

use self::value::{
    CountArgument, KeywordArgument, PeriodArgument, RateArgument, count, path, period, rate, word,
};
use crate::arguments::{comma, option};

/// The limits of one function.
pub(crate) struct LimitArguments {
    key: Option<LitStr>,
    per_key: BoundArguments,
    total: BoundArguments,
    priority: Option<LitStr>,
    priority_order: Option<KeywordArgument>,
    singleton: Option<KeywordArgument>,
    debounce: Option<PeriodArgument>,
    debounce_longest: Option<PeriodArgument>,
}

/// Limits on concurrency and rate.
#[derive(Default)]
struct BoundArguments {
    concurrency: Option<CountArgument>,
    rate: Option<RateArgument>,
    burst: Option<CountArgument>,
}

impl LimitArguments {
    /// Parses the contents of the parentheses after `limit`.
    ///
    /// # Errors
    /// Invalid values are reported at their place; an invalid combination is reported at `span`.
    pub(crate) fn parse(span: Span, input: ParseStream) -> syn::Result<Self> {
        let inner;
        parenthesized!(inner in input);
        let (mut per_key, mut total) = (BoundArguments::default(), BoundArguments::default());
        let (mut key, mut priority, mut priority_order) = (None, None, None);
        let (mut singleton, mut debounce, mut debounce_longest) = (None, None, None);
        let mut said = BTreeSet::new();
        while !inner.is_empty() {
            let name: Ident = inner.parse()?;
            let text = name.to_string();
            match text.as_str() {
                "key" => key = Some(path(&inner)?),
                "concurrency" => per_key.concurrency = Some(count(&name, &inner)?),
                "rate" => per_key.rate = Some(rate(&inner)?),
                "burst" => per_key.burst = Some(count(&name, &inner)?),
                "total_concurrency" => total.concurrency = Some(count(&name, &inner)?),
                "total_rate" => total.rate = Some(rate(&inner)?),
                "total_burst" => total.burst = Some(count(&name, &inner)?),
                "priority" => priority = Some(path(&inner)?),
                "priority_order" => {
                    let words = [("strict", "Strict"), ("weighted", "Weighted")];
                    priority_order = Some(word(&inner, words)?);
                }
                "singleton" => {
                    singleton = Some(word(&inner, [("skip", "Skip"), ("replace", "Replace")])?);
                }
                "debounce" => debounce = Some(period(name.clone(), &inner)?),
                "debounce_longest" => debounce_longest = Some(period(name.clone(), &inner)?),
                _ => {
                    let message = "expected `key`, `concurrency`, `rate`, `burst`, `total_concurrency`, `total_rate`, `total_burst`, `priority`, `priority_order`, `singleton`, `debounce` or `debounce_longest`";
                    return Err(Error::new(name.span(), message));
                }
            }
            if !said.insert(text) {
                let message = format!("`{name}` is written twice: leave one of them out");
                return Err(Error::new(name.span(), message));
            }
            comma(&inner)?;
        }
        let limit = Self {
            key,
            per_key,
            total,
            priority,
            priority_order,
            singleton,
            debounce,
            debounce_longest,
        };
        limit.check(span)?;
        Ok(limit)
    }

    /// Refuses invalid combinations.
    fn check(&self, span: Span) -> syn::Result<()> {
        let refuse = |span: Span, message: &str| Err(Error::new(span, message));
        self.per_key.check("rate")?;
        self.total.check("total_rate")?;
        if let (None, Some(order)) = (&self.priority, &self.priority_order) {
            return refuse(order.span, "there is no priority to be ordered: say `priority`, too");
        }
        if let (None, Some(longest)) = (&self.debounce, &self.debounce_longest) {
            return refuse(
                longest.key.span(),
                "there is no debounce to be longer: say `debounce`, too",
            );
        }
        let bounds_nothing = self.per_key.is_empty() && self.total.is_empty();
        if bounds_nothing && self.singleton.is_none() && self.debounce.is_none() {
            let message = "the limit says nothing: give it a `concurrency`, a `rate`, a `singleton` or a `debounce`";
            return refuse(span, message);
        }
        if self.key.is_none() && !self.total.is_empty() {
            let message = "there is one key, so what is in all and what is per key is the same: give the limit a `key`, or leave out the total";
            return refuse(span, message);
        }
        if let (Some(_), Some(count)) = (&self.singleton, self.per_key.concurrency)
            && count.value != 1
        {
            let message = "a singleton has a concurrency of 1 per key: leave the concurrency out";
            return refuse(count.span, message);
        }
        if let (Some(_), Some(debounce)) = (&self.singleton, &self.debounce) {
            let message = "a limit is a singleton or is debounced, and not both";
            return refuse(debounce.key.span(), message);
        }
        match (&self.debounce, &self.debounce_longest) {
            (Some(debounce), Some(longest)) if longest.millis < debounce.millis => {
                let (longest_ms, period_ms) = (longest.millis, debounce.millis);
                let message = format!(
                    "the longest debounce ({longest_ms} ms) is shorter than its period ({period_ms} ms)"
                );
                refuse(longest.key.span(), &message)
            }
            _ => Ok(()),
        }
    }

    /// The method `limits` of `segno::Function`.
    pub(crate) fn method(&self) -> TokenStream {
        let key = option(self.key.as_ref().map(owned));
        let (per_key, total) = (self.per_key.value(), self.total.value());
        let priority = option(self.priority.as_ref().map(|path| {
            let path = owned(path);
            let order = self.priority_order.as_ref().map_or("Strict", |word| word.variant);
            let order = Ident::new(order, Span::call_site());
            quote! {
                ::segno::__private::limits::Priority {
                    path: #path,
                    order: ::segno::__private::limits::Order::#order,
                }
            }
        }));
        let singleton = option(self.singleton.as_ref().map(|word| {
            let variant = Ident::new(word.variant, Span::call_site());
            quote!(::segno::__private::limits::Singleton::#variant)
        }));
        let debounce = option(self.debounce.as_ref().map(|PeriodArgument { millis, .. }| {
            let longest = self.debounce_longest.as_ref().map(|longest| longest.millis);
            let longest = option(longest.map(|millis| quote!(#millis)));
            quote! {
                ::segno::__private::limits::Debounce { period_ms: #millis, longest_ms: #longest }
            }
        }));
        quote! {
            fn limits() -> ::core::option::Option<::segno::__private::limits::FunctionLimits> {
                ::core::option::Option::Some(::segno::__private::limits::FunctionLimits {
                    function: ::std::borrow::ToOwned::to_owned(
                        <Self as ::segno::Function>::NAME,
                    ),
                    key: #key,
                    per_key: #per_key,
                    total: #total,
                    priority: #priority,
                    singleton: #singleton,
                    debounce: #debounce,
                })
            }
        }
    }
}

impl BoundArguments {
    fn is_empty(&self) -> bool {
        self.concurrency.is_none() && self.rate.is_none()
    }

    fn check(&self, rate: &str) -> syn::Result<()> {
        match (self.rate, self.burst) {
            (None, Some(burst)) => {
                let message = format!("a burst is the burst of a rate: say `{rate}`, too");
                Err(Error::new(burst.span, message))
            }
            _ => Ok(()),
        }
    }

    /// An expression of the contract's type `bounds`.
    fn value(&self) -> TokenStream {
        let concurrency =
            option(self.concurrency.map(|CountArgument { value, .. }| quote!(#value)));
        let rate = option(self.rate.map(|RateArgument { count, period_ms }| {
            let burst = self.burst.map_or(count, |burst| burst.value);
            quote! {
                ::segno::__private::limits::Rate {
                    count: #count,
                    period_ms: #period_ms,
                    burst: #burst,
                }
            }
        }));
        quote!(::segno::__private::limits::Bounds { concurrency: #concurrency, rate: #rate })
    }
}

fn owned(text: &LitStr) -> TokenStream {
    quote!(::std::borrow::ToOwned::to_owned(#text))
}

#[cfg(test)]
mod tests {
    use syn::parse::Parser as _;

    use super::*;

    fn parsed(text: &str) -> syn::Result<String> {
        let limit = |input: ParseStream| {
            let limit: Ident = input.parse()?;
            LimitArguments::parse(limit.span(), input)
        };
        let method = limit.parse_str(&format!("limit({text})"))?.method().to_string();
        Ok(method
            .replace(' ', "")
            .replace("::segno::__private::limits::", "")
            .replace("::core::option::Option::", ""))
    }

    #[test]
    fn bounds_are_of_each_key_or_of_all_together() {
        let text = parsed(
            r#"key = "customer.id", concurrency = 5, rate = "10/s", burst = 20, total_concurrency = 100,
               total_rate = "100/m", total_burst = 200, priority = "urgency", priority_order = "weighted""#,
        );
        let text = text.expect("it is a limit");
        for expected in [
            r#"key:Some(::std::borrow::ToOwned::to_owned("customer.id"))"#,
            "per_key:Bounds{concurrency:Some(5u32),rate:Some(Rate{count:10u32,period_ms:1000u64,burst:20u32",
            "total:Bounds{concurrency:Some(100u32),rate:Some(Rate{count:100u32,period_ms:60000u64,burst:200u32",
            "order:Order::Weighted",
            "singleton:None,debounce:None",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn a_priority_is_strict_unless_it_says_otherwise() {
        let text = parsed(r#"concurrency = 1, priority = "p""#).expect("it is a limit");
        assert!(text.contains("order:Order::Strict"), "{text}");
        let text = parsed(r#"singleton = "replace", concurrency = 1"#).expect("it is a limit");
        assert!(text.contains("singleton:Some(Singleton::Replace)"), "{text}");
        let text = parsed(r#"debounce = "5s", debounce_longest = "1m""#).expect("it is a limit");
        let expected = "Debounce{period_ms:5000u64,longest_ms:Some(60000u64)}";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn a_limit_that_makes_no_sense_is_refused_by_name() {
        for (text, said) in [
            ("", "the limit says nothing"),
            (r#"key = "a""#, "the limit says nothing"),
            (r#"priority = "a""#, "the limit says nothing"),
            ("concurrency = 0", "`concurrency` of 0 would let nothing begin"),
            ("concurrency = 1000000001", "is too large"),
            ("concurrency = 99999999999", "is too large"),
            (r#"rate = "0/s""#, "a rate of 0"),
            (r#"rate = "5000000000/d""#, "is too large"),
            (r#"rate = "10""#, "`10` is no rate"),
            (r#"rate = "ten/s""#, "is no rate"),
            (r#"rate = "-1/s""#, "is no rate"),
            (r#"rate = "10/fortnight""#, "is no rate"),
            (r#"rate = "10/0s""#, "a period of 0"),
            (r#"rate = "10/1us""#, "whole milliseconds"),
            (r#"rate = "10/367d""#, "366 days"),
            (r#"rate = "1001/1ms""#, "more than one in a microsecond"),
            (r#"rate = "1/s", burst = 0"#, "`burst` of 0"),
            ("concurrency = 1, burst = 2", "say `rate`, too"),
            (r#"key = "a", concurrency = 1, total_burst = 2"#, "say `total_rate`, too"),
            ("concurrency = 1, total_concurrency = 2", "give the limit a `key`"),
            (r#"total_rate = "1/s""#, "give the limit a `key`"),
            (r#"key = "a..b", concurrency = 1"#, "`a..b` is no path"),
            (r#"key = "", concurrency = 1"#, "is no path"),
            (r#"priority = "a b", concurrency = 1"#, "is no path"),
            (r#"priority_order = "strict", concurrency = 1"#, "say `priority`, too"),
            (
                r#"priority = "p", priority_order = "fair", concurrency = 1"#,
                "expected \"strict\" or \"weighted\"",
            ),
            (r#"singleton = "drop""#, "expected \"skip\" or \"replace\""),
            (r#"singleton = "skip", concurrency = 2"#, "leave the concurrency out"),
            (r#"singleton = "skip", debounce = "1s""#, "not both"),
            (r#"debounce = "soon""#, "not a length of time"),
            (r#"debounce = "0s""#, "`debounce` of 0"),
            (r#"debounce = "2s", debounce_longest = "1s""#, "is shorter than its period"),
            (r#"concurrency = 1, debounce_longest = "1s""#, "say `debounce`, too"),
            ("concurrency = 1, concurrency = 2", "`concurrency` is written twice"),
            ("most = 1", "expected `key`, `concurrency`"),
        ] {
            let error = parsed(text).expect_err(text).to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

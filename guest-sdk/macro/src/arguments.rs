//! The arguments of the attributes.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    ExprArray, Ident, LitFloat, LitInt, LitStr, Token, Type,
    ext::IdentExt as _,
    parenthesized,
    parse::{Parse, ParseStream},
    token,
};

use crate::limit::LimitArguments;

/// All arguments; the kind of the function decides which of them are allowed.
#[derive(Default)]
pub(crate) struct AttributeArguments {
    pub name: Option<LitStr>,
    pub signals: Option<Ident>,
    pub promises: Option<Ident>,
    /// Expressions of type `segno::Message`, for signals and promises.
    messages: Vec<TokenStream>,
    timeout: Option<Duration>,
    /// Calls of `RetryPolicy`'s methods, in source order.
    retry: Option<Vec<TokenStream>>,
    limit: Option<LimitArguments>,
    pub commit: Option<CommitArgument>,
    is_mcp_tool: bool,
}

/// `commit = "each"` or `commit = "gathered"`.
pub(crate) struct CommitArgument {
    /// The word `commit`.
    pub key: Ident,
    is_each: bool,
}

impl AttributeArguments {
    /// An expression of type `segno::Defaults`.
    pub(crate) fn defaults(&self) -> TokenStream {
        let signals = self.signals.is_some();
        let timeout = option(self.timeout.map(duration));
        let retry = option(
            self.retry.as_ref().map(|calls| quote!(::segno::RetryPolicy::exponential()#(#calls)*)),
        );
        quote!(::segno::Defaults { signals: #signals, timeout: #timeout, retry: #retry })
    }
}

pub(crate) fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

fn duration(duration: Duration) -> TokenStream {
    let (seconds, nanoseconds) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::core::time::Duration::new(#seconds, #nanoseconds))
}

impl AttributeArguments {
    /// The method `messages` of `segno::Function`. `None` if the function has no messages.
    pub(crate) fn messages(&self) -> Option<TokenStream> {
        let messages = &self.messages;
        (!messages.is_empty()).then(|| {
            quote! {
                fn messages() -> ::std::vec::Vec<::segno::Message> {
                    ::std::vec![#(#messages),*]
                }
            }
        })
    }

    /// The constant `COMMITS_EACH` of `segno::Function`. `None` if its results gather.
    pub(crate) fn commits_each(&self) -> Option<TokenStream> {
        let is_each = self.commit.as_ref().is_some_and(|commit| commit.is_each);
        is_each.then(|| {
            quote!(
                const COMMITS_EACH: bool = true;
            )
        })
    }

    /// The constant `IS_MCP_TOOL` of `segno::Function`. `None` if the function is not offered.
    pub(crate) fn is_mcp_tool(&self) -> Option<TokenStream> {
        self.is_mcp_tool.then(|| {
            quote!(
                const IS_MCP_TOOL: bool = true;
            )
        })
    }

    /// The method `limits` of `segno::Function`. `None` if the function has no limit.
    pub(crate) fn limits(&self) -> Option<TokenStream> {
        self.limit.as_ref().map(LimitArguments::method)
    }
}

impl Parse for AttributeArguments {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "name" => arguments.name = Some(name(input)?),
                "signals" => {
                    if input.peek(token::Paren) {
                        arguments.messages.extend(messages(input, &format_ident!("signal"))?);
                    }
                    arguments.signals = Some(key);
                }
                "promises" => {
                    arguments.messages.extend(messages(input, &format_ident!("promise"))?);
                    arguments.promises = Some(key);
                }
                "timeout" => arguments.timeout = Some(written_duration(input)?),
                "retry" => arguments.retry = Some(retry(input)?),
                "limit" => {
                    let limit = LimitArguments::parse(key.span(), input)?;
                    if arguments.limit.replace(limit).is_some() {
                        let message = "a function has one limit: write all of it in one `limit(…)`";
                        return Err(syn::Error::new(key.span(), message));
                    }
                }
                "commit" => arguments.commit = Some(commit(key, input)?),
                "expose" => arguments.is_mcp_tool = exposed(input)?,
                _ => {
                    return Err(syn::Error::new(
                        key.span(),
                        "expected `name`, `signals`, `promises`, `timeout`, `retry`, `limit`, `commit` or `expose`",
                    ));
                }
            }
            comma(input)?;
        }
        Ok(arguments)
    }
}

pub(crate) fn comma(input: ParseStream) -> syn::Result<()> {
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}

/// Parses `(approved: bool, "change-plan": Plan)`.
fn messages(input: ParseStream, of_kind: &Ident) -> syn::Result<Vec<TokenStream>> {
    let inner;
    parenthesized!(inner in input);
    let mut messages = Vec::new();
    while !inner.is_empty() {
        let name = match inner.peek(LitStr) {
            true => inner.parse::<LitStr>()?,
            false => {
                let name = inner.call(Ident::parse_any)?;
                LitStr::new(name.to_string().trim_start_matches("r#"), name.span())
            }
        };
        inner.parse::<Token![:]>()?;
        let value: Type = inner.parse()?;
        messages.push(quote!(::segno::Message::#of_kind::<#value>(#name)));
        comma(&inner)?;
    }
    Ok(messages)
}

fn name(input: ParseStream) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    let name: LitStr = input.parse()?;
    let allowed =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if name.value().is_empty() || !name.value().chars().all(allowed) {
        return Err(syn::Error::new(
            name.span(),
            "a name has letters, digits, `_`, `-` and `.` only",
        ));
    }
    Ok(name)
}

pub(crate) fn written_duration(input: ParseStream) -> syn::Result<Duration> {
    input.parse::<Token![=]>()?;
    let text: LitStr = input.parse()?;
    humantime::parse_duration(&text.value()).map_err(|error| {
        syn::Error::new(
            text.span(),
            format!("not a length of time such as \"90s\" or \"1h 30m\": {error}"),
        )
    })
}

fn commit(key: Ident, input: ParseStream) -> syn::Result<CommitArgument> {
    input.parse::<Token![=]>()?;
    let mode: LitStr = input.parse()?;
    let is_each = match &*mode.value() {
        "each" => true,
        "gathered" => false,
        _ => return Err(syn::Error::new(mode.span(), "expected \"each\" or \"gathered\"")),
    };
    Ok(CommitArgument { key, is_each })
}

/// Parses `= "mcp"`.
fn exposed(input: ParseStream) -> syn::Result<bool> {
    input.parse::<Token![=]>()?;
    let protocol: LitStr = input.parse()?;
    match &*protocol.value() {
        "mcp" => Ok(true),
        _ => Err(syn::Error::new(protocol.span(), "expected \"mcp\"")),
    }
}

fn number(input: ParseStream) -> syn::Result<f64> {
    input.parse::<Token![=]>()?;
    if input.peek(LitInt) {
        return input.parse::<LitInt>()?.base10_parse::<u32>().map(f64::from);
    }
    input.parse::<LitFloat>()?.base10_parse()
}

fn retry(input: ParseStream) -> syn::Result<Vec<TokenStream>> {
    let inner;
    parenthesized!(inner in input);
    let mut calls = Vec::new();
    while !inner.is_empty() {
        let key: Ident = inner.parse()?;
        let value = match key.to_string().as_str() {
            "initial" | "max" => duration(written_duration(&inner)?),
            "factor" | "jitter" => {
                let number = number(&inner)?;
                quote!(#number)
            }
            "max_attempts" => {
                inner.parse::<Token![=]>()?;
                let attempts = inner.parse::<LitInt>()?.base10_parse::<u32>()?;
                quote!(#attempts)
            }
            "non_retryable" => {
                inner.parse::<Token![=]>()?;
                let codes: ExprArray = inner.parse()?;
                quote!(#codes)
            }
            _ => {
                let expected = "expected `initial`, `factor`, `max`, `jitter`, `max_attempts` or `non_retryable`";
                return Err(syn::Error::new(key.span(), expected));
            }
        };
        calls.push(quote!(.#key(#value)));
        comma(&inner)?;
    }
    Ok(calls)
}

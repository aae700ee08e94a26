//! Expands a query or an update.
//!
//! `fn has_note(progress: &Progress, text: String) -> Result<bool>` becomes a
//! `fn has_note(&Progress, String) -> Answer<HasNote…>`, and
//! `async fn add_note(ctx: Context, progress: Shared<Progress>, text: String) -> Result<usize>` a
//! `fn add_note(Context, Shared<Progress>, String) -> Answering<AddNote…>`, whose return types name
//! a hidden type, as with durable functions.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Error, FnArg, Ident, ItemFn, LitStr, Path, ReturnType, Token, Type,
    parse::{Parse, ParseStream},
    spanned::Spanned,
};

use crate::function::summary;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum AnswerKind {
    Query,
    Update,
}

impl AnswerKind {
    fn takes(self) -> &'static str {
        match self {
            AnswerKind::Query => {
                "a query takes a reference to what the workflow shares, such as `progress: &Progress`, then perhaps one input; for several use a struct"
            }
            AnswerKind::Update => {
                "an update takes a `segno::Context` and what the workflow shares, such as `progress: Shared<Progress>`, then perhaps one input; for several use a struct"
            }
        }
    }
}

/// Parsed arguments: `order, name = "…", validate = …`.
pub(crate) struct HandlerArguments {
    workflow: Path,
    name: Option<LitStr>,
    validate: Option<Path>,
}

impl Parse for HandlerArguments {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let names_none = input.is_empty() || input.peek2(Token![=]);
        if names_none {
            let message = "which workflow answers it? Say its function first: `#[segno::query(order)]`, `#[segno::update(order)]`";
            return Err(Error::new(input.span(), message));
        }
        let mut arguments = Self { workflow: input.parse()?, name: None, validate: None };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let key: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            match key.to_string().as_str() {
                "name" => arguments.name = Some(input.parse()?),
                "validate" => arguments.validate = Some(input.parse()?),
                _ => return Err(Error::new(key.span(), "expected `name` or `validate`")),
            }
        }
        Ok(arguments)
    }
}

/// The name that callers use, validated against the host's rule for names.
fn name(arguments: &HandlerArguments, ident: &Ident) -> syn::Result<String> {
    let (name, span): (String, Span) = match &arguments.name {
        Some(name) => (name.value(), name.span()),
        None => (ident.to_string().trim_start_matches("r#").to_owned(), ident.span()),
    };
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_allowed) {
        return Err(Error::new(span, "a name has 1 to 64 letters, digits, `_`, `-` and `.`"));
    }
    Ok(name)
}

/// The parts of the function's signature, checked.
struct HandlerSignature<'a> {
    /// The type that the workflow shares: the `T` of `&T` in a query, or of `Shared<T>` in an
    /// update.
    shared: &'a Type,
    input: Option<&'a Type>,
    output: &'a Type,
}

fn check(kind: AnswerKind, item: &ItemFn) -> syn::Result<HandlerSignature<'_>> {
    let signature = &item.sig;
    match (kind, &signature.asyncness) {
        (AnswerKind::Query, Some(asyncness)) => {
            let message = "a query is answered at once: it is no `async fn`";
            return Err(Error::new(asyncness.span(), message));
        }
        (AnswerKind::Update, None) => {
            return Err(Error::new(signature.fn_token.span, "an update is an `async fn`"));
        }
        (AnswerKind::Query, None) | (AnswerKind::Update, Some(_)) => {}
    }
    if !signature.generics.params.is_empty() {
        let message = "a query or an update has no generic parameters";
        return Err(Error::new(signature.generics.span(), message));
    }
    let mut types = Vec::new();
    for argument in &signature.inputs {
        match argument {
            FnArg::Typed(argument) => types.push(&*argument.ty),
            FnArg::Receiver(receiver) => {
                return Err(Error::new(receiver.span(), "it is a free function"));
            }
        }
    }
    let ReturnType::Type(_, output) = &signature.output else {
        return Err(Error::new(signature.ident.span(), "it returns `segno::Result<…>`"));
    };
    let (shared, input) = match (kind, &types[..]) {
        (AnswerKind::Query, [Type::Reference(shared), input @ ..])
            if shared.mutability.is_none() && input.len() < 2 =>
        {
            (&*shared.elem, input.first().copied())
        }
        (AnswerKind::Update, [_, shared, input @ ..]) if input.len() < 2 => {
            (*shared, input.first().copied())
        }
        _ => return Err(Error::new(signature.paren_token.span.join(), kind.takes())),
    };
    Ok(HandlerSignature { shared, input, output })
}

pub(crate) fn expand(
    kind: AnswerKind,
    arguments: &HandlerArguments,
    item: &ItemFn,
) -> syn::Result<TokenStream> {
    if let (AnswerKind::Query, Some(validate)) = (kind, &arguments.validate) {
        return Err(Error::new(validate.span(), "a query has nothing to validate: it only reads"));
    }
    let HandlerSignature { shared, input, output } = check(kind, item)?;
    let (ident, visibility, attributes) = (&item.sig.ident, &item.vis, &item.attrs);
    let name = name(arguments, ident)?;
    let summary = match summary(attributes) {
        Some(summary) => quote!(::core::option::Option::Some(#summary)),
        None => quote!(::core::option::Option::None),
    };
    let (handle, workflow) = (format_ident!("__segno_{ident}"), &arguments.workflow);
    let unit = syn::parse_quote!(());
    let input_type = input.unwrap_or(&unit);
    let (parameter, passed) = match input {
        Some(input) => (quote!(input: #input), quote!(, input)),
        None => (quote!(_: ()), quote!()),
    };
    let (inputs, body) = (&item.sig.inputs, &item.block);
    let (value, kind_word, implementation, function) = match kind {
        AnswerKind::Query => (
            quote!(#shared),
            " query\t",
            quote! {
                impl ::segno::Query for #handle {
                    fn answer(
                        shared: &Self::Shared,
                        input: Self::Input,
                    ) -> ::segno::Result<Self::Output> {
                        #ident(shared, input).into_result()
                    }
                }
            },
            quote! {
                #[allow(clippy::ptr_arg)]
                #visibility fn #ident(shared: &#shared, #parameter) -> ::segno::Answer<#handle> {
                    // A query takes a reference to the shared value, not to a slice of it.
                    #[allow(clippy::ptr_arg)]
                    fn __segno_body(#inputs) -> #output #body
                    ::segno::Answer::new(__segno_body(shared #passed))
                }
            },
        ),
        AnswerKind::Update => {
            let validate = arguments.validate.as_ref().map(|validate| {
                let input_passed = input.map(|_| quote!(, input));
                quote! {
                    fn validate(shared: &Self::Shared, input: &Self::Input) -> ::segno::Result<()> {
                        let _ = input;
                        ::segno::Returns::into_result(#validate(shared #input_passed))
                    }
                }
            });
            (
                quote!(<#shared as ::segno::__private::SharedParameter>::Value),
                " update\t",
                quote! {
                    impl ::segno::Update for #handle {
                        #validate

                        fn begin(
                            context: ::segno::Context,
                            shared: ::segno::Shared<Self::Shared>,
                            input: Self::Input,
                        ) -> ::segno::Answering<Self> {
                            #ident(context, shared, input)
                        }
                    }
                },
                quote! {
                    #visibility fn #ident(
                        context: ::segno::Context,
                        shared: #shared,
                        #parameter
                    ) -> ::segno::Answering<#handle> {
                        async fn __segno_body(#inputs) -> #output #body
                        ::segno::Answering::new(__segno_body(context, shared #passed))
                    }
                },
            )
        }
    };
    Ok(quote! {
        #[doc(hidden)]
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types)]
        #visibility struct #handle;

        impl ::segno::Handler for #handle {
            type Shared = #value;
            type Input = #input_type;
            type Output = <#output as ::segno::Returns>::Value;

            const WORKFLOW: &'static str = ::segno::__private::workflow_name(#workflow);
            const NAME: &'static str = #name;
            const SUMMARY: ::core::option::Option<&'static str> = #summary;
        }

        #implementation

        #(#attributes)*
        #function

        // Listed with the functions of the crate, as separate lines: `CRATE query⇥WORKFLOW/NAME`.
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            const TEXTS: &[&str] = &[
                env!("CARGO_PKG_NAME"),
                #kind_word,
                <#handle as ::segno::Handler>::WORKFLOW,
                "/",
                #name,
                "\n",
            ];
            #[used]
            #[unsafe(link_section = "segno-functions")]
            static DECLARED: [u8; ::segno::__private::length(TEXTS)] =
                ::segno::__private::bytes(TEXTS);
        };
    })
}

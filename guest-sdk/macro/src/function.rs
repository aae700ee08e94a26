//! Expands an `async fn` into a durable function.
//!
//! `async fn order(ctx: Context, order: Order) -> Result<Receipt>` becomes a
//! `fn order(Context, Order) -> Body<Order…>`, whose return type names a hidden type that
//! implements `segno::Function`. The name still denotes a function (a unit struct of that name
//! would forbid a parameter of that name), and all of its properties follow from its type.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, ReturnType, Type, Visibility,
    spanned::Spanned,
};

use crate::arguments::AttributeArguments;

#[derive(Clone, Copy)]
pub(crate) enum DurableKind {
    Workflow,
    Activity,
}

/// The parts of the function's signature, checked.
struct FunctionSignature<'a> {
    context: &'a Type,
    input: Option<&'a Type>,
    output: &'a Type,
}

fn check(kind: DurableKind, item: &ItemFn) -> syn::Result<FunctionSignature<'_>> {
    let signature = &item.sig;
    let what = match kind {
        DurableKind::Workflow => "a workflow",
        DurableKind::Activity => "an activity",
    };
    if signature.asyncness.is_none() {
        return Err(Error::new(signature.fn_token.span, format!("{what} is an `async fn`")));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new(
            signature.generics.span(),
            format!("{what} has no generic parameters"),
        ));
    }
    let mut types = Vec::new();
    for argument in &signature.inputs {
        match argument {
            FnArg::Typed(argument) => types.push(&*argument.ty),
            FnArg::Receiver(receiver) => {
                return Err(Error::new(receiver.span(), format!("{what} is a free function")));
            }
        }
    }
    let ReturnType::Type(_, output) = &signature.output else {
        return Err(Error::new(
            signature.ident.span(),
            format!("{what} returns `segno::Result<…>`"),
        ));
    };
    let (context, input) = match types[..] {
        [context] => (context, None),
        [context, input] => (context, Some(input)),
        _ => {
            let context = match kind {
                DurableKind::Workflow => "`segno::Context`",
                DurableKind::Activity => "`segno::ActivityContext`",
            };
            let message = format!(
                "{what} takes a {context}, then perhaps one input; for several use a struct"
            );
            return Err(Error::new(signature.paren_token.span.join(), message));
        }
    };
    Ok(FunctionSignature { context, input, output })
}

/// Expands the function; `more` is added to its implementation of `segno::Function`.
pub(crate) fn expand(
    kind: DurableKind,
    arguments: &AttributeArguments,
    item: &ItemFn,
    more: &TokenStream,
) -> syn::Result<TokenStream> {
    let FunctionSignature { context, input, output } = check(kind, item)?;
    if let (DurableKind::Activity, Some(signals)) = (kind, &arguments.signals) {
        return Err(Error::new(signals.span(), "an activity takes no signals"));
    }
    if let (DurableKind::Activity, Some(promises)) = (kind, &arguments.promises) {
        return Err(Error::new(promises.span(), "an activity awaits no promises"));
    }
    if let (DurableKind::Activity, Some(commit)) = (kind, &arguments.commit) {
        let message = "an activity has no journal to commit to: `commit` is for workflows";
        return Err(Error::new(commit.key.span(), message));
    }

    let ident = &item.sig.ident;
    let visibility = &item.vis;
    let attributes = &item.attrs;
    let handle = format_ident!("__segno_{ident}");
    let name = match &arguments.name {
        Some(name) => name.value(),
        None => ident.to_string().trim_start_matches("r#").to_owned(),
    };
    let expected = match kind {
        DurableKind::Workflow => quote!(::segno::Context),
        DurableKind::Activity => quote!(::segno::ActivityContext),
    };

    let body = &item.block;
    let inputs = &item.sig.inputs;
    let unit = syn::parse_quote!(());
    let input_type = input.unwrap_or(&unit);
    let (parameters, passed) = match input {
        Some(input) => (quote!(context: #context, input: #input), quote!(context, input)),
        None => (quote!(context: #context, _: ()), quote!(context)),
    };

    let begin = quote! {
        fn begin(context: Self::Context, input: Self::Input) -> ::segno::Body<Self> {
            #ident(context, input)
        }
    };
    let implementation = Implementation {
        handle: &handle,
        visibility,
        context: &expected,
        input: input_type,
        output,
        name: &name,
        summary: summary(attributes),
        arguments,
        more,
        begin: &begin,
    }
    .expand();

    Ok(quote! {
        #implementation

        #(#attributes)*
        #visibility fn #ident(#parameters) -> ::segno::Body<#handle> {
            async fn __segno_body(#inputs) -> #output #body
            ::segno::Body::new(__segno_body(#passed))
        }
    })
}

/// The hidden type of a durable function, and its implementation of `segno::Function`.
pub(crate) struct Implementation<'a> {
    pub handle: &'a Ident,
    pub visibility: &'a Visibility,
    pub context: &'a TokenStream,
    pub input: &'a Type,
    pub output: &'a Type,
    pub name: &'a str,
    pub summary: Option<String>,
    pub arguments: &'a AttributeArguments,
    /// Further items of the implementation.
    pub more: &'a TokenStream,
    /// The method `begin` of the implementation.
    pub begin: &'a TokenStream,
}

impl Implementation<'_> {
    pub(crate) fn expand(self) -> TokenStream {
        let Self { handle, visibility, context, input, output, name, more, begin, .. } = self;
        let summary = match self.summary {
            Some(summary) => quote!(::core::option::Option::Some(#summary)),
            None => quote!(::core::option::Option::None),
        };
        let (defaults, messages) = (self.arguments.defaults(), self.arguments.messages());
        let (limits, commits_each) = (self.arguments.limits(), self.arguments.commits_each());
        let is_mcp_tool = self.arguments.is_mcp_tool();
        quote! {
            #[doc(hidden)]
            #[derive(Clone, Copy)]
            #[allow(non_camel_case_types)]
            #visibility struct #handle;

            impl ::segno::Function for #handle {
                type Context = #context;
                type Input = #input;
                type Output = <#output as ::segno::Returns>::Value;

                const NAME: &'static str = #name;
                const SUMMARY: ::core::option::Option<&'static str> = #summary;

                #commits_each
                #is_mcp_tool

                fn defaults() -> ::segno::Defaults {
                    #defaults
                }

                #messages

                #limits

                #more

                #begin

                // The list that `segno::module!` created at the root of the crate. Without one,
                // name resolution finds the outer block's constant.
                #[cfg(not(target_arch = "wasm32"))]
                fn module() -> ::core::option::Option<::segno::Module> {
                    #[allow(unused_imports)]
                    use ::segno::__private::no_module::*;
                    {
                        #[allow(unused_imports)]
                        use crate::*;
                        ::core::convert::Into::into(segno_module())
                    }
                }
            }

            // A component lists the functions that its crates declare, so that an unlisted one is
            // detected at upload.
            #[cfg(target_arch = "wasm32")]
            const _: () = {
                const NAME: &str = concat!(env!("CARGO_PKG_NAME"), "\t", #name, "\n");
                #[used]
                #[unsafe(link_section = "segno-functions")]
                static DECLARED: [u8; NAME.len()] = ::segno::__private::bytes(&[NAME]);
            };
        }
    }
}

/// The first paragraph of the documentation. `None` if there is none.
pub(crate) fn summary(attributes: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        if !pair.path.is_ident("doc") {
            continue;
        }
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { continue };
        let line = text.value().trim().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    (!lines.is_empty()).then(|| lines.join(" "))
}

//! Expands a function that builds a graph.
//!
//! `fn prices(graph: &Graph, sources: Input<Sources>) -> Output<Report>` becomes a workflow
//! `async fn prices(Context, Sources) -> Result<Report>` that runs the graph's plan. The function
//! itself becomes the implementation of `segno::graph::GraphFunction` for the workflow's hidden
//! type. The types are read from the signature as written.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Error, FnArg, GenericArgument, ItemFn, PathArguments, ReturnType, Type, parse_quote,
    spanned::Spanned,
};

use crate::{
    arguments::AttributeArguments,
    function::{self, DurableKind},
};

pub(crate) fn expand(arguments: &AttributeArguments, item: &ItemFn) -> syn::Result<TokenStream> {
    let signature = &item.sig;
    if let Some(signals) = arguments.signals.as_ref().or(arguments.promises.as_ref()) {
        let message = "a graph is sent nothing itself: its nodes wait for signals and promises";
        return Err(Error::new(signals.span(), message));
    }
    if let Some(commit) = &arguments.commit {
        let message = "a graph computes nothing itself: write `commit` above the workflows that its nodes call";
        return Err(Error::new(commit.key.span(), message));
    }
    if let Some(asyncness) = &signature.asyncness {
        let message = "a graph is built at once, and then run: it is no `async fn`";
        return Err(Error::new(asyncness.span(), message));
    }
    if !signature.generics.params.is_empty() {
        return Err(Error::new(signature.generics.span(), "a graph has no generic parameters"));
    }
    let ReturnType::Type(_, returned) = &signature.output else {
        return Err(Error::new(
            signature.ident.span(),
            "a graph returns `Output<T>`, or a tuple of several",
        ));
    };
    let is_one = !matches!(&**returned, Type::Tuple(_));
    let output = value(returned).ok_or_else(|| {
        Error::new(returned.span(), "a graph returns `Output<T>`, or a tuple of several")
    })?;
    let takes = "a graph takes a `&Graph`, then perhaps an `Input<T>`";
    let parameters: Vec<&FnArg> = signature.inputs.iter().collect();
    let input = match parameters[..] {
        [FnArg::Typed(_)] => None,
        [FnArg::Typed(_), FnArg::Typed(input)] => {
            Some(value(&input.ty).ok_or_else(|| Error::new(input.ty.span(), takes))?)
        }
        _ => return Err(Error::new(signature.paren_token.span.join(), takes)),
    };

    let (ident, visibility, attributes) = (&signature.ident, &item.vis, &item.attrs);
    let handle = format_ident!("__segno_{ident}");
    let (parameter, given, passed) = match &input {
        Some(input) => {
            (quote!(, input: #input), quote!(input), quote!(, ::segno::graph::Input::new()))
        }
        None => (quote!(), quote!(()), quote!()),
    };
    let workflow: ItemFn = parse_quote! {
        #(#attributes)*
        #visibility async fn #ident(context: ::segno::Context #parameter) -> ::segno::Result<#output> {
            ::segno::__private::run_graph::<#handle>(context, #given).await
        }
    };
    let check = quote! {
        fn check() {
            ::segno::__private::check_graph::<Self>();
        }
    };
    let workflow = function::expand(DurableKind::Workflow, arguments, &workflow, &check)?;
    let one = is_one.then(|| quote!(impl ::segno::graph::OneOutput for #handle {}));
    let (inputs, block) = (&signature.inputs, &item.block);
    Ok(quote! {
        #workflow

        impl ::segno::graph::GraphFunction for #handle {
            fn build(graph: &::segno::graph::Graph) {
                // `Output` has the lifetime of the graph, which may be omitted.
                #[allow(unknown_lints, mismatched_lifetime_syntaxes)]
                fn __segno_graph(#inputs) -> #returned #block
                graph.returns::<<Self as ::segno::Function>::Output>(__segno_graph(graph #passed));
            }
        }

        #one
    })
}

/// The `T` of an `Input<T>` or `Output<T>`, also with a lifetime; for a tuple of these, the tuple
/// of their types.
fn value(handle: &Type) -> Option<TokenStream> {
    match handle {
        Type::Tuple(tuple) => {
            let values = tuple.elems.iter().map(value).collect::<Option<Vec<_>>>()?;
            Some(quote!((#(#values,)*)))
        }
        Type::Path(path) => {
            let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments
            else {
                return None;
            };
            let mut types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(of) => Some(quote!(#of)),
                _ => None,
            });
            types.next().filter(|_| types.next().is_none())
        }
        _ => None,
    }
}

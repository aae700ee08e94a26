//! Expands a kind of object: its state from a struct, its functions from an `impl` block.
//!
//! `async fn add(&mut self, ctx: Context, item: Item) -> Result<u32>` stays a method, and becomes a
//! workflow `Cart/add` that creates a `Cart` from the execution's state and calls the method. In
//! addition to the type, a constant of the same name lists the functions for `segno::module!`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, FnArg, ImplItem, ImplItemFn, Item, ItemImpl, ItemStruct, Meta, ReceiverKind,
    ReturnType, Type, parse_quote, spanned::Spanned,
};

use crate::{
    arguments::AttributeArguments,
    function::{Implementation, summary},
};

pub(crate) fn expand(arguments: &TokenStream, item: Item) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new(arguments.span(), "`#[segno::object]` takes no arguments"));
    }
    match item {
        Item::Struct(item) => fields(&item),
        Item::Impl(item) => functions(item),
        other => Err(Error::new(
            other.span(),
            "`#[segno::object]` takes a struct with the state, or its `impl` block with the functions",
        )),
    }
}

fn fields(item: &ItemStruct) -> syn::Result<TokenStream> {
    if !item.generics.params.is_empty() {
        return Err(Error::new(item.generics.span(), "an object has no generic parameters"));
    }
    let syn::Fields::Named(fields) = &item.fields else {
        let message = "an object has fields with names, such as `count: State<u64>`; without state, write `struct Name {}`";
        return Err(Error::new(item.ident.span(), message));
    };
    let ident = &item.ident;
    let made = fields.named.iter().map(|field| {
        let (name, span) = (field.ident.as_ref(), field.ty.span());
        let text = name.map(|name| name.to_string().trim_start_matches("r#").to_owned());
        quote::quote_spanned!(span=> #name: ::segno::StateField::of(context, #text))
    });
    let made: Vec<_> = made.collect();
    Ok(quote! {
        #item

        impl ::segno::ObjectFields for #ident {
            fn of(context: &::segno::Context) -> Self {
                let _ = context;
                Self { #(#made),* }
            }
        }
    })
}

/// A method that is a function of the object.
struct Method<'a> {
    item: &'a ImplItemFn,
    is_shared: bool,
    is_run: bool,
    arguments: AttributeArguments,
    input: Option<&'a Type>,
    output: &'a Type,
}

fn functions(mut item: ItemImpl) -> syn::Result<TokenStream> {
    if let Some((of, _)) = &item.trait_ {
        return Err(Error::new(
            of.span(),
            "the functions of an object are in an `impl` of its own",
        ));
    }
    let Type::Path(of) = &*item.self_ty else {
        return Err(Error::new(item.self_ty.span(), "an object is a struct"));
    };
    let ident = of.path.require_ident()?.clone();
    let own = take_own_attributes(&mut item)?;
    let mut methods = Vec::new();
    for ((said, arguments), function) in
        own.into_iter().zip(item.items.iter().filter_map(as_function))
    {
        methods.push(Method::of(function, said, arguments)?);
    }
    check_run(&ident, &methods)?;
    if methods.is_empty() {
        return Err(Error::new(ident.span(), "an object has functions: `async fn` with `self`"));
    }
    let client = format_ident!("{ident}Client");
    let implementations = methods.iter().map(|method| method.implementation(&ident));
    let implementations: Vec<_> = implementations.collect();
    let calls: Vec<_> = methods.iter().map(|method| method.call(&ident)).collect();
    let handles: Vec<_> = methods.iter().map(|method| method.handle(&ident)).collect();
    let name = ident.to_string();
    let documentation = format!("How functions of one `{name}` are called; made by `ctx.object`.");
    Ok(quote! {
        #item

        #(#implementations)*

        #[doc = #documentation]
        #[derive(Clone)]
        pub struct #client(::segno::ObjectRef);

        impl #client {
            #(#calls)*
        }

        impl ::segno::Object for #ident {
            const NAME: &'static str = #name;
            type Client = #client;

            fn client(object: ::segno::ObjectRef) -> #client {
                #client(object)
            }
        }

        /// The functions of the object, for `segno::module!`.
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        pub const #ident: ::segno::__private::ObjectEntries =
            ::segno::__private::ObjectEntries(|| ::std::vec![
                #(::segno::__private::Entry::of_function::<#handles>()),*
            ]);
    })
}

fn as_function(item: &ImplItem) -> Option<&ImplItemFn> {
    match item {
        ImplItem::Fn(function)
            if function.sig.asyncness.is_some() && function.sig.receiver().is_some() =>
        {
            Some(function)
        }
        _ => None,
    }
}

/// Checks that an object with a function that runs once per key has no other exclusive function.
fn check_run(object: &syn::Ident, methods: &[Method<'_>]) -> syn::Result<()> {
    let Some(run) = methods.iter().find(|method| method.is_run) else { return Ok(()) };
    let ident = |method: &Method<'_>| method.item.sig.ident.clone();
    let other = methods.iter().find(|method| !method.is_shared && ident(method) != ident(run));
    let Some(other) = other else { return Ok(()) };
    let message = match other.is_run {
        true => format!("`{object}` has two `#[run]` functions: a key runs once"),
        false => format!(
            "`{object}` runs once a key, by `{}`: its other functions are `#[shared]`, with `&self`",
            ident(run)
        ),
    };
    Err(Error::new(other.item.sig.ident.span(), message))
}

/// The attribute of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessAttribute {
    Shared,
    Exclusive,
    Run,
}

impl AccessAttribute {
    const ALL: [(&str, Self); 3] =
        [("shared", Self::Shared), ("exclusive", Self::Exclusive), ("run", Self::Run)];
}

/// Removes `#[shared]`, `#[exclusive]` and `#[run]` from the functions. Returns the attribute of
/// each, with its arguments.
fn take_own_attributes(
    item: &mut ItemImpl,
) -> syn::Result<Vec<(Option<AccessAttribute>, AttributeArguments)>> {
    let mut all = Vec::new();
    for item in &mut item.items {
        let is_function = as_function(item).is_some();
        let ImplItem::Fn(function) = item else { continue };
        let mut own = (None, AttributeArguments::default());
        for attribute in std::mem::take(&mut function.attrs) {
            let said = AccessAttribute::ALL.iter().find(|(name, _)| is(&attribute, name));
            let Some((_, said)) = said else {
                function.attrs.push(attribute);
                continue;
            };
            if !is_function {
                let message = "a function of an object is an `async fn` that takes `self`";
                return Err(Error::new(attribute.span(), message));
            }
            own.0 = Some(*said);
            if let Meta::List(list) = &attribute.meta {
                own.1 = list.parse_args()?;
            }
        }
        if is_function {
            all.push(own);
        }
    }
    Ok(all)
}

fn is(attribute: &Attribute, name: &str) -> bool {
    attribute.path().is_ident(name)
}

impl<'a> Method<'a> {
    fn of(
        item: &'a ImplItemFn,
        said: Option<AccessAttribute>,
        arguments: AttributeArguments,
    ) -> syn::Result<Self> {
        let signature = &item.sig;
        if !signature.generics.params.is_empty() {
            let message = "a function of an object has no generic parameters";
            return Err(Error::new(signature.generics.span(), message));
        }
        let receiver = signature.receiver().expect("only methods come here");
        let wrong = match (&receiver.kind, said) {
            (ReceiverKind::Reference(_, _, Some(_)), Some(AccessAttribute::Shared)) => {
                "a shared function takes `&self`: it only reads"
            }
            (ReceiverKind::Reference(_, _, None), Some(AccessAttribute::Exclusive)) => {
                "an exclusive function takes `&mut self`"
            }
            (ReceiverKind::Reference(_, _, None), Some(AccessAttribute::Run)) => {
                "a function that runs once a key takes `&mut self`"
            }
            (ReceiverKind::Reference(_, _, None), None) => {
                "say `#[shared]` above a function that only reads, or take `&mut self`"
            }
            (ReceiverKind::Reference(..), _) => "",
            _ => "a function of an object takes `&mut self`, or `&self` if it is `#[shared]`",
        };
        if !wrong.is_empty() {
            return Err(Error::new(receiver.span(), wrong));
        }
        let (is_shared, is_run) =
            (said == Some(AccessAttribute::Shared), said == Some(AccessAttribute::Run));
        let types = signature.inputs.iter().filter_map(|argument| match argument {
            FnArg::Typed(argument) => Some(&*argument.ty),
            FnArg::Receiver(_) => None,
        });
        let types: Vec<&Type> = types.collect();
        let input = match types[..] {
            [_context] => None,
            [_context, input] => Some(input),
            _ => {
                let message = "a function of an object takes `self`, a `segno::Context`, then perhaps one input; for several use a struct";
                return Err(Error::new(signature.paren_token.span.join(), message));
            }
        };
        let ReturnType::Type(_, output) = &signature.output else {
            let message = "a function of an object returns `segno::Result<…>`";
            return Err(Error::new(signature.ident.span(), message));
        };
        Ok(Self { item, is_shared, is_run, arguments, input, output })
    }

    fn name(&self) -> String {
        let ident = self.item.sig.ident.to_string();
        let own = ident.trim_start_matches("r#").to_owned();
        self.arguments.name.as_ref().map_or(own, syn::LitStr::value)
    }

    fn handle(&self, object: &syn::Ident) -> syn::Ident {
        format_ident!("__segno_{object}_{}", self.item.sig.ident)
    }

    fn implementation(&self, object: &syn::Ident) -> TokenStream {
        let (handle, method) = (self.handle(object), &self.item.sig.ident);
        let unit = parse_quote!(());
        let (passed, bound) = match self.input {
            Some(_) => (quote!(context, input), quote!(input)),
            None => (quote!(context), quote!(_)),
        };
        let access = match self.is_shared {
            true => quote!(Shared),
            false => quote!(Exclusive),
        };
        let is_run = self.is_run;
        let more = quote! {
            const ACCESS: ::core::option::Option<::segno::ObjectAccess> =
                ::core::option::Option::Some(::segno::ObjectAccess::#access);
            const RUNS_ONCE: bool = #is_run;
        };
        let begin = quote! {
            fn begin(context: Self::Context, #bound: Self::Input) -> ::segno::Body<Self> {
                ::segno::Body::new(async move {
                    #[allow(unused_mut)]
                    let mut object = <#object as ::segno::ObjectFields>::of(&context);
                    object.#method(#passed).await
                })
            }
        };
        Implementation {
            handle: &handle,
            visibility: &parse_quote!(pub),
            context: &quote!(::segno::Context),
            input: self.input.unwrap_or(&unit),
            output: self.output,
            name: &format!("{object}/{}", self.name()),
            summary: summary(&self.item.attrs),
            arguments: &self.arguments,
            more: &more,
            begin: &begin,
        }
        .expand()
    }

    /// The method of the generated client.
    fn call(&self, object: &syn::Ident) -> TokenStream {
        let (handle, method) = (self.handle(object), &self.item.sig.ident);
        let said = self.item.attrs.iter().filter(|attribute| is(attribute, "doc"));
        let mut documentation: Vec<_> = said.map(|attribute| quote!(#attribute)).collect();
        if documentation.is_empty() {
            let text = format!("Calls `{object}/{}`.", self.name());
            documentation.push(quote!(#[doc = #text]));
        }
        let output = self.output;
        let (parameter, input) = match self.input {
            Some(input) => (quote!(, input: &#input), quote!(input)),
            None => (quote!(), quote!(&())),
        };
        quote! {
            #(#documentation)*
            pub fn #method(&self #parameter) -> ::segno::Call<<#output as ::segno::Returns>::Value> {
                self.0.call::<#handle>(#input)
            }
        }
    }
}

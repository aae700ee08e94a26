//! Declarations, imports and paths of a source file, read from its tokens.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};

/// One name that a `use` brings into a module.
#[derive(Debug)]
pub(super) struct Import {
    /// The name in the module; `None` for `*`.
    pub name: Option<String>,
    pub path: Vec<String>,
    /// True if the `use` has any kind of `pub`.
    pub is_reexport: bool,
}

/// A module without its tests.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Names of the items, without modules.
    pub items: BTreeSet<String>,
    /// Declared modules. `None` for a module in another file.
    pub modules: BTreeMap<String, Option<Source>>,
    pub imports: Vec<Import>,
    /// Paths in the code. A path of one segment may be any name, such as that of a variable.
    pub paths: BTreeSet<Vec<String>>,
}

impl Source {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The text does not consist of Rust tokens.
    pub(super) fn parse(text: &str) -> Result<Self, LexError> {
        let mut source = Self::default();
        source.read(text.parse()?, true);
        Ok(source)
    }

    /// Reads the tokens of the module itself, or those of a group in it. The items of a group are
    /// not visible outside it and are not collected.
    fn read(&mut self, stream: TokenStream, is_module: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    let is_inner = is_mark(&tokens, at + 1, '!');
                    let attribute = at + 1 + usize::from(is_inner);
                    match tokens.get(attribute) {
                        Some(TokenTree::Group(group)) if is_for_tests(group.stream()) => {
                            if is_inner {
                                tokens.len()
                            } else {
                                end_of_item(&tokens, attribute + 1)
                            }
                        }
                        _ => attribute,
                    }
                }
                // Skips the name of a lifetime, and below that of a field or method.
                TokenTree::Punct(mark) if mark.as_char() == '\'' => at + 2,
                TokenTree::Punct(mark) if mark.as_char() == '.' => {
                    at + if is_mark(&tokens, at + 1, '.') || follows(&tokens, at, '.') {
                        1
                    } else {
                        2
                    }
                }
                // Paths in the output of a macro count for the files that call it.
                TokenTree::Punct(mark) if mark.as_char() == '$' => match word(&tokens, at + 1) {
                    Some(first) => path(&first, &tokens, at + 1).1,
                    None => at + 1,
                },
                // The path continues after a type, or begins outside the crate.
                TokenTree::Punct(mark)
                    if mark.as_char() == ':' && is_mark(&tokens, at + 1, ':') =>
                {
                    at + 2 + usize::from(word(&tokens, at + 2).is_some())
                }
                TokenTree::Group(group) => {
                    self.read(group.stream(), false);
                    at + 1
                }
                TokenTree::Ident(ident) => {
                    let ident = ident.to_string();
                    self.read_word(&ident, &tokens, at, is_module)
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => at + 1,
            };
        }
    }

    /// Reads the item or path that begins with the word `first` at `at`. Returns the index of the
    /// first unread token.
    fn read_word(
        &mut self,
        first: &str,
        tokens: &[TokenTree],
        at: usize,
        is_module: bool,
    ) -> usize {
        let name = word(tokens, at + 1);
        match (first, name) {
            // `use<` is the list of captured lifetimes.
            ("use", _) if !is_mark(tokens, at + 1, '<') => {
                let end = (at..tokens.len()).find(|end| is_mark(tokens, *end, ';'));
                let end = end.unwrap_or(tokens.len());
                let is_reexport = is_public(&tokens[..at]);
                self.read_use(&tokens[at + 1..end], &mut Vec::new(), is_reexport);
                end + 1
            }
            ("mod", Some(name)) if is_module => {
                let body = match tokens.get(at + 2) {
                    Some(TokenTree::Group(body)) => {
                        let mut source = Self::default();
                        source.read(body.stream(), true);
                        Some(source)
                    }
                    _ => None,
                };
                self.modules.insert(name, body);
                at + 3
            }
            ("macro_rules", None) => {
                self.items.extend(word(tokens, at + 2));
                at + 3
            }
            (
                "struct" | "enum" | "union" | "trait" | "type" | "static" | "const" | "fn",
                Some(name),
            ) => {
                // The word after `const` is a keyword in `const fn`.
                if is_module && !matches!(&*name, "fn" | "unsafe" | "async" | "extern") {
                    self.items.insert(name);
                    return at + 2;
                }
                at + 1
            }
            _ => {
                let (path, end) = path(first, tokens, at);
                self.paths.insert(path);
                end
            }
        }
    }

    /// Reads the tree of a `use`. `before` has the path segments that precede it.
    fn read_use(&mut self, tree: &[TokenTree], before: &mut Vec<String>, is_reexport: bool) {
        let length = before.len();
        let mut at = 0;
        while at < tree.len() {
            match &tree[at] {
                TokenTree::Ident(ident) if ident == "as" => {
                    let renamed = word(tree, at + 1);
                    let path = before.clone();
                    self.imports.push(Import { name: renamed, path, is_reexport });
                    before.truncate(length);
                    at += 1;
                }
                TokenTree::Ident(ident) => {
                    before.push(plain(&ident.to_string()));
                    let goes_on = is_mark(tree, at + 1, ':') || word(tree, at + 1).is_some();
                    if !goes_on {
                        // `{self}` names the path before it.
                        before.pop_if(|last| last == "self" && length > 0);
                        let (name, path) = (before.last().cloned(), before.clone());
                        self.imports.push(Import { name, path, is_reexport });
                        before.truncate(length);
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    self.imports.push(Import { name: None, path: before.clone(), is_reexport });
                    before.truncate(length);
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.read_use(&inner, before, is_reexport);
                    before.truncate(length);
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            at += 1;
        }
    }
}

/// The path that begins with the word `first` at `at`, and the index after it.
fn path(first: &str, tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = vec![plain(first)];
    at += 1;
    while is_mark(tokens, at, ':')
        && is_mark(tokens, at + 1, ':')
        && let Some(next) = word(tokens, at + 2)
    {
        path.push(next);
        at += 3;
    }
    (path, at)
}

fn plain(word: &str) -> String {
    word.trim_start_matches("r#").to_owned()
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at) {
        Some(TokenTree::Ident(ident)) => Some(plain(&ident.to_string())),
        _ => None,
    }
}

fn is_mark(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// True if this mark precedes the token at `at`.
fn follows(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    at.checked_sub(1).is_some_and(|before| is_mark(tokens, before, mark))
}

/// True if the last tokens are a `pub`, with or without a restriction such as `pub(super)`.
fn is_public(before: &[TokenTree]) -> bool {
    let before = match before {
        [before @ .., TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
            before
        }
        before => before,
    };
    matches!(before.last(), Some(TokenTree::Ident(ident)) if ident == "pub")
}

/// True if an attribute is `cfg(test)` or `cfg(all(test, …))`.
fn is_for_tests(attribute: TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// The index after the item, statement, field or variant that begins at `start`.
fn end_of_item(tokens: &[TokenTree], start: usize) -> usize {
    let mut has_value = false;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token {
            TokenTree::Ident(ident) => {
                let ident = ident.to_string();
                has_value |= matches!(&*ident, "use" | "let" | "static" | "type");
                // `const fn` has a body.
                has_value |=
                    ident == "const" && word(tokens, at + 1).is_some_and(|next| next != "fn");
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => return at + 1,
            TokenTree::Punct(mark) if mark.as_char() == ',' && !has_value => return at + 1,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !has_value => {
                return at + 1;
            }
            _ => {}
        }
    }
    tokens.len()
}

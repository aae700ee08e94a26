//! Types that belong to no language.

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TypeTree {
    /// Any value of JSON.
    Any,
    /// No value.
    Never,
    /// `null`.
    Null,
    /// `true` and `false`.
    Boolean,
    /// Whole numbers; `unsigned` if the schema has no negative ones.
    Integer {
        /// True if no number is negative.
        unsigned: bool,
    },
    /// Numbers.
    Number,
    /// Texts.
    Text,
    /// One of these texts, numbers and booleans.
    Literals {
        /// Name for languages in which the type has to have one.
        hint: String,
        /// The values, at least one.
        values: Vec<LiteralValue>,
    },
    /// A list.
    List(Box<TypeTree>),
    /// A list whose first items have types of their own.
    Tuple {
        /// The types of the first items.
        items: Vec<TypeTree>,
        /// Number of items that are there in any case.
        required: usize,
        /// The type of all further items; `None` if there are none.
        rest: Option<Box<TypeTree>>,
    },
    /// An object with any keys.
    Record(Box<TypeTree>),
    /// One of several types.
    Union {
        /// Name for languages in which the type has to have one.
        hint: String,
        /// The types: at least two, none of them a union, `Any` or `Never`.
        branches: Vec<TypeTree>,
    },
    /// A definition, by its number.
    Named(usize),
}

/// A value of a type that has few.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LiteralValue {
    /// A text.
    Text(String),
    /// A whole number of at most 53 bits.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
}

/// A type with a name.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    /// The name that it should have.
    pub(crate) name: String,
    /// The comment on it.
    pub(crate) note: TypeNote,
    /// The type itself.
    pub(crate) body: DefinitionBody,
}

/// The type of a definition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DefinitionBody {
    /// An object with fields.
    Object {
        /// The fields, in the order of the schema.
        fields: Vec<TypedField>,
        /// The type of the values of all other keys; `None` if the schema does not say it.
        rest: Option<TypeTree>,
        /// True if there are no other keys.
        is_closed: bool,
    },
    /// Another name of a type.
    Alias(TypeTree),
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypedField {
    /// The key.
    pub(crate) name: String,
    /// True if the field is never absent.
    pub(crate) is_required: bool,
    /// The type of the value.
    pub(crate) value: TypeTree,
    /// The comment on it.
    pub(crate) note: TypeNote,
}

/// A comment.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeNote {
    /// The author's description.
    pub(crate) text: String,
    /// Parts of the schema that the type does not say, as JSON.
    pub(crate) schema: Vec<String>,
    /// True if the author calls it deprecated.
    pub(crate) is_deprecated: bool,
}

impl TypeNote {
    /// The lines of the comment, without deprecation.
    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.text.trim().lines().map(|line| line.trim_end().to_owned());
        lines.chain(self.schema.iter().map(|schema| format!("Schema: {schema}"))).collect()
    }
}

impl TypeTree {
    /// The union of types, without those that others contain. `hint` is its name where it needs
    /// one.
    pub(crate) fn union_of(hint: &str, branches: impl IntoIterator<Item = TypeTree>) -> Self {
        let mut flat: Vec<TypeTree> = Vec::new();
        let mut literals: Vec<LiteralValue> = Vec::new();
        let mut literals_at = None;
        let mut pending: Vec<TypeTree> = branches.into_iter().collect();
        pending.reverse();
        while let Some(branch) = pending.pop() {
            match branch {
                TypeTree::Any => return TypeTree::Any,
                TypeTree::Never => {}
                TypeTree::Union { branches, .. } => pending.extend(branches.into_iter().rev()),
                TypeTree::Literals { values, .. } => {
                    literals_at.get_or_insert(flat.len());
                    let is_new = |value: &LiteralValue| !literals.contains(value);
                    let new: Vec<LiteralValue> = values.into_iter().filter(is_new).collect();
                    literals.extend(new);
                }
                branch if flat.contains(&branch) => {}
                branch => flat.push(branch),
            }
        }
        if let Some(at) = literals_at {
            flat.insert(at, TypeTree::Literals { hint: hint.to_owned(), values: literals });
        }
        if flat.contains(&TypeTree::Number) {
            flat.retain(|branch| !matches!(branch, TypeTree::Integer { .. }));
        }
        match flat.len() {
            0 => TypeTree::Never,
            1 => flat.remove(0),
            _ => TypeTree::Union { hint: hint.to_owned(), branches: flat },
        }
    }

    /// The type without `null`, and true if `null` was part of it.
    pub(crate) fn without_null(&self) -> (Self, bool) {
        match self {
            Self::Union { hint, branches } if branches.contains(&Self::Null) => {
                let others = branches.iter().filter(|branch| **branch != Self::Null).cloned();
                (Self::union_of(hint, others), true)
            }
            other => (other.clone(), false),
        }
    }

    /// The types of which this one is made.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::List(item) | Self::Record(item) => vec![item],
            Self::Tuple { items, rest, .. } => items.iter().chain(rest.as_deref()).collect(),
            Self::Union { branches, .. } => branches.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The same type with other numbers of definitions.
    pub(crate) fn renumbered(&self, number: &impl Fn(usize) -> usize) -> Self {
        let each = |types: &[Self]| types.iter().map(|one| one.renumbered(number)).collect();
        match self {
            Self::List(item) => Self::List(Box::new(item.renumbered(number))),
            Self::Record(value) => Self::Record(Box::new(value.renumbered(number))),
            Self::Tuple { items, required, rest } => Self::Tuple {
                items: each(items),
                required: *required,
                rest: rest.as_ref().map(|rest| Box::new(rest.renumbered(number))),
            },
            Self::Union { hint, branches } => {
                let branches: Vec<Self> = each(branches);
                Self::union_of(hint, branches)
            }
            Self::Named(definition) => Self::Named(number(*definition)),
            other => other.clone(),
        }
    }
}

impl DefinitionBody {
    /// The types of which it is made.
    pub(crate) fn parts(&self) -> Vec<&TypeTree> {
        match self {
            Self::Object { fields, rest, .. } => {
                fields.iter().map(|field| &field.value).chain(rest).collect()
            }
            Self::Alias(of) => vec![of],
        }
    }

    /// The same type with other numbers of definitions.
    pub(crate) fn renumbered(&self, number: &impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Object { fields, rest, is_closed } => Self::Object {
                fields: fields
                    .iter()
                    .map(|field| TypedField {
                        value: field.value.renumbered(number),
                        ..field.clone()
                    })
                    .collect(),
                rest: rest.as_ref().map(|rest| rest.renumbered(number)),
                is_closed: *is_closed,
            },
            Self::Alias(of) => Self::Alias(of.renumbered(number)),
        }
    }

    /// The same type without comments.
    pub(crate) fn bare(&self) -> Self {
        let mut bare = self.clone();
        if let Self::Object { fields, .. } = &mut bare {
            for field in fields {
                field.note = TypeNote::default();
            }
        }
        bare
    }
}

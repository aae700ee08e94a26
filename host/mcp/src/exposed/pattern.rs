//! The functions that an operator exposes, as named on the command line.

use std::str::FromStr;

/// `MODULE/FUNCTION`, or `MODULE/*` for all functions of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExposedPattern {
    module: String,
    /// `None` for all functions.
    function: Option<String>,
}

impl ExposedPattern {
    /// Returns true if the function of this module is exposed.
    pub fn matches(&self, module: &str, function: &str) -> bool {
        self.module == module && self.function.as_deref().is_none_or(|named| named == function)
    }
}

impl FromStr for ExposedPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` exposes nothing: write MODULE/FUNCTION, or MODULE/*");
        let (module, function) = text.split_once('/').ok_or_else(wrong)?;
        if module.is_empty() || function.is_empty() || module.contains('*') {
            return Err(wrong());
        }
        let function = match function {
            "*" => None,
            named if named.contains('*') => return Err(wrong()),
            named => Some(named.to_owned()),
        };
        Ok(Self { module: module.to_owned(), function })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_one_function_or_all_of_a_module() {
        let parse = |text: &str| text.parse::<ExposedPattern>();
        let all = parse("shop/*").expect("a pattern");
        assert!(all.matches("shop", "order") && !all.matches("shops", "order"));
        let one = parse("shop/Cart/add").expect("a pattern");
        assert!(one.matches("shop", "Cart/add") && !one.matches("shop", "Cart/total"));
        for text in ["shop", "*/order", "/order", "shop/", "shop/or*", "*"] {
            assert!(parse(text).expect_err(text).contains("MODULE/FUNCTION"));
        }
    }
}

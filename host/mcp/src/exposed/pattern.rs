//! The functions that an operator exposes, as named on the command line.

use std::str::FromStr;

use segno_model::Function;

/// Name of the protocol in the description of a function.
const PROTOCOL: &str = "mcp";

/// `MODULE/FUNCTION`, `MODULE/*` for all functions of a module, `MODULE` for those that the module
/// offers by its description, or `*` for those that any module offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExposedPattern {
    /// `None` for all modules.
    module: Option<String>,
    functions: ExposedFunctions,
}

/// The functions of a module that a pattern exposes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ExposedFunctions {
    One(String),
    All,
    /// Those whose description offers them.
    Offered,
}

impl ExposedPattern {
    /// Returns true if the function of this module is exposed.
    pub fn matches(&self, module: &str, function: &Function) -> bool {
        self.module.as_deref().is_none_or(|named| named == module)
            && match &self.functions {
                ExposedFunctions::One(named) => *named == function.name,
                ExposedFunctions::All => true,
                ExposedFunctions::Offered => function.expose.iter().any(|by| by == PROTOCOL),
            }
    }
}

impl FromStr for ExposedPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` exposes nothing: write MODULE/FUNCTION, MODULE/* for all functions of a module, MODULE for those that it offers, or * for those that any module offers"
            )
        };
        let named = |name: &str| match name.is_empty() || name.contains('*') {
            true => Err(wrong()),
            false => Ok(name.to_owned()),
        };
        let (module, functions) = match text.split_once('/') {
            None if text == "*" => (None, ExposedFunctions::Offered),
            None => (Some(named(text)?), ExposedFunctions::Offered),
            Some((module, "*")) => (Some(named(module)?), ExposedFunctions::All),
            Some((module, function)) => {
                (Some(named(module)?), ExposedFunctions::One(named(function)?))
            }
        };
        Ok(Self { module, functions })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn function(name: &str, expose: &[&str]) -> Function {
        let described = json!({"name": name, "kind": "workflow", "expose": expose});
        serde_json::from_value(described).expect("a function")
    }

    fn parse(text: &str) -> Result<ExposedPattern, String> {
        text.parse()
    }

    #[test]
    fn a_pattern_names_one_function_or_all_of_a_module() {
        let all = parse("shop/*").expect("a pattern");
        let order = function("order", &[]);
        assert!(all.matches("shop", &order) && !all.matches("shops", &order));
        let one = parse("shop/Cart/add").expect("a pattern");
        assert!(one.matches("shop", &function("Cart/add", &[])));
        assert!(!one.matches("shop", &function("Cart/total", &["mcp"])));
        for text in ["", "*/order", "/order", "shop/", "shop/or*", "sh*", "**", "*/*"] {
            assert!(parse(text).expect_err(text).contains("MODULE/FUNCTION"));
        }
    }

    #[test]
    fn a_module_exposes_what_it_offers() {
        let (offered, other) = (function("order", &["grpc", "mcp"]), function("order", &["grpc"]));
        let shop = parse("shop").expect("a pattern");
        assert!(shop.matches("shop", &offered) && !shop.matches("shop", &other));
        assert!(!shop.matches("bank", &offered));
        let any = parse("*").expect("a pattern");
        assert!(any.matches("shop", &offered) && any.matches("bank", &offered));
        assert!(!any.matches("shop", &function("order", &[])));
    }
}

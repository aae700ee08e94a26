//! Names of functions: as users type them, and in addresses.

use serde::{Deserialize, Serialize};

/// A function of a module, or of all objects of a type: `MODULE/FUNCTION` or
/// `MODULE/OBJECT/FUNCTION`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FunctionName {
    /// Alias of the module.
    pub module: String,
    /// Type of the object, if the function belongs to one.
    pub object: Option<String>,
    /// Name of the function.
    pub name: String,
}

impl FunctionName {
    /// Parses `MODULE/FUNCTION` and `MODULE/OBJECT/FUNCTION`.
    ///
    /// # Errors
    /// A sentence that says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.trim_start_matches("wasm://").split('/').collect();
        let (module, object, name) = match parts.as_slice() {
            [module, name] => (module, None, name),
            [module, object, name] => (module, Some((*object).to_owned()), name),
            _ => return Err("write it as MODULE/FUNCTION".to_owned()),
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err("write it as MODULE/FUNCTION".to_owned());
        }
        Ok(Self { module: (*module).to_owned(), object, name: (*name).to_owned() })
    }

    /// Returns true if an address names this function: `agent/Chat/say` is one of
    /// `agent/Chat@ada/say`.
    pub fn is_in(&self, target: &str) -> bool {
        let path = short_target(target).split_once('/').map_or("", |(_, path)| path);
        match (&self.object, path.split_once('@')) {
            (None, None) => path == self.name,
            (Some(object), Some((own, _))) => own == object,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl TryFrom<String> for FunctionName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|reason| format!("`{text}` is no function: {reason}"))
    }
}

impl From<FunctionName> for String {
    fn from(name: FunctionName) -> Self {
        let FunctionName { module, object, name } = name;
        match object {
            Some(object) => [module, object, name].join("/"),
            None => [module, name].join("/"),
        }
    }
}

/// An address in the form that users type; only the function if it is in the caller's own module.
pub fn short_target(target: &str) -> &str {
    let target = target.strip_prefix("wasm://").unwrap_or(target);
    target.strip_prefix('/').unwrap_or(target)
}

/// A function for display: its address, and its name for external workers.
pub fn function_label(target: &str, function: Option<&str>) -> String {
    let is_hosted = target.starts_with("wasm:") || target.starts_with("restate:");
    let is_outside = !is_hosted && target.contains("://");
    match function {
        Some(function) if is_outside => format!("{target}#{function}"),
        Some(_) | None => short_target(target).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::FunctionName;

    #[test]
    fn a_function_is_found_by_its_module_and_its_object() {
        let name = |text| FunctionName::parse(text).expect("it is a name");
        for (text, target, is_it) in [
            ("shop/order", "wasm://shop/order", true),
            ("wasm://shop/order", "wasm://shop/order", true),
            ("shop/order", "wasm://shop/reorder", false),
            ("agent/say", "wasm://agent/Chat@ada/say", false),
            ("agent/Chat/say", "wasm://agent/Chat@ada/say", true),
            ("agent/Chat/say", "wasm://agent/Room@ada/say", false),
            ("agent/Chat/say", "wasm://agent/say", false),
        ] {
            assert_eq!(name(text).is_in(target), is_it, "{text} {target}");
        }
        for text in ["order", "shop/", "/order", "a/b/c/d", ""] {
            assert!(FunctionName::parse(text).is_err(), "{text}");
        }
        for text in ["shop/order", "agent/Chat/say"] {
            assert_eq!(String::from(name(text)), text);
        }
    }
}

//! Deserialization of types with a flattened field.

/// Implements `Deserialize` for a type with `#[serde(flatten)]` on one field and the other listed
/// fields. The derived implementation buffers flattened fields in serde's own representation, which
/// loses the exact text of numbers.
macro_rules! flattened {
    ($name:ty, $flattened:ident, $($field:ident),*) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let whole = <serde_json::Value as serde::Deserialize>::deserialize(from)?;
                let read = || Ok(Self {
                    $($field: serde_json::from_value(whole[stringify!($field)].clone())?,)*
                    $flattened: serde_json::from_value(whole.clone())?,
                });
                read().map_err(|error: serde_json::Error| serde::de::Error::custom(error))
            }
        }
    };
}

pub(crate) use flattened;

#[cfg(test)]
mod tests {
    use crate::{LimitChanged, LimitView, Module};

    #[test]
    fn flattened_types_come_back_with_their_numbers() {
        let item = r#""limit":"shop/order","running":3,"waiting":2,"next_token_at_ms":-5"#;
        let view = format!(r#"{{{item},"keys":[{{"key":"a","running":1,"waiting":0}}]}}"#);
        let read: LimitView = serde_json::from_str(&view).expect("a limit");
        assert_eq!((read.limit.waiting, read.keys[0].running), (2, 1));
        assert_eq!(serde_json::to_string(&read).expect("JSON"), view);
        let changed = format!(r#"{{{item},"before":{{}}}}"#);
        let read: LimitChanged = serde_json::from_str(&changed).expect("a change");
        assert_eq!(serde_json::to_string(&read).expect("JSON"), changed);
        let module = r#"{"digest":"00","size":7,"created_at_ms":1,"aliases":[],"in_use":0,"functions":[{"name":"f","kind":"activity","timeout_ms":9,"input_schema":{"maximum":123456789012345678901}}],"imports":[],"exports":[]}"#;
        let read: Module = serde_json::from_str(module).expect("a module");
        assert_eq!(read.description.functions[0].timeout_ms, Some(9));
        let written = serde_json::to_string(&read).expect("JSON");
        assert!(written.contains("123456789012345678901"), "{written}");
    }
}

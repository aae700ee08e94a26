//! The smallest workflow: one input, one output, and the list of the module's functions.

/// Greets a person.
#[segno::workflow]
pub async fn hello(_ctx: segno::Context, name: String) -> segno::Result<String> {
    Ok(format!("Hello, {name}!"))
}

segno::module!(hello);

#[cfg(test)]
mod tests {
    use segno::testing::Test;

    use super::*;

    #[test]
    fn it_greets() {
        assert_eq!(Test::new().run(hello, &"Ada".to_owned()).unwrap(), "Hello, Ada!");
    }
}

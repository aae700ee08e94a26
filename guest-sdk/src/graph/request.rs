//! HTTP requests of graph nodes.

use super::source::{Expression, Source};

/// A request whose address, headers and body may come from other nodes:
/// `Request::post("https://shop.example.com/orders").json(order)`.
pub struct Request {
    method: &'static str,
    url: Expression,
    headers: Vec<(String, Expression)>,
    body: Option<Expression>,
}

impl Request {
    fn new(method: &'static str, url: impl Source<String>) -> Self {
        Self { method, url: url.expression(), headers: Vec::new(), body: None }
    }

    /// Creates a request `GET url`.
    pub fn get(url: impl Source<String>) -> Self {
        Self::new("GET", url)
    }

    /// Creates a request `POST url`.
    pub fn post(url: impl Source<String>) -> Self {
        Self::new("POST", url)
    }

    /// Creates a request `PUT url`.
    pub fn put(url: impl Source<String>) -> Self {
        Self::new("PUT", url)
    }

    /// Creates a request `PATCH url`.
    pub fn patch(url: impl Source<String>) -> Self {
        Self::new("PATCH", url)
    }

    /// Creates a request `DELETE url`.
    pub fn delete(url: impl Source<String>) -> Self {
        Self::new("DELETE", url)
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Source<String>) -> Self {
        self.headers.push((name.to_owned(), value.expression()));
        self
    }

    /// Sets the body to JSON, with its content type.
    #[must_use]
    pub fn json<T>(mut self, body: impl Source<T>) -> Self {
        self.body = Some(body.expression());
        self.header("content-type", "application/json")
    }

    pub(super) fn into_expression(self) -> Expression {
        let field = |name: &str, value| (name.to_owned(), value);
        let mut fields =
            vec![field("method", Expression::Value(self.method.into())), field("url", self.url)];
        if !self.headers.is_empty() {
            fields.push(field("headers", Expression::Object(self.headers)));
        }
        fields.extend(self.body.map(|body| field("body", body)));
        Expression::Object(fields)
    }
}

//! The options of `segno serve` for signed tokens.

use std::path::PathBuf;

use clap::Args;
use segno_api::TokenVerifier;

use super::{CliError, build::other};

/// Options for signed tokens (JWT).
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Signed tokens")]
pub(super) struct TokenOptions {
    /// Key of accepted tokens (JWT): a public key as PEM (RSA of at least 2048 bits, P-256, P-384,
    /// Ed25519), or a file with a secret of at least 32 bytes (HS256); may be repeated
    #[arg(long = "jwt-key", value_name = "FILE", env = "SEGNO_JWT_KEY", value_delimiter = ',')]
    keys: Vec<PathBuf>,
    /// Required issuer of tokens (`iss`)
    #[arg(long = "jwt-issuer", value_name = "NAME", requires = "keys")]
    issuer: Option<String>,
    /// Required audience of tokens (`aud`)
    #[arg(long = "jwt-audience", value_name = "NAME", requires = "keys")]
    audience: Option<String>,
}

impl TokenOptions {
    /// The keys of accepted tokens. `None` without a key.
    pub(super) fn jwt(&self) -> Result<Option<TokenVerifier>, CliError> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let mut jwt = TokenVerifier::new(self.issuer.clone(), self.audience.clone());
        for file in &self.keys {
            jwt.add_file(file).map_err(|error| other("invalid-key", &error))?;
        }
        Ok(Some(jwt))
    }
}

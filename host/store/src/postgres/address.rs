//! Addresses of databases: several servers, settings of sessions, and the use of a pooler.

use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;

/// An address, taken apart.
#[derive(Debug, Clone)]
pub(super) struct ServerAddress {
    /// The options of each server, in the order of the address; never empty.
    pub(super) servers: Vec<PgConnectOptions>,
    /// Settings of sessions, by name: `options[name]=value`.
    pub(super) settings: Vec<(String, String)>,
    /// The value of `pgbouncer`, if it is given.
    pub(super) pooled: Option<bool>,
}

/// The address cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{shown}` is not the address of a database: write postgres://USER@HOST:PORT/DATABASE ({reason})"
)]
pub struct PostgresAddressError {
    shown: String,
    reason: String,
}

impl ServerAddress {
    pub(super) fn of(address: &str) -> Result<Self, PostgresAddressError> {
        Self::parse(address)
            .map_err(|reason| PostgresAddressError { shown: without_password(address), reason })
    }

    fn parse(address: &str) -> Result<Self, String> {
        let (place, parameters) = address.split_once('?').unwrap_or((address, ""));
        let (mut hosts, mut ports) = (None, None);
        let (mut settings, mut pooled, mut rest) = (Vec::new(), None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (name, text) = (decoded(name)?, decoded(value)?);
            let setting = name.strip_prefix("options[").and_then(|name| name.strip_suffix(']'));
            match (name.as_str(), setting) {
                (_, Some(setting)) => settings.push((setting.to_owned(), text)),
                ("options", _) => settings.extend(command_line(&text)?),
                ("host", _) if text.contains(',') => hosts = Some(text),
                ("port", _) if text.contains(',') => ports = Some(text),
                ("pgbouncer", _) => pooled = Some(is_pooled(&text)?),
                ("target_session_attrs", _) => check_target(&text)?,
                _ => rest.push(parameter),
            }
        }
        let servers = servers(place, hosts.as_deref(), ports.as_deref())?.into_iter();
        let servers = servers.map(|(place, server)| {
            let parameters = rest.iter().map(|parameter| (*parameter).to_owned()).chain(server);
            let parameters = parameters.collect::<Vec<_>>().join("&");
            let address = format!("{place}?{parameters}");
            PgConnectOptions::from_str(&address).map_err(|error| error.to_string())
        });
        Ok(Self { servers: servers.collect::<Result<_, _>>()?, settings, pooled })
    }
}

/// The place of each server, and the parameters that belong to it alone. Several hosts are
/// separated by commas, in front of the database or as parameters.
fn servers(
    place: &str,
    hosts: Option<&str>,
    ports: Option<&str>,
) -> Result<Vec<(String, Vec<String>)>, String> {
    if let Some(hosts) = hosts {
        let hosts: Vec<&str> = hosts.split(',').collect();
        let ports: Vec<&str> = ports.map(|ports| ports.split(',').collect()).unwrap_or_default();
        if !ports.is_empty() && ports.len() != hosts.len() {
            return Err(format!("{} hosts and {} ports", hosts.len(), ports.len()));
        }
        let server = |(number, host): (usize, &&str)| {
            let port = ports.get(number).map(|port| format!("port={port}"));
            let parameters = std::iter::once(format!("host={host}")).chain(port);
            (place.to_owned(), parameters.collect())
        };
        return Ok(hosts.iter().enumerate().map(server).collect());
    }
    let Some((scheme, rest)) = place.split_once("://") else {
        return Ok(vec![(place.to_owned(), Vec::new())]);
    };
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| (&rest[..at], &rest[at..]));
    let (user, hosts) =
        authority.rfind('@').map_or(("", authority), |at| authority.split_at(at + 1));
    let server = |host: &str| (format!("{scheme}://{user}{host}{path}"), Vec::new());
    Ok(hosts.split(',').map(server).collect())
}

fn is_pooled(value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        other => Err(format!("`pgbouncer={other}`: it is `true` or `false`")),
    }
}

/// Every host writes, so it looks for the server that takes writes, whatever is asked for.
fn check_target(value: &str) -> Result<(), String> {
    match value {
        "read-write" | "primary" | "any" => Ok(()),
        other => Err(format!(
            "`target_session_attrs={other}`: a host writes, so only `read-write` is possible"
        )),
    }
}

/// The settings of `options=-c name=value --name=value`.
fn command_line(options: &str) -> Result<Vec<(String, String)>, String> {
    let mut settings = Vec::new();
    let mut words = options.split_whitespace();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
            Some("") => words.next(),
            setting => setting,
        };
        let setting = setting.and_then(|setting| setting.split_once('='));
        let (name, value) = setting.ok_or_else(|| format!("`options={options}`"))?;
        settings.push((name.to_owned(), value.to_owned()));
    }
    Ok(settings)
}

/// Decodes `%XX` and `+`.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let code = rest.get(..2).and_then(|code| std::str::from_utf8(code).ok());
                let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
                bytes.push(code.ok_or_else(|| format!("`{text}` is not encoded"))?);
                rest = &rest[2..];
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("`{text}` is not a text"))
}

/// The address without its password, which may be in front of the host or among the parameters.
pub(super) fn without_password(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let rest = match rest.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split(':').next().unwrap_or_default()),
        None => rest.to_owned(),
    };
    let parameters: Vec<&str> = parameters
        .split('&')
        .filter(|parameter| !parameter.is_empty() && !parameter.starts_with("password="))
        .collect();
    let parameters = match parameters.is_empty() {
        true => String::new(),
        false => format!("?{}", parameters.join("&")),
    };
    match scheme {
        "" => format!("{rest}{parameters}"),
        scheme => format!("{scheme}://{rest}{parameters}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The host and port of each server.
    fn hosts(address: &str) -> Vec<(String, u16)> {
        let address = ServerAddress::of(address).unwrap_or_else(|error| panic!("{error}"));
        let host = |server: &PgConnectOptions| {
            assert_eq!(server.get_database(), Some("segno"));
            let socket = server.get_socket().map(|socket| socket.display().to_string());
            (socket.unwrap_or_else(|| server.get_host().to_owned()), server.get_port())
        };
        address.servers.iter().map(host).collect()
    }

    #[test]
    fn an_address_may_have_several_servers() {
        let of = |host: &str, port| (host.to_owned(), port);
        assert_eq!(hosts("postgres://a@db/segno"), [of("db", 5432)]);
        let three = hosts("postgres://a:p,w@one,two:7,[::1]:8/segno?target_session_attrs=primary");
        assert_eq!(three, [of("one", 5432), of("two", 7), of("[::1]", 8)]);
        let two = hosts("postgres://a@localhost/segno?host=/run/a,/run/b&port=5,6&sslmode=disable");
        assert_eq!(two, [of("/run/a", 5), of("/run/b", 6)]);
    }

    #[test]
    fn settings_are_told_apart_from_the_connection() {
        let address = "postgres://a@db/segno?options[search_path]=a%20b&pgbouncer=true&options=-c+x=1%20--y=2";
        let address = ServerAddress::of(address).expect("an address");
        let settings = [("search_path", "a b"), ("x", "1"), ("y", "2")];
        assert_eq!(address.settings, settings.map(|(name, value)| (name.into(), value.into())));
        assert_eq!((address.pooled, address.servers[0].get_options()), (Some(true), None));
    }

    #[test]
    fn an_address_that_cannot_be_meant_is_refused_by_name() {
        for (address, reason) in [
            ("postgres://a@db/segno?target_session_attrs=standby", "only `read-write` is possible"),
            ("postgres://a@db/segno?pgbouncer=yes", "it is `true` or `false`"),
            ("postgres://a@db/segno?host=x,y&port=1,2,3", "2 hosts and 3 ports"),
            ("postgres://a@one,two:port/segno", "invalid port"),
        ] {
            let refused = ServerAddress::of(address).expect_err("it is no address").to_string();
            assert!(refused.contains(reason) && refused.contains("not the address"), "{refused}");
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (address, shown) in [
            ("postgres://segno:secret@db/segno", "postgres://segno@db/segno"),
            (
                "postgres://segno:s:e@c@db:5433/segno?sslmode=require",
                "postgres://segno@db:5433/segno?sslmode=require",
            ),
            (
                "postgres://db/segno?user=a&password=secret&host=/run",
                "postgres://db/segno?user=a&host=/run",
            ),
            ("postgres://db/segno", "postgres://db/segno"),
        ] {
            assert_eq!(without_password(address), shown);
        }
        let refused = ServerAddress::of("postgres://segno:secret@db:port/segno");
        let refused = refused.expect_err("that is no port").to_string();
        assert!(
            refused.contains("postgres://segno@db:port/segno") && !refused.contains("secret"),
            "{refused}"
        );
    }
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The query of a request to the server.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use url::Url;
use url::form_urlencoded;

use crate::duration;

/// The parameters that have not been read yet. One that is never read is an error.
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn of(url: &Url) -> Self {
        Self(
            form_urlencoded::parse(url.query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// The value of the last parameter with this name.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let mut value = None;
        self.0.retain_mut(|(of, text)| {
            let is_it = of == name;
            if is_it {
                value = Some(std::mem::take(text));
            }
            !is_it
        });
        value
    }

    pub fn require(&mut self, name: &str) -> Result<String, String> {
        self.take(name).ok_or_else(|| format!("{name} is missing"))
    }

    /// The value as `read` has it. The error names the parameter, and has its value.
    pub fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.take(name)
            .map(|value| read(&value).map_err(|complaint| format!("{name}={value}: {complaint}")))
            .transpose()
    }

    pub fn parse<T>(&mut self, name: &str) -> Result<Option<T>, String>
    where
        T: FromStr<Err: Display>,
    {
        self.read(name, |value| {
            value.parse().map_err(|error: T::Err| error.to_string())
        })
    }

    pub fn milliseconds(&mut self, name: &str) -> Result<Option<Duration>, String> {
        self.read(name, duration::milliseconds)
    }

    /// The parameter must be 0 or 1.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, String> {
        self.read(name, |value| match value {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("it must be 0 or 1".to_owned()),
        })
    }

    /// Fails if there is a parameter that was not read.
    pub fn end(self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("{name}: unknown parameter")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query::of(&Url::parse(&format!("profiling:x?{text}")).unwrap())
    }

    #[test]
    fn values_are_decoded_and_read_once() {
        let mut query = query("name=a%20b%26c&interval=0.5&newOnes=1&name=d+e");
        assert_eq!(query.take("name"), Some("d e".to_owned()));
        assert_eq!(query.take("name"), None);
        assert_eq!(
            query.milliseconds("interval"),
            Ok(Some(Duration::from_micros(500)))
        );
        assert_eq!(query.flag("newOnes"), Ok(Some(true)));
        assert_eq!(query.parse::<u32>("maxSamples"), Ok(None));
        assert_eq!(query.end(), Ok(()));
    }

    #[test]
    fn an_error_names_what_is_wrong() {
        assert_eq!(
            query("").require("interval"),
            Err("interval is missing".to_owned())
        );
        for value in ["0", "-1", "x", "", "NaN", "inf", "1e400", "1e-9"] {
            let error = query(&format!("interval={value}"))
                .milliseconds("interval")
                .unwrap_err();
            assert!(error.starts_with(&format!("interval={value}: ")), "{error}");
        }
        let error = query("maxSamples=x")
            .parse::<u32>("maxSamples")
            .unwrap_err();
        assert!(error.starts_with("maxSamples=x: "), "{error}");
        assert!(query("newOnes=2").flag("newOnes").is_err());
        let error = query("intervall=1").end().unwrap_err();
        assert!(error.starts_with("intervall: "), "{error}");
    }
}

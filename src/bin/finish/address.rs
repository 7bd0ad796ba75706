//! The address at which the site will lie. Nothing needs it but what crawlers read: they want whole addresses, and the
//! site is built without knowing its own. Who builds it may say, in `BMAX_ADDRESS`.

use std::env;

use super::Result;

/// The address of the site with its last slash, if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Option<String>);

impl Address {
    /// That of the setting.
    pub fn of_the_setting() -> Result<Self> {
        match env::var_os("BMAX_ADDRESS") {
            Some(given) => Self::read(given.to_str().unwrap_or("\u{fffd}")),
            None => Ok(Self(None)),
        }
    }

    /// None of an empty text. What could end an attribute, a string or a line is refused, and so is a query.
    pub fn read(given: &str) -> Result<Self> {
        let given = given.trim();
        if given.is_empty() {
            return Ok(Self(None));
        }
        let host = given.strip_prefix("https://").or_else(|| given.strip_prefix("http://")).unwrap_or_default();
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-._~:/[]%".contains(sign);
        if host.is_empty() || host.starts_with('/') || !host.chars().all(is_plain) {
            return Err(format!("BMAX_ADDRESS is '{given}': it may be an address such as https://example.org/bmax/"));
        }
        Ok(Self(Some(format!("{}/", given.trim_end_matches('/')))))
    }

    /// The address of the first page.
    pub fn site(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The address of a place that is named as seen from the first page: whole, or from a page from which `root` leads
    /// there.
    pub fn of(&self, place: &str, root: &str) -> String {
        format!("{}{place}", self.site().unwrap_or(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_whole_where_it_is_known_and_relative_where_not() {
        let known = Address::read(" https://example.org/bmax ").expect("an address");
        assert_eq!(known.of("picture.png", "../"), "https://example.org/bmax/picture.png");
        assert_eq!(Address::read("http://[::1]:8080").expect("an address").site(), Some("http://[::1]:8080/"));
        let none = Address::read("").expect("none");
        assert_eq!((none.site(), none.of("picture.png", "../")), (None, "../picture.png".to_owned()));
    }

    #[test]
    fn what_is_no_address_stops_the_build() {
        for wrong in [
            "example.org",
            "ftp://example.org/",
            "https://",
            "https:///x",
            "https://a/?q",
            "https://a/\"",
            "https://a b",
        ] {
            assert!(Address::read(wrong).is_err_and(|said| said.contains(wrong)), "{wrong}");
        }
    }
}

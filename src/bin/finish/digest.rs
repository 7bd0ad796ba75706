//! Digests as a page and a policy name them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256, Sha384};

/// SHA-256 in Base64.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(Sha256::digest(bytes))
}

/// SHA-384 in Base64, which Trunk writes into the page.
pub fn sha384(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(Sha384::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests of “abc” are printed in FIPS 180-2, appendices B.1 and D.1 (there in hexadecimal).
    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha256("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert_eq!(sha384("abc"), "ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP/W+2AhgcroefMI1i67KE0yCWn");
    }
}

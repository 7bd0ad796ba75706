//! Digests as a policy and file names have them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// SHA-256 in Base64.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(Sha256::digest(bytes))
}

/// SHA-256 in hexadecimal, as lists of packages have it.
pub fn hexadecimal(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first signs of it that are letters and digits: as many as tell builds apart, and nothing that a name has to
/// escape.
pub fn short(bytes: impl AsRef<[u8]>) -> String {
    sha256(bytes).chars().filter(char::is_ascii_alphanumeric).take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of “abc” is printed in FIPS 180-2, appendix B.1 (there in hexadecimal).
    #[test]
    fn a_digest_is_that_of_the_standard() {
        assert_eq!(sha256("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    #[test]
    fn in_hexadecimal_it_is_printed_as_there() {
        assert_eq!(hexadecimal("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_short_one_has_letters_and_digits_alone() {
        assert_eq!(short("abc"), "ungWv48BzpBQUDeX");
    }
}

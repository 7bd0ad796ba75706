//! The picture of the README: what fills the memory of one GPU in the scenario of its example link.

use bmax::link;
use bmax::picture::{Look, Theme, memory};

/// The picture in the colours of this theme; the error says what the README lacks.
pub fn of(readme: &str, theme: Theme) -> Result<String, String> {
    let query = readme.split("/?").skip(1).find(|rest| rest.starts_with("v=")).ok_or("README.md has no link")?;
    let query = query.split_whitespace().next().unwrap_or_default();
    let decoded = link::decode(query);
    if let Some(notice) = decoded.notices.first() {
        return Err(format!("the link of README.md: {notice}"));
    }
    // The address is that of whoever serves the page, so that only the query stands below the picture.
    Ok(memory(&decoded.scenario, Look { theme, ground: true }, ""))
}

//! Where constants and formulas come from. The page's list of sources is made from this table.

use serde::Serialize;

/// A publication that a constant or formula is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Short name for captions: authors and year.
    pub short: &'static str,
    /// Title of the work.
    pub title: &'static str,
    /// Where in the work.
    pub locus: &'static str,
    /// Where to read it.
    pub url: &'static str,
    /// When it was published or, for pages without a date, read; ISO 8601 as far as known.
    pub date: &'static str,
}

/// The workshop page that the first method restates.
pub static WORKSHOP: Source = Source {
    short: "Vizuara workshop",
    title: "Finding the Maximum Local Batch Size",
    locus: "Deriving Maximum Batch Size, steps 1–4",
    url: "https://vizuaraai.github.io/5d-parallelism-visual-guide/max-local-batch-size.html",
    date: "2026",
};

/// Activation bytes per layer.
pub static KORTHIKANTI: Source = Source {
    short: "Korthikanti et al. 2022",
    title: "Reducing Activation Recomputation in Large Transformer Models",
    locus: "sections 4.1–4.2 and 5, equations 1–4, table 2",
    url: "https://arxiv.org/abs/2205.05198",
    date: "2022-05-10",
};

/// Model states of mixed-precision Adam and their division.
pub static RAJBHANDARI: Source = Source {
    short: "Rajbhandari et al. 2020",
    title: "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
    locus: "section 3.1 and figure 1",
    url: "https://arxiv.org/abs/1910.02054",
    date: "2020-05-13",
};

/// Every source that the estimator cites.
pub static ALL: &[&Source] = &[&WORKSHOP, &KORTHIKANTI, &RAJBHANDARI];

//! Models: the workshop's five presets and published networks.

use crate::{Mlp, Model, Switch};

use Switch::{Off, On};

/// Where a row belongs in a picker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelGroup {
    /// The five sizes of the workshop's calculator.
    Workshop,
    /// Networks somebody trained and described.
    Published,
}

impl ModelGroup {
    /// Every group, in the order of a picker.
    pub const ALL: &'static [Self] = &[Self::Workshop, Self::Published];

    /// The heading of this group in a picker.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Workshop => "Workshop presets",
            Self::Published => "Published models",
        }
    }
}

/// One model, with where its numbers come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelRow {
    /// The word for this model in a link.
    pub slug: &'static str,
    /// What a picker shows.
    pub name: &'static str,
    /// Where it stands in a picker.
    pub group: ModelGroup,
    /// The numbers.
    pub model: Model,
}

/// Where the numbers of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSource {
    /// Who states them.
    pub source: &'static str,
    /// The day that was looked up, as in ISO 8601.
    pub retrieved: &'static str,
    /// What a reader should know before trusting the row; may be empty.
    pub note: &'static str,
}

impl ModelRow {
    /// Where the numbers come from; `None` for a row that is not of this catalogue.
    pub fn source(&self) -> Option<&'static ModelSource> {
        let place = MODELS.iter().position(|row| row == self)?;
        MODEL_SOURCES.get(place)
    }
}

/// A row as it is declared. Rows and sources are two tables for who reads them, because a program
/// that never shows a source then does not carry it.
#[derive(Clone, Copy)]
struct Declared {
    row: ModelRow,
    source: ModelSource,
}

/// The day the rows below were last compared with their sources.
const CHECKED: &str = "2026-11-21";

/// The workshop names four numbers a size and leaves the rest open.
const WORKSHOP: &str = "Workshop on training memory, presets of its batch-size calculator: N, H, L and n.";
const WORKSHOP_NOTE: &str = "The workshop states N, H, L and n only. The rest is assumed: a standard GPT block with \
    k = n, f = 4H and tied embeddings of 32,000 entries. N is a round figure, so the count derived from the \
    architecture differs from it.";

/// The GPT-2 sizes carry learned positions, which the derived count leaves out.
const GPT_POSITIONS: &str = "The published count includes learned position embeddings; the derived one does not.";

/// A model of the GPT block, from `[H, L, n, k, d, f, V]`.
const fn gelu(origin: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch) -> Model {
    let [hidden, layers, heads, kv_heads, head_dim, feed_forward, vocabulary] = shape;
    let mlp = Mlp::Gelu;
    Model {
        origin,
        parameters,
        hidden,
        layers,
        heads,
        kv_heads,
        head_dim,
        feed_forward,
        vocabulary,
        tied_embeddings,
        mlp,
    }
}

/// A model of the Llama block, from `[H, L, n, k, d, f, V]`.
const fn gated(origin: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch) -> Model {
    Model { mlp: Mlp::Gated, ..gelu(origin, parameters, shape, tied_embeddings) }
}

/// A workshop preset: everything the workshop leaves open follows from `[H, L, n]`.
const fn preset(slug: &'static str, name: &'static str, parameters: u64, [h, l, n]: [u32; 3]) -> Declared {
    let model = gelu(slug, parameters, [h, l, n, n, h / n, 4 * h, 32_000], On);
    Declared {
        row: ModelRow { slug, name, group: ModelGroup::Workshop, model },
        source: ModelSource { source: WORKSHOP, retrieved: CHECKED, note: WORKSHOP_NOTE },
    }
}

/// A published model; its `origin` is its slug.
const fn published(name: &'static str, model: Model, source: &'static str, note: &'static str) -> Declared {
    Declared {
        row: ModelRow { slug: model.origin, name, group: ModelGroup::Published, model },
        source: ModelSource { source, retrieved: CHECKED, note },
    }
}

/// The model a reader meets first: the workshop's 7B.
pub const DEFAULT_MODEL: &ModelRow = &DECLARED[2].row;

/// Every model, group by group, in the order of a picker.
///
/// The arrays are `[H, L, n, k, d, f, V]`. V is the size of the embedding table as it is stored,
/// padding included, because that is what takes memory.
pub static MODELS: &[ModelRow] = &{
    let mut rows = [DECLARED[0].row; DECLARED.len()];
    let mut i = 1;
    while i < rows.len() {
        rows[i] = DECLARED[i].row;
        i += 1;
    }
    rows
};

/// The sources of the models, in the same order.
pub static MODEL_SOURCES: &[ModelSource] = &{
    let mut sources = [DECLARED[0].source; DECLARED.len()];
    let mut i = 1;
    while i < sources.len() {
        sources[i] = DECLARED[i].source;
        i += 1;
    }
    sources
};

const DECLARED: &[Declared] = &[
    preset("1b", "1B", 1_000_000_000, [2_048, 24, 16]),
    preset("3b", "3B", 3_000_000_000, [3_200, 26, 32]),
    preset("7b", "7B", 7_000_000_000, [4_096, 32, 32]),
    preset("13b", "13B", 13_000_000_000, [5_120, 40, 40]),
    preset("70b", "70B", 70_000_000_000, [8_192, 80, 64]),
    published(
        "GPT-2 124M",
        gelu("gpt2", 124_439_808, [768, 12, 12, 12, 64, 3_072, 50_257], On),
        "karpathy/nanoGPT, model.py at 3adf61e: the released gpt2 checkpoint.",
        GPT_POSITIONS,
    ),
    published(
        "GPT-2 XL 1.5B",
        gelu("gpt2-xl", 1_557_611_200, [1_600, 48, 25, 25, 64, 6_400, 50_257], On),
        "karpathy/nanoGPT, model.py at 3adf61e: the released gpt2-xl checkpoint.",
        GPT_POSITIONS,
    ),
    published(
        "GPT-3 2.7B",
        gelu("gpt-3-2.7b", 2_700_000_000, [2_560, 32, 32, 32, 80, 10_240, 50_257], On),
        "Brown et al. 2020, arXiv 2005.14165, table 2.1.",
        "The paper gives 2.7 billion, rounded; its architecture counts to 2.65 billion.",
    ),
    published(
        "GPT-3 175B",
        gelu("gpt-3-175b", 175_000_000_000, [12_288, 96, 96, 96, 128, 49_152, 50_257], On),
        "Brown et al. 2020, arXiv 2005.14165, table 2.1.",
        "The paper gives 175.0 billion, rounded.",
    ),
    published(
        "Pythia 1.4B",
        gelu("pythia-1.4b", 1_414_647_808, [2_048, 24, 16, 16, 128, 8_192, 50_304], Off),
        "EleutherAI/pythia, models/1.4B/pythia-1.4b.yml at a19eecb.",
        "",
    ),
    published(
        "Pythia 6.9B",
        gelu("pythia-6.9b", 6_857_302_016, [4_096, 32, 32, 32, 128, 16_384, 50_432], Off),
        "EleutherAI/pythia, models/6.9B/pythia-6.9b.yml at a19eecb.",
        "",
    ),
    published(
        "Llama 2 7B",
        gated("llama-2-7b", 6_738_415_616, [4_096, 32, 32, 32, 128, 11_008, 32_000], Off),
        "Configuration of meta-llama/Llama-2-7b-hf, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Llama 2 13B",
        gated("llama-2-13b", 13_015_864_320, [5_120, 40, 40, 40, 128, 13_824, 32_000], Off),
        "Configuration of meta-llama/Llama-2-13b-hf, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Llama 2 70B",
        gated("llama-2-70b", 68_976_648_192, [8_192, 80, 64, 8, 128, 28_672, 32_000], Off),
        "Configuration of meta-llama/Llama-2-70b-hf, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Llama 3.1 8B",
        gated("llama-3.1-8b", 8_030_261_248, [4_096, 32, 32, 8, 128, 14_336, 128_256], Off),
        "Configuration of meta-llama/Meta-Llama-3.1-8B, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Llama 3.1 70B",
        gated("llama-3.1-70b", 70_553_706_496, [8_192, 80, 64, 8, 128, 28_672, 128_256], Off),
        "Configuration of meta-llama/Meta-Llama-3.1-70B, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Llama 3.2 1B",
        gated("llama-3.2-1b", 1_235_814_400, [2_048, 16, 32, 8, 64, 8_192, 128_256], On),
        "Configuration of meta-llama/Llama-3.2-1B, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Mistral 7B v0.3",
        gated("mistral-7b", 7_248_023_552, [4_096, 32, 32, 8, 128, 14_336, 32_768], Off),
        "Configuration of mistralai/Mistral-7B-v0.3, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Qwen2.5 7B",
        gated("qwen2.5-7b", 7_615_616_512, [3_584, 28, 28, 4, 128, 18_944, 152_064], Off),
        "Configuration of Qwen/Qwen2.5-7B, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "The published count includes biases on queries, keys and values; the derived one does not.",
    ),
    published(
        "Qwen3 4B",
        gated("qwen3-4b", 4_022_468_096, [2_560, 36, 32, 8, 128, 9_728, 151_936], On),
        "Configuration of Qwen/Qwen3-4B, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "The published count includes norms of queries and keys; the derived one does not.",
    ),
    published(
        "Qwen3 8B",
        gated("qwen3-8b", 8_190_735_360, [4_096, 36, 32, 8, 128, 12_288, 151_936], Off),
        "Configuration of Qwen/Qwen3-8B, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "The published count includes norms of queries and keys; the derived one does not.",
    ),
    published(
        "SmolLM2 360M",
        gated("smollm2-360m", 361_821_120, [960, 32, 15, 5, 64, 2_560, 49_152], On),
        "Configuration of HuggingFaceTB/SmolLM2-360M, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "TinyLlama 1.1B",
        gated("tinyllama-1.1b", 1_100_048_384, [2_048, 22, 32, 4, 64, 5_632, 32_000], Off),
        "Configuration of TinyLlama/TinyLlama-1.1B, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
    published(
        "Gemma 2 9B",
        gated("gemma-2-9b", 9_241_705_984, [3_584, 42, 16, 8, 256, 14_336, 256_000], On),
        "Configuration of google/gemma-2-9b, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "The published count includes a second pair of norms a block; the derived one does not.",
    ),
    published(
        "Phi-3 mini 3.8B",
        gated("phi-3-mini", 3_821_079_552, [3_072, 32, 32, 32, 96, 8_192, 32_064], Off),
        "Configuration of microsoft/Phi-3-mini-4k-instruct, as in Lightning-AI/litgpt, litgpt/config.py at 2685705.",
        "",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_presets_are_the_workshops_five_in_its_order() {
        let stated: Vec<_> = MODELS
            .iter()
            .filter(|row| row.group == ModelGroup::Workshop)
            .map(|row| (row.slug, row.model.parameters, row.model.hidden, row.model.layers, row.model.heads))
            .collect();
        assert_eq!(
            stated,
            [
                ("1b", 1_000_000_000, 2_048, 24, 16),
                ("3b", 3_000_000_000, 3_200, 26, 32),
                ("7b", 7_000_000_000, 4_096, 32, 32),
                ("13b", 13_000_000_000, 5_120, 40, 40),
                ("70b", 70_000_000_000, 8_192, 80, 64),
            ]
        );
    }

    #[test]
    fn a_row_and_its_model_carry_the_same_slug() {
        for row in MODELS {
            assert_eq!(row.slug, row.model.origin);
        }
    }

    #[test]
    fn heads_divide_into_groups() {
        for row in MODELS {
            assert_eq!(row.model.heads % row.model.kv_heads, 0, "{}", row.slug);
        }
    }

    /// The two GPT-3 rows carry figures the paper rounded, the smaller one by 2 %.
    #[test]
    fn derived_counts_agree_with_published_ones() {
        for row in MODELS.iter().filter(|row| row.group == ModelGroup::Published) {
            let allowed = if row.slug == "gpt-3-2.7b" { 0.021 } else { 0.01 };
            let mismatch = row.model.parameter_mismatch();
            assert!(mismatch <= allowed, "{}: {:.2} %", row.slug, mismatch * 100.0);
        }
    }

    /// Exact counts leave no room for a wrong dimension: what the derived count misses is known to
    /// the last weight.
    #[test]
    fn published_counts_are_the_derived_ones_plus_the_parts_left_out() {
        for row in MODELS.iter().filter(|row| row.group == ModelGroup::Published && !row.slug.starts_with("gpt-3")) {
            let model = &row.model;
            let [hidden, layers, kv_heads, head_dim] =
                [model.hidden, model.layers, model.kv_heads, model.head_dim].map(u64::from);
            let left_out = match row.slug {
                // Learned positions, 1,024 of them.
                "gpt2" | "gpt2-xl" => 1_024 * hidden,
                // Biases of queries, keys and values.
                "qwen2.5-7b" => layers * (hidden + 2 * kv_heads * head_dim),
                // One norm for queries and one for keys, shared by the heads.
                "qwen3-4b" | "qwen3-8b" => layers * 2 * head_dim,
                // Two more norms a block, after attention and after the MLP.
                "gemma-2-9b" => layers * 2 * hidden,
                _ => 0,
            };
            assert_eq!(model.parameters, model.derived_parameters() + left_out, "{}", row.slug);
        }
    }

    #[test]
    fn rows_stand_group_by_group() {
        let groups: Vec<_> = MODELS.iter().map(|row| row.group).collect();
        let mut sorted = groups.clone();
        sorted.sort_by_key(|group| ModelGroup::ALL.iter().position(|listed| listed == group));
        assert_eq!(groups, sorted);
    }
}

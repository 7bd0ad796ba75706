//! Models: the workshop's five presets and published networks.
//!
//! A count that is not round is that of the released checkpoint: it was compared, on the day below,
//! with the class that loads the checkpoint in transformers 5.23.0, built from the same
//! configuration without its weights. Matrices that two parts share are counted once.

use super::Declared;
use crate::{
    Bias, Encoder, Experts, Latent, Mlp, Model, Norm, Origin, Packing, Position, QkNorm, Recomputation, Scenario,
    Softmax, Switch, Tower, Vision,
};

use Switch::{Off, On};

/// Where a row belongs in a picker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelGroup {
    /// The five sizes of the workshop's calculator.
    Workshop,
    /// GPT-2 and GPT-3.
    Gpt,
    /// EleutherAI's suite of one recipe in many sizes.
    Pythia,
    /// Meta's Llama 1 to 3.
    Llama,
    /// Mistral, and its mixtures of experts.
    Mistral,
    /// Alibaba's Qwen 2.5 and 3.
    Qwen,
    /// Google's Gemma 1 to 3.
    Gemma,
    /// Microsoft's Phi.
    Phi,
    /// Ai2's OLMo 1 and 2.
    Olmo,
    /// DeepSeek, dense and with experts.
    DeepSeek,
    /// Families of which one or two sizes are listed.
    Other,
}

impl ModelGroup {
    /// Every group, in the order of a picker.
    pub const ALL: &'static [Self] = &[
        Self::Workshop,
        Self::Gpt,
        Self::Pythia,
        Self::Llama,
        Self::Mistral,
        Self::Qwen,
        Self::Gemma,
        Self::Phi,
        Self::Olmo,
        Self::DeepSeek,
        Self::Other,
    ];

    /// The heading of this group in a picker.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Workshop => "Workshop presets",
            Self::Gpt => "GPT-2 and GPT-3",
            Self::Pythia => "Pythia",
            Self::Llama => "Llama",
            Self::Mistral => "Mistral and Mixtral",
            Self::Qwen => "Qwen",
            Self::Gemma => "Gemma",
            Self::Phi => "Phi",
            Self::Olmo => "OLMo",
            Self::DeepSeek => "DeepSeek",
            Self::Other => "Other models",
        }
    }

    /// Whether somebody trained and described the networks of this group.
    pub const fn is_published(self) -> bool {
        !matches!(self, Self::Workshop)
    }
}

/// One model, with where its numbers come from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
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

/// How a model is usually trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usual {
    /// Whether its blocks use dropout.
    pub dropout: Switch,
    /// What is computed again.
    pub recomputation: Recomputation,
}

impl Usual {
    /// Of the workshop's presets, and of the GPT that Korthikanti et al. 2022 recompute selectively.
    pub const WORKSHOP: Self = Self { dropout: On, recomputation: Recomputation::Selective };

    /// Of a model of so many parameters, whose own configuration says whether its blocks use dropout.
    ///
    /// Whole layers are recomputed by the recipes for models of a billion parameters or more (torchtune's
    /// llama3_1/8B_full.yaml and qwen2_5/7B_full.yaml, axolotl's examples); karpathy/nanoGPT and BERT's own scripts
    /// recompute nothing.
    pub const fn of(parameters: u64, dropout: Switch) -> Self {
        let recomputation = if parameters >= LARGE { Recomputation::Full } else { Recomputation::None };
        Self { dropout, recomputation }
    }
}

/// From this many parameters on, recipes recompute whole layers.
const LARGE: u64 = 1_000_000_000;

/// A model with how it is usually trained, whether it comes from the list or from its own `config.json`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AsUsual {
    /// The numbers of the model.
    pub model: Model,
    /// How it is usually trained.
    pub usual: Usual,
}

impl AsUsual {
    /// The same scenario with this model. What is trained as usual stays usual: dropout and recomputation follow where
    /// they are those of the model before, and so do sequences that are as long as usual ([`Scenario::usual_length`]). A
    /// model from nowhere says of itself neither, so that both its size's and the default pass for its usual ones.
    #[must_use]
    pub fn apply(&self, mut scenario: Scenario) -> Scenario {
        let is_as_long_as_usual = scenario.recipe.sequence == scenario.usual_length();
        let before = &scenario.model;
        let before = match super::model_of(before.origin) {
            Some(row) => [row.usual(); 2],
            None => [Usual::WORKSHOP, Usual::of(before.parameters, Off)],
        };
        let recipe = &mut scenario.recipe;
        if before.iter().any(|usual| usual.dropout == recipe.dropout) {
            recipe.dropout = self.usual.dropout;
        }
        if before.iter().any(|usual| usual.recomputation == recipe.recomputation) {
            recipe.recomputation = self.usual.recomputation;
        }
        scenario.model = self.model;
        if is_as_long_as_usual {
            scenario.recipe.sequence = scenario.usual_length();
        }
        scenario
    }
}

impl ModelRow {
    /// How this model is usually trained.
    ///
    /// Dropout is that of the released `config.json`: 0.1 in GPT-2, GPT-3's reimplementations, BERT, OPT, Phi-2
    /// (behind both halves of a block), StarCoder, T5 and BART, none elsewhere. Recomputation is that of its size ([`Usual::of`]), but that Pythia's recipes
    /// recompute whole layers in all sizes (EleutherAI/pythia, models/*/*.yml, “checkpoint-activations”).
    pub fn usual(&self) -> Usual {
        if self.group == ModelGroup::Workshop || self.slug.starts_with("gpt-3") {
            return Usual::WORKSHOP;
        }
        let drops = ["gpt2", "bert", "opt", "phi-2", "starcoder", "t5", "flan", "bart"]
            .iter()
            .any(|name| self.slug.starts_with(name));
        let usual = Usual::of(self.model.parameters, drops.into());
        match self.group {
            ModelGroup::Pythia => Usual { recomputation: Recomputation::Full, ..usual },
            _ => usual,
        }
    }

    /// Its numbers with how it is usually trained.
    pub fn as_usual(&self) -> AsUsual {
        AsUsual { model: self.model, usual: self.usual() }
    }

    /// The same scenario with this row's model, trained as usual ([`AsUsual::apply`]).
    #[must_use]
    pub fn apply(&self, scenario: Scenario) -> Scenario {
        self.as_usual().apply(scenario)
    }

    /// Whether a network of these numbers is the one of this row. Its parameters are not among them: the row has the
    /// published count, and a network that is counted has what follows from its matrices.
    pub fn is_of(&self, model: &Model) -> bool {
        let Model { origin, parameters, .. } = self.model;
        self.group.is_published() && Model { origin, parameters, ..*model } == self.model
    }
}

/// Where the numbers of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

/// A row of this table as it is declared.
type Row = Declared<ModelRow, ModelSource>;

/// The day the rows below were last compared with their sources.
const CHECKED: &str = "2026-11-21";
/// The day of the rows that came after that.
const CHECKED_LATER: &str = "2026-11-22";

/// The workshop names four numbers a size and leaves the rest open.
const WORKSHOP: &str = "Workshop on training memory, presets of its batch-size calculator: N, H, L and n.";
const WORKSHOP_NOTE: &str = "The workshop states N, H, L and n only. The rest is assumed: a standard GPT block with \
    k = n, f = 4H and tied embeddings of 32,000 entries. N is a round figure, so the count derived from the \
    architecture differs from it.";

const BROWN: &str = "Brown et al. 2020, arXiv 2005.14165, table 2.1.";
const BROWN_NOTE: &str = "The paper rounds its counts.";
const BROWN_13B_NOTE: &str = "The paper rounds its counts, and prints a width of 5,140 for 40 heads of 128, which are \
    5,120.";
const NANO_GPT: &str = "Configuration of the released checkpoint, as in karpathy/nanoGPT, model.py at 3adf61e.";
const LLAMA_1: &str = "Lightning-AI/lit-llama, lit_llama/model.py at 2a464de.";
const T5: &str = "Raffel et al. 2020, arXiv 1910.10683, section 3.1.1; the vocabulary of 32,128 rows and the sizes as in \
    the published configuration of google-t5/t5-base.";
const FLAN: &str = "T5 1.1 XL, google-research/t5x, t5x/examples/t5/t5_1_1/xl.gin; Chung et al. 2022, arXiv 2210.11416, \
    trained it further.";
const BART: &str = "Lewis et al. 2020, arXiv 1910.13461, section 2; all sizes are the defaults of BartConfig in \
    transformers 5.23.0.";
const WHISPER: &str = "Radford et al. 2022, arXiv 2212.04356, table 1, and openai/whisper, model-card.md and \
    whisper/model.py; version 3 of the large model has 128 channels and one token more.";
const WHISPER_NOTE: &str = "Keys have no bias, which the derived count includes. The encoder’s positions are sines: \
    weights without a gradient.";
const BERT: &str = "google-research/bert, README.md and modeling.py at eedf571; vocabulary and sizes as in \
    cli99/llm-analysis, llm_analysis/model_configs at d841e40.";
const BERT_NOTE: &str = "An encoder, with norms after its blocks; the one after the embedding stands for the last \
    one here. The published count includes two token types and the pooler, which no field describes.";
const PHI_NOTE: &str = "The output head has a bias too, which no field describes.";
const DEEPSEEK_V3_NOTE: &str = "The main model: the module for predicting several tokens has 11.5 billion more. The \
    biases that balance the load of the experts are no trained weights and not counted.";
const MPT: &str = "mosaicml/llm-foundry, scripts/inference/run_mpt_with_ft.py at 8c8dd48; ALiBi and the lack of \
    biases as in the model's class of transformers 5.23.0.";
const MPT_NOTE: &str = "Its LayerNorm has a weight and no bias; the derived count includes both.";
const DEEPSEEK_MOE: &str = "mlc-ai/mlc-llm, python/mlc_llm/model/model_preset.py at 79d603f.";
const DEEPSEEK_MOE_NOTE: &str = "transformers 5.23.0 has no class for it: the count is the derived one, which the \
    16.4 billion of deepseek-ai/DeepSeek-MoE, README.md at 66edeee, agree with.";
const DEEPSEEK_LLM: &str = "A pruning configuration named deepseek-llm-7b-base, in a public repository, \
    found by its text; the Llama block as in deepseek-ai/DeepSeek-LLM, README.md at 1b79a65.";

const MIXTRAL_8X22B: &str = "Configuration of mistralai/Mixtral-8x22B-Instruct-v0.1, as in Lightning-AI/litgpt, \
    litgpt/config.py at 2685705; the base model of version 0.3 has the same vocabulary of 32,768 entries \
    (mistralai/mistral-inference, README.md at 2557e12), that of version 0.1 has 32,000 and 140,620,634,112 weights.";
const LLAMA_4: &str = "Llama4Experts16Config and Llama4Experts128Config of NVIDIA/NeMo, \
    nemo/collections/llm/gpt/model/llama.py at 6130ca0; the first is the default of Llama4TextConfig in \
    transformers 5.23.0, whose Llama4ForCausalLM was counted.";
const LLAMA_4_NOTE: &str = "The language model: the vision encoder and its projector have about 0.9 billion weights \
    more, which its name may include. Three of four layers attend within pieces of 8,192 tokens; here every layer \
    attends to all. Maverick has experts in every second layer; here the dense layers come first. Scout divides queries \
    and keys by their length, without weights.";
const GEMMA_3_NOTE: &str = "The language model: the vision encoder has 417 million weights more and its projector 3 to \
    6 million. The table has 262,208 rows, the default of Gemma3TextConfig in transformers 5.23.0, 64 of them for \
    images. Five of six layers attend to the last 1,024 tokens only; here every layer attends to all.";
/// Configurations of models that see, which are files of the tests here.
macro_rules! seen_file {
    ($file:literal) => {
        concat!("Sizes as in tests/config_files/", $file, ".json, counted by transformers 5.23.0.")
    };
}
const GEMMA_3_SEEING_NOTE: &str = "With its vision tower and projector. Five of six layers attend to the last 1,024 \
    tokens only; here every layer attends to all.";
const MISTRAL_SMALL: &str = "Configuration of mistralai/Mistral-Small-24B-Base-2501, in a public table of models \
    found by its text.";
const GPT_OSS: &str = "GPTOSSConfig20B and GPTOSSConfig120B of NVIDIA/NeMo, nemo/collections/llm/gpt/model/gpt_oss.py \
    at e0b34d0; the second is the default of GptOssConfig in transformers 5.23.0.";
const GPT_OSS_NOTE: &str = "Trained in 16 bits; the release stores the experts in 4 bits. Each head has a sink, and each \
    router, each expert and each output projection of attention a bias, which no field describes. Every second \
    layer attends to the last 128 tokens only; here every layer attends to all.";

/// A configuration of the Hugging Face hub that litgpt repeats, named by its owner and model.
macro_rules! litgpt {
    ($model:literal) => {
        concat!("Configuration of ", $model, ", as in Lightning-AI/litgpt, litgpt/config.py at 2685705.")
    };
}

/// A configuration file of EleutherAI's suite, under its folder of models.
macro_rules! pythia_file {
    ($file:literal) => {
        concat!("EleutherAI/pythia, models/", $file, " at a19eecb.")
    };
}

/// A configuration of DeepSeek's own inference code.
macro_rules! deepseek_file {
    ($file:literal) => {
        concat!("deepseek-ai/DeepSeek-V3, inference/configs/", $file, " at 9b4e978.")
    };
}

/// A model of the GPT block, from `[H, L, n, k, d, f, V]`: two matrices with biases, LayerNorm.
const fn gelu(slug: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch) -> Model {
    let [hidden, layers, heads, kv_heads, head_dim, feed_forward, vocabulary] = shape;
    Model {
        origin: Origin::Row(slug),
        parameters,
        hidden,
        layers,
        heads,
        kv_heads,
        head_dim,
        feed_forward,
        vocabulary,
        tied_embeddings,
        mlp: Mlp::Gelu,
        norm: Norm::LayerNorm,
        norms: 2,
        parallel: Off,
        qk_norm: QkNorm::Off,
        soft_cap: Off,
        bias: Bias::All,
        packing: Packing::Separate,
        softmax: Softmax::Full,
        position: Position::Rotary,
        positions: 0,
        spare_positions: 0,
        experts: Experts::NONE,
        latent: Latent::NONE,
        vision: Vision::NONE,
        encoder: Encoder::NONE,
    }
}

/// A model of the GPT-NeoX block: halves side by side, one matrix for queries, keys and values, and a part
/// of each head rotated.
const fn neox(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    Model {
        parallel: On,
        packing: Packing::Packed,
        position: Position::PartialRotary,
        ..gelu(slug, parameters, shape, Off)
    }
}

/// A model of the GPT-2 block, whose GELU is spelt out and whose positions are a table.
const fn gpt2(slug: &'static str, parameters: u64, shape: [u32; 7], positions: u32) -> Model {
    Model {
        mlp: Mlp::GeluTanh,
        packing: Packing::Packed,
        softmax: Softmax::Scores,
        position: Position::Learned,
        positions,
        ..gelu(slug, parameters, shape, On)
    }
}

/// A model of the Llama block, from `[H, L, n, k, d, f, V]`: three matrices, no biases, RMSNorm.
const fn gated(slug: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch) -> Model {
    let model = gelu(slug, parameters, shape, tied_embeddings);
    Model { mlp: Mlp::Gated, norm: Norm::RmsNorm, bias: Bias::None, ..model }
}

/// A model of the Qwen 2 block: Llama's with biases on queries, keys and values.
const fn qwen2(slug: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch) -> Model {
    Model { bias: Bias::Qkv, ..gated(slug, parameters, shape, tied_embeddings) }
}

/// A model of the Qwen 3 block: Llama's with norms on each head's queries and keys.
const fn qwen3(slug: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch) -> Model {
    Model { qk_norm: QkNorm::Head, ..gated(slug, parameters, shape, tied_embeddings) }
}

/// A model of the Gemma block: Llama's with norms in fp32.
const fn gemma(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    Model { norm: Norm::RmsNormFull, ..gated(slug, parameters, shape, On) }
}

/// A model of the Gemma 2 block: Llama's with norms before and after both halves.
const fn gemma2(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    Model { norms: 4, soft_cap: On, ..gemma(slug, parameters, shape) }
}

/// A model of the Gemma 3 block: Gemma 2's with norms on each head's queries and keys in place of the caps.
const fn gemma3(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    Model { qk_norm: QkNorm::Head, soft_cap: Off, ..gemma2(slug, parameters, shape) }
}

/// A model of the Llama 4 block: Llama's, whose eager attention takes the softmax in the type of its scores.
const fn llama4(slug: &'static str, parameters: u64, experts: [u32; 5]) -> Model {
    let block = gated(slug, parameters, [5_120, 48, 40, 8, 128, 16_384, 202_048], Off);
    with_experts(Model { softmax: Softmax::Scores, ..block }, experts)
}

/// A model of the gpt-oss block: Llama's with norms in fp32, a softmax in the type of the scores, biases on queries, keys
/// and values, and experts in every layer.
const fn gpt_oss(slug: &'static str, parameters: u64, layers: u32, experts: u32) -> Model {
    let block = gated(slug, parameters, [2_880, layers, 64, 8, 64, 2_880, 201_088], Off);
    let block = Model { norm: Norm::RmsNormFull, softmax: Softmax::Scores, bias: Bias::Qkv, ..block };
    with_experts(block, [experts, 4, 0, 0, 0])
}

/// A model of the first Phi block, whose halves share one norm and run side by side.
const fn phi(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    Model {
        mlp: Mlp::GeluTanh,
        norms: 1,
        parallel: On,
        position: Position::PartialRotary,
        ..gelu(slug, parameters, shape, Off)
    }
}

/// The same model with one matrix for queries, keys and values, and one for both halves of its feed-forward block.
const fn packed(model: Model) -> Model {
    Model { packing: Packing::PackedGate, ..model }
}

/// A model of the OLMo block: Llama's with norms that have nothing to learn.
const fn olmo(slug: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch) -> Model {
    Model { norm: Norm::Plain, ..gated(slug, parameters, shape, tied_embeddings) }
}

/// A model of the OLMo 2 block: Llama's with norms over all queries and all keys.
const fn olmo2(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    Model { qk_norm: QkNorm::Full, norm: Norm::RmsNormFull, ..gated(slug, parameters, shape, Off) }
}

/// A model of T5's block with an encoder of as many layers.
const fn t5(slug: &'static str, parameters: u64, shape: [u32; 7], tied_embeddings: Switch, mlp: Mlp) -> Model {
    let encoder = Encoder { layers: shape[1], positions: 32, mels: 0 };
    let model =
        Model { mlp, position: Position::Relative, positions: 32, encoder, ..gated(slug, parameters, shape, On) };
    Model { softmax: Softmax::Scores, tied_embeddings, ..model }
}

/// A model of BART's block, or of Whisper's, with an encoder of as many layers.
const fn bart(slug: &'static str, parameters: u64, shape: [u32; 7], positions: [u32; 2], mels: u32) -> Model {
    let encoder = Encoder { layers: shape[1], positions: positions[0], mels };
    let model = gelu(slug, parameters, shape, On);
    let (softmax, position, positions) = (Softmax::Scores, Position::Learned, positions[1]);
    // BART's tables begin with two rows that no token has (`BartLearnedPositionalEmbedding` in
    // transformers/models/bart/modeling_bart.py, 5.23.0), and Whisper's with the first token.
    let spare_positions = if mels > 0 { 0 } else { 2 };
    Model { softmax, position, positions, spare_positions, encoder, ..model }
}

/// A model of the BERT block, with its table of 512 positions.
const fn bert(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    let (softmax, position) = (Softmax::Scores, Position::Learned);
    Model { softmax, position, positions: 512, ..gelu(slug, parameters, shape, On) }
}

/// The same model with experts, from `[E, active, width, shared width, dense layers]`.
const fn with_experts(model: Model, [count, active, width, shared_width, dense_layers]: [u32; 5]) -> Model {
    Model { experts: Experts { count, active, width, shared_width, dense_layers }, ..model }
}

/// The same model with a vision tower, from `[layers, width, heads, feed-forward width, patch, side]`, under another
/// name and with all its weights.
const fn seeing(model: Model, slug: &'static str, parameters: u64, tower: Tower, sizes: [u32; 6]) -> Model {
    let [layers, hidden, heads, feed_forward, patch, side] = sizes;
    let vision = Vision { tower, layers, hidden, heads, feed_forward, patch, side };
    Model { origin: Origin::Row(slug), parameters, vision, ..model }
}

/// Qwen2.5-VL: the tower is the same beside 3B and 7B.
const fn qwen25_vl(model: Model, slug: &'static str, parameters: u64, feed_forward: u32) -> Model {
    seeing(model, slug, parameters, Tower::Qwen25Vl, [32, 1_280, 16, feed_forward, 14, 0])
}

/// LLaVA: CLIP ViT-L/14 on 336 pixels.
const fn llava(model: Model, slug: &'static str, parameters: u64, tower: Tower) -> Model {
    seeing(model, slug, parameters, tower, [24, 1_024, 16, 4_096, 14, 336])
}

/// Gemma 3 with its tower: SigLIP-400M on 896 pixels.
const fn gemma3_seeing(slug: &'static str, parameters: u64, shape: [u32; 7]) -> Model {
    let tower = [27, 1_152, 16, 4_304, 14, 896];
    seeing(gemma3(slug, parameters, shape), slug, parameters, Tower::Gemma3, tower)
}

/// The same model with latent attention, from `[query rank, key/value rank, rotated elements]`.
const fn with_latent(model: Model, [query_rank, kv_rank, rope_dim]: [u32; 3]) -> Model {
    Model { latent: Latent { query_rank, kv_rank, rope_dim }, ..model }
}

/// A workshop preset: everything the workshop leaves open follows from `[H, L, n]`.
const fn preset(slug: &'static str, name: &'static str, parameters: u64, [h, l, n]: [u32; 3]) -> Row {
    let block = gelu(slug, parameters, [h, l, n, n, h / n, 4 * h, 32_000], On);
    let model = Model { position: Position::None, ..block };
    Declared {
        row: ModelRow { slug, name, group: ModelGroup::Workshop, model },
        source: ModelSource { source: WORKSHOP, retrieved: CHECKED, note: WORKSHOP_NOTE },
    }
}

/// A published model; its slug is in the `origin` of its numbers.
const fn published(group: ModelGroup, name: &'static str, model: Model, source: &'static str) -> Row {
    let Origin::Row(slug) = model.origin else { panic!("a row has a slug") };
    Declared {
        row: ModelRow { slug, name, group, model },
        source: ModelSource { source, retrieved: CHECKED, note: "" },
    }
}

/// The same row with something a reader should know.
const fn noted(row: Row, note: &'static str) -> Row {
    Declared { source: ModelSource { note, ..row.source }, ..row }
}

/// The same row, which came later than the others.
const fn later(row: Row) -> Row {
    Declared { source: ModelSource { retrieved: CHECKED_LATER, ..row.source }, ..row }
}

/// The model a reader meets first.
pub const DEFAULT_MODEL: &ModelRow = &MODELS[place!(DECLARED, "llama-3.1-8b")];

/// The model of the workshop’s example.
pub const WORKSHOP_MODEL: &ModelRow = &MODELS[place!(DECLARED, "7b")];

/// Every model, group by group, in the order of a picker.
///
/// The arrays are `[H, L, n, k, d, f, V]`. V is the size of the embedding table as it is stored,
/// padding included, because that is what takes memory.
pub static MODELS: &[ModelRow] = column!(DECLARED.row);

/// The sources of the models, in the same order.
pub static MODEL_SOURCES: &[ModelSource] = column!(DECLARED.source);

use ModelGroup::{DeepSeek, Gemma, Gpt, Llama, Mistral, Olmo, Other, Phi, Pythia, Qwen};

const DECLARED: &[Row] = &[
    preset("1b", "1B", 1_000_000_000, [2_048, 24, 16]),
    preset("3b", "3B", 3_000_000_000, [3_200, 26, 32]),
    preset("7b", "7B", 7_000_000_000, [4_096, 32, 32]),
    preset("13b", "13B", 13_000_000_000, [5_120, 40, 40]),
    preset("70b", "70B", 70_000_000_000, [8_192, 80, 64]),
    published(Gpt, "GPT-2 124M", gpt2("gpt2", 124_439_808, [768, 12, 12, 12, 64, 3_072, 50_257], 1_024), NANO_GPT),
    published(
        Gpt,
        "GPT-2 medium 355M",
        gpt2("gpt2-medium", 354_823_168, [1_024, 24, 16, 16, 64, 4_096, 50_257], 1_024),
        NANO_GPT,
    ),
    published(
        Gpt,
        "GPT-2 large 774M",
        gpt2("gpt2-large", 774_030_080, [1_280, 36, 20, 20, 64, 5_120, 50_257], 1_024),
        NANO_GPT,
    ),
    published(
        Gpt,
        "GPT-2 XL 1.5B",
        gpt2("gpt2-xl", 1_557_611_200, [1_600, 48, 25, 25, 64, 6_400, 50_257], 1_024),
        NANO_GPT,
    ),
    noted(
        published(
            Gpt,
            "GPT-3 125M",
            gpt2("gpt-3-125m", 125_000_000, [768, 12, 12, 12, 64, 3_072, 50_257], 2_048),
            BROWN,
        ),
        BROWN_NOTE,
    ),
    noted(
        published(
            Gpt,
            "GPT-3 760M",
            gpt2("gpt-3-760m", 760_000_000, [1_536, 24, 16, 16, 96, 6_144, 50_257], 2_048),
            BROWN,
        ),
        BROWN_NOTE,
    ),
    noted(
        published(
            Gpt,
            "GPT-3 2.7B",
            gpt2("gpt-3-2.7b", 2_700_000_000, [2_560, 32, 32, 32, 80, 10_240, 50_257], 2_048),
            BROWN,
        ),
        BROWN_NOTE,
    ),
    noted(
        published(
            Gpt,
            "GPT-3 6.7B",
            gpt2("gpt-3-6.7b", 6_700_000_000, [4_096, 32, 32, 32, 128, 16_384, 50_257], 2_048),
            BROWN,
        ),
        BROWN_NOTE,
    ),
    noted(
        published(
            Gpt,
            "GPT-3 13B",
            gpt2("gpt-3-13b", 13_000_000_000, [5_140, 40, 40, 40, 128, 20_560, 50_257], 2_048),
            BROWN,
        ),
        BROWN_13B_NOTE,
    ),
    noted(
        published(
            Gpt,
            "GPT-3 175B",
            gpt2("gpt-3-175b", 175_000_000_000, [12_288, 96, 96, 96, 128, 49_152, 50_257], 2_048),
            BROWN,
        ),
        BROWN_NOTE,
    ),
    published(
        Pythia,
        "Pythia 70M",
        neox("pythia-70m", 70_426_624, [512, 6, 8, 8, 64, 2_048, 50_304]),
        pythia_file!("70M/pythia-70m.yml"),
    ),
    published(
        Pythia,
        "Pythia 160M",
        neox("pythia-160m", 162_322_944, [768, 12, 12, 12, 64, 3_072, 50_304]),
        pythia_file!("160M/pythia-160m.yml"),
    ),
    published(
        Pythia,
        "Pythia 410M",
        neox("pythia-410m", 405_334_016, [1_024, 24, 16, 16, 64, 4_096, 50_304]),
        pythia_file!("410M/pythia-410m.yml"),
    ),
    published(
        Pythia,
        "Pythia 1B",
        neox("pythia-1b", 1_011_781_632, [2_048, 16, 8, 8, 256, 8_192, 50_304]),
        pythia_file!("1B/pythia-1b.yml"),
    ),
    published(
        Pythia,
        "Pythia 1.4B",
        neox("pythia-1.4b", 1_414_647_808, [2_048, 24, 16, 16, 128, 8_192, 50_304]),
        pythia_file!("1.4B/pythia-1.4b.yml"),
    ),
    published(
        Pythia,
        "Pythia 2.8B",
        neox("pythia-2.8b", 2_775_208_960, [2_560, 32, 32, 32, 80, 10_240, 50_304]),
        pythia_file!("2.8B/pythia-2.8b.yml"),
    ),
    published(
        Pythia,
        "Pythia 6.9B",
        neox("pythia-6.9b", 6_857_302_016, [4_096, 32, 32, 32, 128, 16_384, 50_432]),
        pythia_file!("6.9B/pythia-6.9b.yml"),
    ),
    published(
        Pythia,
        "Pythia 12B",
        neox("pythia-12b", 11_846_072_320, [5_120, 36, 40, 40, 128, 20_480, 50_688]),
        pythia_file!("12B/pythia-12b.yml"),
    ),
    published(
        Llama,
        "Llama 1 7B",
        gated("llama-7b", 6_738_415_616, [4_096, 32, 32, 32, 128, 11_008, 32_000], Off),
        LLAMA_1,
    ),
    published(
        Llama,
        "Llama 1 13B",
        gated("llama-13b", 13_015_864_320, [5_120, 40, 40, 40, 128, 13_824, 32_000], Off),
        LLAMA_1,
    ),
    published(
        Llama,
        "Llama 1 33B",
        gated("llama-33b", 32_528_943_616, [6_656, 60, 52, 52, 128, 17_920, 32_000], Off),
        LLAMA_1,
    ),
    published(
        Llama,
        "Llama 1 65B",
        gated("llama-65b", 65_285_660_672, [8_192, 80, 64, 64, 128, 22_016, 32_000], Off),
        LLAMA_1,
    ),
    published(
        Llama,
        "Llama 2 7B",
        gated("llama-2-7b", 6_738_415_616, [4_096, 32, 32, 32, 128, 11_008, 32_000], Off),
        litgpt!("meta-llama/Llama-2-7b-hf"),
    ),
    published(
        Llama,
        "Llama 2 13B",
        gated("llama-2-13b", 13_015_864_320, [5_120, 40, 40, 40, 128, 13_824, 32_000], Off),
        litgpt!("meta-llama/Llama-2-13b-hf"),
    ),
    published(
        Llama,
        "Llama 2 70B",
        gated("llama-2-70b", 68_976_648_192, [8_192, 80, 64, 8, 128, 28_672, 32_000], Off),
        litgpt!("meta-llama/Llama-2-70b-hf"),
    ),
    published(
        Llama,
        "Llama 3.1 8B",
        gated("llama-3.1-8b", 8_030_261_248, [4_096, 32, 32, 8, 128, 14_336, 128_256], Off),
        litgpt!("meta-llama/Meta-Llama-3.1-8B"),
    ),
    published(
        Llama,
        "Llama 3.1 70B",
        gated("llama-3.1-70b", 70_553_706_496, [8_192, 80, 64, 8, 128, 28_672, 128_256], Off),
        litgpt!("meta-llama/Meta-Llama-3.1-70B"),
    ),
    published(
        Llama,
        "Llama 3.1 405B",
        gated("llama-3.1-405b", 405_853_388_800, [16_384, 126, 128, 8, 128, 53_248, 128_256], Off),
        litgpt!("meta-llama/Meta-Llama-3.1-405B"),
    ),
    published(
        Llama,
        "Llama 3.2 1B",
        gated("llama-3.2-1b", 1_235_814_400, [2_048, 16, 32, 8, 64, 8_192, 128_256], On),
        litgpt!("meta-llama/Llama-3.2-1B"),
    ),
    published(
        Llama,
        "Llama 3.2 3B",
        gated("llama-3.2-3b", 3_212_749_824, [3_072, 28, 24, 8, 128, 8_192, 128_256], On),
        litgpt!("meta-llama/Llama-3.2-3B"),
    ),
    later(published(
        Llama,
        "Llama 3.3 70B",
        gated("llama-3.3-70b", 70_553_706_496, [8_192, 80, 64, 8, 128, 28_672, 128_256], Off),
        litgpt!("meta-llama/Llama-3.3-70B-Instruct"),
    )),
    later(noted(
        published(
            Llama,
            "Llama 4 Scout 109B",
            llama4("llama-4-scout", 107_769_861_120, [16, 1, 8_192, 8_192, 0]),
            LLAMA_4,
        ),
        LLAMA_4_NOTE,
    )),
    later(noted(
        published(
            Llama,
            "Llama 4 Maverick 400B",
            llama4("llama-4-maverick", 400_711_848_960, [128, 1, 8_192, 8_192, 24]),
            LLAMA_4,
        ),
        LLAMA_4_NOTE,
    )),
    published(
        Mistral,
        "Mistral 7B v0.3",
        gated("mistral-7b", 7_248_023_552, [4_096, 32, 32, 8, 128, 14_336, 32_768], Off),
        litgpt!("mistralai/Mistral-7B-v0.3"),
    ),
    later(published(
        Mistral,
        "Mistral Small 24B",
        gated("mistral-small-24b", 23_572_403_200, [5_120, 40, 32, 8, 128, 32_768, 131_072], Off),
        MISTRAL_SMALL,
    )),
    published(
        Mistral,
        "Mixtral 8x7B",
        with_experts(
            gated("mixtral-8x7b", 46_702_792_704, [4_096, 32, 32, 8, 128, 14_336, 32_000], Off),
            [8, 2, 0, 0, 0],
        ),
        litgpt!("mistralai/Mixtral-8x7B-v0.1"),
    ),
    published(
        Mistral,
        "Mixtral 8x22B v0.3",
        with_experts(
            gated("mixtral-8x22b", 140_630_071_296, [6_144, 56, 48, 8, 128, 16_384, 32_768], Off),
            [8, 2, 0, 0, 0],
        ),
        MIXTRAL_8X22B,
    ),
    published(
        Qwen,
        "Qwen2.5 0.5B",
        qwen2("qwen2.5-0.5b", 494_032_768, [896, 24, 14, 2, 64, 4_864, 151_936], On),
        litgpt!("Qwen/Qwen2.5-0.5B"),
    ),
    published(
        Qwen,
        "Qwen2.5 1.5B",
        qwen2("qwen2.5-1.5b", 1_543_714_304, [1_536, 28, 12, 2, 128, 8_960, 151_936], On),
        litgpt!("Qwen/Qwen2.5-1.5B"),
    ),
    later(published(
        Qwen,
        "Qwen2.5 3B",
        qwen2("qwen2.5-3b", 3_085_938_688, [2_048, 36, 16, 2, 128, 11_008, 151_936], On),
        litgpt!("Qwen/Qwen2.5-3B"),
    )),
    published(
        Qwen,
        "Qwen2.5 7B",
        qwen2("qwen2.5-7b", 7_615_616_512, [3_584, 28, 28, 4, 128, 18_944, 152_064], Off),
        litgpt!("Qwen/Qwen2.5-7B"),
    ),
    published(
        Qwen,
        "Qwen2.5 14B",
        qwen2("qwen2.5-14b", 14_770_033_664, [5_120, 48, 40, 8, 128, 13_824, 152_064], Off),
        litgpt!("Qwen/Qwen2.5-14B"),
    ),
    published(
        Qwen,
        "Qwen2.5 32B",
        qwen2("qwen2.5-32b", 32_763_876_352, [5_120, 64, 40, 8, 128, 27_648, 152_064], Off),
        litgpt!("Qwen/Qwen2.5-32B"),
    ),
    published(
        Qwen,
        "Qwen2.5 72B",
        qwen2("qwen2.5-72b", 72_706_203_648, [8_192, 80, 64, 8, 128, 29_568, 152_064], Off),
        litgpt!("Qwen/Qwen2.5-72B"),
    ),
    published(
        Qwen,
        "Qwen3 0.6B",
        qwen3("qwen3-0.6b", 596_049_920, [1_024, 28, 16, 8, 128, 3_072, 151_936], On),
        litgpt!("Qwen/Qwen3-0.6B"),
    ),
    published(
        Qwen,
        "Qwen3 1.7B",
        qwen3("qwen3-1.7b", 1_720_574_976, [2_048, 28, 16, 8, 128, 6_144, 151_936], On),
        litgpt!("Qwen/Qwen3-1.7B"),
    ),
    published(
        Qwen,
        "Qwen3 4B",
        qwen3("qwen3-4b", 4_022_468_096, [2_560, 36, 32, 8, 128, 9_728, 151_936], On),
        litgpt!("Qwen/Qwen3-4B"),
    ),
    published(
        Qwen,
        "Qwen3 8B",
        qwen3("qwen3-8b", 8_190_735_360, [4_096, 36, 32, 8, 128, 12_288, 151_936], Off),
        litgpt!("Qwen/Qwen3-8B"),
    ),
    published(
        Qwen,
        "Qwen3 14B",
        qwen3("qwen3-14b", 14_768_307_200, [5_120, 40, 40, 8, 128, 17_408, 151_936], Off),
        litgpt!("Qwen/Qwen3-14B"),
    ),
    published(
        Qwen,
        "Qwen3 32B",
        qwen3("qwen3-32b", 32_762_123_264, [5_120, 64, 64, 8, 128, 25_600, 151_936], Off),
        litgpt!("Qwen/Qwen3-32B"),
    ),
    published(
        Qwen,
        "Qwen3 30B-A3B",
        with_experts(
            qwen3("qwen3-30b-a3b", 30_532_122_624, [2_048, 48, 32, 4, 128, 6_144, 151_936], Off),
            [128, 8, 768, 0, 0],
        ),
        litgpt!("Qwen/Qwen3-30B-A3B"),
    ),
    later(published(
        Qwen,
        "Qwen3 235B-A22B",
        with_experts(
            qwen3("qwen3-235b-a22b", 235_093_634_560, [4_096, 94, 64, 4, 128, 12_288, 151_936], Off),
            [128, 8, 1_536, 0, 0],
        ),
        litgpt!("Qwen/Qwen3-235B-A22B"),
    )),
    later(published(
        Qwen,
        "Qwen2.5-VL 3B",
        qwen25_vl(qwen2("", 0, [2_048, 36, 16, 2, 128, 11_008, 151_936], On), "qwen2.5-vl-3b", 3_754_622_976, 3_420),
        seen_file!("qwen2.5-vl-3b"),
    )),
    later(published(
        Qwen,
        "Qwen2.5-VL 7B",
        qwen25_vl(qwen2("", 0, [3_584, 28, 28, 4, 128, 18_944, 152_064], Off), "qwen2.5-vl-7b", 8_292_166_656, 3_420),
        seen_file!("qwen2.5-vl-7b"),
    )),
    later(published(
        Qwen,
        "Qwen2.5-VL 72B",
        qwen25_vl(qwen2("", 0, [8_192, 80, 64, 8, 128, 29_568, 152_064], Off), "qwen2.5-vl-72b", 73_410_777_344, 3_456),
        seen_file!("qwen2.5-vl-72b"),
    )),
    later(published(
        Qwen,
        "Qwen2-VL 7B",
        seeing(
            qwen2("", 0, [3_584, 28, 28, 4, 128, 18_944, 152_064], Off),
            "qwen2-vl-7b",
            8_291_375_616,
            Tower::Qwen2Vl,
            [32, 1_280, 16, 5_120, 14, 0],
        ),
        seen_file!("qwen2-vl-7b"),
    )),
    published(
        Gemma,
        "Gemma 2B",
        gemma("gemma-2b", 2_506_172_416, [2_048, 18, 8, 1, 256, 16_384, 256_000]),
        litgpt!("google/gemma-2b"),
    ),
    published(
        Gemma,
        "Gemma 7B",
        gemma("gemma-7b", 8_537_680_896, [3_072, 28, 16, 16, 256, 24_576, 256_000]),
        litgpt!("google/gemma-7b"),
    ),
    published(
        Gemma,
        "Gemma 2 2B",
        gemma2("gemma-2-2b", 2_614_341_888, [2_304, 26, 8, 4, 256, 9_216, 256_000]),
        litgpt!("google/gemma-2-2b"),
    ),
    published(
        Gemma,
        "Gemma 2 9B",
        gemma2("gemma-2-9b", 9_241_705_984, [3_584, 42, 16, 8, 256, 14_336, 256_000]),
        litgpt!("google/gemma-2-9b"),
    ),
    published(
        Gemma,
        "Gemma 2 27B",
        gemma2("gemma-2-27b", 27_227_128_320, [4_608, 46, 32, 16, 128, 36_864, 256_000]),
        litgpt!("google/gemma-2-27b"),
    ),
    published(
        Gemma,
        "Gemma 3 1B",
        gemma3("gemma-3-1b", 999_885_952, [1_152, 26, 4, 1, 256, 6_912, 262_144]),
        litgpt!("google/gemma-3-1b-it"),
    ),
    later(noted(
        published(
            Gemma,
            "Gemma 3 4B",
            gemma3("gemma-3-4b", 3_880_263_168, [2_560, 34, 8, 4, 256, 10_240, 262_208]),
            litgpt!("google/gemma-3-4b-it"),
        ),
        GEMMA_3_NOTE,
    )),
    later(noted(
        published(
            Gemma,
            "Gemma 3 12B",
            gemma3("gemma-3-12b", 11_766_034_176, [3_840, 48, 16, 8, 256, 15_360, 262_208]),
            litgpt!("google/gemma-3-12b-it"),
        ),
        GEMMA_3_NOTE,
    )),
    later(noted(
        published(
            Gemma,
            "Gemma 3 27B",
            gemma3("gemma-3-27b", 27_009_346_304, [5_376, 62, 32, 16, 128, 21_504, 262_208]),
            litgpt!("google/gemma-3-27b-it"),
        ),
        GEMMA_3_NOTE,
    )),
    later(noted(
        published(
            Gemma,
            "Gemma 3 4B with images",
            gemma3_seeing("gemma-3-4b-images", 4_300_079_472, [2_560, 34, 8, 4, 256, 10_240, 262_208]),
            seen_file!("gemma-3-4b"),
        ),
        GEMMA_3_SEEING_NOTE,
    )),
    later(noted(
        published(
            Gemma,
            "Gemma 3 12B with images",
            gemma3_seeing("gemma-3-12b-images", 12_187_325_040, [3_840, 48, 16, 8, 256, 15_360, 262_208]),
            seen_file!("gemma-3-12b"),
        ),
        GEMMA_3_SEEING_NOTE,
    )),
    later(noted(
        published(
            Gemma,
            "Gemma 3 27B with images",
            gemma3_seeing("gemma-3-27b-images", 27_432_406_640, [5_376, 62, 32, 16, 128, 21_504, 262_208]),
            seen_file!("gemma-3-27b"),
        ),
        GEMMA_3_SEEING_NOTE,
    )),
    noted(
        published(
            Phi,
            "Phi-1.5 1.3B",
            phi("phi-1.5", 1_418_270_720, [2_048, 24, 32, 32, 64, 8_192, 51_200]),
            litgpt!("microsoft/phi-1_5"),
        ),
        PHI_NOTE,
    ),
    noted(
        published(
            Phi,
            "Phi-2 2.7B",
            phi("phi-2", 2_779_683_840, [2_560, 32, 32, 32, 80, 10_240, 51_200]),
            litgpt!("microsoft/phi-2"),
        ),
        PHI_NOTE,
    ),
    published(
        Phi,
        "Phi-3 mini 3.8B",
        packed(gated("phi-3-mini", 3_821_079_552, [3_072, 32, 32, 32, 96, 8_192, 32_064], Off)),
        litgpt!("microsoft/Phi-3-mini-4k-instruct"),
    ),
    published(
        Phi,
        "Phi-4 14B",
        packed(gated("phi-4", 14_659_507_200, [5_120, 40, 40, 10, 128, 17_920, 100_352], Off)),
        litgpt!("microsoft/phi-4"),
    ),
    published(
        Olmo,
        "OLMo 1B",
        olmo("olmo-1b", 1_176_764_416, [2_048, 16, 16, 16, 128, 8_192, 50_304], On),
        litgpt!("allenai/OLMo-1B-hf"),
    ),
    published(
        Olmo,
        "OLMo 7B",
        olmo("olmo-7b", 6_888_095_744, [4_096, 32, 32, 32, 128, 11_008, 50_304], Off),
        litgpt!("allenai/OLMo-7B-hf"),
    ),
    published(
        Olmo,
        "OLMo 2 7B",
        olmo2("olmo-2-7b", 7_298_617_344, [4_096, 32, 32, 32, 128, 11_008, 100_352]),
        litgpt!("allenai/OLMo-2-1124-7B"),
    ),
    published(
        Olmo,
        "OLMo 2 13B",
        olmo2("olmo-2-13b", 13_716_198_400, [5_120, 40, 40, 40, 128, 13_824, 100_352]),
        litgpt!("allenai/OLMo-2-1124-13B"),
    ),
    published(
        DeepSeek,
        "DeepSeek LLM 7B",
        gated("deepseek-llm-7b", 6_910_365_696, [4_096, 30, 32, 32, 128, 11_008, 102_400], Off),
        DEEPSEEK_LLM,
    ),
    noted(
        published(
            DeepSeek,
            "DeepSeek MoE 16B",
            with_experts(
                gated("deepseek-moe-16b", 16_375_728_128, [2_048, 28, 16, 16, 128, 10_944, 102_400], Off),
                [64, 6, 1_408, 2_816, 1],
            ),
            DEEPSEEK_MOE,
        ),
        DEEPSEEK_MOE_NOTE,
    ),
    published(
        DeepSeek,
        "DeepSeek-V2 Lite 16B",
        with_latent(
            with_experts(
                gated("deepseek-v2-lite", 15_706_484_224, [2_048, 27, 16, 16, 128, 10_944, 102_400], Off),
                [64, 6, 1_408, 2_816, 1],
            ),
            [0, 512, 64],
        ),
        deepseek_file!("config_16B.json"),
    ),
    published(
        DeepSeek,
        "DeepSeek-V2 236B",
        with_latent(
            with_experts(
                gated("deepseek-v2", 235_741_434_880, [5_120, 60, 128, 128, 128, 12_288, 102_400], Off),
                [160, 6, 1_536, 3_072, 1],
            ),
            [1_536, 512, 64],
        ),
        deepseek_file!("config_236B.json"),
    ),
    noted(
        published(
            DeepSeek,
            "DeepSeek-V3 671B",
            with_latent(
                with_experts(
                    gated("deepseek-v3", 671_026_404_352, [7_168, 61, 128, 128, 128, 18_432, 129_280], Off),
                    [256, 8, 2_048, 2_048, 3],
                ),
                [1_536, 512, 64],
            ),
            deepseek_file!("config_671B.json"),
        ),
        DEEPSEEK_V3_NOTE,
    ),
    published(
        Other,
        "SmolLM2 135M",
        gated("smollm2-135m", 134_515_008, [576, 30, 9, 3, 64, 1_536, 49_152], On),
        litgpt!("HuggingFaceTB/SmolLM2-135M"),
    ),
    published(
        Other,
        "SmolLM2 360M",
        gated("smollm2-360m", 361_821_120, [960, 32, 15, 5, 64, 2_560, 49_152], On),
        litgpt!("HuggingFaceTB/SmolLM2-360M"),
    ),
    published(
        Other,
        "SmolLM2 1.7B",
        gated("smollm2-1.7b", 1_711_376_384, [2_048, 24, 32, 32, 64, 8_192, 49_152], On),
        litgpt!("HuggingFaceTB/SmolLM2-1.7B"),
    ),
    published(
        Other,
        "TinyLlama 1.1B",
        gated("tinyllama-1.1b", 1_100_048_384, [2_048, 22, 32, 4, 64, 5_632, 32_000], Off),
        litgpt!("TinyLlama/TinyLlama-1.1B"),
    ),
    published(
        Other,
        "Falcon 7B",
        Model {
            norms: 1,
            parallel: On,
            bias: Bias::None,
            packing: Packing::Packed,
            softmax: Softmax::Scores,
            ..gelu("falcon-7b", 6_921_720_704, [4_544, 32, 71, 1, 64, 18_176, 65_024], On)
        },
        litgpt!("tiiuae/falcon-7b"),
    ),
    noted(
        published(
            Other,
            "MPT 7B",
            Model {
                bias: Bias::None,
                packing: Packing::Packed,
                position: Position::None,
                ..gelu("mpt-7b", 6_649_286_656, [4_096, 32, 32, 32, 128, 16_384, 50_432], On)
            },
            MPT,
        ),
        MPT_NOTE,
    ),
    later(noted(
        published(Other, "gpt-oss 20B", gpt_oss("gpt-oss-20b", 20_914_757_184, 24, 32), GPT_OSS),
        GPT_OSS_NOTE,
    )),
    later(noted(
        published(Other, "gpt-oss 120B", gpt_oss("gpt-oss-120b", 116_829_156_672, 36, 128), GPT_OSS),
        GPT_OSS_NOTE,
    )),
    noted(
        published(Other, "BERT base", bert("bert-base", 109_482_240, [768, 12, 12, 12, 64, 3_072, 30_522]), BERT),
        BERT_NOTE,
    ),
    noted(
        published(Other, "BERT large", bert("bert-large", 335_141_888, [1_024, 24, 16, 16, 64, 4_096, 30_522]), BERT),
        BERT_NOTE,
    ),
    later(published(
        Other,
        "LLaVA 1.5 7B",
        llava(gated("", 0, [4_096, 32, 32, 32, 128, 11_008, 32_064], Off), "llava-1.5-7b", 7_063_427_072, Tower::Llava),
        seen_file!("llava-1.5-7b"),
    )),
    later(published(
        Other,
        "LLaVA 1.5 13B",
        llava(
            gated("", 0, [5_120, 40, 40, 40, 128, 13_824, 32_064], Off),
            "llava-1.5-13b",
            13_351_494_656,
            Tower::Llava,
        ),
        seen_file!("llava-1.5-13b"),
    )),
    later(published(
        Other,
        "LLaVA-NeXT Mistral 7B",
        llava(
            gated("", 0, [4_096, 32, 32, 8, 128, 14_336, 32_064], Off),
            "llava-next-mistral-7b",
            7_566_747_648,
            Tower::LlavaNext,
        ),
        seen_file!("llava-next-mistral-7b"),
    )),
    later(published(
        Other,
        "T5 base",
        t5("t5-base", 222_903_552, [768, 12, 12, 12, 64, 3_072, 32_128], On, Mlp::Relu),
        T5,
    )),
    later(published(
        Other,
        "FLAN-T5 XL",
        t5("flan-t5-xl", 2_849_757_184, [2_048, 24, 32, 32, 64, 5_120, 32_128], Off, Mlp::GatedGeluTanh),
        FLAN,
    )),
    later(published(
        Other,
        "BART large",
        bart("bart-large", 406_291_456, [1_024, 12, 16, 16, 64, 4_096, 50_265], [1_026, 1_026], 0),
        BART,
    )),
    later(noted(
        published(
            Other,
            "Whisper small",
            bart("whisper-small", 241_734_912, [768, 12, 12, 12, 64, 3_072, 51_865], [1_500, 448], 80),
            WHISPER,
        ),
        WHISPER_NOTE,
    )),
    later(noted(
        published(
            Other,
            "Whisper large v3",
            bart("whisper-large-v3", 1_543_490_560, [1_280, 32, 20, 20, 64, 5_120, 51_866], [1_500, 448], 128),
            WHISPER,
        ),
        WHISPER_NOTE,
    )),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// How far a published count may be from the derived one.
    const TOLERANCE: f64 = 0.005;

    /// The rows beyond the tolerance, each with how far it may be and why.
    const EXCEPTIONS: [(&str, f64, &str); 3] = [
        ("gpt-3-2.7b", 0.019, "the paper rounds 2.65 billion to 2.7"),
        ("gpt-3-6.7b", 0.007, "the paper rounds 6.66 billion to 6.7"),
        ("bert-base", 0.006, "the pooler is a large part of a small model"),
    ];

    fn published_rows() -> impl Iterator<Item = &'static ModelRow> {
        MODELS.iter().filter(|row| row.group.is_published())
    }

    /// What the published count has and no field of a model describes, in weights.
    fn left_out(model: &Model) -> i64 {
        let [hidden, layers, vocabulary] = [model.hidden, model.layers, model.vocabulary].map(i64::from);
        match model.origin.slug().unwrap_or_default() {
            // The head has a bias, one element for an entry of the vocabulary.
            "phi-1.5" | "phi-2" => vocabulary,
            // Two token types, and the pooler: a square matrix with its bias.
            "bert-base" | "bert-large" => 2 * hidden + hidden * hidden + hidden,
            // A sink a head, and biases of the output projection, of the router and of all experts.
            "gpt-oss-20b" | "gpt-oss-120b" => {
                let [experts, width, heads] = [model.experts.count, model.feed_forward, model.heads].map(i64::from);
                layers * (heads + hidden + experts + experts * (2 * width + hidden))
            }
            // Its norms have no bias, which the derived count assumes of every LayerNorm.
            "mpt-7b" => -(2 * layers + 1) * hidden,
            // Its keys have no bias: in the encoder, and twice in each layer of the decoder.
            "whisper-small" | "whisper-large-v3" => -3 * layers * hidden,
            _ => 0,
        }
    }

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
    fn what_the_workshop_leaves_open_is_a_plain_gpt_block() {
        for row in MODELS.iter().filter(|row| row.group == ModelGroup::Workshop) {
            let model = &row.model;
            let shape = [model.kv_heads, model.head_dim * model.heads, model.feed_forward, model.vocabulary];
            assert_eq!(shape, [model.heads, model.hidden, 4 * model.hidden, 32_000], "{}", row.slug);
            assert_eq!((model.mlp, model.norm, model.norms), (Mlp::Gelu, Norm::LayerNorm, 2), "{}", row.slug);
            assert_eq!((model.bias, model.qk_norm), (Bias::All, QkNorm::Off), "{}", row.slug);
            assert_eq!((model.position, model.positions), (Position::None, 0), "{}", row.slug);
            assert_eq!((model.experts, model.latent), (Experts::NONE, Latent::NONE), "{}", row.slug);
            assert_eq!(model.tied_embeddings, On, "{}", row.slug);
        }
    }

    #[test]
    fn many_models_are_listed_and_the_presets_come_first() {
        assert!(MODELS.len() >= 48, "{}", MODELS.len());
        assert!(published_rows().count() >= 40, "{}", published_rows().count());
        assert!(MODELS[..5].iter().all(|row| !row.group.is_published()));
    }

    #[test]
    fn a_row_and_its_model_carry_the_same_slug() {
        for row in MODELS {
            assert_eq!(Origin::Row(row.slug), row.model.origin);
        }
    }

    #[test]
    fn no_two_rows_are_called_the_same() {
        for (i, row) in MODELS.iter().enumerate() {
            assert!(MODELS[i + 1..].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }

    #[test]
    fn heads_divide_into_groups() {
        for row in MODELS {
            assert_eq!(row.model.heads % row.model.kv_heads, 0, "{}", row.slug);
        }
    }

    #[test]
    fn experts_positions_and_ranks_are_whole_or_absent() {
        for Model { origin, layers, position, positions, experts, latent, .. } in MODELS.iter().map(|row| row.model) {
            assert_eq!(matches!(position, Position::Learned | Position::Relative), positions > 0, "{origin:?}");
            assert!(experts == Experts::NONE || (1..=experts.count).contains(&experts.active), "{origin:?}");
            assert!(experts.dense_layers < layers, "{origin:?}");
            assert_eq!(latent.kv_rank > 0, latent.rope_dim > 0, "{origin:?}");
        }
    }

    #[test]
    fn derived_counts_agree_with_published_ones() {
        for row in published_rows() {
            let exception = EXCEPTIONS.iter().find(|(slug, ..)| *slug == row.slug);
            let allowed = exception.map_or(TOLERANCE, |(_, allowed, _)| *allowed);
            let mismatch = row.model.parameter_mismatch();
            assert!(mismatch <= allowed, "{}: {:.2} %", row.slug, mismatch * 100.0);
        }
    }

    #[test]
    fn every_exception_is_needed_and_says_why() {
        for (slug, _, why) in EXCEPTIONS {
            let row = published_rows().find(|row| row.slug == slug).expect("an exception of the catalogue");
            assert!(row.model.parameter_mismatch() > TOLERANCE && !why.is_empty(), "{slug}");
        }
    }

    /// Exact counts leave no room for a wrong dimension: what the derived count misses is known to
    /// the last weight. The counts of Brown et al. are the only rounded ones.
    #[test]
    fn published_counts_are_the_derived_ones_plus_the_parts_left_out() {
        for row in published_rows().filter(|row| !row.slug.starts_with("gpt-3")) {
            let model = &row.model;
            let derived = model.derived_parameters().checked_add_signed(left_out(model));
            assert_eq!(Some(model.parameters), derived, "{}", row.slug);
        }
    }

    #[test]
    fn what_is_left_out_is_noted() {
        for row in MODELS.iter().filter(|row| left_out(&row.model) != 0) {
            assert!(row.source().is_some_and(|source| !source.note.is_empty()), "{}", row.slug);
        }
    }

    #[test]
    fn rows_stand_group_by_group() {
        let groups: Vec<_> = MODELS.iter().map(|row| row.group).collect();
        let mut sorted = groups.clone();
        sorted.sort_by_key(|group| ModelGroup::ALL.iter().position(|listed| listed == group));
        assert_eq!(groups, sorted);
    }

    #[test]
    fn every_group_has_a_heading_of_its_own_and_a_row() {
        for (i, group) in ModelGroup::ALL.iter().enumerate() {
            assert!(ModelGroup::ALL[i + 1..].iter().all(|other| other.label() != group.label()), "{}", group.label());
            assert!(MODELS.iter().any(|row| row.group == *group), "{}", group.label());
        }
    }
}

//! How the blocks of a file are built: its switches, biases and experts, and what differs from the
//! count in the end.

use super::facts::Facts;
use super::families;
use super::inputs::{
    ACTIVATION, BIASES, DENSE_WIDTH, DROPOUTS, HARMLESS, NO_PARTS, PARTS, REMARKS, SHARED, SPELT_OUT, SWITCHES,
    WEIGHTY, WEIGHTY_SWITCHES,
};
use super::notes::{ConfigError, ConfigNotice, Kept};
use super::reader::Reader;
use crate::bounds::excerpt;
use crate::json::Value;
use crate::{Bias, Experts, Field, Mlp, Model, Position};

/// The kind of a feed-forward block without a gate, by the name of its activation function.
pub(super) fn activation(name: &str) -> Mlp {
    match name {
        _ if SPELT_OUT.contains(&name) => Mlp::GeluTanh,
        "relu" => Mlp::Relu,
        _ => Mlp::Gelu,
    }
}

/// Which biases there are: of queries, keys and values, of the output projection, and of the
/// feed-forward block.
#[derive(Clone, Copy)]
struct Biases {
    queries: bool,
    output: bool,
    feed_forward: bool,
}

impl Reader<'_> {
    /// What depends on switches and on several sizes, and at last the count of weights.
    pub fn blocks(&mut self) -> Result<(), ConfigError> {
        for &(word, key, changes) in SWITCHES {
            if self.has(word)
                && let Some(is_on) = self.flag(key)
            {
                self.apply(changes[usize::from(!is_on)]);
            }
        }
        self.tied();
        self.dropout();
        self.gate();
        self.caps();
        self.details();
        match self.model().experts.count {
            0 => self.without_experts(),
            _ => self.experts(),
        }
        let biases = self.biases();
        self.shape();
        let hidden = self.model().hidden;
        if let Some(tower) = self.path.first().and_then(|file| families::vision::tower(file, hidden)) {
            self.model().vision = tower;
        }
        let model = self.model();
        model.parameters = model.derived_parameters();
        // Products of numbers in range may leave the ranges; the check of the form finds them all.
        for &field in Field::ALL {
            field.check(self.scenario.number(field)).map_err(ConfigError::Range)?;
        }
        self.differences(biases);
        Ok(())
    }

    /// The object around the language model says it of both, where it says it.
    fn tied(&mut self) {
        const KEY: &str = "tie_word_embeddings";
        let around = self.path.iter().rev().skip(1).find_map(|object| object.get(KEY)?.bool());
        let inside = self.flag(KEY).or_else(|| self.flag("tied_embeddings"));
        if let (Some(around), Some(inside)) = (around, inside)
            && around != inside
        {
            self.notes.push(ConfigNotice::Remark(
                "“tie_word_embeddings” differs inside and around the language model; the outer one is used.",
            ));
        }
        match around.or(inside) {
            _ if self.has("untied") => {}
            Some(tied) => self.model().tied_embeddings = tied.into(),
            None if self.has("own-names") => {}
            None => {
                let used = if self.model().tied_embeddings.is_on() { "true" } else { "false" };
                self.absent(KEY, used.to_owned(), "");
            }
        }
    }

    /// Whether the blocks drop out; a file that has none of the fields has the default of its family.
    fn dropout(&mut self) {
        let rates: Vec<f64> = DROPOUTS.iter().filter_map(|key| self.get(key)?.number()).collect();
        if !rates.is_empty() {
            self.scenario.recipe.dropout = rates.iter().any(|rate| *rate > 0.0).into();
        }
    }

    /// How the activation function is written, where it is the only thing between two matrices.
    fn gate(&mut self) {
        // T5 names the gate and the function in one word.
        const PROJECTION: &str = "feed_forward_proj";
        if self.has("encoder")
            && let Some(word) = self.get(PROJECTION).and_then(Value::text)
        {
            self.model().mlp = match word.strip_prefix("gated-") {
                // The library takes this function, whatever the file says (T5Config.__post_init__).
                Some("gelu") => Mlp::GatedGeluTanh,
                Some(function) if activation(function) == Mlp::GeluTanh => Mlp::GatedGeluTanh,
                Some(_) => Mlp::Gated,
                None => activation(word),
            };
            return;
        }
        let named = ACTIVATION.iter().find_map(|key| self.get(key)?.text());
        let mlp = self.model().mlp;
        match named {
            _ if mlp.is_gated() => {}
            Some(name) => self.model().mlp = activation(name),
            None if mlp == Mlp::GeluTanh => self.absent("activation_function", SPELT_OUT[0].to_owned(), ""),
            // All functions that are one operation count the same.
            None => {}
        }
    }

    /// Caps on scores and logits are numbers, and null where there are none (`Gemma2Config`, transformers 5.23.0). A file
    /// that says nothing of them has those of its family.
    fn caps(&mut self) {
        const KEYS: [&str; 2] = ["attn_logit_softcapping", "final_logit_softcapping"];
        let said = KEYS.map(|key| self.get(key).map(|value| value.number().is_some()));
        if said.iter().any(Option::is_some) {
            self.model().soft_cap = said.contains(&Some(true)).into();
        }
    }

    /// Numbers that change a size by a rule of their family.
    fn details(&mut self) {
        let number_behind = |reader: &Self, word| {
            [reader.family.own, reader.family.block, reader.guessed]
                .iter()
                .find_map(|words| families::number_behind(words, word))
        };
        if let Some(usual) = number_behind(self, "types").filter(|usual| *usual > 0)
            && self.model().position == Position::Learned
        {
            const TYPES: &[&str] = &["type_vocab_size"];
            if self.get(TYPES[0]).is_none() {
                self.absent(TYPES[0], usual.to_string(), "");
            }
            self.types = self.detail(Field::Positions, TYPES, usual);
        }
        // DeBERTa may do without absolute positions.
        if self.has("switched-table") && self.flag("position_biased_input") == Some(false) {
            (self.model().position, self.model().positions) = (Position::None, 0);
        }
        // Positions are numbered from 2 in some tables, which have as many rows more or fewer tokens.
        let offset = number_behind(self, "offset").unwrap_or_default();
        self.model().positions += offset;
        self.model().spare_positions += offset + number_behind(self, "skips").unwrap_or_default();
        if self.has("encoder") {
            self.model().encoder.positions += offset;
        }
        if self.has("multi") && self.get("parallel_attn").and_then(Value::bool) != Some(false) {
            let norms = self.model().norms;
            self.model().norms = self.detail(Field::Norms, &["num_ln_in_parallel_attn"], norms);
        }
    }

    fn without_experts(&mut self) {
        self.model().experts = Experts::NONE;
        if self.has("shared-only") {
            let width = self.model().feed_forward;
            self.model().feed_forward = self.detail(Field::FeedForward, &["shared_intermediate_size"], width);
        }
    }

    fn experts(&mut self) {
        let Model { layers, feed_forward, mut experts, .. } = *self.model();
        if experts.active > experts.count {
            experts.active = experts.count;
            self.notes
                .push(ConfigNotice::Remark("A token cannot visit more experts than there are; it visits all of them."));
        }
        // Where there are two widths, the usual field is that of an expert.
        if let width @ 1.. = self.detail(Field::FeedForward, DENSE_WIDTH, 0) {
            if experts.width == 0 {
                experts.width = feed_forward;
            }
            self.model().feed_forward = width;
        }
        let width = if experts.width > 0 { experts.width } else { feed_forward };
        let usual = families::number_behind(self.family.own, "shared");
        let is_named = SHARED.iter().any(|key| self.config.get(key).is_some());
        if let (Some(usual), false) = (usual, is_named) {
            self.absent(SHARED[0], usual.to_string(), if usual > 0 { "" } else { "as if no expert were shared" });
        }
        let one = u32::from(self.has("one-shared"));
        match self.detail(Field::Experts, SHARED, usual.unwrap_or(one)) {
            0 => {}
            shared if experts.shared_width == 0 => experts.shared_width = shared.saturating_mul(width),
            _ => {}
        }
        if self.has("beside") {
            experts.shared_width = feed_forward;
        }
        experts.dense_layers = match self.listed_kinds() {
            Some(dense) => dense,
            None => self.dense_layers(layers, experts.dense_layers),
        };
        self.model().experts = experts;
    }

    /// The layers without experts, where the file says it of each.
    fn listed_kinds(&mut self) -> Option<u32> {
        let layers = self.model().layers as usize;
        let kinds = self.get("mlp_layer_types")?.items();
        let dense = kinds.iter().take(layers).filter(|kind| kind.text() == Some("dense")).count();
        (!kinds.is_empty()).then_some(dense as u32)
    }

    /// The layers without experts, by the rules that families have for it.
    fn dense_layers(&mut self, layers: u32, given: u32) -> u32 {
        let is_given = ["first_k_dense_replace", "num_dense_layers"].iter().any(|key| self.config.get(key).is_some());
        let usual = families::number_behind(self.family.own, "dense").filter(|_| !is_given);
        if let Some(usual) = usual {
            self.absent("first_k_dense_replace", usual.to_string(), "");
        }
        let first = usual.unwrap_or(given);
        // Qwen and Llama count from the end of a step, and DeepSeek from its start.
        let step = self.detail(Field::Layers, &["decoder_sparse_step", "interleave_moe_layer_step"], 1);
        let frequency = self.detail(Field::Layers, &["moe_layer_freq"], 1);
        // ERNIE names the first and the last layer with experts.
        let start = self.detail(Field::DenseLayers, &["moe_layer_start_index"], 0);
        let end = self.detail(Field::DenseLayers, &["moe_layer_end_index"], layers);
        let interval = self.detail(Field::Layers, &["moe_layer_interval"], 1);
        let numbers = |list: Option<&Value>| {
            // As many as there can be layers; what lies beyond them is no layer.
            let mut listed = [false; 1_024];
            for number in list.map_or(&[][..], Value::items).iter().filter_map(Value::number) {
                if let Some(is_listed) = listed.get_mut(number as usize) {
                    *is_listed = true;
                }
            }
            listed
        };
        let dense = numbers(self.get("mlp_only_layers"));
        let with_experts = self.get("moe_layers").filter(|list| !list.items().is_empty());
        let is_named = with_experts.is_some();
        let with_experts = numbers(with_experts);
        let is_dense = |layer: &u32| {
            let at = *layer as usize;
            if is_named {
                return with_experts.get(at) != Some(&true);
            }
            *layer < first
                || !(layer + 1).is_multiple_of(step)
                || !layer.is_multiple_of(frequency)
                || *layer < start
                || *layer > end
                || !(layer + 1).is_multiple_of(interval)
                || dense.get(at) == Some(&true)
        };
        (0..layers).filter(is_dense).count() as u32
    }

    /// The biases, and the one word of the estimator that is nearest to them.
    fn biases(&mut self) -> Biases {
        let bias = self.model().bias;
        let queries = bias != Bias::None;
        let mut biases = Biases {
            queries,
            output: bias == Bias::All || queries && self.has("o-bias") && !self.has("no-o"),
            feed_forward: bias == Bias::All,
        };
        for &(word, key, parts) in BIASES {
            if !word.is_empty() && !self.has(word) {
                continue;
            }
            let Some(is_on) = self.flag(key) else { continue };
            if parts.contains('q') {
                biases.queries = is_on;
            }
            if parts.contains('o') && !(key == "attention_bias" && self.has("no-o")) {
                biases.output = is_on;
            }
            if parts.contains('m') {
                biases.feed_forward = is_on;
            }
        }
        let has_experts = self.model().experts.count > 0;
        self.model().bias = match biases {
            // Compressed queries, keys and values have biases of their own widths.
            _ if self.model().latent.kv_rank > 0 => Bias::None,
            Biases { queries: true, output: true, feed_forward: true } if !has_experts => Bias::All,
            Biases { queries: true, .. } => Bias::Qkv,
            _ => Bias::None,
        };
        biases
    }

    /// Notes sizes that do not go together.
    fn shape(&mut self) {
        let Model { hidden, heads, kv_heads, head_dim, latent, .. } = *self.model();
        if latent.kv_rank == 0 && head_dim == hidden / heads && !hidden.is_multiple_of(heads) {
            self.notes.push(ConfigNotice::Uneven(Field::Hidden, hidden, Field::Heads, heads));
        }
        if !heads.is_multiple_of(kv_heads) {
            self.notes.push(ConfigNotice::Uneven(Field::Heads, heads, Field::KvHeads, kv_heads));
        }
        // The small OPT models have embeddings narrower than their blocks.
        if self.detail(Field::Hidden, &["word_embed_proj_dim"], hidden) != hidden {
            self.notes.push(ConfigNotice::Differ("hidden_size", "word_embed_proj_dim"));
        }
    }

    /// Notes the weights that the model and the count do not share.
    fn differences(&mut self, biases: Biases) {
        let facts = Facts::new(self.scenario.model, self.types, self.path);
        let mut differences = Vec::new();
        let mut note = |what, weights: f64, kept| {
            if weights != 0.0 {
                differences.push(ConfigNotice::Difference { what, weights: weights as i64, kept });
            }
        };
        note("the rows of token types", facts.types() * facts.hidden(), Kept::Nothing);
        for &(what, weights, kept) in self.family.differences {
            let kept = match kept {
                families::Kept::Nothing => Kept::Nothing,
                families::Kept::Bytes(bytes) => Kept::Bytes(bytes(&facts) as u64),
                families::Kept::Unsaid => Kept::Unsaid,
            };
            note(what, weights(&facts), kept);
        }
        let model = self.scenario.model;
        let biased = f64::from(biases.queries);
        let is_all = model.bias == Bias::All;
        if biases.output && !is_all {
            note("the biases of the output projections of attention", facts.layers() * facts.hidden(), Kept::Nothing);
        }
        if biases.feed_forward && !is_all {
            let inner = f64::from(model.mlp.matrices() - 1) * facts.feed_forward();
            let layers = facts.layers() - facts.expert_layers();
            note("the biases of the feed-forward blocks", layers * (inner + facts.hidden()), Kept::Nothing);
            if facts.expert_layers() > 0.0 {
                self.notes.push(ConfigNotice::Remark("The biases of the experts, if they have any, are not counted."));
            }
        }
        if model.latent.kv_rank > 0 {
            // Compressed keys and values have no groups, and files repeat widths that follow.
            self.asked.extend(["num_key_value_heads", "head_dim", "qk_head_dim"]);
            let wider = facts.number("v_head_dim", facts.head_dim()) - facts.head_dim();
            let weights = facts.layers() * facts.heads() * wider * (facts.kv_rank() + facts.hidden());
            note("what values are wider than keys", weights, Kept::Unsaid);
            let widths = facts.query_rank() + facts.kv_rank() + facts.rope_dim();
            note(
                "the biases of what queries, keys and values are compressed to",
                biased * facts.layers() * widths,
                Kept::Nothing,
            );
        }
        let has = |word| families::has(self.family.own, word) || families::has(self.guessed, word);
        if facts.is_bare() && !facts.is_tied() {
            note("an output head", -facts.vocabulary() * facts.hidden(), Kept::Unsaid);
        }
        if facts.classifies() {
            if !facts.is_tied() {
                note("an output head over the vocabulary", -facts.vocabulary() * facts.hidden(), Kept::Unsaid);
            }
            self.notes.push(ConfigNotice::Remark("The head that sorts into classes is not counted."));
        } else if has("masked") && facts.has_class() && facts.predicts_tokens() {
            let h = facts.hidden();
            // In most classes a matrix of its own has a bias of its own.
            let biases = if facts.is_tied() || has("one-bias") { 1.0 } else { 2.0 };
            note("the head for masked words", h * h + 3.0 * h + biases * facts.vocabulary(), Kept::Unsaid);
        } else if has("pooler") && facts.is_bare() {
            let h = facts.hidden();
            note("the pooler", h * h + h, Kept::Unsaid);
        } else if has("masked") && !facts.is_bare() && self.path.len() == 1 {
            self.notes.push(ConfigNotice::Remark(
                "Only the encoder is counted: a pooler or a head for masked words adds H² weights and a few more.",
            ));
        }
        self.notes.extend(differences);
        self.notes.extend(facts.notes.take());
        self.asked.extend(facts.asked.take());
    }

    /// Notes what the count does not depend on but perhaps should.
    pub fn look_over(&mut self) {
        if self.has("linear") {
            self.notes.push(ConfigNotice::Remark(
                "The activations of its linear attention are taken for those of attention.",
            ));
        }
        self.uncounted();
        let unread = self.unread();
        if !unread.is_empty() {
            self.notes.push(ConfigNotice::Unread(unread));
        }
        for (key, remark) in REMARKS {
            let is_there = |object: &&Value| {
                object.get(key).is_some_and(|value| {
                    let is_nothing = value.number() == Some(0.0) || value.bool() == Some(false);
                    !is_nothing && *value != Value::Null && *value != Value::Object(Vec::new())
                })
            };
            if !self.asked.contains(&key) && self.path.iter().any(is_there) {
                self.notes.push(ConfigNotice::Remark(remark));
            }
        }
    }

    /// Notes the objects that describe further parts of the model.
    fn uncounted(&mut self) {
        /// Enough for a reader; a hostile file could name thousands.
        const ENOUGH: usize = 8;
        /// The names of these objects say little; what has such a size is a part.
        const SIZES: [&str; 6] = ["hidden_size", "d_model", "width", "depth", "layers", "num_hidden_layers"];
        let is_part = |key: &str, value: &Value| {
            let has_size = || SIZES.iter().any(|size| value.get(size).is_some_and(|size| size.number().is_some()));
            matches!(value, Value::Object(_)) && (key.ends_with("_config") || has_size())
        };
        let mut parts = Vec::new();
        for object in self.path {
            for (key, value) in object.entries() {
                let is_read = self.path.iter().any(|inner| std::ptr::eq(*inner, value))
                    || NO_PARTS.contains(&&**key)
                    || (*key == families::vision::FIELD && self.scenario.model.vision.is_there())
                    || (self.has("parts") && PARTS.contains(&&**key));
                if is_part(key, value) && !is_read && parts.len() < ENOUGH {
                    parts.push(ConfigNotice::Uncounted { key: excerpt(key), sizes: sizes_of(value) });
                }
            }
        }
        self.notes.extend(parts);
    }

    /// The names, shortened and with commas, of numbers that are not read and may be of weight.
    fn unread(&self) -> String {
        /// Enough for a sentence; a hostile file could name thousands.
        const ENOUGH: usize = 200;
        let mut unread = String::new();
        let parts = PARTS.iter().filter(|_| self.has("parts")).filter_map(|part| self.config.get(part));
        let entries = self.config.entries().iter().chain(parts.flat_map(Value::entries));
        for (key, value) in entries {
            let is_size = |value: &Value| value.number().is_some_and(|number| number > 0.0);
            let is_number = is_size(value) || value.items().iter().any(is_size);
            let is_switch = value.bool() == Some(true) && WEIGHTY_SWITCHES.iter().any(|part| key.contains(part));
            // Of some a remark speaks already.
            let is_said = REMARKS.iter().any(|(said, _)| said == key);
            let is_harmless = is_said
                || HARMLESS.iter().any(|part| key.contains(part)) && !WEIGHTY.iter().any(|part| key.contains(part));
            if (is_number || is_switch) && !is_harmless && !self.asked.contains(&&**key) && unread.len() < ENOUGH {
                if !unread.is_empty() {
                    unread.push_str(", ");
                }
                unread.push_str(&excerpt(key));
            }
        }
        unread
    }
}

/// Layers, width and feed-forward width of a part, by the names that towers have for them; four times the width where no
/// field has the last.
fn sizes_of(part: &Value) -> Option<[u32; 3]> {
    let size = |keys: &[&str]| {
        let sizes = keys.iter().filter_map(|key| part.get(key)?.number());
        sizes.into_iter().find(|size| (1.0..=f64::from(1 << 17)).contains(size)).map(|size| size as u32)
    };
    let layers = size(&["num_hidden_layers", "depth", "encoder_layers", "n_layer", "layers"])?;
    let width = size(&["hidden_size", "d_model", "embed_dim", "width"])?;
    Some([layers, width, size(&["intermediate_size", "encoder_ffn_dim", "ffn_dim"]).unwrap_or(4 * width)])
}

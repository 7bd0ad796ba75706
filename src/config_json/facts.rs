//! What a family's differences are computed from: the model as it was read, and the file.

use std::cell::RefCell;

use super::LARGEST;
use super::notes::{ConfigNotice, Unusable};
use crate::bounds::excerpt;
use crate::json::Value;
use crate::{Bias, Model, QkNorm, Weights, number};

/// A model that was read, and its file. All numbers are doubles: they are whole, stay exact up to 2⁵³
/// and do not overflow, whatever a file says.
pub(super) struct Facts<'a> {
    model: Model,
    /// Rows for token types beside the position table.
    types: u32,
    config: &'a Value,
    /// The class of the model; empty where the file names none.
    architecture: &'a str,
    /// Whether the class is that of a larger model, whose heads are its own.
    is_nested: bool,
    /// The fields that were asked for, and what could not be used in them.
    pub asked: RefCell<Vec<&'static str>>,
    pub notes: RefCell<Vec<ConfigNotice>>,
}

macro_rules! sizes {
    ($($(#[$meta:meta])* $name:ident: $($place:ident).+;)+) => {
        $($(#[$meta])* pub fn $name(&self) -> f64 { f64::from(self.model.$($place).+) })+
    };
}

impl<'a> Facts<'a> {
    pub fn new(model: Model, types: u32, path: &[&'a Value]) -> Self {
        let (file, config) = (path[0], path[path.len() - 1]);
        let architecture = file.get("architectures").and_then(|list| list.items().first()?.text()).unwrap_or_default();
        Self {
            model,
            types,
            config,
            architecture,
            is_nested: path.len() > 1,
            asked: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    sizes! {
        hidden: hidden;
        layers: layers;
        heads: heads;
        kv_heads: kv_heads;
        head_dim: head_dim;
        feed_forward: feed_forward;
        vocabulary: vocabulary;
        norms: norms;
        positions: positions;
        experts: experts.count;
        dense_layers: experts.dense_layers;
        query_rank: latent.query_rank;
        kv_rank: latent.kv_rank;
        rope_dim: latent.rope_dim;
        encoder_layers: encoder.layers;
    }

    /// Rows for token types beside the position table.
    pub fn types(&self) -> f64 {
        self.types.into()
    }

    /// All query heads side by side.
    pub fn queries(&self) -> f64 {
        self.heads() * self.head_dim()
    }

    /// All key heads, or all value heads, side by side.
    pub fn keys(&self) -> f64 {
        self.kv_heads() * self.head_dim()
    }

    /// Inner width of one routed expert.
    pub fn expert_width(&self) -> f64 {
        self.model.expert_width().into()
    }

    /// Layers with experts.
    pub fn expert_layers(&self) -> f64 {
        if self.model.experts.count > 0 { (self.layers() - self.dense_layers()).max(0.0) } else { 0.0 }
    }

    /// All norms of the model over the hidden size: those of the blocks and the one behind them.
    pub fn all_norms(&self) -> f64 {
        self.norms() * self.layers() + 1.0
    }

    /// The weights of attention in one layer, with the norms of queries and keys, as they are counted.
    pub fn attention(&self) -> f64 {
        let weights = Weights::of(&Model { norms: 0, bias: Bias::None, ..self.model });
        (weights.attention + weights.norms) as f64
    }

    pub fn has_qk_norm(&self) -> bool {
        self.model.qk_norm != QkNorm::Off
    }

    pub fn is_tied(&self) -> bool {
        self.model.tied_embeddings.is_on()
    }

    /// A size under this name; the usual one stands in for what is absent, null or no size.
    pub fn number(&self, key: &'static str, usual: f64) -> f64 {
        self.asked.borrow_mut().push(key);
        let unusable = match self.config.get(key) {
            None | Some(Value::Null) => return usual,
            Some(Value::Number(text)) => match number::parse(text) {
                Ok(size) if (0.0..=LARGEST).contains(&size) && size.fract() == 0.0 => return size,
                _ => Unusable::Size(key, excerpt(text)),
            },
            Some(other) => Unusable::Kind { key, found: other.kind(), wanted: "a number" },
        };
        self.notes.borrow_mut().push(ConfigNotice::Unusable(unusable, Some(usual as u32)));
        usual
    }

    /// A switch; the usual position stands in for what is not true or false.
    pub fn is_on(&self, key: &'static str, usual: bool) -> bool {
        self.asked.borrow_mut().push(key);
        self.config.get(key).and_then(Value::bool).unwrap_or(usual)
    }

    /// 1 for a switch that is on, 0 for one that is off.
    pub fn switch(&self, key: &'static str, usual: bool) -> f64 {
        self.is_on(key, usual).into()
    }

    /// Whether a text, or one of the texts of a list, has this word in it.
    pub fn names(&self, key: &'static str, word: &str) -> bool {
        self.asked.borrow_mut().push(key);
        let is_named = |value: &Value| value.text().is_some_and(|text| text.contains(word));
        self.config.get(key).is_some_and(|value| is_named(value) || value.items().iter().any(is_named))
    }

    /// The values of a list.
    pub fn list(&self, key: &'static str) -> &'a [Value] {
        self.asked.borrow_mut().push(key);
        self.config.get(key).map_or(&[], Value::items)
    }

    /// The numbers of a list of sizes, added up.
    pub fn sum(&self, key: &'static str) -> f64 {
        let sizes = self.list(key).iter().take(LARGEST as usize).filter_map(Value::number);
        sizes.filter(|size| (0.0..=LARGEST).contains(size)).sum()
    }

    /// Whether each layer is of this kind by “layer_types”; without such a list, what `usual` says of
    /// the layer's number.
    pub fn kinds(&self, kind: &str, usual: impl Fn(u32) -> bool) -> Vec<bool> {
        let kinds = self.list("layer_types");
        let is_kind = |layer: u32| match kinds.get(layer as usize) {
            Some(word) => word.text() == Some(kind),
            None => kinds.is_empty() && usual(layer),
        };
        (0..self.model.layers).map(is_kind).collect()
    }

    /// The first number with this name in the objects of an object, as in “per_layer_config”.
    pub fn number_inside(&self, key: &'static str, inner: &'static str) -> Option<f64> {
        self.asked.borrow_mut().push(key);
        let sizes = self.config.get(key)?.entries().iter().filter_map(|(_, entry)| entry.get(inner)?.number());
        sizes.into_iter().find(|size| (0.0..=LARGEST).contains(size))
    }

    /// Whether the file is of a bare network, without an output head of any kind.
    pub fn is_bare(&self) -> bool {
        self.architecture.ends_with("Model") && !self.architecture.ends_with("LMHeadModel")
    }

    /// Whether the file says of which class the model is.
    pub fn has_class(&self) -> bool {
        !self.architecture.is_empty()
    }

    /// Whether the file is of a network with a head over the vocabulary, and of nothing more. A file
    /// that names no class is taken for one.
    pub fn predicts_tokens(&self) -> bool {
        let ends = ["ForCausalLM", "ForMaskedLM", "LMHeadModel", "ForConditionalGeneration", "ForPreTraining"];
        !self.is_nested && (!self.has_class() || ends.iter().any(|end| self.architecture.ends_with(end)))
    }

    /// Whether the file is of a network that sorts sequences or tokens into a few classes.
    pub fn classifies(&self) -> bool {
        let ends = ["ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"];
        ends.iter().any(|end| self.architecture.ends_with(end))
    }
}

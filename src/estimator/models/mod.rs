//! Models as data: blocks of operators, and how often each block comes.

mod bart;
mod bert;
mod block;
mod cohere;
mod composed;
mod decoder;
mod deepseek;
mod experts;
mod falcon;
mod gemma;
mod gpt2;
mod gptj;
mod images;
mod liger;
mod llama;
mod megatron;
mod mpt;
mod neox;
mod not_counted;
mod olmo;
mod olmo2;
mod opt;
mod phi;
mod phi3;
mod seq2seq;
mod siglip;
mod stablelm;
mod stages;
mod starcoder2;
mod t5;
mod titan;
mod whisper;

pub use block::Block;
pub use decoder::{Call, Collation, End, Library, network, tokens};
pub use not_counted::NotCounted;
pub use stages::Cut;

use crate::estimator::operators::{Form, Part, Place, Registry, Side, Tensor, Types};
use crate::estimator::units::{DType, Widths};

/// Blocks that come `times` times in this order.
#[derive(Clone, Debug)]
pub struct Run {
    /// One after another.
    pub period: Vec<Block>,
    /// How often.
    pub times: u32,
}

impl Run {
    /// How many layers it has.
    fn layers(&self) -> u32 {
        self.times.saturating_mul(self.period.len() as u32)
    }
}

/// A model at a number of tokens a sequence: from token ids to the loss.
#[derive(Clone, Debug)]
pub struct Model {
    /// The value of every width; the micro-batch is set by whoever asks for bytes.
    pub widths: Widths,
    /// The type of its weights.
    pub dtype: DType,
    /// From token ids to the hidden state and what all layers are given beside it.
    pub opening: Block,
    /// The layers.
    pub layers: Vec<Run>,
    /// How many results of the opening, behind the hidden state, all layers are given.
    pub shared: usize,
    /// From the hidden state, everything else that the opening put out and labels to the loss. In a part of a pipeline
    /// there are no labels, and it ends with what the next part is given, or with logits.
    pub closing: Block,
    /// Whether it is a part of a pipeline that hands the hidden state on to the next one.
    pub hands_on: bool,
    /// Whether it is given keys and values of the tokens before, and gives those of all so far (`DynamicCache` of
    /// transformers).
    pub has_cache: bool,
    /// Whether it puts out what every layer is given and, behind its result, what the last norm puts out
    /// (`output_hidden_states`).
    pub puts_out_states: bool,
    /// What an engine makes of the loss.
    pub output: Option<Block>,
    /// Whether the loop computes the loss under autocast as well, where it does the model.
    pub has_loss_under_autocast: bool,
    /// Whether the training loop keeps the logits until the step is over; otherwise they go before the backward pass.
    pub keeps_logits: bool,
    /// How its class is cut into parts of a pipeline; `None` where that is not known.
    pub cut: Option<Cut>,
    /// Whether the head's matrix is that of the token embedding.
    pub is_tied: bool,
    /// What is kept beside the weights as long as the model is.
    pub constants: Vec<Tensor>,
    /// Whether the class declares the norm behind the layers before them.
    pub declares_norm_first: bool,
    /// What an encoder before the decoder is given. Then the first block is given labels behind it.
    pub source: Option<Form>,
    /// Whether that is a vision tower.
    pub sees: bool,
    /// What the class puts out behind loss and logits.
    pub put_out: usize,
    /// The labels, where they are not the token ids themselves.
    pub labels: Option<Form>,
    /// What a collator gives beside ids and labels; the opening is given it behind the ids.
    pub beside: Vec<(Place, Form)>,
    /// The type of the loss.
    pub loss: DType,
}

impl Model {
    /// Every layer once, in order.
    pub fn layers_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.layers.iter_mut().flat_map(|run| &mut run.period)
    }

    /// Every block once, in order.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let layers = self.layers.iter_mut().flat_map(|run| &mut run.period);
        std::iter::once(&mut self.opening).chain(layers).chain([&mut self.closing])
    }

    /// The number of weights, added up over the operators that have them.
    pub fn parameters(&self) -> u64 {
        let types = Types { weights: self.dtype, loaded: self.dtype, buffers: DType::Single, autocast: None };
        let (mut has_embedding, mut all) = (false, 0_u64);
        let mut count = |block: &Block, times: u32| {
            let mut registry = Registry::default();
            let program = block.lower(&mut registry, types);
            let widths = if block.side == Side::Encoder { self.widths.of_encoder() } else { self.widths };
            for weight in &program.weights {
                let place =
                    weight.values.first().map(|&id| registry.tensor(id)).map(|tensor| (tensor.place, tensor.part));
                let is_embedding = place == Some((Place::TokenEmbedding, Part::Weight));
                let is_tied = self.is_tied && place == Some((Place::Head, Part::Weight));
                if !(is_tied || is_embedding && has_embedding) {
                    all = all.saturating_add(weight.form.shape.elements(&widths).saturating_mul(u64::from(times)));
                }
                has_embedding |= is_embedding;
            }
        };
        count(&self.opening, 1);
        self.layers.iter().for_each(|run| run.period.iter().for_each(|block| count(block, run.times)));
        count(&self.closing, 1);
        all
    }
}

//! Formulas as values: one tree is evaluated, shown in symbols and shown with numbers.
//!
//! A ledger entry's bytes are the value of its formula, so what the reader is shown can never
//! differ from what was computed.

mod written;

use serde::Serialize;

macro_rules! symbols {
    ($($(#[$meta:meta])* $symbol:ident = $letter:literal, $subscript:literal, $meaning:literal;)+) => {
        /// A quantity that appears in a formula.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
        #[non_exhaustive]
        pub enum Symbol { $($(#[$meta])* $symbol,)+ }

        impl Symbol {
            /// Every symbol.
            pub const ALL: &'static [Self] = &[$(Self::$symbol,)+];

            /// The letter it is written with.
            pub const fn letter(self) -> &'static str {
                match self { $(Self::$symbol => $letter,)+ }
            }
            /// Its subscript, or nothing.
            pub const fn subscript(self) -> &'static str {
                match self { $(Self::$symbol => $subscript,)+ }
            }
            /// What it stands for, with its unit.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$symbol => $meaning,)+ }
            }
        }
    };
}

symbols! {
    /// Parameters.
    Parameters = "N", "", "parameters";
    /// All GPUs.
    Gpus = "D", "", "GPUs the model states are divided over";
    /// ZeRO group: data-parallel GPUs.
    DataParallel = "D", "dp", "data-parallel GPUs, GPUs / (T·P·C)";
    /// Tensor-parallel size.
    TensorParallel = "T", "", "tensor-parallel GPUs";
    /// Micro-batch.
    Batch = "b", "", "micro-batch";
    /// Sequence length.
    Sequence = "S", "", "sequence length in tokens";
    /// Hidden size.
    Hidden = "H", "", "hidden size";
    /// Layers.
    Layers = "L", "", "layers";
    /// Attention heads.
    Heads = "n", "", "attention heads";
    /// Key/value heads.
    KvHeads = "k", "", "key/value heads";
    /// Width of one head.
    HeadDim = "d", "", "width of one head";
    /// Width of one head with its rotary part.
    RotaryHeadDim = "d", "r", "width of one head with the rotary part of latent attention";
    /// Feed-forward width.
    FeedForward = "f", "", "feed-forward width";
    /// Width of one expert.
    ExpertWidth = "f", "e", "width of one expert";
    /// Width of the shared experts.
    SharedWidth = "f", "s", "width of the shared experts";
    /// Experts.
    Experts = "E", "", "experts of a layer";
    /// Active experts.
    ActiveExperts = "a", "", "experts a token visits";
    /// Load of the busiest experts.
    Imbalance = "ρ", "", "tokens at the GPU with the busiest experts, over the mean";
    /// Rank of adapters.
    Rank = "r", "", "rank of the adapters";
    /// Vocabulary.
    Vocabulary = "V", "", "vocabulary entries";
    /// Rows of the position table.
    Positions = "S", "max", "rows of the position table";
    /// Bytes an element.
    ElementBytes = "β", "", "bytes an activation element: 2 at 16 bits, 4 at 32";
    /// Layers that an entry stands for.
    LineLayers = "ℓ", "", "layers the entry stands for";
    /// Context-parallel size.
    ContextParallel = "C", "", "context-parallel GPUs";
    /// GPUs that split what tensor parallelism leaves whole.
    SequenceSplit = "T", "s", "GPUs that share norms and residual stream: T with sequence parallelism";
    /// Expert-parallel size.
    ExpertParallel = "X", "", "expert-parallel GPUs";
    /// GPUs that share parameters.
    ParameterShards = "D", "p", "GPUs that share the parameters: D·C at ZeRO stage 3";
    /// GPUs that share gradients.
    GradientShards = "D", "g", "GPUs that share the gradients: D·C from ZeRO stage 2";
    /// GPUs that share optimizer state.
    OptimizerShards = "D", "o", "GPUs that share the optimizer state: D·C from ZeRO stage 1";
    /// GPUs that share the parameters of an expert.
    ExpertParameterShards = "D", "pe", "GPUs that share an expert’s parameters: D·C / X at ZeRO stage 3";
    /// GPUs that share the gradients of an expert.
    ExpertGradientShards = "D", "ge", "GPUs that share an expert’s gradients: D·C / X from ZeRO stage 2";
    /// GPUs that share the optimizer state of an expert.
    ExpertOptimizerShards = "D", "oe", "GPUs that share an expert’s optimizer state: D·C / X from ZeRO stage 1";
    /// Tokens of a completion.
    Completion = "S", "c", "tokens of the completion";
    /// Tokens of a prompt.
    Prompt = "S", "p", "tokens of the prompt";
    /// Sequences that are generated at once.
    Generations = "G", "", "sequences generated at once";
    /// Sequences that are scored at once.
    Scored = "b", "s", "sequences scored at once";
    /// Sequences that are evaluated at once.
    Evaluated = "b", "e", "sequences evaluated at once";
    /// Sequences whose logits are kept.
    KeptSequences = "n", "e", "sequences whose logits are kept";
    /// Patches of a sequence's images.
    Patches = "S", "v", "patches of a sequence’s images";
    /// Tokens of a sequence's images.
    ImageTokens = "S", "i", "tokens of a sequence’s images";
    /// Width of the vision tower.
    VisionHidden = "H", "v", "width of the vision tower";
    /// Feed-forward width of the vision tower.
    VisionFeedForward = "f", "v", "feed-forward width of the vision tower";
    /// Positions of an encoder.
    Source = "S", "e", "positions of the encoder";
    /// Memory of the device.
    Memory = "M", "", "memory of the GPU in bytes";
    /// Chunks of the loss.
    Chunks = "q", "", "chunks of the loss";
    /// Fragmentation.
    Fragmentation = "φ", "", "part that the allocator holds beyond live memory";
    /// A number of weights, always shown as its value.
    WeightCount = "w", "", "weights";
    /// A number of bytes, always shown as its value.
    ByteCount = "M", "", "bytes";
    /// A counted coefficient of one entry, always shown as its value.
    Coefficient = "c", "", "bytes per element, times the elements counted";
    /// A counted coefficient, always shown as its value.
    Linear = "c", "lin", "bytes per S·b·H and layer";
    /// A counted coefficient of the part that T does not divide.
    Replicated = "c", "rep", "bytes per S·b·H and layer on every tensor-parallel GPU";
    /// A counted coefficient of the part that T divides.
    Split = "c", "split", "bytes per S·b·H and layer, divided over T";
    /// A counted coefficient of the attention scores.
    Scores = "c", "att", "bytes per n·S²·b and layer";
    /// Bytes of weights per parameter.
    WeightBytes = "c", "w", "bytes of weights per parameter";
    /// Bytes of gradient per parameter.
    GradientBytes = "c", "g", "bytes of gradient per parameter";
    /// Bytes of optimizer state per parameter.
    OptimizerBytes = "c", "o", "bytes of optimizer state per parameter";
}

impl Symbol {
    /// Whether the symbol is a counted coefficient, which is shown by its value even among symbols:
    /// readers know 34, not a letter for it.
    pub const fn is_coefficient(self) -> bool {
        matches!(
            self,
            Self::Linear
                | Self::Replicated
                | Self::Split
                | Self::Scores
                | Self::WeightBytes
                | Self::GradientBytes
                | Self::OptimizerBytes
                | Self::Coefficient
                | Self::WeightCount
                | Self::ByteCount
        )
    }

    /// Whether the symbol divides or multiplies only where there is more than one of something: at 1
    /// it may be left out of a formula without loss.
    pub const fn is_neutral_at_one(self) -> bool {
        matches!(
            self,
            Self::TensorParallel
                | Self::ContextParallel
                | Self::SequenceSplit
                | Self::ExpertParallel
                | Self::Imbalance
                | Self::ParameterShards
                | Self::GradientShards
                | Self::OptimizerShards
                | Self::ExpertParameterShards
                | Self::ExpertGradientShards
                | Self::ExpertOptimizerShards
                | Self::LineLayers
        )
    }
}

/// The value of every symbol in one scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values([f64; Symbol::ALL.len()]);

impl Default for Values {
    fn default() -> Self {
        // One is neutral in products and quotients, so that a symbol nobody set changes nothing.
        Self([1.0; Symbol::ALL.len()])
    }
}

impl Values {
    /// The value of `symbol`; 1 when it was never set.
    pub fn get(&self, symbol: Symbol) -> f64 {
        self.0[symbol as usize]
    }

    /// Sets the value of `symbol`.
    pub(crate) fn set(&mut self, symbol: Symbol, value: f64) {
        self.0[symbol as usize] = value;
    }

    /// The same values with one set.
    pub fn with(mut self, symbol: Symbol, value: f64) -> Self {
        self.0[symbol as usize] = value;
        self
    }
}

/// An arithmetic expression over [`Symbol`]s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    /// A literal.
    Number(f64),
    /// A symbol.
    Symbol(Symbol),
    /// A sum of terms.
    Sum(&'static [Expr]),
    /// A product of factors.
    Product(&'static [Expr]),
    /// Numerator and denominator.
    Quotient(&'static Expr, &'static Expr),
    /// A square.
    Square(&'static Expr),
    /// What is left of the first when the second is taken away.
    Difference(&'static Expr, &'static Expr),
}

impl Expr {
    /// Whether the expression is 1 and only says so because of sizes that are 1 here: a formula may
    /// then be written without it.
    pub fn is_neutral(&self, values: &Values) -> bool {
        match self {
            Self::Symbol(symbol) => symbol.is_neutral_at_one() && values.get(*symbol) == 1.0,
            Self::Product(factors) => factors.iter().all(|factor| factor.is_neutral(values)),
            _ => false,
        }
    }

    /// Whether the symbol stands anywhere in the expression.
    pub fn contains(&self, symbol: Symbol) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Symbol(other) => *other == symbol,
            Self::Sum(parts) | Self::Product(parts) => parts.iter().any(|part| part.contains(symbol)),
            Self::Quotient(one, other) | Self::Difference(one, other) => one.contains(symbol) || other.contains(symbol),
            Self::Square(base) => base.contains(symbol),
        }
    }

    /// The value of the expression. It is finite whenever the values are finite and no denominator
    /// is zero, which the declared ranges ensure.
    ///
    /// ```
    /// use bmax::formula::{Expr, Symbol, Values};
    /// const AREA: Expr = Expr::Product(&[Expr::Number(4.0), Expr::Square(&Expr::Symbol(Symbol::Hidden))]);
    /// assert_eq!(AREA.value(&Values::default().with(Symbol::Hidden, 4096.0)), 67_108_864.0);
    /// ```
    pub fn value(&self, values: &Values) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Symbol(symbol) => values.get(*symbol),
            Self::Sum(terms) => terms.iter().map(|term| term.value(values)).sum(),
            Self::Product(factors) => factors.iter().map(|factor| factor.value(values)).product(),
            Self::Quotient(numerator, denominator) => numerator.value(values) / denominator.value(values),
            Self::Difference(whole, part) => whole.value(values) - part.value(values),
            Self::Square(base) => {
                let base = base.value(values);
                base * base
            }
        }
    }
}

/// Short names for writing formulas; they mirror the letters of the literature.
pub(crate) mod terms {
    use super::{Expr, Symbol};

    pub(crate) const N: Expr = Expr::Symbol(Symbol::Parameters);
    pub(crate) const GPUS: Expr = Expr::Symbol(Symbol::Gpus);
    pub(crate) const DP: Expr = Expr::Symbol(Symbol::DataParallel);
    pub(crate) const T: Expr = Expr::Symbol(Symbol::TensorParallel);
    pub(crate) const B: Expr = Expr::Symbol(Symbol::Batch);
    pub(crate) const S: Expr = Expr::Symbol(Symbol::Sequence);
    pub(crate) const SE: Expr = Expr::Symbol(Symbol::Source);
    pub(crate) const H: Expr = Expr::Symbol(Symbol::Hidden);
    pub(crate) const L: Expr = Expr::Symbol(Symbol::Layers);
    pub(crate) const HEADS: Expr = Expr::Symbol(Symbol::Heads);
    pub(crate) const K: Expr = Expr::Symbol(Symbol::KvHeads);
    pub(crate) const D: Expr = Expr::Symbol(Symbol::HeadDim);
    pub(crate) const DR: Expr = Expr::Symbol(Symbol::RotaryHeadDim);
    pub(crate) const F: Expr = Expr::Symbol(Symbol::FeedForward);
    pub(crate) const FE: Expr = Expr::Symbol(Symbol::ExpertWidth);
    pub(crate) const FS: Expr = Expr::Symbol(Symbol::SharedWidth);
    pub(crate) const E: Expr = Expr::Symbol(Symbol::Experts);
    pub(crate) const A: Expr = Expr::Symbol(Symbol::ActiveExperts);
    pub(crate) const V: Expr = Expr::Symbol(Symbol::Vocabulary);
    pub(crate) const R: Expr = Expr::Symbol(Symbol::Rank);
    pub(crate) const RHO: Expr = Expr::Symbol(Symbol::Imbalance);
    pub(crate) const LINE_LAYERS: Expr = Expr::Symbol(Symbol::LineLayers);
    pub(crate) const COEFF: Expr = Expr::Symbol(Symbol::Coefficient);
    pub(crate) const W: Expr = Expr::Symbol(Symbol::WeightCount);
    pub(crate) const CP: Expr = Expr::Symbol(Symbol::ContextParallel);
    pub(crate) const TS: Expr = Expr::Symbol(Symbol::SequenceSplit);
    pub(crate) const X: Expr = Expr::Symbol(Symbol::ExpertParallel);
    pub(crate) const BETA: Expr = Expr::Symbol(Symbol::ElementBytes);
    pub(crate) const LINEAR: Expr = Expr::Symbol(Symbol::Linear);
    pub(crate) const REPLICATED: Expr = Expr::Symbol(Symbol::Replicated);
    pub(crate) const SPLIT: Expr = Expr::Symbol(Symbol::Split);
    pub(crate) const SCORES: Expr = Expr::Symbol(Symbol::Scores);
    pub(crate) const WEIGHT_BYTES: Expr = Expr::Symbol(Symbol::WeightBytes);
    pub(crate) const GRADIENT_BYTES: Expr = Expr::Symbol(Symbol::GradientBytes);
    pub(crate) const OPTIMIZER_BYTES: Expr = Expr::Symbol(Symbol::OptimizerBytes);
}

#[cfg(test)]
mod tests {
    use super::terms::*;
    use super::*;

    #[test]
    fn a_linear_layer_of_4096_takes_64_mib_of_fp32_weights() {
        const WEIGHTS: Expr = Expr::Product(&[Expr::Square(&H), Expr::Number(4.0)]);
        let values = Values::default().with(Symbol::Hidden, 4096.0);
        assert_eq!(WEIGHTS.value(&values), 64.0 * 1024.0 * 1024.0);
    }

    #[test]
    fn sums_quotients_and_unset_symbols_evaluate_as_written() {
        const SHARED: Expr = Expr::Sum(&[REPLICATED, Expr::Quotient(&SPLIT, &T)]);
        let values = Values::default().with(Symbol::Replicated, 10.0).with(Symbol::Split, 24.0);
        assert_eq!(SHARED.value(&values), 34.0);
        assert_eq!(SHARED.value(&values.with(Symbol::TensorParallel, 8.0)), 13.0);
    }

    #[test]
    fn every_symbol_has_a_meaning() {
        for symbol in Symbol::ALL {
            assert!(!symbol.letter().is_empty() && !symbol.meaning().is_empty());
        }
    }

    #[test]
    fn a_difference_is_what_is_left_of_the_first() {
        const LEFT: Expr = Expr::Difference(&S, &Expr::Number(48.0));
        assert_eq!(LEFT.value(&Values::default().with(Symbol::Sequence, 2048.0)), 2000.0);
    }

    #[test]
    fn a_coefficient_is_written_by_its_value_and_a_size_by_its_letter_even_where_it_is_one() {
        const KEPT: Expr = Expr::Product(&[COEFF, LINE_LAYERS, B, S]);
        let values = Values::default().with(Symbol::Coefficient, 34.0).with(Symbol::Sequence, 2048.0);
        // One sequence is a size; that a line stands for one layer need not be said.
        assert_eq!(KEPT.in_symbols(&values), "34·b·S");
    }
}

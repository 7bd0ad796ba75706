//! What one more sequence adds to the memory of a GPU, and the largest kind of it as a product that can be checked by hand.

use super::answer::Answer;
use super::formula::{Symbol, Values};
use super::ledger::{Bucket, Instant, Ledger, Line};
use super::meaning::{Keeps, Part, Stack};
use super::scenario::Scenario;
use super::unit::Unit;
use super::units::Bytes;

/// What each sequence adds at the instant that stops the next one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Growth {
    /// That instant.
    pub instant: &'static Instant,
    /// What is added: a sequence, or what the task or the lengths count in its place.
    pub unit: Unit,
    /// Bytes that each of them adds in all.
    pub each: Bytes,
    /// The same by kind, the largest first: together they are `each`. At least one.
    pub parts: Vec<Added>,
    /// The bytes of the largest kind as a product.
    pub product: Vec<Factor>,
}

/// Bytes of one kind that a sequence adds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Added {
    /// The kind.
    pub kind: Kind,
    /// The bucket that it belongs to.
    pub bucket: Bucket,
    /// How many bytes of it.
    pub bytes: Bytes,
}

/// A kind of memory that grows with the micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Logits, and what the loss makes of them.
    Logits,
    /// What layers of a stack keep for their backward pass.
    Layers(Stack),
    /// Inputs of layers alone, from which they are computed again.
    Inputs(Stack),
    /// What has been computed again for the layers that run backward.
    Again(Stack),
    /// Keys and values of what is generated.
    Cache,
    /// What else there is of a bucket.
    Rest(Bucket),
}

/// One number of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Factor {
    /// What it counts.
    pub of: Of,
    /// How many.
    pub count: f64,
}

/// What a factor counts on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Of {
    /// Tokens of what is added.
    Tokens,
    /// Patches of its images.
    Patches,
    /// Entries of the vocabulary.
    Words,
    /// Layers.
    Layers,
    /// Layers of a pipeline stage, once for each micro-batch that it keeps.
    LayersInFlight,
    /// Numbers of the residual stream of one token.
    Hidden,
    /// Bytes for each of what the factors before count. Always the last factor.
    Bytes,
}

impl Growth {
    /// The largest kind.
    pub fn largest(&self) -> Added {
        self.parts[0]
    }
}

/// What each sequence adds at the instant that stops the next one. `answer` is the scenario’s own. `None` where nothing
/// fits or there is no answer, where the memory of the machine stops the next one, and where no sequence adds anything.
///
/// ```
/// use bmax::growth::{Kind, growth};
/// use bmax::{Scenario, b_max, division::division};
/// let scenario = Scenario::workshop();
/// let growth = growth(&scenario, &b_max(&scenario)).expect("three sequences fit");
/// assert_eq!(growth.each, division(&scenario).per_sequence);
/// let product: f64 = growth.product.iter().map(|factor| factor.count).product();
/// assert!((product / growth.largest().bytes.get() - 1.0).abs() < 1e-9);
/// ```
pub fn growth(scenario: &Scenario, answer: &Answer) -> Option<Growth> {
    let Answer::Fits(room) = answer else { return None };
    if room.by_host {
        return None;
    }
    let ledger = Ledger::of(scenario);
    let (position, _) = ledger.peak(room.batch.saturating_add(1));
    let [none, one] = [0, 1].map(|batch| ledger.totals(batch)[position]);
    let groups = groups(&ledger, position);
    let largest = groups.first().filter(|_| one > none)?;
    Some(Growth {
        instant: ledger.instants[position],
        unit: scenario.unit(),
        each: Bytes::new(one - none),
        parts: groups.iter().map(Group::added).collect(),
        product: largest.product(&ledger, scenario.unit()),
    })
}

/// The lines of one kind that grow.
struct Group {
    kind: Kind,
    bucket: Bucket,
    bytes: f64,
    lines: Vec<Line>,
}

/// The kinds that grow at the instant with this position, the largest first.
fn groups(ledger: &Ledger, position: usize) -> Vec<Group> {
    let [mut none, mut one] = [0, 1].map(|batch| ledger.values_at(batch));
    let mut groups: Vec<Group> = Vec::new();
    let mut add = |kind, bucket, bytes: f64, line: Option<&Line>| {
        if bytes <= 0.0 {
            return;
        }
        match groups.iter_mut().find(|group| group.kind == kind) {
            Some(group) => {
                group.bytes += bytes;
                group.lines.extend(line);
            }
            None => groups.push(Group { kind, bucket, bytes, lines: line.into_iter().copied().collect() }),
        }
    };
    let mut dynamic = 0.0;
    for line in ledger.lines.iter().filter(|line| line.alive.contains(position)) {
        let bytes = line.bytes(&mut one) - line.bytes(&mut none);
        if line.bucket.is_dynamic() {
            dynamic += bytes;
        }
        add(Kind::of(line), line.bucket, bytes, Some(line));
    }
    add(Kind::Rest(Bucket::Runtime), Bucket::Runtime, ledger.fragmentation * dynamic, None);
    for group in &mut groups {
        group.kind = group.settled();
    }
    groups.sort_by(|one, other| other.bytes.total_cmp(&one.bytes));
    groups
}

impl Kind {
    fn of(line: &Line) -> Self {
        match (line.bucket, line.part) {
            (Bucket::Logits, _) => Self::Logits,
            (Bucket::Activations, Part::Layers(Keeps::Again, stack)) => Self::Again(stack),
            (Bucket::Activations, Part::Layers(_, stack)) => Self::Layers(stack),
            (Bucket::Activations, Part::Cache) => Self::Cache,
            (bucket, _) => Self::Rest(bucket),
        }
    }

    /// The stack whose layers it is of.
    const fn stack(self) -> Option<Stack> {
        match self {
            Self::Layers(stack) | Self::Inputs(stack) | Self::Again(stack) => Some(stack),
            Self::Logits | Self::Cache | Self::Rest(_) => None,
        }
    }
}

impl Group {
    fn added(&self) -> Added {
        Added { kind: self.kind, bucket: self.bucket, bytes: Bytes::new(self.bytes) }
    }

    /// Its kind, now that all of its lines are known: layers of which only inputs are kept are another.
    fn settled(&self) -> Kind {
        let is_input = |line: &Line| matches!(line.part, Part::Layers(Keeps::Inputs, _));
        match self.kind {
            Kind::Layers(stack) if self.lines.iter().all(is_input) => Kind::Inputs(stack),
            kind => kind,
        }
    }

    /// Its bytes as a product: tokens, then what there is of each, then bytes.
    fn product(&self, ledger: &Ledger, unit: Unit) -> Vec<Factor> {
        let values = &ledger.values;
        let mut factors = match self.kind {
            Kind::Logits => self.of_logits(values),
            _ => vec![self.tokens(values)],
        };
        factors[0].count *= f64::from(unit.sequences());
        if let Some(stack) = self.kind.stack() {
            let of = if ledger.ranks.is_empty() { Of::Layers } else { Of::LayersInFlight };
            factors.push(Factor { of, count: self.layers(values) });
            if stack == Stack::Model {
                self.divide_by_width(&mut factors, values);
            }
        }
        let count = self.rest(&factors);
        factors.push(Factor { of: Of::Bytes, count });
        factors
    }

    /// What is left of its bytes for each of what these factors count.
    fn rest(&self, factors: &[Factor]) -> f64 {
        self.bytes / factors.iter().map(|factor| factor.count).product::<f64>()
    }

    /// Tokens of one sequence on one GPU, in the stack that the kind is of.
    fn tokens(&self, values: &Values) -> Factor {
        let of_tower = self.kind.stack() == Some(Stack::Tower);
        let symbol = match self.kind.stack() {
            Some(Stack::Encoder) => Symbol::Source,
            Some(Stack::Tower) => Symbol::Patches,
            _ => Symbol::Sequence,
        };
        let count = values.get(symbol) / values.get(Symbol::ContextParallel);
        Factor { of: if of_tower { Of::Patches } else { Of::Tokens }, count }
    }

    /// Tokens and words, where all lines have as many of both; tokens alone otherwise.
    fn of_logits(&self, values: &Values) -> Vec<Factor> {
        let mut tokens = self.lines.iter().map(|line| scored_tokens(line, values));
        let first = tokens.next().flatten();
        match first {
            Some(count) if tokens.all(|tokens| tokens == first) => {
                let words = values.get(Symbol::Vocabulary) / values.get(Symbol::TensorParallel);
                vec![Factor { of: Of::Tokens, count }, Factor { of: Of::Words, count: words }]
            }
            _ => vec![self.tokens(values)],
        }
    }

    /// How many layers its lines stand for: those that keep all, and those that keep their inputs.
    fn layers(&self, values: &Values) -> f64 {
        let of_line = |line: &&Line| {
            // The two other methods have the layers of the model in their formulas.
            if line.formula.contains(Symbol::Layers) { values.get(Symbol::Layers) } else { line.layers }
        };
        let most = |is_of: fn(Keeps) -> bool| {
            let lines = self.lines.iter().filter(|line| matches!(line.part, Part::Layers(keeps, _) if is_of(keeps)));
            lines.map(|line| of_line(&line)).fold(0.0, f64::max)
        };
        let whole = most(|keeps| matches!(keeps, Keeps::Whole | Keeps::Again));
        let inputs = most(|keeps| keeps == Keeps::Inputs);
        if whole + inputs > 0.0 {
            whole + inputs
        } else {
            most(|keeps| matches!(keeps, Keeps::Operators | Keeps::Frozen))
        }
    }

    /// Adds the width of the residual stream as a factor, where what is left is a whole number of bytes.
    fn divide_by_width(&self, factors: &mut Vec<Factor>, values: &Values) {
        let width = Factor { of: Of::Hidden, count: values.get(Symbol::Hidden) };
        factors.push(width);
        let bytes = self.rest(factors);
        if bytes < 0.5 || (bytes - bytes.round()).abs() > 1e-9 * bytes {
            factors.pop();
        }
    }
}

/// Tokens of one sequence whose logits a line has at once; `None` where it is of another shape.
fn scored_tokens(line: &Line, values: &Values) -> Option<f64> {
    let has = |symbol| line.formula.contains(symbol);
    if !has(Symbol::Vocabulary) {
        return None;
    }
    let tokens = match (has(Symbol::Completion), has(Symbol::Sequence)) {
        (true, _) => values.get(Symbol::Completion),
        (false, true) => values.get(Symbol::Sequence),
        // The next token alone.
        (false, false) => return Some(1.0),
    };
    let chunks = if has(Symbol::Chunks) { values.get(Symbol::Chunks) } else { 1.0 };
    Some(tokens / values.get(Symbol::ContextParallel) / chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossHead, Method, Recomputation, TaskKind, ZeroStage, b_max, catalogue, link};

    fn of(scenario: &Scenario) -> Growth {
        growth(scenario, &b_max(scenario)).expect("it fits and grows")
    }

    fn counts(growth: &Growth) -> Vec<(Of, f64)> {
        growth.product.iter().map(|factor| (factor.of, factor.count)).collect()
    }

    /// Qwen2.5 7B with LoRA on one RTX 4090 at 4,096 tokens: the case of `docs/json.md`.
    fn qwen() -> Scenario {
        link::decode("?v=3&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&s=4096&zero=0&adapter=lora&rank=16").scenario
    }

    #[test]
    fn the_loss_of_a_wide_vocabulary_is_tokens_times_words_times_twelve_bytes() {
        let growth = of(&qwen());
        assert_eq!(growth.largest().kind, Kind::Logits);
        // The fp32 logits’ log-softmax, its gradient and that of the logits: three times four bytes.
        assert_eq!(counts(&growth), [(Of::Tokens, 4_096.0), (Of::Words, 152_064.0), (Of::Bytes, 12.0)]);
        assert_eq!(growth.largest().bytes.get(), 4_096.0 * 152_064.0 * 12.0);
    }

    #[test]
    fn the_workshop_adds_68_bytes_for_each_number_of_each_layer() {
        let scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
        let growth = of(&scenario);
        // L·34·S·H·β with L = 32, S = 2,048, H = 4,096 and β = 2, which is all that grows.
        let expected = [(Of::Tokens, 2_048.0), (Of::Layers, 32.0), (Of::Hidden, 4_096.0), (Of::Bytes, 68.0)];
        assert_eq!(counts(&growth), expected);
        assert_eq!(growth.parts.len(), 1);
        assert_eq!(growth.largest().bytes, growth.each);
    }

    #[test]
    fn the_paper_adds_34_bytes_where_nothing_is_split() {
        let mut scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        scenario.recipe.dropout = crate::Switch::On;
        let growth = of(&scenario);
        assert_eq!(growth.product.last().map(|factor| factor.count), Some(34.0));
    }

    #[test]
    fn inputs_of_layers_are_a_product_of_four_numbers() {
        let mut scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop());
        scenario.recipe.recomputation = Recomputation::Full;
        scenario.recipe.loss = LossHead::Fused;
        let ledger = Ledger::of(&scenario);
        let loss = groups(&ledger, 0);
        let inputs = loss.iter().find(|group| matches!(group.kind, Kind::Inputs(_))).expect("inputs of layers");
        let product: Vec<f64> = inputs.product(&ledger, Unit::Sequences).iter().map(|factor| factor.count).collect();
        // S = 2,048 tokens, 32 layers, H = 4,096 numbers of two bytes.
        assert_eq!(product, [2_048.0, 32.0, 4_096.0, 2.0]);
    }

    #[test]
    fn a_pair_has_the_tokens_of_two_sequences() {
        let scenario = link::decode("?v=3&model=qwen2.5-0.5b&gpus=1&zero=0&s=512&task=dpo").scenario;
        assert_eq!(scenario.task.kind, TaskKind::Dpo);
        let growth = of(&scenario);
        assert_eq!(growth.unit, Unit::Pairs);
        assert_eq!(growth.product[0].count, 1_024.0);
    }

    #[test]
    fn nothing_is_said_where_nothing_fits() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.gpus = 1;
        scenario.cluster.zero = ZeroStage::Stage0;
        let answer = b_max(&scenario);
        assert!(matches!(answer, Answer::Infeasible(_)));
        assert_eq!(growth(&scenario, &answer), None);
    }
}

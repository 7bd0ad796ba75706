//! Mixtures of experts: the router, the way of tokens to their experts and back, and products with stacked weights
//! (transformers 5.23.0, integrations/moe.py `grouped_mm_experts_forward`, which PyTorch 2.15 takes from compute
//! capability 8.0 on).
//!
//! Nothing here depends on how many tokens an expert gets: all experts' tokens stand in one tensor, sorted by expert. The
//! products themselves were recorded on a device whose counts are all zero. Below compute capability 9.0 a real one runs
//! a product for each expert that has tokens, each of which takes cuBLAS's workspace and gives it back at once.

use super::activation::{multiply, of_input};
use super::attention::split;
use super::kernel::Effect::{Brief, Drop, New, NewOf, NewView, Pass, PassView, Workspace};
use super::kernel::{ASIDES, FIRST, NOTHING, OUTPUT, Operand, SECOND, Slot, THIRD};
use super::linear::{Adapter, Matrix, autocast_weight, mm};
use super::lowering::{Lowering, Sum};
use super::size::{CUBLAS, Size};
use super::tensor::{Form, Part, Place};
use crate::estimator::units::{DType, Shape};

/// Experts of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// How many there are.
    pub experts: Shape,
    /// To how many a token goes.
    pub active: Shape,
    /// Width of the hidden state.
    pub hidden: Shape,
    /// Inner width of an expert.
    pub inner: Shape,
}

/// What a router makes of its logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// Weights that add up to 1, in fp32 (`MixtralTopKRouter.forward`).
    Normalized,
    /// The same in the type of the logits (`Qwen3MoeTopKRouter.forward`).
    Narrowed,
    /// Logits in fp32, and weights that are multiplied by a number (`DeepseekV2TopkRouter.forward`).
    Wide,
    /// The same of experts in groups, of which some are chosen first (`group_limited_greedy`).
    Grouped,
}

impl Routing {
    /// Whether logits are in fp32 from the beginning.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Wide | Self::Grouped)
    }
}

/// Groups of experts, and how many of them are chosen (`n_group` and `topk_group` of the configuration of DeepSeek-V2).
const GROUPS: u32 = 8;
const CHOSEN_GROUPS: u32 = 3;

/// A router: logits, the weights of the experts that were chosen, and their numbers.
pub fn router(k: &mut Lowering<'_>, x: Slot, stack: Stack, routing: Routing, adapter: Option<Adapter>) -> [Slot; 3] {
    let Stack { experts, active, hidden: width, .. } = stack;
    let tokens = k.form(x).shape / width;
    let dtype = k.types.weights;
    let weight = k.matrix(Part::Weight, dtype, [experts, width]);
    let delta = adapter.map(|adapter| delta(k, weight, width, experts, adapter));
    // `.reshape(-1, width)`.
    let x = k.view(x, k.form(x)).d(0, NOTHING, &[PassView]).put();
    let is_cached = k.is_trained();
    let mut matrix = Matrix { from: width, to: experts, dtype, is_cached };
    let input = if routing.is_wide() { k.cast(Part::InFp32, x, DType::Single) } else { x };
    let mut weight = delta.map_or(weight, |delta| {
        let sum = k.kernel(Part::FoldedWeight, k.form(delta), &[weight, delta.into()]).d(1, NOTHING, &[Pass]).put();
        k.hold(sum);
        sum.into()
    });
    if routing.is_wide() && dtype != DType::Single {
        let wide = k.kernel(Part::WeightInFp32, Form::new(DType::Single, experts * width), &[weight]);
        weight = wide.d(0, NOTHING, &[New]).put().into();
        matrix = Matrix { dtype: DType::Single, is_cached: false, ..matrix };
    }
    let logits = mm(k, Part::Result, input, weight, matrix);
    // Arguments stay until the call is over, which may have cast them.
    k.hold_until(input, logits);
    if let (Operand::Value(slot), true) = (weight, routing.is_wide()) {
        k.hold_until(slot, logits);
    }
    let wide = k.cast(Part::InFp32, logits, DType::Single);
    let whole = k.form(wide);
    let softmax = k.kernel(Part::Softmax, whole, &[wide.into()]);
    let softmax = softmax.d(0, OUTPUT, &[New, Brief(Size::Of(whole))]).put();
    // `router_probs`, a name of the function.
    if routing != Routing::Grouped {
        k.hold(softmax);
    }
    let probabilities = if routing == Routing::Grouped { of_groups(k, softmax, tokens) } else { softmax };
    let [chosen, ids] = top(k, probabilities, tokens * active);
    if routing.is_wide() {
        let scores = k.scale(Part::Result, chosen);
        return [logits, scores, ids];
    }
    let form = k.form(chosen);
    let sum = k.kernel(Part::ChosenSum, Form { shape: tokens, ..form }, &[chosen.into()]);
    let sum = sum.d(0, NOTHING, &[PassView]).put();
    // `/=`: what was divided is copied before, because the gradient of the sum reads it.
    let each = Workspace(Size::Of(form));
    let quotient = [each, each, each, NewOf(Size::Of(form)), Drop(0), Drop(0), Drop(0)];
    let over = Sum { outputs: tokens, inputs: active, fast: true };
    let call = k.alias(form, &[chosen.into(), sum.into()]).aside(Part::BeforeDivision, Size::Of(form));
    let scores = call.d_sum(1, SECOND | ASIDES, &quotient, over).d(0, SECOND, &[New]).put();
    let dtype = if routing == Routing::Narrowed { k.form(logits).dtype } else { DType::Single };
    let scores = k.cast(Part::Result, scores, dtype);
    [logits, scores, ids]
}

/// Probabilities of the experts in the best groups, and zeros for the others. Everything but the probabilities has a name until
/// the function ends.
fn of_groups(k: &mut Lowering<'_>, softmax: Slot, tokens: Shape) -> Slot {
    let form = k.form(softmax);
    let groups = tokens.by(GROUPS);
    let best = k.constant(Part::Maximum, Form { shape: groups, ..form }, &[softmax]);
    let places = k.constant(Part::Ids, Form::new(DType::Long, groups), &[softmax]);
    let chosen = tokens.by(CHOSEN_GROUPS);
    let values = k.constant(Part::Chosen, Form { shape: chosen, ..form }, &[best]);
    let ids = k.constant(Part::ChosenIds, Form::new(DType::Long, chosen), &[best]);
    k.hold_until(values, ids);
    let mask = k.constant(Part::Mask, Form { shape: groups, ..form }, &[best]);
    let of_experts = k.constant(Part::Mask, form, &[mask]);
    let flags = k.constant(Part::Table, form.with_dtype(DType::Byte), &[of_experts]);
    let others = k.constant(Part::Table, form.with_dtype(DType::Byte), &[flags]);
    [best, places, ids, mask, of_experts].into_iter().for_each(|name| k.hold(name));
    let filled = k.kernel(Part::Filled, form, &[softmax.into(), others.into()]).d(0, SECOND, &[New]).put();
    k.hold_until(softmax, filled);
    k.hold(filled);
    filled
}

/// What peft adds to a matrix that is no layer (`ParamWrapper` in tuners/lora/layer.py): `B @ A * scaling` in the type of
/// the matrix. Registering it adds it once for nothing.
fn delta(k: &mut Lowering<'_>, weight: Operand, from: Shape, to: Shape, adapter: Adapter) -> Slot {
    let Adapter { rank, dtype, .. } = adapter;
    let [a, b] = [(Part::AdapterA, [rank, from]), (Part::AdapterB, [to, rank])]
        .map(|(part, sides)| (k.stacked_adapter_matrix(part, dtype, sides), Form::new(dtype, sides[0] * sides[1])));
    let [a, b] = [a, b].map(|(weight, form)| autocast_weight(k, weight, form, true));
    let form = Form::new(k.types.autocast.unwrap_or(dtype), to * from);
    let both = [NewView, Brief(CUBLAS)];
    let product = k.kernel(Part::AdapterOuter, form, &[b, a]).brief(CUBLAS);
    let product = product.d(1, FIRST, &both).d(0, SECOND, &both).put();
    let scaled = k.scale(Part::AdapterScaled, product);
    let delta = k.cast(Part::ResultCast, scaled, k.types.weights);
    k.hold(delta);
    k.kernel(Part::FoldedWeight, k.form(delta), &[weight, delta.into()]).put();
    delta
}

/// `topk`: the largest values and their places, which the gradient reads.
fn top(k: &mut Lowering<'_>, x: Slot, count: Shape) -> [Slot; 2] {
    let form = Form { shape: count, ..k.form(x) };
    let values = k.kernel(Part::Chosen, form, &[x.into()]).put();
    let places = k.kernel(Part::ChosenIds, form.with_dtype(DType::Long), &[x.into()]).put();
    let call = k.alias(form, &[values.into(), x.into(), places.into()]);
    [call.d(1, THIRD, &[New]).put(), places]
}

/// `grouped_mm_experts_forward`: rows of tokens sorted by expert, both products, and back. Every value has a name in the
/// function until it ends.
pub fn experts(k: &mut Lowering<'_>, x: Slot, scores: Slot, ids: Slot, stack: Stack, adapter: Option<Adapter>) -> Slot {
    let Stack { experts, active, hidden, inner } = stack;
    let [down, up] = [(Place::ExpertDown, inner, hidden, 1), (Place::ExpertGateUp, hidden, inner.by(2), 2)].map(
        |(place, from, to, parts)| {
            k.at(place);
            // peft gives a stack of two matrices twice the rank (`rank_pattern` in utils/transformers_weight_conversion.py).
            let adapter = adapter.map(|adapter| Adapter { rank: adapter.rank.by(parts), ..adapter });
            Stacked::new(k, experts, from, to, adapter)
        },
    );
    k.at(Place::Dispatch);
    let long = k.form(ids);
    let sorted = k.kernel(Part::SortedIds, long, &[ids.into()]).put();
    // `arange` of the places, and CUB's sort where there are many (aten/src/ATen/native/cuda/Sort.cpp).
    let order = k.kernel(Part::Order, long, &[ids.into()]).workspace(Size::Of(long));
    let order = order.workspace(Size::KeySort { entries: long.shape }).put();
    let rows = k.kernel(Part::Rows, long, &[order.into()]).put();
    let form = k.form(x);
    let selected = gather(k, Part::Gathered, x, rows, Form { shape: form.shape * active, ..form }, long.shape / active);
    let weights = gather(k, Part::GatheredWeights, scores, order, k.form(scores), long.shape);
    let short = k.kernel(Part::SortedIds, long.with_dtype(DType::Int), &[sorted.into()]).put();
    let each = Form::new(DType::Int, experts);
    let counts = k.kernel(Part::Counts, each, &[short.into()]).put();
    // CUB's scan, as recorded for 8 to 128 experts.
    let offsets = k.kernel(Part::Offsets, each, &[counts.into()]).brief(Size::Bytes(1023)).put();
    k.at(Place::ExpertGateUp);
    let both = up.product(k, selected, offsets);
    k.at(Place::ExpertActivation);
    let halves = split(k, both, 2);
    let gate = of_input(k, halves[0]);
    let product = multiply(k, gate, halves[1]);
    // What they are made of goes when both are multiplied.
    [both, halves[0], halves[1], gate].into_iter().for_each(|slot| k.hold_until(slot, product));
    k.at(Place::ExpertDown);
    let out = down.product(k, product, offsets);
    k.at(Place::Combine);
    for name in [sorted, order, selected, weights, short, counts, offsets, out] {
        k.hold(name);
    }
    combine(k, out, weights, order, x, active)
}

/// Matrices of all experts, and what peft folds into them.
struct Stacked {
    weight: Operand,
    /// The form of all matrices.
    form: Form,
    from: Shape,
    to: Shape,
    /// Both thin factors, in the type of the matrices.
    factors: Option<[Slot; 2]>,
}

impl Stacked {
    /// The weight with its adapter (`ParamWrapper._activate_lora` and `_LoraFactorsProxy` in peft's
    /// tuners/lora/layer.py). Registering it folds it once for nothing.
    fn new(k: &mut Lowering<'_>, experts: Shape, from: Shape, to: Shape, adapter: Option<Adapter>) -> Self {
        let form = Form::new(k.types.weights, experts * to * from);
        let weight = k.stack(form, [to, from]);
        let factors = adapter.map(|Adapter { rank, dtype, .. }| {
            let rank = rank * experts;
            let [a, b] = [(Part::AdapterA, [rank, from]), (Part::AdapterB, [to, rank])].map(|(part, sides)| {
                (k.stacked_adapter_matrix(part, dtype, sides), Form::new(dtype, sides[0] * sides[1]))
            });
            // `reshape` and `permute`, whose gradient is copied back into order.
            let turned = k.alias(b.1, &[b.0]).d(0, NOTHING, &[New]).put();
            let narrow = |k: &mut Lowering<'_>, part, x: Operand, of: Form| {
                let form = of.with_dtype(k.types.weights);
                let factor = match x {
                    _ if form != of => k.kernel(part, form, &[x]).d(0, NOTHING, &[New]).put(),
                    Operand::Value(view) => view,
                    Operand::Weight(_) => k.alias(form, &[x]).d(0, NOTHING, &[PassView]).put(),
                };
                k.hold(factor);
                factor
            };
            let left = narrow(k, Part::FactorB, turned.into(), b.1);
            [left, narrow(k, Part::FactorA, a.0, a.1)]
        });
        let stacked = Self { weight, form, from, to, factors };
        if let Some(factors) = factors {
            let copied = Size::Of(k.form(factors[0]));
            let [left, right] = factors.map(Operand::Value);
            k.kernel(Part::FoldedWeight, form, &[weight, left, right]).workspace(copied).brief(CUBLAS).put();
        }
        stacked
    }

    /// The weight with what is folded into it: `baddbmm`, which copies its left factor into order.
    fn folded(&self, k: &mut Lowering<'_>) -> Operand {
        let Some(factors) = self.factors else { return self.weight };
        let copied = Size::Of(k.form(factors[0]));
        let [left, right] = factors.map(Operand::Value);
        let call = k.kernel(Part::FoldedWeight, self.form, &[self.weight, left, right]);
        let call = call.workspace(copied).brief(CUBLAS).d(1, THIRD, &[New, Brief(CUBLAS)]);
        let folded = call.d(2, SECOND, &[New, Workspace(copied), Brief(CUBLAS)]).put();
        k.hold(folded);
        folded.into()
    }

    /// `grouped_mm` of rows sorted by expert; the gradient of the matrices comes first.
    fn product(&self, k: &mut Lowering<'_>, x: Slot, offsets: Slot) -> Slot {
        let weight = self.folded(k);
        let x = k.cast(Part::InputCast, x, self.form.dtype);
        let form = Form { shape: k.form(x).shape / self.from * self.to, ..self.form };
        let call = k.kernel(Part::Result, form, &[x.into(), weight, offsets.into()]);
        call.d(1, FIRST | THIRD, &[New]).d(0, SECOND | THIRD, &[New]).put()
    }
}

/// `x[index]`, whose gradient is added up by sorted indices (`index_put_with_sort_kernel` in
/// aten/src/ATen/native/cuda/Indexing.cu).
pub fn gather(k: &mut Lowering<'_>, part: Part, x: Slot, index: Slot, form: Form, rows: Shape) -> Slot {
    let long = k.form(index);
    let each = Workspace(Size::Of(long));
    let sort = Brief(Size::IndexSort { entries: long.shape, rows });
    let effects = [New, each, each, Drop(1), each, each, each, sort];
    k.kernel(part, form, &[x.into(), index.into()]).d(0, SECOND, &effects).put()
}

/// Experts' results weighted, back in the order of tokens, and added up over the experts of each, in the type of `like`.
fn combine(k: &mut Lowering<'_>, x: Slot, weights: Slot, order: Slot, like: Slot, active: Shape) -> Slot {
    let form = k.promoted(x, weights);
    let entries = k.form(order);
    let whole = NewOf(Size::Of(form));
    let over = Sum { outputs: entries.shape, inputs: form.shape / entries.shape, fast: true };
    let call = k.kernel(Part::Weighted, form, &[x.into(), weights.into()]);
    let weighted = call.d_sum(1, FIRST, &[whole], over).d_cast(0, SECOND, whole, form.dtype).put();
    let back = k.kernel(Part::OrderBack, entries, &[Operand::Value(order)]).put();
    // `inv_perm`, a name, into which an `arange` is written.
    k.hold(back);
    k.kernel(Part::Ids, entries, &[]).put();
    let restored = gather(k, Part::Restored, weighted, back, form, entries.shape);
    k.hold(restored);
    // `.view(…).sum(dim=1)`, which autocast takes in fp32: the gradient of the sum is a view, of which the first view's
    // gradient makes a copy, unless a cast has made one.
    let dtype = if k.types.autocast.is_some() { DType::Single } else { form.dtype };
    let back = if dtype == form.dtype { New } else { PassView };
    let viewed = k.view(restored, form).d(0, NOTHING, &[back]).put();
    let sum = k.kernel(Part::Result, Form::new(dtype, form.shape / active), &[viewed.into()]);
    let sum = sum.d_cast(0, NOTHING, PassView, dtype).put();
    k.hold(sum);
    let dtype = k.form(like).dtype;
    k.cast(Part::ResultCast, sum, dtype)
}

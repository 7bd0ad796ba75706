//! Liger's layers: functions in Python, each around one kernel of Triton (liger-kernel 0.8.5).

use super::experts::Stack;
use super::kernel::Effect::{Drop, Kept, New, NewOf, NewView, Pass, PassView, Workspace};
use super::kernel::{ASIDES, FIRST, NOTHING, Operand, Reads, SECOND, Slot};
use super::lowering::Lowering;
use super::size::{PROCESSORS, Size};
use super::tensor::{Form, Part, Place};
use crate::estimator::units::{DType, Shape};

/// How a norm of Liger treats what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handling {
    /// Whether it writes over the gradient that comes in.
    pub is_in_place: bool,
    /// Whether the elements of its input do not lie in order, nor those of the gradient, so that both are copied.
    pub is_copied: bool,
}

/// `LigerRMSNormFunction` (ops/rms_norm.py), which keeps its input and a number in fp32 for each row. Each multiprocessor adds up
/// a gradient of the weights in fp32; that of the input takes the place of the one that comes in, or is a view beside it.
pub fn rms_norm(k: &mut Lowering<'_>, x: Slot, width: Shape, handling: Handling) -> Slot {
    let Handling { is_in_place, is_copied } = handling;
    let x = if is_copied { copied(k, x) } else { x };
    let weight = k.weight(Part::Weight, Form::new(k.types.weights, width));
    let form = k.form(x);
    let rows = Size::Of(Form::new(DType::Single, form.shape / width));
    let wide = |shape| Workspace(Size::Of(Form::new(DType::Single, shape)));
    let inputs = Shape::ONE.by(PROCESSORS as u32);
    let [buffer, semaphores] =
        [false, true].map(|semaphores| Workspace(Size::Reduction { outputs: width, inputs, fast: false, semaphores }));
    // `_dW.sum(dim=0).to(W.dtype)`.
    let summed: &[_] = match k.types.weights {
        DType::Single => &[New, buffer, semaphores, Drop(0), Drop(0), Drop(0)],
        _ => &[wide(width), buffer, semaphores, Drop(0), Drop(0), New, Drop(0), Drop(0)],
    };
    let all = FIRST | SECOND | ASIDES;
    let call = k.kernel(Part::Result, form, &[x.into(), weight]).aside(Part::InverseRoot, rows).keeping_behind();
    let copy: &[_] = if is_copied { &[Workspace(Size::Of(form))] } else { &[] };
    let call = call.d(0, all, copy).d(1, all, &[wide(width * inputs)]);
    call.d(0, all, &[if is_in_place { PassView } else { NewView }]).d(1, all, summed).put()
}

/// Where the rotation of queries and keys copies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// Whether the tokens of queries and of keys do not lie one behind the other.
    pub forward: [bool; 2],
    /// Whether those of their gradients do not.
    pub back: [bool; 2],
}

/// `LigerRopeFunction` (ops/rope.py), which rotates queries and keys in place, and their gradients as well, where their tokens
/// lie one behind the other.
pub fn rotary(k: &mut Lowering<'_>, both: [Slot; 2], tables: [Slot; 2], copies: Copies) -> [Slot; 2] {
    let [q, key] = [0, 1].map(|of| if copies.forward[of] { copied(k, both[of]) } else { both[of] });
    let (form, other) = (k.form(q), k.form(key));
    let operands = [q, key, tables[0], tables[1]].map(Operand::from);
    let reads = Reads::operand(2) | Reads::operand(3);
    let back = copies.back.map(|is_copied| if is_copied { New } else { PassView });
    let call = k.in_place(form, &operands).and(other).changing_each().keeping_behind();
    let first = call.d(0, reads, &[back[0]]).d(1, reads, &[back[1]]).put();
    [first, Slot(first.0 + 1)]
}

/// `LigerSiLUMulFunction` and `LigerGELUMulFunction` (ops/swiglu.py and ops/geglu.py), which keep both factors and write the
/// gradients over them; `is_copied` where the factors are parts of one tensor.
pub fn product(k: &mut Lowering<'_>, both: [Slot; 2], is_copied: bool) -> Slot {
    let [gate, up] = if is_copied { both.map(|x| copied(k, x)) } else { both };
    let both = FIRST | SECOND;
    let call = k.kernel(Part::Result, k.form(gate), &[gate.into(), up.into()]).keeping_behind();
    call.d(0, both, &[Kept(0)]).d(1, both, &[Kept(1)]).put()
}

/// `LigerExperts` around `LigerFusedMoEFunction` (transformers/swiglu.py, ops/fused_moe.py), which keeps the input and what both halves
/// of the first product are, and computes all gradients, whoever asked. Where tiles of rows begin is left out: a number for each
/// 64 rows.
pub fn experts(k: &mut Lowering<'_>, x: Slot, scores: Slot, ids: Slot, stack: Stack) -> Slot {
    let Stack { experts, active, hidden, inner } = stack;
    let weights = k.types.weights;
    let [down, up] =
        [(Place::ExpertDown, inner, hidden), (Place::ExpertGateUp, hidden, inner.by(2))].map(|(place, from, to)| {
            k.at(place);
            k.stack(Form::new(weights, experts * to * from), [to, from])
        });
    k.at(Place::Dispatch);
    let form = k.form(x);
    let rows = k.form(ids).shape;
    let numbers = k.form(ids).with_dtype(DType::Int);
    let short = k.constant(Part::ChosenIds, numbers, &[ids]);
    let each = Form::new(DType::Int, experts);
    let tokens = rows / active;
    let found = k.kernel(Part::Counts, each, &[short.into()]);
    let found = found.sized(Part::Counts, Size::Histograms { experts, tokens, active }).put();
    let counts = k.constant(Part::Counts, each, &[found]);
    let bounds = |k: &mut Lowering<'_>| {
        let call = k.kernel(Part::Offsets, each, &[counts.into()]);
        call.sized(Part::Offsets, Size::Bounds { of: experts }).put()
    };
    let [first, tiles] = [bounds(k), bounds(k)];
    let [scattered, back, gathered] = [0; 3].map(|_| k.constant(Part::Order, numbers, &[found, first]));
    [found, tiles].into_iter().for_each(|name| k.hold_until(name, gathered));
    k.at(Place::ExpertActivation);
    let of = |width: Shape| Size::Of(Form { shape: rows * width, ..form });
    let places = [scores, first, gathered, scattered, back].map(Operand::from);
    let operands = [&[x.into(), up, down], &places[..]].concat();
    let call = k.kernel(Part::Result, form, &operands).aside(Part::Result, of(inner.by(2)));
    let call = call.workspace(of(inner)).workspace(of(hidden)).then_output().keeping_behind();
    let of_scores = NewOf(Size::Of(Form { shape: rows, ..form }));
    let all = Reads::ALL_BUT_OUTPUT;
    let call =
        call.d(0, all, &[Workspace(of(inner.by(2))), Workspace(of(inner))]).d_cast(3, all, of_scores, form.dtype);
    let out = call.d(2, all, &[New]).d(0, all, &[Workspace(of(hidden)), NewView]).d(1, all, &[New]).jointly().put();
    [short, counts].into_iter().for_each(|name| k.hold_until(name, out));
    out
}

/// A copy within the function, which hands the gradient of the copy on.
fn copied(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.kernel(Part::Copied, k.form(x), &[x.into()]).d(0, NOTHING, &[Pass]).put()
}

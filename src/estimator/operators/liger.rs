//! Liger's layers: functions in Python, each around one kernel of Triton (liger-kernel 0.8.5).

use super::kernel::Effect::{Drop, Kept, New, NewView, Pass, PassView, Workspace};
use super::kernel::{ASIDES, FIRST, NOTHING, Operand, Reads, SECOND, Slot};
use super::lowering::Lowering;
use super::size::{PROCESSORS, Size};
use super::tensor::{Form, Part};
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

/// A copy within the function, which hands the gradient of the copy on.
fn copied(k: &mut Lowering<'_>, x: Slot) -> Slot {
    k.kernel(Part::Copied, k.form(x), &[x.into()]).d(0, NOTHING, &[Pass]).put()
}

//! Frozen matrices in NormalFloat4 (bitsandbytes 0.50.2).

use super::kernel::Effect::{Brief, Drop, New, NewOf, Workspace};
use super::kernel::{NOTHING, Slot};
use super::lowering::Lowering;
use super::size::{CUBLAS, CUBLASLT, Size};
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, Shape};

/// Elements that share a scale, and scales that share one of their own (`blocksize` of `quantize_4bit` and of its nested
/// `quantize_blockwise` in bitsandbytes/functional.py).
const BLOCK: u32 = 64;
const NESTED_BLOCK: u32 = 256;

/// A product with a packed matrix (`Linear4bit.forward` in bitsandbytes/nn/modules.py, `MatMul4Bit` in
/// autograd/_functions.py): the input goes to 16 bits, the matrix is unpacked for the product, forward and backward, and the
/// result goes back to the type of the input. The graph keeps nothing.
pub fn linear(k: &mut Lowering<'_>, x: Slot, from: Shape, to: Shape, has_bias: bool) -> Slot {
    let asked = k.form(x).dtype;
    packed_weight(k, to * from);
    if has_bias {
        k.weight(Part::Bias, Form::new(k.types.weights, to));
    }
    let low = k.cast(Part::InputCast, x, DType::Half);
    let scales = Size::Of(Form::new(DType::Single, (to * from).part(BLOCK)));
    let unpacked = Size::Of(Form::new(DType::Half, to * from));
    let form = Form { shape: k.form(low).shape / from * to, ..k.form(low) };
    let call = k.kernel(Part::Result, form, &[low.into()]);
    // The scales, the same with their mean added, and the matrix.
    let call = call.workspace(scales).workspace(scales).workspace(unpacked).then_output();
    let call = call.brief(if has_bias { CUBLASLT } else { CUBLAS });
    let out = call.d(0, NOTHING, &[Workspace(scales), Workspace(unpacked), Drop(1), New, Brief(CUBLAS)]).put();
    let result = k.cast(Part::ResultCast, out, asked);
    // The cast input is a name of the function, which ends with that.
    k.hold_until(low, result);
    result
}

/// Packs a matrix (`Params4bit._quantize` in bitsandbytes/nn/modules.py, `quantize_4bit` in functional.py), in the order in
/// which the recorded runs did. The elements stay, the code of elements, the mean of the scales, the scales in a byte each
/// with scales of their own, and the code of scales.
fn packed_weight(k: &mut Lowering<'_>, elements: Shape) {
    let of = |dtype, shape| Size::Of(Form::new(dtype, shape));
    let scales = elements.part(BLOCK);
    let mean = |semaphores| Workspace(Size::Reduction { outputs: Shape::ONE, inputs: scales, fast: true, semaphores });
    let (code, number) = (Size::Bytes(16 * 4), Size::Bytes(4));
    let packing = [
        // The matrix in 16 bits, and the scales of its blocks.
        Workspace(of(DType::Half, elements)),
        Workspace(of(DType::Single, scales)),
        NewOf(of(DType::Byte, elements.part(2))),
        // The code, its absolute values and the greatest of them.
        NewOf(code),
        Workspace(code),
        Workspace(number),
        Drop(0),
        Drop(0),
        // The mean of the scales, and what is left of them.
        NewOf(number),
        mean(false),
        mean(true),
        Drop(0),
        Drop(0),
        Workspace(of(DType::Single, scales)),
        NewOf(of(DType::Single, elements.part(BLOCK * NESTED_BLOCK))),
        NewOf(of(DType::Byte, scales)),
        NewOf(Size::Bytes(256 * 4)),
    ];
    k.packed_weight(Form::new(DType::Byte, elements), &packing);
}

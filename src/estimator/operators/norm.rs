//! Norms.

use super::kernel::Effect::{New, NewOf, Pass, Workspace};
use super::kernel::{ASIDES, FIRST, NOTHING, OUTPUT, Operand, SECOND, Slot, THIRD};
use super::lowering::{Lowering, Sum};
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, Shape};

/// When a norm multiplies what it has scaled with its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// In the type of the input (`LlamaRMSNorm.forward`).
    Cast,
    /// In fp32 (`Olmo2RMSNorm.forward`).
    Full,
    /// In the type of the input, which is divided as it is and not as it is in fp32 (`T5LayerNorm.forward`).
    CastDivided,
    /// In fp32, with one and the weights (`GemmaRMSNorm.forward`).
    FullOnePlus,
}

/// A norm in which the input goes to fp32, is divided by its root mean square, is weighted and goes back.
pub fn rms_norm(k: &mut Lowering<'_>, x: Slot, width: Shape, weighting: Weighting) -> Slot {
    rms_norm_of(k, x, width, weighting, [true; 2])
}

/// The same with one and the weights, of what does not lie row by row, whose blocks share its sums.
pub fn rms_norm_of_columns(k: &mut Lowering<'_>, x: Slot, width: Shape, from_columns: bool) -> Slot {
    rms_norm_of(k, x, width, Weighting::FullOnePlus, [false, !from_columns])
}

/// The same; `fast` where what it is given lies row by row, and its gradient.
fn rms_norm_of(k: &mut Lowering<'_>, x: Slot, width: Shape, weighting: Weighting, fast: [bool; 2]) -> Slot {
    let [fast, fast_back] = fast;
    let form = k.form(x);
    let rows = Form::new(DType::Single, form.shape / width);
    let wide = k.cast(Part::InFp32, x, DType::Single);
    let all = k.form(wide);
    let whole = Size::Of(all);
    // pow_backward: grad * (2 * self ** 1).
    let square = k.kernel(Part::Square, all, &[wide.into()]);
    let square = square.d(0, FIRST, &[Workspace(whole), Workspace(whole), New]).put();
    let sum = Sum { outputs: rows.shape, inputs: width, fast: fast_back };
    let part = |semaphores| Size::Reduction { outputs: rows.shape, inputs: width, fast, semaphores };
    let call = k.kernel(Part::Mean, rows, &[square.into()]);
    let call = if fast { call } else { call.workspace(part(false)).workspace(part(true)) };
    let mean = call.d(0, NOTHING, &[New]).put();
    let eps = k.kernel(Part::MeanEps, rows, &[mean.into()]).d(0, NOTHING, &[Pass]).put();
    // rsqrt: -0.5 * grad * result.pow(3).
    let row = Workspace(Size::Of(rows));
    let root = k.kernel(Part::InverseRoot, rows, &[eps.into()]).d(0, OUTPUT, &[row, row, New]).put();
    let divided = if weighting == Weighting::CastDivided { x } else { wide };
    let normed = k.kernel(Part::Normed, all, &[divided.into(), root.into()]);
    let normed = normed.d_sum(1, FIRST, &[NewOf(whole)], sum).d_cast(0, SECOND, NewOf(whole), DType::Single).put();
    let weight = k.weight(Part::Weight, Form::new(k.types.weights, width));
    if weighting == Weighting::FullOnePlus {
        // `normed * (1.0 + self.weight.float())`.
        let one_plus = one_plus(k, weight, width);
        let sum = Sum { outputs: width, inputs: rows.shape, fast: false };
        let out = k.kernel(Part::Result, all, &[normed.into(), one_plus]);
        let out = out.d_sum(1, FIRST, &[NewOf(whole)], sum).d(0, SECOND, &[New]).put();
        return k.cast(Part::ResultCast, out, form.dtype);
    }
    // `variance` and `hidden_states`, names of the function.
    k.hold(mean);
    if weighting != Weighting::CastDivided {
        k.hold(normed);
    }
    let narrow = match weighting {
        Weighting::Cast => k.cast(Part::InHalf, normed, form.dtype),
        Weighting::CastDivided if k.types.weights != DType::Single => k.cast(Part::InHalf, normed, k.types.weights),
        _ => normed,
    };
    let out = form.with_dtype(k.form(narrow).dtype.promoted(k.types.weights));
    let whole = NewOf(Size::Of(out));
    let sum = Sum { outputs: width, inputs: rows.shape, fast: false };
    let call = k.kernel(Part::Result, out, &[weight, narrow.into()]);
    let out = call.d_cast(1, FIRST, whole, out.dtype).d_sum(0, SECOND, &[whole], sum).put();
    if weighting == Weighting::Full { k.cast(Part::ResultCast, out, form.dtype) } else { out }
}

/// `CohereLayerNorm.forward`: the mean is taken away twice, once for the variance.
pub fn centered(k: &mut Lowering<'_>, x: Slot, width: Shape) -> Slot {
    let form = k.form(x);
    let rows = Form::new(DType::Single, form.shape / width);
    let wide = k.cast(Part::InFp32, x, DType::Single);
    let all = k.form(wide);
    let whole = Size::Of(all);
    let of_rows = Sum { outputs: rows.shape, inputs: width, fast: true };
    let mean = k.kernel(Part::Mean, rows, &[wide.into()]).d(0, NOTHING, &[New]).put();
    let centered = |k: &mut Lowering<'_>| {
        let call = k.kernel(Part::Centered, all, &[wide.into(), mean.into()]);
        call.d(0, NOTHING, &[Pass]).d_sum(1, NOTHING, &[NewOf(whole)], of_rows).put()
    };
    let square = centered(k);
    let square = k.kernel(Part::Square, all, &[square.into()]);
    let square = square.d(0, FIRST, &[Workspace(whole), Workspace(whole), New]).put();
    let variance = k.kernel(Part::Variance, rows, &[square.into()]).d(0, NOTHING, &[New]).put();
    let deviation = centered(k);
    let eps = k.kernel(Part::MeanEps, rows, &[variance.into()]).d(0, NOTHING, &[Pass]).put();
    let row = Workspace(Size::Of(rows));
    let root = k.kernel(Part::InverseRoot, rows, &[eps.into()]).d(0, OUTPUT, &[row, row, New]).put();
    let normed = k.kernel(Part::Normed, all, &[deviation.into(), root.into()]);
    let normed = normed.d_sum(1, FIRST, &[NewOf(whole)], of_rows).d(0, SECOND, &[New]).put();
    let weight = k.weight(Part::Weight, Form::new(k.types.weights, width));
    let weight = in_fp32(k, weight, width);
    let over_rows = Sum { outputs: width, inputs: rows.shape, fast: false };
    let call = k.kernel(Part::Result, all, &[weight, normed.into()]);
    let out = call.d(1, FIRST, &[New]).d_sum(0, SECOND, &[NewOf(whole)], over_rows).put();
    // Names of the function.
    [mean, variance].into_iter().for_each(|name| k.hold(name));
    k.hold_until(wide, normed);
    k.hold_until(normed, out);
    k.cast(Part::ResultCast, out, form.dtype)
}

/// Weights in fp32.
fn in_fp32(k: &mut Lowering<'_>, weight: Operand, width: Shape) -> Operand {
    if k.types.weights == DType::Single {
        return weight;
    }
    let wide = Form::new(DType::Single, width);
    k.kernel(Part::WeightInFp32, wide, &[weight]).d(0, NOTHING, &[New]).put().into()
}

/// `_fused_rms_norm`, whose backward pass reads input, weight and reciprocal root.
pub fn fused_rms_norm(k: &mut Lowering<'_>, x: Slot, width: Shape) -> Slot {
    let weight = k.weight(Part::Weight, Form::new(k.types.weights, width));
    let form = k.form(x);
    let rows = Size::Of(Form::new(DType::Single, form.shape / width));
    let all = FIRST | SECOND | ASIDES;
    let call = k.kernel(Part::Result, form, &[x.into(), weight]).aside(Part::InverseRoot, rows);
    call.d(0, all, &[New]).d(1, all, &[New]).put()
}

/// One and the weights, in fp32.
fn one_plus(k: &mut Lowering<'_>, weight: Operand, width: Shape) -> Operand {
    let wide = Form::new(DType::Single, width);
    let weight = in_fp32(k, weight, width);
    k.kernel(Part::OnePlusWeight, wide, &[weight]).d(0, NOTHING, &[Pass]).put().into()
}

/// `native_layer_norm`, which autocast runs in fp32: bias, weight and input are cast in this order. Its backward pass reads
/// input, weight, bias, mean and reciprocal deviation, whichever of its gradients is asked for.
pub fn layer_norm(k: &mut Lowering<'_>, x: Slot, width: Shape, has_bias: bool) -> Slot {
    layer_norm_of(k, x, width, has_bias, [false, false])
}

/// The same of an input that does not lie row by row, which is copied first, forward and backward. A gradient that does not,
/// either, is copied last.
pub fn layer_norm_of_columns(k: &mut Lowering<'_>, x: Slot, width: Shape, from_columns: bool) -> Slot {
    layer_norm_of(k, x, width, true, [true, from_columns])
}

fn layer_norm_of(
    k: &mut Lowering<'_>,
    x: Slot,
    width: Shape,
    has_bias: bool,
    [is_strided, from_columns]: [bool; 2],
) -> Slot {
    let form = Form::new(k.types.weights, width);
    let is_trained = k.is_trained();
    let weight = k.weight(Part::Weight, form);
    let bias = has_bias.then(|| k.weight(Part::Bias, form));
    let is_wide = k.types.autocast.is_some();
    let wide = |k: &mut Lowering<'_>, part, weight| {
        if !is_wide || form.dtype == DType::Single {
            return weight;
        }
        k.kernel(part, form.with_dtype(DType::Single), &[weight]).d(0, NOTHING, &[New]).put().into()
    };
    let bias = bias.map(|bias| wide(k, Part::BiasInFp32, bias));
    let weight = wide(k, Part::WeightInFp32, weight);
    let x = if is_wide { k.cast(Part::InFp32, x, DType::Single) } else { x };
    let form = k.form(x);
    let rows = Size::Of(Form::new(DType::Single, form.shape / width));
    let all = FIRST | SECOND | THIRD | ASIDES;
    let operands: Vec<_> = [x.into(), weight].into_iter().chain(bias).collect();
    let copy = Size::Of(form);
    let call = k.kernel(Part::Result, form, &operands);
    let call = if is_strided { call.workspace(copy).then_output() } else { call };
    let call = call.aside(Part::Mean, rows).aside(Part::InverseRoot, rows);
    let last = if is_trained { operands.len() - 1 } else { 0 };
    (0..operands.len())
        .fold(call, |call, of| {
            let before = (is_strided && of == 0).then_some(Workspace(copy));
            let behind = (from_columns && of == last).then_some(Workspace(copy));
            call.d(of, all, &before.into_iter().chain([New]).chain(behind).collect::<Vec<_>>())
        })
        .put()
}

/// `OlmoLayerNorm.forward`: the input goes to fp32, is centred and scaled, and goes back.
pub fn plain_layer_norm(k: &mut Lowering<'_>, x: Slot, width: Shape) -> Slot {
    let dtype = k.form(x).dtype;
    let wide = k.cast(Part::InFp32, x, DType::Single);
    let form = k.form(wide);
    let rows = Size::Of(Form::new(DType::Single, form.shape / width));
    let call = k.kernel(Part::Result, form, &[wide.into()]).aside(Part::Mean, rows).aside(Part::InverseRoot, rows);
    let out = call.d(0, FIRST | ASIDES, &[New]).put();
    k.cast(Part::ResultCast, out, dtype)
}

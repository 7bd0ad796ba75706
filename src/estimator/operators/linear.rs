//! Products with matrices, and peft's adapters beside them.

use super::kernel::Effect::{Brief, New, NewView, Pass, Workspace};
use super::kernel::{FIRST, ModuleKind, NOTHING, Operand, SECOND, Slot, THIRD};
use super::lowering::{Lowering, Sum};
use super::size::{CUBLAS, CUBLASLT, Size};
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, Shape};

/// How PyTorch computes a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// `torch.nn.Linear` without a bias: `mm`.
    Linear,
    /// `x @ weight.T`, as in Falcon: `mm`, whose weight is a view that autocast copies each time anew.
    Transposed,
    /// `x @ weight` with a parameter of the model's class, as in the projector of Gemma 3: `mm` with the weight as it is, of an
    /// input that does not lie row by row, which is copied where there are several images.
    Parameter {
        /// Whether there are.
        is_copied: bool,
    },
    /// `torch.nn.Linear` with a bias: `addmm`.
    LinearWithBias,
    /// The same whose bias is a weight of the module around it.
    LinearWithOuterBias,
    /// `Conv1D` of transformers' pytorch_utils.py, as in GPT-2: `addmm` with the weight as it is.
    Conv1d,
    /// `torch.nn.Linear` without a bias, whose function DeepSpeed's stage 3 has put another in the place of
    /// (`LinearFunctionForZeroStage3` in deepspeed/runtime/zero/linear.py, 0.19.8).
    Function,
    /// The same with a bias.
    FunctionWithBias,
    /// `Linear4bit` of bitsandbytes, with the weight in NormalFloat4 and its scales quantized once more.
    Nf4,
    /// The same with a bias.
    Nf4WithBias,
}

impl Product {
    /// The product with its weight quantized to 4 bits. bitsandbytes takes the place of `torch.nn.Linear` and of `Conv1D`
    /// (`replace_with_bnb_linear` in transformers/integrations/bitsandbytes.py, 5.23.0).
    pub const fn in_4_bits(self) -> Self {
        match self {
            Self::Parameter { is_copied } => Self::Parameter { is_copied },
            Self::Linear | Self::Transposed | Self::Function | Self::Nf4 => Self::Nf4,
            Self::LinearWithBias
            | Self::LinearWithOuterBias
            | Self::Conv1d
            | Self::FunctionWithBias
            | Self::Nf4WithBias => Self::Nf4WithBias,
        }
    }

    /// The product by the function of DeepSpeed's stage 3, where it is that of `torch.nn.Linear`.
    pub const fn by_function(self) -> Self {
        match self {
            Self::Linear => Self::Function,
            Self::LinearWithBias => Self::FunctionWithBias,
            other => other,
        }
    }

    /// Whether that function computes it.
    pub const fn is_by_function(self) -> bool {
        matches!(self, Self::Function | Self::FunctionWithBias)
    }

    /// Whether the weight is in 4 bits.
    pub const fn is_in_4_bits(self) -> bool {
        matches!(self, Self::Nf4 | Self::Nf4WithBias)
    }
}

/// A low-rank adapter of peft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Its rank.
    pub rank: Shape,
    /// The type of its weights.
    pub dtype: DType,
    /// The type in which an engine gathers its weights, where it is another.
    pub gathered: Option<DType>,
    /// Whether the engine casts what its layers are given to that type.
    pub casts_input: bool,
    /// Whether its input passes a dropout.
    pub has_dropout: bool,
}

/// A linear layer of the model's own.
pub fn linear(k: &mut Lowering<'_>, x: Slot, from: Shape, to: Shape, product: Product) -> Slot {
    let dtype = k.types.weights;
    let is_trained = k.is_trained();
    if product.is_in_4_bits() {
        return super::nf4::linear(k, x, from, to, product == Product::Nf4WithBias);
    }
    let sides = if matches!(product, Product::Conv1d | Product::Parameter { .. }) { [from, to] } else { [to, from] };
    let weight = k.matrix(Part::Weight, dtype, sides);
    if product.is_by_function() {
        let bias = (product == Product::FunctionWithBias).then(|| k.weight(Part::Bias, Form::new(dtype, to)));
        return function(k, Part::Result, x, weight, bias, from, to);
    }
    if let Product::Parameter { is_copied: true } = product {
        let weight = autocast_weight(k, weight, Form::new(dtype, to * from), is_trained);
        let low = k.autocast(x);
        let copied = k.copy(Part::Copied, low);
        let result = product_of(k, Part::Result, copied, weight, from, to);
        k.hold_until(low, result);
        return result;
    }
    if let Product::Linear | Product::Transposed | Product::Parameter { .. } = product {
        let is_cached = is_trained && product != Product::Transposed;
        return mm(k, Part::Result, x, weight, Matrix { from, to, dtype, is_cached });
    }
    let bias = Form::new(dtype, to);
    let bias = if product == Product::LinearWithOuterBias { k.outer_bias(bias) } else { k.weight(Part::Bias, bias) };
    // C++ evaluates the arguments of autocast's wrapper from the last to the first: of `addmm(bias, input, weight)` the
    // weight would be cast first. F.linear with a bias casts bias, weight and input in this order, as was recorded.
    let low = |k: &mut Lowering<'_>, weight, shape| autocast_weight(k, weight, Form::new(dtype, shape), is_trained);
    let (bias, weight, x) = match product {
        Product::Conv1d => {
            let weight = low(k, weight, to * from);
            let x = k.autocast(x);
            (low(k, bias, to), weight, x)
        }
        _ => {
            let bias = low(k, bias, to);
            let weight = low(k, weight, to * from);
            (bias, weight, k.autocast(x))
        }
    };
    addmm(k, [bias, weight], x, from, to)
}

/// A matrix of a product.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// Columns of its input.
    pub from: Shape,
    /// Columns of its output.
    pub to: Shape,
    /// Its type.
    pub dtype: DType,
    /// Whether autocast keeps its copy.
    pub is_cached: bool,
}

/// `mm`, whose gradients are computed for the second matrix first (derivatives.yaml, in alphabetical order: mat2, self).
pub fn mm(k: &mut Lowering<'_>, result: Part, x: Slot, weight: Operand, matrix: Matrix) -> Slot {
    let Matrix { from, to, dtype, is_cached } = matrix;
    // Autocast's arguments are cast from the last to the first: the weight, then the input.
    let weight = autocast_weight(k, weight, Form::new(dtype, to * from), is_cached);
    let x = k.autocast(x);
    product_of(k, result, x, weight, from, to)
}

/// A product whose two factors have been cast already.
fn product_of(k: &mut Lowering<'_>, result: Part, x: Slot, weight: Operand, from: Shape, to: Shape) -> Slot {
    let form = Form { shape: k.form(x).shape / from * to, ..k.form(x) };
    let both = [NewView, Brief(CUBLAS)];
    let call = k.kernel(result, form, &[x.into(), weight]).brief(CUBLAS).savable();
    call.d(1, FIRST, &both).d(0, SECOND, &both).put()
}

/// `LinearFunctionForZeroStage3`: a product to which a bias is added in place. It keeps input, weight and bias, whichever
/// gradient is asked for; those of input, weight and bias are computed in this order, and none is a view.
fn function(
    k: &mut Lowering<'_>,
    result: Part,
    x: Slot,
    weight: Operand,
    bias: Option<Operand>,
    from: Shape,
    to: Shape,
) -> Slot {
    let form = Form { shape: k.form(x).shape / from * to, ..k.form(x) };
    let product = [New, Brief(CUBLAS)];
    // `grad_output.sum(…)`.
    let part = |semaphores| Size::Reduction { outputs: to, inputs: form.shape / to, fast: false, semaphores };
    let sum = [New, Workspace(part(false)), Workspace(part(true))];
    let operands: Vec<_> = [x.into(), weight].into_iter().chain(bias).collect();
    let all = if bias.is_some() { FIRST | SECOND | THIRD } else { FIRST | SECOND };
    let call = k.kernel(result, form, &operands).brief(CUBLAS).keeping_behind();
    let call = call.d(0, all, &product).d(1, all, &product);
    if bias.is_some() { call.d(2, all, &sum).put() } else { call.put() }
}

/// `addmm` of a bias, an input and a weight: the gradients of these matrices in this order, then the bias is summed up.
/// The input is a view in two dimensions, made before the product, so that its gradient is handed on after the weights'.
fn addmm(k: &mut Lowering<'_>, [bias, weight]: [Operand; 2], x: Slot, from: Shape, to: Shape) -> Slot {
    let form = Form { shape: k.form(x).shape / from * to, ..k.form(x) };
    let both = [NewView, Brief(CUBLAS)];
    let sum = Sum { outputs: to, inputs: form.shape / to, fast: false };
    let call = k.kernel(Part::Result, form, &[bias, weight, x.into()]).brief(CUBLASLT).savable();
    call.d(2, SECOND, &both).d(1, THIRD, &both).d_sum(0, NOTHING, &[Pass], sum).put()
}

/// The copy of a weight that autocast makes for a product, and keeps where the weight is trained (`cached_cast` in
/// aten/src/ATen/autocast_mode.cpp); the weight itself where it has that type.
pub fn autocast_weight(k: &mut Lowering<'_>, weight: Operand, form: Form, is_cached: bool) -> Operand {
    let Some(low) = k.types.autocast.filter(|low| *low != form.dtype) else { return weight };
    let call = k.kernel(Part::AutocastWeight, form.with_dtype(low), &[weight]);
    call.d(0, NOTHING, &[New]).cached(is_cached).put().into()
}

/// A frozen linear layer with peft's adapter beside it. Beside a quantized matrix peft has a layer of its own
/// (`Linear4bit` in peft/tuners/lora/bnb.py, 0.21.2): the result is cloned, under autocast the input stays as it is, and it
/// is the adapter's result that goes back to the type of the layer.
pub fn adapted(k: &mut Lowering<'_>, x: Slot, from: Shape, to: Shape, product: Product, adapter: Adapter) -> Slot {
    let Adapter { rank, dtype, gathered, casts_input, has_dropout } = adapter;
    let whole = k.enter(ModuleKind::Plain, Some(x));
    let layer = k.enter(ModuleKind::Plain, Some(x));
    let base = linear(k, x, from, to, product);
    k.leave(layer, base);
    // `lora_A.weight.dtype`.
    let factors = [ModuleKind::Adapter; 2].map(|kind| k.module(kind));
    k.read(whole, factors[0]);
    let asked = k.form(base).dtype;
    let is_quantized = product.is_in_4_bits();
    let base = if is_quantized { k.copy(Part::Cloned, base) } else { base };
    let is_cast = !is_quantized || k.types.autocast.is_none();
    // `x = self._cast_input_dtype(x, …)`: a name of the function, which lives as long as that.
    let x = if is_cast { k.cast(Part::InputCast, x, dtype) } else { x };
    k.hold(x);
    // Without a dropout there is a module that hands its input on.
    let dropping = k.enter(ModuleKind::Plain, Some(x));
    let dropped = if has_dropout { dropout(k, x) } else { x };
    k.leave(dropping, dropped);
    let is_by_function = product.is_by_function();
    let factor = |k: &mut Lowering<'_>, module, [part, result]: [Part; 2], x, from, to| {
        let x = gathered.filter(|_| casts_input).map_or(x, |gathered| k.cast(Part::AutocastInput, x, gathered));
        k.enter_declared(module, x);
        let computed = gathered.unwrap_or(dtype);
        let weight = k.adapter_matrix(part, [computed, dtype], [to, from]);
        let result = if is_by_function {
            function(k, result, x, weight, None, from, to)
        } else {
            mm(k, result, x, weight, Matrix { from, to, dtype: computed, is_cached: true })
        };
        k.leave(module, result);
        result
    };
    let inner = factor(k, factors[0], [Part::AdapterA, Part::AdapterInner], dropped, from, rank);
    // An argument stays until the call is over, which may have cast it.
    k.hold_until(dropped, inner);
    let outer = factor(k, factors[1], [Part::AdapterB, Part::AdapterOuter], inner, rank, to);
    // `* scaling`, a number: nothing is read again.
    let scaled = k.scale(Part::AdapterScaled, outer);
    let result = if is_quantized {
        let scaled = if is_cast { k.cast(Part::ResultCast, scaled, asked) } else { scaled };
        k.hold(scaled);
        k.hold(base);
        k.add(Part::AdapterSum, base, scaled)
    } else {
        let sum = k.add(Part::AdapterSum, base, scaled);
        k.cast(Part::ResultCast, sum, asked)
    };
    k.leave(whole, result);
    result
}

/// `native_dropout`: a mask of a byte an element, and a copy.
pub fn dropout(k: &mut Lowering<'_>, x: Slot) -> Slot {
    let form = k.form(x);
    let call = k.kernel(Part::Dropped, form, &[x.into()]);
    let call = call.aside(Part::DropoutMask, Size::Of(form.with_dtype(DType::Byte))).then_output();
    call.d(0, super::kernel::ASIDES, &[New]).put()
}

/// Rules that several files share.
impl Lowering<'_> {
    /// `x.to(dtype)`: the value itself where it has that type.
    pub fn cast(&mut self, part: Part, x: Slot, dtype: DType) -> Slot {
        let form = self.form(x);
        if form.dtype == dtype {
            return x;
        }
        self.kernel(part, form.with_dtype(dtype), &[x.into()]).d(0, NOTHING, &[New]).put()
    }

    /// The value in the type to which autocast lowers the inputs of products.
    pub fn autocast(&mut self, x: Slot) -> Slot {
        match self.types.autocast {
            Some(low) => self.cast(Part::AutocastInput, x, low),
            None => x,
        }
    }

    /// The product with a number, which is no tensor that is kept (`is_wrapped_number` in
    /// torch/csrc/autograd/saved_variable.cpp).
    pub fn scale(&mut self, part: Part, x: Slot) -> Slot {
        self.kernel(part, self.form(x), &[x.into()]).d(0, NOTHING, &[New]).put()
    }

    /// The sum, in the wider of two types; gradients are cast back where the operand has the other one.
    pub fn add(&mut self, part: Part, x: Slot, y: Slot) -> Slot {
        let form = self.promoted(x, y);
        let call = self.kernel(part, form, &[x.into(), y.into()]);
        call.d_cast(0, NOTHING, Pass, form.dtype).d_cast(1, NOTHING, Pass, form.dtype).put()
    }

    /// The sum of two values of one type, in the storage of the first.
    pub fn add_in_place(&mut self, x: Slot, y: Slot) -> Slot {
        self.in_place(self.form(x), &[x.into(), y.into()]).d(0, NOTHING, &[Pass]).d(1, NOTHING, &[Pass]).put()
    }

    /// A copy of the same elements whose gradient is that of what was copied.
    pub fn copy(&mut self, part: Part, x: Slot) -> Slot {
        self.kernel(part, self.form(x), &[x.into()]).d(0, NOTHING, &[Pass]).put()
    }

    /// The form of `x`, in the wider of the types of `x` and `y`.
    pub fn promoted(&self, x: Slot, y: Slot) -> Form {
        let form = self.form(x);
        form.with_dtype(form.dtype.promoted(self.form(y).dtype))
    }
}

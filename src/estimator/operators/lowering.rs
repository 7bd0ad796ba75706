//! A block on its way from operators to kernels.

use super::kernel::{
    Added, Aside, Border, Conversion, Crossing, Derivative, Effect, Kernel, Module, ModuleKind, Operand, Program,
    Reads, Slot, Weight,
};
use super::size::{Held, Size};
use super::tensor::{Form, Part, Place, Registry, Tensor, TensorId};
use super::{Application, Value};
use crate::estimator::units::{DType, Shape};

/// In what types a block computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    /// The type of the model's own weights.
    pub weights: DType,
    /// The type in which the model's class makes them, before anything is cast.
    pub loaded: DType,
    /// The type of its buffers.
    pub buffers: DType,
    /// The type to which `torch.autocast` lowers products, where it is on.
    pub autocast: Option<DType>,
}

/// A program while operators are added to it.
pub struct Lowering<'r> {
    registry: &'r mut Registry,
    program: Program,
    forms: Vec<Form>,
    /// The slot of every value of the block.
    values: Vec<Slot>,
    /// Values that live on until the kernel that makes another value is done; without one, until the operator is.
    held: Vec<(Slot, Option<Slot>)>,
    place: Place,
    source: &'static str,
    is_trained: bool,
    /// In what types the block computes.
    pub types: Types,
}

impl<'r> Lowering<'r> {
    /// A program of no operators yet, with arguments of these forms.
    pub fn new(registry: &'r mut Registry, arguments: &[Form], types: Types) -> Self {
        Self {
            registry,
            program: Program::default(),
            forms: arguments.to_vec(),
            values: (0..arguments.len()).map(|slot| Slot(slot as u32)).collect(),
            held: Vec::new(),
            place: Place::Batch,
            source: "",
            is_trained: true,
            types,
        }
    }

    /// Adds an operator. What it makes for itself goes with its last reader; what it `owns` of the values that it is
    /// given goes when it is done, and so does what it puts out for nobody.
    pub fn apply(&mut self, application: &Application, owns: &[Value], unread: &[Value]) {
        let Application { place, operator, is_trained, is_leaf, is_saved, .. } = application;
        (self.place, self.source, self.is_trained) = (*place, operator.source(), *is_trained);
        let (first, own) = (self.program.kernels.len(), self.forms.len());
        self.held.clear();
        let module = operator.is_module().then(|| {
            let given = operator.inputs().first().map(|&x| self.slot(x));
            self.enter(ModuleKind::Plain, given)
        });
        let mut results = operator.lower(self);
        if *is_leaf {
            results.iter_mut().for_each(|result| *result = self.view(*result, self.form(*result)).leaf().put());
        }
        if let (Some(module), Some(&result)) = (module, results.first()) {
            self.leave(module, result);
        }
        let kernels = &mut self.program.kernels[first..];
        kernels.iter_mut().for_each(|kernel| kernel.is_saved &= *is_saved);
        let Some(last) = kernels.len().checked_sub(1) else {
            // Nothing is done; what goes, goes with what was done last.
            let over = owns.iter().chain(unread).map(|value| self.values[usize::from(value.0)]);
            let over = over.filter(|slot| !results.contains(slot)).collect::<Vec<_>>();
            self.program.kernels.last_mut().into_iter().for_each(|kernel| kernel.drops.extend(&over));
            self.values.extend(results);
            return;
        };
        for local in (own..self.forms.len()).map(|slot| Slot(slot as u32)).filter(|local| !results.contains(local)) {
            let makes = |kernel: &Kernel, slot: Slot| {
                (kernel.slot.0..kernel.slot.0 + u32::from(kernel.results)).contains(&slot.0)
            };
            let last_use = match self.held.iter().find(|(held, _)| *held == local) {
                Some((_, until)) => until.and_then(|until| kernels.iter().rposition(|kernel| makes(kernel, until))),
                None => kernels.iter().rposition(|kernel| makes(kernel, local) || kernel.reads(local)),
            };
            kernels[last_use.unwrap_or(last)].drops.push(local);
        }
        self.values.extend(results);
        let over = owns.iter().chain(unread).map(|value| self.values[usize::from(value.0)]);
        kernels[last].drops.extend(over);
    }

    /// The program, its weights in the order of `declared` places.
    pub fn finish(mut self, results: &[Value], declared: &[Place]) -> Program {
        let rank = |weight: &Weight| {
            let declared = declared.iter().position(|of| *of == weight.place);
            (weight.added.is_some(), declared.unwrap_or(usize::MAX))
        };
        let mut order: Vec<_> = (0..self.program.weights.len()).collect();
        order.sort_by_key(|&weight| rank(&self.program.weights[weight]));
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(number, &weight)| numbers[weight] = number);
        for kernel in &mut self.program.kernels {
            for operand in &mut kernel.operands {
                if let Operand::Weight(weight) = operand {
                    *weight = numbers[*weight];
                }
            }
        }
        self.program.weights = order.iter().map(|&weight| self.program.weights[weight].clone()).collect();
        self.own_weights();
        self.program.slots = self.forms.len();
        self.program.results = results.iter().map(|&value| self.slot(value)).collect();
        self.program
    }

    /// Gives each module the weights that kernels in it have, but not in modules within.
    fn own_weights(&mut self) {
        let Program { kernels, modules, borders, .. } = &mut self.program;
        let (mut rest, mut open) = (borders.iter().peekable(), Vec::new());
        for (position, kernel) in kernels.iter().enumerate() {
            while let Some(border) = rest.next_if(|border| border.at <= position) {
                match border.crossing {
                    Crossing::Enter(module) => open.push(module),
                    Crossing::Leave(module) => open.retain(|other| *other != module),
                    Crossing::Read(..) | Crossing::LeaveModel => {}
                }
            }
            let Some(module) = open.last().and_then(|&module| modules.get_mut(module)) else { continue };
            for (_, weight) in kernel.weights() {
                if !module.weights.contains(&weight) {
                    module.weights.push(weight);
                }
            }
        }
    }

    /// Declares a module; its number.
    pub fn module(&mut self, kind: ModuleKind) -> usize {
        self.program.modules.push(Module { kind, weights: Vec::new() });
        self.program.modules.len() - 1
    }

    /// Enters a module, which is given a value first; its number.
    pub fn enter(&mut self, kind: ModuleKind, given: Option<Slot>) -> usize {
        let module = self.module(kind);
        self.border(Crossing::Enter(module), given);
        module
    }

    /// Enters a module that was declared.
    pub fn enter_declared(&mut self, module: usize, given: Slot) {
        self.border(Crossing::Enter(module), Some(given));
    }

    /// A module asks for a weight of another.
    pub fn read(&mut self, module: usize, other: usize) {
        self.border(Crossing::Read(module, other), None);
    }

    /// Leaves it, with what it puts out.
    pub fn leave(&mut self, module: usize, result: Slot) {
        self.border(Crossing::Leave(module), Some(result));
    }

    /// Leaves the module that has embedding, layers and final norm.
    pub fn leave_model(&mut self, result: Slot) {
        self.border(Crossing::LeaveModel, Some(result));
    }

    fn border(&mut self, crossing: Crossing, value: Option<Slot>) {
        self.program.borders.push(Border { at: self.program.kernels.len(), crossing, value });
    }

    /// The slot of a value of the block.
    pub fn slot(&self, value: Value) -> Slot {
        self.values[usize::from(value.0)]
    }

    /// The form of a value.
    pub fn form(&self, slot: Slot) -> Form {
        self.forms[slot.index()]
    }

    /// The number of a tensor of the present operator.
    pub fn tensor(&mut self, part: Part, size: Size) -> TensorId {
        // The workspace of a library is the same for all operators.
        let place = if let Size::Library(_) = size { Place::Libraries } else { self.place };
        self.registry.id(Tensor { place, part, size }, self.source)
    }

    /// Names what follows of the operator by another place.
    pub fn at(&mut self, place: Place) {
        self.place = place;
    }

    /// Keeps a value until its operator is done, as a name of the Python function that the operator is.
    pub fn hold(&mut self, slot: Slot) {
        self.held.push((slot, None));
    }

    /// Keeps a value until the kernel that makes another one is done.
    pub fn hold_until(&mut self, slot: Slot, made: Slot) {
        self.held.push((slot, Some(made)));
    }

    /// Whether the model's weights of the present operator are trained.
    pub fn is_trained(&self) -> bool {
        self.is_trained
    }

    /// A vector of weights of the model.
    pub fn weight(&mut self, part: Part, form: Form) -> Operand {
        self.any_weight(part, form, None, Some(form), self.is_trained, None)
    }

    /// The bias of a head, which is a weight of the module around it.
    pub fn outer_bias(&mut self, form: Form) -> Operand {
        let place = std::mem::replace(&mut self.place, Place::HeadBias);
        let weight = self.weight(Part::Bias, form);
        self.place = place;
        weight
    }

    /// A matrix of the model, of so many rows and columns.
    pub fn matrix(&mut self, part: Part, dtype: DType, sides: [Shape; 2]) -> Operand {
        let form = Form::new(dtype, sides[0] * sides[1]);
        self.any_weight(part, form, Some(sides), Some(form), self.is_trained, None)
    }

    /// A stack of matrices of the model, each of so many rows and columns.
    pub fn stack(&mut self, form: Form, sides: [Shape; 2]) -> Operand {
        self.any_weight(Part::Weight, form, Some(sides), Some(form), self.is_trained, None)
    }

    /// A matrix of an adapter, which is trained, in the type in which it is computed with, and the one that it has itself.
    pub fn adapter_matrix(&mut self, part: Part, [computed, held]: [DType; 2], sides: [Shape; 2]) -> Operand {
        let form = Form::new(computed, sides[0] * sides[1]);
        self.any_weight(part, form, Some(sides), Some(form.with_dtype(held)), true, Some(Added::ToLayer))
    }

    /// A matrix of an adapter of a parameter that is no layer's.
    pub fn stacked_adapter_matrix(&mut self, part: Part, dtype: DType, sides: [Shape; 2]) -> Operand {
        let form = Form::new(dtype, sides[0] * sides[1]);
        self.any_weight(part, form, Some(sides), Some(form), true, Some(Added::ToParameter))
    }

    /// A frozen weight of the model that is packed into several tensors. No kernel reads it as an operand.
    pub fn packed_weight(&mut self, form: Form, packing: &[Effect<Size>]) {
        self.any_weight(Part::Weight, form, None, None, false, None);
        let mut effects = Vec::with_capacity(packing.len());
        let mut values = Vec::new();
        for effect in packing {
            let effect =
                effect.map(|size, part| self.tensor(if part == Part::Gradient { Part::Weight } else { part }, size));
            if let Effect::NewOf(tensor) = effect {
                values.push(tensor);
            }
            effects.push(effect);
        }
        let made = self.tensor(Part::Weight, Size::Of(form.with_dtype(self.types.loaded)));
        if let Some(weight) = self.program.weights.last_mut() {
            (weight.made, weight.values, weight.packing) = (Some(made), values, effects);
        }
    }

    fn any_weight(
        &mut self,
        part: Part,
        form: Form,
        sides: Option<[Shape; 2]>,
        held: Option<Form>,
        is_trained: bool,
        added: Option<Added>,
    ) -> Operand {
        let made = form.with_dtype(self.types.loaded);
        let made = (made != held.unwrap_or(form)).then(|| self.tensor(part, Size::Of(made)));
        let gradient = self.tensor(Part::WeightGradient, Size::Of(form));
        let weight = Weight {
            place: self.place,
            form,
            sides,
            values: held.iter().map(|&held| self.tensor(part, Size::Of(held))).collect(),
            made,
            packing: Vec::new(),
            gradient,
            gradient_sum: gradient,
            first_gradient: None,
            redistributed: None,
            is_trained,
            side: self.registry.side(),
            is_declared_late: false,
            held: Held::Whole,
            added,
        };
        self.program.weights.push(weight);
        Operand::Weight(self.program.weights.len() - 1)
    }

    /// A kernel that puts out a new tensor.
    pub fn kernel(&mut self, part: Part, form: Form, operands: &[Operand]) -> Call<'_, 'r> {
        let output = self.tensor(part, Size::Of(form));
        self.call(form, Some(output), operands)
    }

    /// A new tensor that is made of values and has no gradient.
    pub fn constant(&mut self, part: Part, form: Form, from: &[Slot]) -> Slot {
        let operands: Vec<_> = from.iter().copied().map(Operand::Value).collect();
        self.kernel(part, form, &operands).put()
    }

    /// A kernel that puts out a view of its first value.
    pub fn view(&mut self, x: Slot, form: Form) -> Call<'_, 'r> {
        self.alias(form, &[x.into()])
    }

    /// A kernel that puts out its first value, a view of it or what it changed in place, and reads others.
    pub fn alias(&mut self, form: Form, operands: &[Operand]) -> Call<'_, 'r> {
        self.call(form, None, operands)
    }

    /// A kernel that writes into the storage of its first value.
    pub fn in_place(&mut self, form: Form, operands: &[Operand]) -> Call<'_, 'r> {
        self.call(form, None, operands)
    }

    fn call(&mut self, form: Form, output: Option<TensorId>, operands: &[Operand]) -> Call<'_, 'r> {
        let slot = Slot(self.forms.len() as u32);
        self.forms.push(form);
        let kernel = Kernel {
            operands: operands.to_vec(),
            output,
            slot,
            results: 1,
            is_cached: false,
            is_leaf: false,
            changes_each: false,
            is_taken_apart: false,
            is_gradient: false,
            is_saved: false,
            adds_anew: false,
            ends_module: false,
            asides: Vec::new(),
            asides_ahead: 0,
            brief: None,
            keeps_behind: false,
            derivatives: Vec::new(),
            is_joint: false,
            drops: Vec::new(),
        };
        Call { lowering: self, kernel }
    }

    fn operand_form(&self, operand: Operand) -> Option<Form> {
        match operand {
            Operand::Value(slot) => Some(self.form(slot)),
            Operand::Weight(weight) => match self.registry.tensor(self.program.weights[weight].gradient).size {
                Size::Of(form) => Some(form),
                _ => None,
            },
        }
    }
}

/// A kernel while its rule is written.
#[must_use]
pub struct Call<'l, 'r> {
    lowering: &'l mut Lowering<'r>,
    kernel: Kernel,
}

impl Call<'_, '_> {
    /// Gives the output a size that is no product of widths.
    pub fn sized(mut self, part: Part, size: Size) -> Self {
        self.kernel.output = Some(self.lowering.tensor(part, size));
        self
    }

    /// Puts out `results` parts of the output, each of the form that was given.
    pub fn parts(mut self, results: u16) -> Self {
        let form = self.lowering.form(self.kernel.slot);
        self.lowering.forms.extend((1..results).map(|_| form));
        self.kernel.results = results;
        self
    }

    /// Puts out a second part of the output, of another form.
    pub fn and(mut self, form: Form) -> Self {
        self.lowering.forms.push(form);
        self.kernel.results += 1;
        self
    }

    /// Makes a tensor beside the output that derivatives read.
    pub fn aside(self, part: Part, size: Size) -> Self {
        self.any_aside(part, size, true)
    }

    /// The same, where anybody derives.
    pub fn aside_for_derivatives(self, part: Part, size: Size) -> Self {
        let mut call = self.any_aside(part, size, true);
        call.kernel.asides.last_mut().into_iter().for_each(|aside| aside.is_for_derivatives = true);
        call
    }

    /// Makes a tensor beside the output that goes when the kernel is done.
    pub fn workspace(self, size: Size) -> Self {
        self.any_aside(Part::Workspace, size, false)
    }

    fn any_aside(mut self, part: Part, size: Size, is_kept: bool) -> Self {
        let tensor = self.lowering.tensor(part, size);
        self.kernel.asides.push(Aside { tensor, is_kept, is_for_derivatives: false });
        self
    }

    /// Makes what stands beside the output so far before it.
    pub fn then_output(mut self) -> Self {
        self.kernel.asides_ahead = self.kernel.asides.len();
        self
    }

    /// Takes a workspace for the call.
    pub fn brief(mut self, size: Size) -> Self {
        self.kernel.brief = Some(self.lowering.tensor(Part::Workspace, size));
        self
    }

    /// Keeps what derivatives read when it has run.
    pub fn keeping_behind(mut self) -> Self {
        self.kernel.keeps_behind = true;
        self
    }

    /// Lets a checkpoint save what it makes, where it saves its operator.
    pub fn savable(mut self) -> Self {
        self.kernel.is_saved = true;
        self
    }

    /// Adds up gradients of the output in a new tensor each time.
    pub fn adding_anew(mut self) -> Self {
        self.kernel.adds_anew = true;
        self
    }

    /// Ends the module that has the weight before.
    pub fn ends_module(mut self) -> Self {
        self.kernel.ends_module = true;
        self
    }

    /// Computes all derivatives by one call, whoever asked.
    pub fn jointly(mut self) -> Self {
        self.kernel.is_joint = true;
        self
    }

    /// Leaves the output to autocast's cache of weights.
    pub fn cached(mut self, is_cached: bool) -> Self {
        self.kernel.is_cached = is_cached;
        self
    }

    /// Makes the output a value from which derivation starts.
    pub fn leaf(mut self) -> Self {
        self.kernel.is_leaf = true;
        self
    }

    /// Makes the output a gradient of the weight that the kernel is given.
    pub fn granted(mut self) -> Self {
        self.kernel.is_gradient = true;
        self
    }

    /// Puts out each operand of the results' places, changed in place.
    pub fn changing_each(mut self) -> Self {
        self.kernel.changes_each = true;
        self
    }

    /// Hands each reader a part of the output.
    pub fn taken_apart(mut self) -> Self {
        self.kernel.is_taken_apart = true;
        self
    }

    /// The derivative with respect to the operand at a place: what it reads, and what it does.
    pub fn d(self, of: usize, reads: Reads, effects: &[Effect<Size>]) -> Self {
        self.derivative(of, reads, effects, &[])
    }

    /// The derivative with respect to the operand at a place, which a call that computes all leaves out where nobody asks.
    pub fn d_apart(self, of: usize, reads: Reads, effects: &[Effect<Size>]) -> Self {
        let mut call = self.derivative(of, reads, effects, &[]);
        call.kernel.derivatives.last_mut().into_iter().for_each(|last| last.is_apart = true);
        call
    }

    /// A derivative that is summed up over what was broadcast: `inputs` for each of `outputs` (`sum_to_size`). The sum of
    /// the output's type is cast where the operand has another.
    pub fn d_sum(self, of: usize, reads: Reads, effects: &[Effect<Size>], sum: Sum) -> Self {
        let Sum { outputs, inputs, fast } = sum;
        let part = |semaphores| Size::Reduction { outputs, inputs, fast, semaphores };
        let workspaces = [part(false), part(true)];
        let dtype = self.lowering.form(self.kernel.slot).dtype;
        match self.lowering.operand_form(self.kernel.operands[of]) {
            Some(form) if form.dtype != dtype => {
                let summed = Size::Of(form.with_dtype(dtype));
                self.derivative(of, reads, effects, &[(Some(summed), &workspaces), (None, &[])])
            }
            _ => self.derivative(of, reads, effects, &[(None, &workspaces)]),
        }
    }

    /// A derivative that comes in a type of its own, and is cast where the operand has another.
    pub fn d_cast(self, of: usize, reads: Reads, effect: Effect<Size>, dtype: DType) -> Self {
        let operand = self.kernel.operands[of];
        let differs = self.lowering.operand_form(operand).is_some_and(|form| form.dtype != dtype);
        let effect = if differs || !matches!(effect, Effect::NewOf(_)) { effect } else { Effect::New };
        let cast: &[(Option<Size>, &[Size])] = &[(None, &[])];
        self.derivative(of, reads, &[effect], &cast[..usize::from(differs)])
    }

    /// A derivative of several effects that comes in a type of its own, and is cast where the operand has another.
    pub fn d_to(self, of: usize, reads: Reads, effects: &[Effect<Size>], dtype: DType) -> Self {
        let operand = self.kernel.operands[of];
        let differs = self.lowering.operand_form(operand).is_some_and(|form| form.dtype != dtype);
        let cast: &[(Option<Size>, &[Size])] = &[(None, &[])];
        self.derivative(of, reads, effects, &cast[..usize::from(differs)])
    }

    /// A derivative with the steps that convert it: what each makes, where it is not the operand's gradient, and takes.
    fn derivative(
        mut self,
        of: usize,
        reads: Reads,
        effects: &[Effect<Size>],
        conversion: &[(Option<Size>, &[Size])],
    ) -> Self {
        let lowering = &mut *self.lowering;
        let gradient = match self.kernel.operands[of] {
            Operand::Weight(weight) => lowering.program.weights[weight].gradient,
            Operand::Value(slot) => lowering.tensor(Part::Gradient, Size::Of(lowering.form(slot))),
        };
        let effects = effects.iter().map(|effect| effect.map(|size, part| lowering.tensor(part, size)));
        let effects = effects.collect();
        let conversion = conversion.iter().map(|(made, taken)| Conversion {
            gradient: made.map_or(gradient, |size| lowering.tensor(Part::Gradient, size)),
            workspaces: taken.iter().map(|&size| lowering.tensor(Part::Workspace, size)).collect(),
        });
        let conversion = conversion.collect();
        self.kernel.derivatives.push(Derivative { of, reads, is_apart: false, gradient, effects, conversion });
        self
    }

    /// Adds the kernel to the program; its first value.
    pub fn put(self) -> Slot {
        let slot = self.kernel.slot;
        self.lowering.program.kernels.push(self.kernel);
        slot
    }
}

/// A sum over dimensions that were broadcast.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// Sums.
    pub outputs: Shape,
    /// Elements of each.
    pub inputs: Shape,
    /// Whether the elements of a sum lie side by side.
    pub fast: bool,
}

//! The norm of all gradients, where a task takes it before the optimizer's step.

use super::event::Storage;
use super::graph::{Repeated, Value};
use super::play::Play;
use super::score::{Programs, is_head};
use crate::estimator::engines::{Local, Pass, Plan};
use crate::estimator::operators::{FOREACH_CHUNK, Form, Part, Place, Registry, Size, Tensor, TensorId};
use crate::estimator::units::{DType, Shape};

/// The tensors of the norm of all gradients.
#[derive(Clone, Copy)]
pub struct Norm {
    /// Numbers of parts of gradients, and their sums.
    parts: [TensorId; 2],
    /// The norm of one gradient, the norms of all, and a number.
    norms: [TensorId; 3],
}

/// The tensors of the norm of all gradients, where a task takes it (`foreach_tensor_norm_cuda` in
/// aten/src/ATen/native/cuda/ForeachReduceOp.cu, and `clip_grad_norm_` in torch/nn/utils/clip_grad.py, PyTorch 2.15).
pub fn norm(plan: &Plan, programs: &[Programs], registry: &mut Registry) -> Option<Norm> {
    if !plan.task.before_update.iter().any(|pass| matches!(pass, Pass::Norm(_))) {
        return None;
    }
    let (mut count, mut parts, mut dtype) = (0_u64, 0_u64, DType::Single);
    for (network, programs) in plan.task.networks.iter().zip(programs).filter(|(network, _)| network.is_updated) {
        let model = &network.model;
        let runs = model.layers.iter().zip(&programs.layers).map(|(run, blocks)| (blocks.as_slice(), run.times));
        let ends = [(programs.opening.as_slice(), 1), (programs.closing.as_slice(), 1)];
        for (blocks, times) in ends.into_iter().chain(runs) {
            let whole: Vec<_> = blocks.iter().flat_map(|block| &block.program.weights).collect();
            let held = plan.data_parallel.held(&whole, &model.widths);
            for weight in held.iter().filter(|weight| weight.is_trained) {
                if model.is_tied && is_head(weight, registry) {
                    continue;
                }
                dtype = weight.form.dtype;
                count = count.saturating_add(u64::from(times));
                let of_one = weight.held.elements(weight.form, &model.widths).div_ceil(FOREACH_CHUNK);
                parts = parts.saturating_add(of_one.saturating_mul(u64::from(times)));
            }
        }
    }
    let mut own =
        |part, size| registry.id(Tensor { place: Place::Optimizer, part, size }, "PyTorch 2.15, ForeachReduceOp.cu");
    let number = Size::Of(Form::new(dtype, Shape::ONE));
    Some(Norm {
        parts: [
            own(Part::Offsets, Size::Bytes(count.saturating_add(1).saturating_mul(8))),
            own(Part::Sum, Size::Bytes(parts.saturating_mul(4))),
        ],
        norms: [
            own(Part::GradientNorm, number),
            own(Part::GradientNorms, Size::Bytes(count.saturating_mul(dtype.bytes()))),
            own(Part::Result, number),
        ],
    })
}

impl Play<'_> {
    /// The norm of all gradients, and the factor by which it would be brought below a limit.
    pub fn take_norm(&mut self, into: Local) {
        let Some(Norm { parts, norms: [one, all, number] }) = self.score.tensors.norm else { return };
        let parts = parts.map(|tensor| self.tape.allocate(tensor));
        let mut norms: Vec<Repeated> = Vec::new();
        self.each_weight(|play, own| {
            if own.weight.is_trained {
                let storage = play.tape.allocate(one);
                norms.push(play.tape.repeated(storage));
            }
        });
        let tape = &mut self.tape;
        parts.into_iter().rev().for_each(|storage| tape.release(storage));
        let stacked = tape.allocate(all);
        let norm = tape.allocate(one);
        tape.release(stacked);
        tape.release_all(&norms);
        // `max_norm / (total_norm + 1e-6)`, and its clamp.
        let steps: [Storage; 3] = std::array::from_fn(|_| tape.allocate(number));
        tape.release(steps[1]);
        tape.release(steps[0]);
        let clamped = tape.allocate(number);
        tape.release(steps[2]);
        tape.release(clamped);
        self.set(into, Value { storage: norm, node: None });
    }
}

//! Small tensors of the checks and norms that a step of DeepSpeed takes (runtime/utils.py, deepspeed 0.19.8).

use super::id;
use crate::estimator::engines::acts::Act;
use crate::estimator::operators::{Part, Registry, TensorId, reduction_of_all};

/// A small tensor that is there.
pub type Open = u32;

/// Small tensors of a step, and when they go.
pub struct Small<'r> {
    /// Tensors by their numbers.
    pub registry: &'r mut Registry,
    /// What was done so far.
    pub acts: Vec<Act>,
    open: Vec<Open>,
    part: Part,
}

impl<'r> Small<'r> {
    /// Nothing yet.
    pub const fn new(registry: &'r mut Registry) -> Self {
        Self { registry, acts: Vec::new(), open: Vec::new(), part: Part::Clipping }
    }

    /// The same of a check for an overflow.
    pub const fn of_overflow(registry: &'r mut Registry) -> Self {
        Self { registry, acts: Vec::new(), open: Vec::new(), part: Part::Overflow }
    }

    /// The number of a tensor of so many bytes.
    pub fn id(&mut self, bytes: u64) -> TensorId {
        id(self.registry, self.part, bytes)
    }

    /// A tensor comes.
    pub fn workspace(&mut self, tensor: TensorId) -> Open {
        let open = self.acts.len() as u32;
        self.acts.push(Act::Workspace(tensor));
        self.open.push(open);
        open
    }

    /// A tensor of so many bytes comes.
    pub fn take(&mut self, bytes: u64) -> Open {
        let tensor = self.id(bytes);
        self.workspace(tensor)
    }

    /// It goes.
    pub fn end(&mut self, one: Open) {
        if let Some(place) = self.open.iter().position(|open| *open == one) {
            self.acts.push(Act::EndWorkspace(self.open.len() - 1 - place));
            self.open.remove(place);
        }
    }

    /// These go.
    pub fn end_all(&mut self, all: &[Open]) {
        all.iter().for_each(|&one| self.end(one));
    }

    /// The next tensor takes the place of one.
    pub fn next(&mut self, before: Open, bytes: u64) -> Open {
        let next = self.take(bytes);
        self.end(before);
        next
    }

    /// Acts, at whose end nothing but one tensor is there.
    pub fn name_last(mut self, last: Open) -> Vec<Act> {
        let others: Vec<_> = self.open.iter().copied().filter(|&open| open != last).collect();
        self.end_all(&others);
        self.acts
    }

    /// A number of all elements, with the workspaces of their reduction.
    pub fn reduced(&mut self, elements: u64, bytes: u64) -> Open {
        let result = self.take(bytes);
        let workspaces = reduction_of_all(elements, bytes).map(|bytes| self.take(bytes));
        self.end_all(&workspaces);
        result
    }

    /// `torch.isfinite` of so many numbers of so many bytes.
    fn is_finite(&mut self, count: u64, bytes: u64) -> Open {
        let absolute = self.take(count * bytes);
        let flags = [self.take(count), self.take(count)];
        let finite = self.take(count);
        self.end_all(&flags);
        self.end(absolute);
        finite
    }

    /// `has_inf_or_nan` in runtime/utils.py.
    pub fn has_infinity(&mut self, elements: u64, bytes: u64) {
        let finite = [(); 2].map(|()| {
            let extreme = self.reduced(elements, bytes);
            let finite = self.is_finite(1, bytes);
            self.end(extreme);
            finite
        });
        let both = self.take(1);
        self.end_all(&finite);
        let found = self.next(both, 1);
        self.end(found);
    }

    /// `torch.linalg.vector_norm` of a copy whose elements have so many bytes.
    pub fn norm(&mut self, elements: u64, part: Part, bytes: u64) -> Open {
        let tensor = id(self.registry, part, elements.saturating_mul(bytes));
        let wide = self.workspace(tensor);
        let norm = self.reduced(elements, bytes);
        self.end(wide);
        norm
    }

    /// `mask_nan_or_inf_with_val_inplace`.
    pub fn mask(&mut self) {
        let absolute = self.take(4);
        let infinite = self.next(absolute, 1);
        let flags = [infinite, self.take(1), self.take(1), self.take(4)];
        self.end_all(&flags);
    }

    /// Whether any of so many norms is no number, or negative.
    fn is_wrong(&mut self, count: u64, bytes: u64) -> Open {
        let finite = self.is_finite(count, bytes);
        let infinite = self.next(finite, count);
        let negative = self.take(count);
        let either = self.take(count);
        self.end_all(&[infinite, negative]);
        self.next(either, 1)
    }

    /// `is_invalid_grad_norm`.
    pub fn is_invalid(&mut self, bytes: u64) {
        let wrong = self.is_wrong(1, bytes);
        self.end(wrong);
    }

    /// `combine_grad_norm_groups` of so many groups.
    pub fn combine(&mut self, groups: u64, bytes: u64) -> Open {
        let stacked = self.take(groups * bytes);
        let wrong = self.is_wrong(groups, bytes);
        let combined = self.take(bytes);
        let infinite = self.take(bytes);
        let total = self.take(bytes);
        self.end_all(&[infinite, stacked, wrong, combined]);
        total
    }

    /// `unscale_and_clip_grads`: by how much gradients are scaled, from a norm of so many bytes.
    pub fn clip(&mut self, bytes: u64) {
        let divided = self.take(bytes);
        let raised = self.next(divided, bytes);
        let over = self.next(raised, bytes);
        let clip = self.next(over, bytes);
        let scale = self.take(bytes);
        let inverse = [self.take(bytes), self.take(bytes)];
        self.end_all(&inverse);
        self.end_all(&[scale, clip]);
    }
}

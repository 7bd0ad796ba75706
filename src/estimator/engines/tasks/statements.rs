//! Statements of a training program that make small tensors, one after another.

use super::{Local, Script};
use crate::estimator::models::Block;
use crate::estimator::operators::{Form, Operator, Place, Value};

/// A name with the form of its value.
pub type Named = (Local, Form);

impl Script {
    /// A statement: a function of names, whose result a name gets.
    pub fn statement(&mut self, into: Local, given: &[Named], make: impl FnOnce(&mut Block, &[Value]) -> Value) {
        let forms: Vec<_> = given.iter().map(|(_, form)| *form).collect();
        let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
        let (mut block, arguments) = Block::new(&forms);
        let result = make(&mut block, &arguments);
        self.call_into(block.giving(&[result]), &names, &[into]);
    }

    /// Gives a name a tensor that is computed in steps without a gradient, of which each goes when the next is there.
    pub fn chain(&mut self, into: Local, place: Place, forms: &[Form]) {
        self.statement(into, &[], |block, _| chained(block, place, forms));
    }

    /// The same of a tensor that goes at once.
    pub fn glance(&mut self, place: Place, forms: &[Form]) {
        let (mut block, _) = Block::new(&[]);
        chained(&mut block, place, forms);
        self.call_into(block.giving(&[]), &[], &[]);
    }

    /// Gives a name a view of what another has, or the same.
    pub fn view(&mut self, into: Local, of: Named) {
        self.statement(into, &[of], |block, given| block.add(Place::Batch, Operator::Return { x: given[0] }));
    }
}

/// Tensors that are computed one from another without a gradient; the last.
pub fn chained(block: &mut Block, place: Place, forms: &[Form]) -> Value {
    let mut last = None;
    for &form in forms {
        let operator = last.map_or(Operator::Zeros { form }, |x| Operator::Computed { x, y: None, form });
        last = Some(block.add(place, operator));
    }
    last.unwrap_or(Value(0))
}

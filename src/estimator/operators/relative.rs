//! The bias on scores that T5 learns for the distance of two tokens.

use super::attention::{arange, table};
use super::embedding::rows_of;
use super::kernel::Effect::Workspace;
use super::kernel::Slot;
use super::lowering::Lowering;
use super::size::Size;
use super::tensor::{Form, Part};
use crate::estimator::units::{DType, N, S, Shape};

/// `T5Attention.compute_bias` and `_relative_position_bucket`: buckets of distances, and a number of each head for each. The
/// gradient is brought into the order of tokens, and few rows have many of them, whose sums are added up once more.
pub fn bias(k: &mut Lowering<'_>, rows: Shape, is_bidirectional: bool) -> Slot {
    let pairs = S * S;
    let make = |k: &mut Lowering<'_>, dtype, from: &[Slot]| k.constant(Part::Ids, Form::new(dtype, pairs), from);
    let numbers = arange(k, S, &[]);
    let context = arange(k, S, &[numbers]);
    let memory = arange(k, S, &[]);
    let relative = make(k, DType::Long, &[context, memory]);
    // Names of the function.
    [context, memory, relative].into_iter().for_each(|name| k.hold(name));
    let (start, distance) = if is_bidirectional {
        let is_later = table(k, pairs, &[relative]);
        let number = make(k, DType::Long, &[is_later]);
        let half = make(k, DType::Long, &[number]);
        let start = make(k, DType::Long, &[half]);
        (Some(start), make(k, DType::Long, &[relative]))
    } else {
        let zeros = make(k, DType::Long, &[relative]);
        let least = make(k, DType::Long, &[relative, zeros]);
        (None, make(k, DType::Long, &[least]))
    };
    let is_small = table(k, pairs, &[distance]);
    let mut number = make(k, DType::Single, &[distance]);
    for _ in 0..4 {
        number = make(k, DType::Single, &[number]);
    }
    let number = make(k, DType::Long, &[number]);
    let large = make(k, DType::Long, &[number]);
    let most = make(k, DType::Long, &[]);
    let least = make(k, DType::Long, &[large, most]);
    let chosen = make(k, DType::Long, &[is_small, distance, least]);
    let ids = match start {
        Some(start) => {
            let form = k.form(start);
            k.in_place(form, &[start.into(), chosen.into()]).put()
        }
        None => make(k, DType::Long, &[chosen]),
    };
    [distance, is_small, least].into_iter().for_each(|name| k.hold_until(name, ids));
    let each = Form::new(DType::Long, Shape::ONE);
    let partial = Workspace(Size::Partial { tokens: pairs, rows, each });
    let mut sums = vec![partial, partial];
    if k.types.weights != DType::Single {
        sums.push(Workspace(Size::SortedSum { tokens: pairs, sum: Form::new(DType::Single, rows * N) }));
    }
    let ordered = Workspace(Size::Of(Form::new(k.types.weights, pairs * N)));
    rows_of(k, ids, [rows, rows], N, &[ordered], &sums)
}

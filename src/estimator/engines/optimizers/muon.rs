//! Muon of PyTorch (torch/optim/_muon.py) on matrices of layers; all else has AdamW, which updates behind it.

use super::{Name, Turn, adamw};
use crate::estimator::operators::{CUBLAS, CUBLASLT, Form, Part, Place, Size};
use crate::estimator::units::{DType, Shape};

/// Steps of the Newton–Schulz iteration (`DEFAULT_NS_STEPS`).
const STEPS: usize = 5;

/// `_init_group`, then `_single_tensor_muon`.
pub fn step(turn: &mut Turn<'_>) {
    let form = turn.weight.form;
    let Some([rows, columns]) = turn.weight.sides.filter(|_| is_of_layer(turn.weight.place)) else {
        turn.next_pass();
        turn.next_pass();
        return adamw::fused(turn);
    };
    turn.state(Part::FirstMoment, Size::Of(form));
    turn.next_pass();
    turn.name(Name::Update, Part::Update, Size::Of(form));
    // `_zeropower_via_newtonschulz`, in bf16.
    let low = form.with_dtype(DType::Half);
    turn.name(Name::Estimate, Part::InHalf, Size::Of(low));
    let number = Size::Of(Form { shape: Shape::ONE, ..low });
    turn.sum(Name::Number, Part::SumOfSquares, DType::Half, [Shape::ONE, form.shape], true);
    turn.name(Name::Mean, Part::Result, number);
    turn.drop(&[Name::Number, Name::Mean]);
    let square = Size::Gram { rows, columns };
    for step in 0..STEPS {
        // Only what comes first is a turned view.
        let library = if step == 0 { Size::Turned { rows, columns } } else { CUBLASLT };
        turn.computed(Name::Square, Part::Square, square, CUBLAS);
        turn.computed(Name::Root, Part::Square, square, CUBLASLT);
        turn.computed(Name::Estimate, Part::InHalf, Size::Of(low), library);
    }
    turn.drop(&[Name::Square, Name::Root]);
    turn.take(Name::Update, Name::Estimate);
}

/// Whether a weight is one of a layer.
const fn is_of_layer(place: Place) -> bool {
    !matches!(
        place,
        Place::TokenEmbedding | Place::PositionEmbedding | Place::TypeEmbedding | Place::Head | Place::Pooler
    )
}

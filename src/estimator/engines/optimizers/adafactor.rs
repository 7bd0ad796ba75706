//! Adafactor, which keeps sums over rows and columns of matrices. Both forms go through the weights one by one, and names of
//! their functions keep tensors of the weight before.

use super::{Name, Turn};
use crate::estimator::operators::{Form, Part, Size};
use crate::estimator::units::{DType, Shape};

/// `Adafactor.step` of transformers' optimization.py, without first moments. It works in fp32, on copies of what has 16 bits.
pub fn of_transformers(turn: &mut Turn<'_>) {
    let form = turn.weight.form;
    let single = DType::Single;
    let whole = turn.whole(single);
    let is_copied = form.dtype != single;
    if is_copied {
        turn.drop(&[Name::Gradient]);
        turn.name(Name::Gradient, Part::GradientInFp32, whole);
    }
    states(turn, single);
    if is_copied {
        turn.drop(&[Name::Weight]);
        turn.name(Name::Weight, Part::WeightInFp32, whole);
    }
    norm(turn, single, form.shape);
    // `norm(2) / numel ** 0.5`, which the state keeps.
    turn.renewed(Part::RootMeanSquare, Size::Bytes(4));
    turn.drop(&[Name::Number]);
    // `grad**2 + eps`.
    turn.name(Name::Square, Part::Square, whole);
    turn.name(Name::Update, Part::SquareEps, whole);
    turn.drop(&[Name::Square]);
    if let Some([rows, columns]) = turn.weight.sides {
        let (of_rows, of_columns) = (form.shape / columns, form.shape / rows);
        turn.sum(Name::Rows, Part::RowMeans, single, [of_rows, columns], true);
        turn.drop(&[Name::Rows]);
        turn.sum(Name::Columns, Part::ColumnMeans, single, [of_columns, rows], false);
        turn.drop(&[Name::Columns]);
        // `_approx_sq_grad`: the mean of the rows, its quotients, the roots of the columns, and their product.
        turn.sum(Name::Mean, Part::MeanOfMeans, single, [of_rows / rows, rows], true);
        turn.name(Name::Rows, Part::RowFactors, Size::Of(Form::new(single, of_rows)));
        turn.drop(&[Name::Mean]);
        turn.name(Name::Columns, Part::ColumnFactors, Size::Of(Form::new(single, of_columns)));
        turn.name(Name::Update, Part::Update, whole);
        turn.drop(&[Name::Rows, Name::Columns]);
    } else {
        turn.name(Name::Update, Part::Update, whole);
    }
    // Its root mean square, over the threshold.
    norm(turn, single, form.shape);
    let number = Size::Bytes(4);
    turn.name(Name::Mean, Part::RootMeanSquare, number);
    turn.drop(&[Name::Number]);
    turn.name(Name::Number, Part::RootMeanSquare, number);
    turn.drop(&[Name::Mean, Name::Number]);
    turn.name(Name::Square, Part::UpdateNegated, whole);
    turn.drop(&[Name::Square]);
}

/// `_single_tensor_adafactor` of torch/optim/_adafactor.py, which `Adafactor` takes unless it is told `foreach`. It works in
/// the type of the weights.
pub fn of_torch(turn: &mut Turn<'_>) {
    let form = turn.weight.form;
    let whole = Size::Of(form);
    states(turn, form.dtype);
    turn.next_pass();
    norm(turn, form.dtype, form.shape);
    turn.drop(&[Name::Number]);
    if let Some([rows, columns]) = turn.weight.sides {
        let (of_rows, of_columns) = (form.shape / columns, form.shape / rows);
        turn.sum(Name::Rows, Part::RowMeans, form.dtype, [of_rows, columns], true);
        turn.sum(Name::Columns, Part::ColumnMeans, form.dtype, [of_columns, rows], false);
        turn.name(Name::Estimate, Part::Update, whole);
        turn.product();
        turn.sum(Name::Mean, Part::MeanOfMeans, form.dtype, [of_rows / rows, rows], true);
        turn.drop(&[Name::Mean]);
    } else {
        turn.name(Name::Square, Part::Square, whole);
        turn.name(Name::Estimate, Part::Update, whole);
    }
    turn.same(Name::Update, Name::Estimate);
    norm(turn, form.dtype, form.shape);
    turn.drop(&[Name::Number]);
}

/// Sums over the rows and columns of a matrix; the second moment of a vector.
fn states(turn: &mut Turn<'_>, dtype: DType) {
    let form = turn.weight.form.with_dtype(dtype);
    let of = |shape| Size::Of(Form { shape, ..form });
    match turn.weight.sides {
        Some([rows, columns]) => {
            turn.state(Part::RowSums, of(form.shape / columns));
            turn.state(Part::ColumnSums, of(form.shape / rows));
        }
        None => turn.state(Part::SecondMoment, Size::Of(form)),
    }
}

/// `tensor.norm(2)`.
fn norm(turn: &mut Turn<'_>, dtype: DType, elements: Shape) {
    turn.sum(Name::Number, Part::SumOfSquares, dtype, [Shape::ONE, elements], true);
}

//! Traces of training steps as text, in the form of those recorded of PyTorch's allocator (tests/traces/README.md).

use std::collections::HashMap;
use std::io::{self, Write};

use super::input::Question;
use crate::link;
use crate::tape::{Moment, NotCounted, Program, Request, Tensor};

/// Steps that are written: the first makes the optimizer's state, and the second finds it there.
const STEPS: u32 = 2;

/// Writes the trace of a question's first two steps, from building the model on. Where a recorded trace names Python's
/// frames, it names the tensor.
///
/// # Errors
/// The stream, or what of the step is not played yet.
pub fn write(question: &Question, output: &mut impl Write) -> io::Result<Result<(), NotCounted>> {
    let program = match Program::of(&question.scenario) {
        Ok(program) => program,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut output = io::BufWriter::new(output);
    let head = serde_json::json!({ "question": link::encode(&question.scenario), "steps": STEPS });
    writeln!(output, "{head}")?;
    let mut numbers: HashMap<Tensor, usize> = HashMap::new();
    for request in program.first_steps(STEPS).requests() {
        match request {
            Request::Allocate { bytes, tensor } => {
                let next = numbers.len();
                let number = *numbers.entry(tensor).or_insert(next);
                if number == next {
                    writeln!(output, "f {}: {}", tensor.place.name(), tensor.part.name())?;
                }
                writeln!(output, "+ {bytes} {number}")?;
            }
            Request::Free { number } => writeln!(output, "- {number}")?,
            Request::Mark(moment) => writeln!(output, "# {}", label(moment))?,
        }
    }
    output.flush()?;
    Ok(Ok(()))
}

/// The label of a moment, which is that of recorded traces where they have it.
const fn label(moment: Moment) -> &'static str {
    match moment {
        Moment::Load => "build",
        Moment::Loaded => "loaded",
        Moment::Prompt => "prompt",
        Moment::Generate => "generate",
        Moment::Score => "score",
        Moment::Forward => "forward",
        Moment::Loss => "loss",
        Moment::LossBackward => "backward",
        Moment::Backward => "layers backward",
        Moment::Update => "optimizer",
        Moment::End => "end",
        Moment::Evaluate => "evaluation",
        Moment::Checkpoint => "checkpoint",
    }
}

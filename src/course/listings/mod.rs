//! Three lessons as programs: autocast with gradient scaling, accumulation with its division, and a forward pass that
//! is checkpointed. Each is about ten lines of PyTorch that do what a scenario says, to be copied; `tests/listings` runs
//! them.
//!
//! A program stands on names that the reader has: `model`, with its layers in `model.blocks`, `optimizer`, and a
//! `loader` that yields tokens and targets on the device. What plain PyTorch has no equal for is said in a comment.

mod accumulation;
mod autocast;
mod checkpoint;
mod tokens;

use crate::{Adapter, LossHead, Precision, Scenario, catalogue};

pub use tokens::{Kind, Token, tokens};

/// What a program shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// One step in the precision of the scenario.
    Autocast,
    /// One step of several micro-batches, and what their losses are divided by.
    Accumulation,
    /// A forward pass with the scenario's recomputation.
    Checkpoint,
}

impl Listing {
    /// Every program, in the order in which the course comes to them.
    pub const ALL: [Self; 3] = [Self::Autocast, Self::Accumulation, Self::Checkpoint];

    /// A word for it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Autocast => "autocast",
            Self::Accumulation => "accumulation",
            Self::Checkpoint => "checkpoint",
        }
    }

    /// The program for a scenario: printable ASCII in lines, each of which ends.
    ///
    /// ```
    /// use bmax::{Precision, Scenario, course::listings::Listing};
    /// let mut scenario = Scenario::workshop();
    /// assert!(!Listing::Autocast.source(&scenario).contains("GradScaler("));
    /// scenario.recipe.precision = Precision::Fp16;
    /// assert!(Listing::Autocast.source(&scenario).contains("GradScaler("));
    /// ```
    pub fn source(self, scenario: &Scenario) -> String {
        let mut code = Code::default();
        match self {
            Self::Autocast => autocast::write(&mut code, scenario),
            Self::Accumulation => accumulation::write(&mut code, scenario),
            Self::Checkpoint => checkpoint::write(&mut code, scenario),
        }
        code.0
    }
}

/// Lines of Python.
#[derive(Default)]
struct Code(String);

impl Code {
    /// A line, so many levels deep.
    fn line(&mut self, depth: usize, line: &str) {
        for _ in 0..depth {
            self.0.push_str("    ");
        }
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// Lines as they are.
    fn lines(&mut self, lines: &[&str]) {
        for line in lines {
            self.line(0, line);
        }
    }
}

/// In what PyTorch computes what the scenario asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Computing {
    /// In the type of the weights, which is fp32.
    Full,
    /// Under autocast, in this type.
    Autocast(&'static str),
    /// In bf16, to which FSDP casts what it gathers.
    Gathered,
    /// In the type of the weights, which is bf16.
    Half,
}

impl Computing {
    fn of(scenario: &Scenario) -> Self {
        match (scenario.recipe.precision, scenario.recipe.adapter) {
            (Precision::Fp32, _) => Self::Full,
            (Precision::Fp16, _) => Self::Autocast("float16"),
            // Frozen fp32 weights compute in 16 bits under autocast alone.
            (Precision::Bf16 | Precision::Autocast, _) | (_, Adapter::LoraFp32) => Self::Autocast("bfloat16"),
            (Precision::Mixed, _) => Self::Gathered,
            (Precision::PureBf16, _) => Self::Half,
        }
    }

    /// Whether gradients are too small for their type without a scale.
    fn scales(self) -> bool {
        self == Self::Autocast("float16")
    }
}

/// PyTorch's word for the device. ROCm answers to CUDA's.
fn device(scenario: &Scenario) -> &'static str {
    let apple = catalogue::device_row_of(scenario).is_some_and(|(row, _)| row.slug.starts_with("apple-"));
    if apple { "mps" } else { "cuda" }
}

/// The forward pass up to the loss, at this depth. A loss that is no mean is a sum.
fn forward(code: &mut Code, depth: usize, scenario: &Scenario, mean: bool) {
    let mut depth = depth;
    if let Computing::Autocast(dtype) = Computing::of(scenario) {
        code.line(depth, &format!("with torch.amp.autocast(\"{}\", dtype=torch.{dtype}):", device(scenario)));
        depth += 1;
    }
    let (logits, targets) = match scenario.recipe.loss {
        LossHead::Classifier => ("model(inputs)", "targets"),
        _ => ("model(inputs).flatten(0, 1)", "targets.flatten()"),
    };
    let reduction = if mean { "" } else { ", reduction=\"sum\"" };
    code.line(depth, &format!("logits = {logits}"));
    code.line(depth, &format!("loss = F.cross_entropy(logits, {targets}{reduction})"));
}

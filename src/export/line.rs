//! One change as the line of a program that makes it. The keys are those that the files of this module write.

use crate::levers::Change;
use crate::setting::Word;
use crate::{Adapter, Engine, Field, LossHead, Optimizer, Recomputation, Segments, number};

/// The line that makes a change in the program that drives the run, or none where there is no single one: of
/// transformers' `TrainingArguments` and trl's `SFTConfig` for PyTorch alone, of a DeepSpeed configuration, of torchtitan's
/// job file, or of Megatron-LM's flags. The allocator is set in the environment under all of them.
///
/// ```
/// use bmax::{Engine, Field, export, levers::Change};
/// let four = Change::Number(Field::Batch, 4.0);
/// assert_eq!(export::line(&four, Engine::Torch).as_deref(), Some("per_device_train_batch_size=4"));
/// assert_eq!(export::line(&four, Engine::Megatron).as_deref(), Some("--micro-batch-size 4"));
/// assert_eq!(export::line(&Change::Number(Field::Memory, 48.0), Engine::Torch), None);
/// ```
#[must_use]
pub fn line(change: &Change, engine: Engine) -> Option<String> {
    match change {
        // https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf
        Change::Word(Word::Segments(Segments::Expandable)) => {
            Some("PYTORCH_ALLOC_CONF=expandable_segments:True".to_owned())
        }
        Change::Number(field, value) => number_line(*field, &number::plain(*value), engine),
        Change::Word(word) => word_line(*word, engine).map(str::to_owned),
        _ => None,
    }
}

fn number_line(field: Field, value: &str, engine: Engine) -> Option<String> {
    let (before, after) = match (field, engine) {
        (Field::Batch, Engine::Torch) => ("per_device_train_batch_size=", ""),
        (Field::Batch, Engine::DeepSpeed) => ("\"train_micro_batch_size_per_gpu\": ", ""),
        (Field::Batch, Engine::Torchtitan) => ("training.local_batch_size = ", ""),
        (Field::Batch, Engine::Megatron) => ("--micro-batch-size ", ""),
        (Field::MicroBatches, Engine::Torch) => ("gradient_accumulation_steps=", ""),
        (Field::MicroBatches, Engine::DeepSpeed) => ("\"gradient_accumulation_steps\": ", ""),
        (Field::Sequence, Engine::Torch) => ("max_length=", ""),
        (Field::Sequence, Engine::Torchtitan) => ("training.seq_len = ", ""),
        (Field::Sequence, Engine::Megatron) => ("--seq-length ", ""),
        _ => return None,
    };
    Some([before, value, after].concat())
}

const fn word_line(word: Word, engine: Engine) -> Option<&'static str> {
    Some(match (word, engine) {
        (Word::Recomputation(Recomputation::Full), Engine::Torch) => "gradient_checkpointing=True",
        (Word::Recomputation(Recomputation::Full), Engine::Torchtitan) => "activation_checkpoint.mode = \"full\"",
        (Word::Recomputation(Recomputation::Full), Engine::Megatron) => {
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
        }
        (Word::Loss(LossHead::Fused), Engine::Torch) => "use_liger_kernel=True",
        (Word::Optimizer(Optimizer::Adam8bit), Engine::Torch) => "optim=\"adamw_bnb_8bit\"",
        (Word::Adapter(Adapter::Lora), Engine::Torch) => "peft_config=LoraConfig(…)",
        (Word::Adapter(Adapter::Qlora), Engine::Torch) => "BitsAndBytesConfig(load_in_4bit=True)",
        _ => return None,
    })
}

//! What a lever is called and why it gains nothing, in words.

use bmax::catalogue;
use bmax::levers::Change;
use bmax::{
    Adapter, AdapterTargets, Answer, Choice, Field, Kernels, LossHead, Offload, Recomputation, Segments, Unit,
    ZeroStage, number, setting::Word,
};

use crate::site::format;

/// The change as an instruction.
#[inline(never)]
pub fn describe(change: Change) -> String {
    let figure: String;
    let (before, word, after) = match change {
        Change::Word(Word::Recomputation(Recomputation::None)) => ("Keep every activation", "", ""),
        Change::Word(Word::Recomputation(Recomputation::Selective)) => ("Recompute attention scores only", "", ""),
        Change::Word(Word::Recomputation(Recomputation::Full)) => ("Recompute whole layers", "", ""),
        Change::Word(Word::Recomputation(Recomputation::Operators)) => {
            ("Keep every second matrix product only", "", "")
        }
        Change::Word(Word::Recomputation(Recomputation::EveryK)) => ("Recompute several layers at a time", "", ""),
        Change::Word(Word::Recomputation(Recomputation::KthLayer)) => ("Recompute every K-th layer", "", ""),
        Change::Word(Word::Recomputation(Recomputation::Block)) => ("Recompute the first layers of each stage", "", ""),
        Change::Word(Word::Attention(kernel)) => ("Use ", kernel.key(), " attention"),
        Change::Word(Word::Loss(LossHead::Fused)) => ("Fuse the output head with the loss", "", ""),
        Change::Word(Word::Loss(loss)) => ("Compute the loss by “", loss.label(), "”"),
        Change::Word(Word::Kernels(Kernels::Fused)) => ("Fuse small operations (compile, Liger)", "", ""),
        Change::Word(Word::Kernels(Kernels::Eager)) => ("Run every operation by itself", "", ""),
        Change::Word(Word::Optimizer(optimizer)) => ("Train with ", optimizer.label(), ""),
        Change::Word(Word::Step(step)) => ("Use the ", step.key(), " optimizer step"),
        Change::Word(Word::Offload(Offload::None)) => ("Keep everything on the GPU", "", ""),
        Change::Word(Word::Offload(Offload::Optimizer)) => ("Keep optimizer state in CPU memory", "", ""),
        Change::Word(Word::Offload(Offload::Activations)) => ("Swap layer inputs to CPU memory", "", ""),
        Change::Word(Word::Offload(Offload::Both)) => ("Swap optimizer state and layer inputs to CPU memory", "", ""),
        Change::Word(Word::Offload(Offload::Everything)) => ("Keep weights and layer inputs in CPU memory", "", ""),
        Change::Word(Word::Offload(_)) => ("Keep weights and optimizer state in CPU memory", "", ""),
        Change::Word(Word::Adapter(Adapter::None)) => ("Train all weights", "", ""),
        Change::Word(Word::Adapter(adapter)) => ("Train ", adapter.label(), " adapters"),
        Change::Word(Word::Targets(AdapterTargets::Attention)) => ("Adapt attention alone", "", ""),
        Change::Word(Word::Segments(Segments::Expandable)) => {
            ("Let the allocator’s segments grow (expandable_segments)", "", "")
        }
        Change::Word(Word::Segments(Segments::Fixed)) => ("Keep PyTorch’s fixed segments", "", ""),
        Change::Word(Word::Precision(precision)) => ("Train in ", precision.key(), ""),
        Change::Word(Word::Zero(ZeroStage::Stage0)) => ("Do not shard model states", "", ""),
        Change::Word(Word::Zero(stage)) => ("Shard with ZeRO-", stage.key(), ""),
        Change::Number(Field::Gpus, gpus) => {
            figure = format::counted(gpus as u32, "GPU", "GPUs");
            ("Use ", figure.as_str(), "")
        }
        Change::Number(Field::TensorParallel, 1.0) => ("Keep each layer on one GPU", "", ""),
        Change::Number(Field::TensorParallel, gpus) => {
            figure = format::count(gpus as u32);
            ("Split each layer over ", figure.as_str(), " GPUs")
        }
        Change::Word(Word::SequenceParallel(switch)) => ("Switch sequence parallelism ", switch.label(), ""),
        Change::Word(Word::Dropout(switch)) => ("Train ", if switch.is_on() { "with" } else { "without" }, " dropout"),
        Change::Number(Field::Sequence, tokens) => {
            figure = format::counted(tokens as u32, "token", "tokens");
            ("Halve the sequence to ", figure.as_str(), "")
        }
        Change::Word(other) => (other.setting().name, ": ", other.option().label),
        Change::Number(field, value) => {
            figure = number::grouped(value);
            (field.bound().name, ": ", figure.as_str())
        }
        Change::Device { origin: slug, memory, .. } => {
            let name = catalogue::device(slug).map_or("larger GPU", |row| without_size(row.name));
            let gib = format::digits(memory.gib(), 1);
            figure = format!("{} {name} ({gib} GiB)", article(name));
            ("Take ", figure.as_str(), "")
        }
        other => (other.name(), "", ""),
    };
    [before, word, after].concat()
}

/// A device's name without the size on its box, which stands beside the size its driver reports.
fn without_size(name: &str) -> &str {
    let Some((before, _)) = name.split_once(" GB") else { return name };
    before.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end()
}

/// "a" or "an", as the name is spoken: letter by letter where it is an abbreviation.
fn article(name: &str) -> &'static str {
    let mut letters = name.chars();
    let first = letters.next().unwrap_or_default();
    let a_word = letters.next().is_some_and(|second| second.is_ascii_lowercase());
    let vowels = if a_word { "AEIOUaeiou" } else { "AEFHILMNORSX" };
    if vowels.contains(first) { "an" } else { "a" }
}

/// Why a change gains nothing: what is missing after it.
pub fn still_missing(after: &Answer, unit: Unit) -> String {
    match after {
        Answer::Fits(room) if room.capped => "Larger values are not tried.".to_owned(),
        Answer::Fits(room) if room.by_host => format!(
            "Still {}: with one more each machine lacks {} of CPU memory.",
            format::batch(room.batch, unit),
            format::memory(room.next_lacks)
        ),
        Answer::Fits(room) => format!(
            "Still {}: one more takes {}, which is {} too much.",
            format::batch(room.batch, unit),
            format::memory(room.per_sequence),
            format::memory(room.next_lacks)
        ),
        Answer::Refused(refusal) => format::would_be(refusal, unit),
        Answer::Infeasible(reason) if after.by_host() => {
            format!("Still does not fit: each machine lacks {} of CPU memory.", format::memory(reason.over))
        }
        Answer::Infeasible(reason) => {
            format!("Still does not fit: one {} would be {} too much.", unit.one(), format::memory(reason.over))
        }
    }
}

/// Sequences times their length, before and after: a shorter sequence fits more often, but what the
/// optimizer learns from is tokens.
pub fn token_account(unit: Unit, before: Option<u32>, sequence: u32, after: u32, shorter: u32) -> String {
    // A pair is two sequences.
    let each = |sequence: u32| sequence.saturating_mul(unit.sequences());
    let tokens = |batch: u32, sequence: u32| u64::from(batch) * u64::from(each(sequence));
    let product = |batch: u32, sequence: u32| {
        let total = number::grouped(tokens(batch, sequence) as f64);
        format!("{} × {} = {total}", format::count(batch), format::count(each(sequence)))
    };
    let Some(before) = before else {
        return format!("Tokens a step on each GPU: {}.", product(after, shorter));
    };
    let verdict = match tokens(after, shorter).cmp(&tokens(before, sequence)) {
        std::cmp::Ordering::Less => format!("more {}, but fewer tokens", unit.many()),
        std::cmp::Ordering::Equal => format!("more {}, but no more tokens", unit.many()),
        std::cmp::Ordering::Greater => "more tokens as well".to_owned(),
    };
    format!("Tokens a step on each GPU: {}, then {}: {verdict}.", product(before, sequence), product(after, shorter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::catalogue::DEVICES;
    use bmax::{Bytes, Precision, Switch};

    #[test]
    fn a_change_reads_as_an_instruction() {
        let device = |origin, mib| {
            let workspace = Bytes::from_mib(8.0);
            Change::Device {
                origin,
                memory: Bytes::from_mib(mib),
                driver: Bytes::ZERO,
                workspace,
                capability: 0,
                emulates_bf16: false,
            }
        };
        let cases = [
            (Word::Recomputation(Recomputation::Full).into(), "Recompute whole layers"),
            (Word::Precision(Precision::Bf16).into(), "Train in bf16"),
            (Word::Zero(ZeroStage::Stage3).into(), "Shard with ZeRO-3"),
            (Change::Number(Field::Gpus, 16.0), "Use 16 GPUs"),
            (Change::Number(Field::Gpus, 1.0), "Use 1 GPU"),
            (Word::SequenceParallel(Switch::On).into(), "Switch sequence parallelism on"),
            (Word::Dropout(Switch::Off).into(), "Train without dropout"),
            (Word::Loss(LossHead::Fused).into(), "Fuse the output head with the loss"),
            (Word::Targets(AdapterTargets::Attention).into(), "Adapt attention alone"),
            (Word::Offload(Offload::Optimizer).into(), "Keep optimizer state in CPU memory"),
            (Change::Number(Field::Sequence, 1_024.0), "Halve the sequence to 1,024 tokens"),
            (device("h200", 143_771.0), "Take an H200 SXM (140.4 GiB)"),
            (device("no-such", 1_024.0), "Take a larger GPU (1.0 GiB)"),
        ];
        for (change, text) in cases {
            assert_eq!(describe(change), text);
        }
    }

    #[test]
    fn no_device_is_called_by_two_sizes() {
        for row in DEVICES {
            let text = describe(row.taken());
            // The unit, not the GB200 or the GB300.
            assert!(!text.replace(" GB200", "").replace(" GB300", "").contains(" GB"), "{text}");
        }
    }

    #[test]
    fn the_article_follows_how_a_name_is_spoken() {
        for (name, expected) in
            [("A100", "an"), ("H200", "an"), ("B200", "a"), ("L40S", "an"), ("RTX 4090", "an"), ("Titan V", "a")]
        {
            assert_eq!(article(name), expected, "{name}");
        }
    }

    #[test]
    fn halving_the_sequence_is_judged_by_tokens() {
        assert!(token_account(Unit::Sequences, Some(3), 2_048, 6, 1_024).ends_with("no more tokens."));
        assert!(token_account(Unit::Sequences, Some(3), 2_048, 5, 1_024).ends_with("fewer tokens."));
        assert!(token_account(Unit::Sequences, Some(1), 2_048, 3, 1_024).ends_with("more tokens as well."));
        assert!(token_account(Unit::Sequences, None, 2_048, 1, 1_024).contains("1 × 1,024 = 1,024"));
    }
}

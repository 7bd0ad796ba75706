//! What a lever is called and why it gains nothing, in words.

use bmax::catalogue;
use bmax::levers::Change;
use bmax::{Answer, Choice, Kernels, LossHead, Offload, Recomputation, Segments, ZeroStage, number};

use crate::site::format;

/// The change as an instruction.
#[inline(never)]
pub fn describe(change: Change) -> String {
    let number: String;
    let (before, word, after) = match change {
        Change::Recomputation(Recomputation::None) => ("Keep every activation", "", ""),
        Change::Recomputation(Recomputation::Selective) => ("Recompute attention scores only", "", ""),
        Change::Recomputation(Recomputation::Full) => ("Recompute whole layers", "", ""),
        Change::Recomputation(Recomputation::Operators) => ("Keep every second matrix product only", "", ""),
        Change::Recomputation(Recomputation::EveryK) => ("Recompute several layers at a time", "", ""),
        Change::Recomputation(Recomputation::KthLayer) => ("Recompute every K-th layer", "", ""),
        Change::Recomputation(Recomputation::Block) => ("Recompute the first layers of each stage", "", ""),
        Change::Attention(kernel) => ("Use ", kernel.key(), " attention"),
        Change::Loss(LossHead::Fused) => ("Fuse the output head with the loss", "", ""),
        Change::Loss(loss) => ("Compute the loss by “", loss.label(), "”"),
        Change::Kernels(Kernels::Fused) => ("Fuse small operations (compile, Liger)", "", ""),
        Change::Kernels(Kernels::Eager) => ("Run every operation by itself", "", ""),
        Change::Optimizer(optimizer) => ("Train with ", optimizer.label(), ""),
        Change::Step(step) => ("Use the ", step.key(), " optimizer step"),
        Change::Offload(Offload::None) => ("Keep everything on the GPU", "", ""),
        Change::Offload(Offload::Optimizer) => ("Keep optimizer state in the host’s memory", "", ""),
        Change::Offload(Offload::Activations) => ("Swap layer inputs to the host", "", ""),
        Change::Offload(Offload::Both) => ("Swap optimizer state and layer inputs to the host", "", ""),
        Change::Segments(Segments::Expandable) => ("Let the allocator’s segments grow (expandable_segments)", "", ""),
        Change::Segments(Segments::Fixed) => ("Keep PyTorch’s fixed segments", "", ""),
        Change::Precision(precision) => ("Train in ", precision.key(), ""),
        Change::Zero(ZeroStage::Stage0) => ("Do not shard model states", "", ""),
        Change::Zero(stage) => ("Shard with ZeRO-", stage.key(), ""),
        Change::Gpus(gpus) => {
            number = format::counted(gpus, "GPU", "GPUs");
            ("Use ", number.as_str(), "")
        }
        Change::TensorParallel(1) => ("Keep each layer on one GPU", "", ""),
        Change::TensorParallel(gpus) => {
            number = format::count(gpus);
            ("Split each layer over ", number.as_str(), " GPUs")
        }
        Change::SequenceParallel(switch) => ("Switch sequence parallelism ", switch.label(), ""),
        Change::Dropout(switch) => ("Train ", if switch.is_on() { "with" } else { "without" }, " dropout"),
        Change::Sequence(tokens) => {
            number = format::counted(tokens, "token", "tokens");
            ("Halve the sequence to ", number.as_str(), "")
        }
        Change::Device(slug, memory_mib, ..) => {
            let name = catalogue::device(slug).map_or("larger GPU", |row| without_size(row.name));
            let gib = format::digits(f64::from(memory_mib) / 1024.0, 1);
            number = format!("{} {name} ({gib} GiB)", article(name));
            ("Take ", number.as_str(), "")
        }
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
pub fn still_missing(after: &Answer) -> String {
    match after {
        Answer::Fits(room) if room.capped => "The search ends here; more than this is not asked.".to_owned(),
        Answer::Fits(room) => format!(
            "Still {}: one more would lack {} of the {} it takes.",
            format::counted(room.batch, "sequence", "sequences"),
            format::memory(room.next_lacks),
            format::memory(room.per_sequence)
        ),
        Answer::Infeasible(reason) => {
            format!("Still does not fit: one sequence would be {} too much.", format::memory(reason.over))
        }
    }
}

/// Sequences times their length, before and after: a shorter sequence fits more often, but what the
/// optimizer learns from is tokens.
pub fn token_account(before: Option<u32>, sequence: u32, after: u32, shorter: u32) -> String {
    let tokens = |batch: u32, sequence: u32| u64::from(batch) * u64::from(sequence);
    let product = |batch: u32, sequence: u32| {
        let total = number::grouped(tokens(batch, sequence) as f64);
        format!("{} × {} = {total}", format::count(batch), format::count(sequence))
    };
    let Some(before) = before else {
        return format!("Tokens a step on each GPU: {}.", product(after, shorter));
    };
    let verdict = match tokens(after, shorter).cmp(&tokens(before, sequence)) {
        std::cmp::Ordering::Less => "more sequences, but fewer tokens",
        std::cmp::Ordering::Equal => "more sequences, but no more tokens",
        std::cmp::Ordering::Greater => "more tokens as well",
    };
    format!("Tokens a step on each GPU: {}, then {}: {verdict}.", product(before, sequence), product(after, shorter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::catalogue::DEVICES;
    use bmax::{Precision, Switch};

    #[test]
    fn a_change_reads_as_an_instruction() {
        let cases = [
            (Change::Recomputation(Recomputation::Full), "Recompute whole layers"),
            (Change::Precision(Precision::Bf16), "Train in bf16"),
            (Change::Zero(ZeroStage::Stage3), "Shard with ZeRO-3"),
            (Change::Gpus(16), "Use 16 GPUs"),
            (Change::Gpus(1), "Use 1 GPU"),
            (Change::SequenceParallel(Switch::On), "Switch sequence parallelism on"),
            (Change::Dropout(Switch::Off), "Train without dropout"),
            (Change::Loss(LossHead::Fused), "Fuse the output head with the loss"),
            (Change::Offload(Offload::Optimizer), "Keep optimizer state in the host’s memory"),
            (Change::Sequence(1_024), "Halve the sequence to 1,024 tokens"),
            (Change::Device("h200", 143_771, 0, 32), "Take an H200 (140.4 GiB)"),
            (Change::Device("no-such", 1_024, 0, 8), "Take a larger GPU (1.0 GiB)"),
        ];
        for (change, text) in cases {
            assert_eq!(describe(change), text);
        }
    }

    #[test]
    fn no_device_is_called_by_two_sizes() {
        for row in DEVICES {
            let text = describe(Change::Device(row.slug, row.memory_mib, 0, 8));
            // The unit, not the GB200.
            assert!(!text.replace(" GB200", "").contains(" GB"), "{text}");
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
        assert!(token_account(Some(3), 2_048, 6, 1_024).ends_with("no more tokens."));
        assert!(token_account(Some(3), 2_048, 5, 1_024).ends_with("fewer tokens."));
        assert!(token_account(Some(1), 2_048, 3, 1_024).ends_with("more tokens as well."));
        assert!(token_account(None, 2_048, 1, 1_024).contains("1 × 1,024 = 1,024"));
    }
}

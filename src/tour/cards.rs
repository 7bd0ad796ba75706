//! The cards, in order.

use super::{Card, Part, Seen};
use crate::division::line_at_peak;
use crate::format::{self, counted, memory};
use crate::setting::Word;
use crate::{
    Answer, Balance, Bucket, Bytes, Choice, Estimate, Field, Method, Optimizer, Recomputation, Scenario, ZeroStage,
};

/// Every card.
pub static CARDS: [Card; 12] = [
    Card { id: "question", title: "The question", change: as_it_is, text: question, part: Part::Answer },
    Card { id: "parameters", title: "Parameters", change: filled, text: parameters, part: Part::Parameters },
    Card { id: "gradients", title: "Gradients", change: filled, text: gradients, part: Part::Gradients },
    Card { id: "optimizer", title: "Optimizer states", change: filled, text: optimizer, part: Part::Optimizer },
    Card { id: "forward", title: "The forward pass", change: filled, text: forward, part: Part::Activations },
    Card { id: "peak", title: "The peak inside a step", change: filled, text: peak, part: Part::Peak },
    Card { id: "loss", title: "The loss and its logits", change: filled, text: loss, part: Part::Logits },
    Card { id: "left", title: "What is left over", change: filled, text: left, part: Part::Free },
    Card { id: "next", title: "The next sequence", change: one_more, text: next, part: Part::Over },
    Card { id: "recompute", title: "Recompute", change: recomputed, text: recompute, part: Part::Recomputation },
    Card { id: "shard", title: "Shard over more GPUs", change: sharded, text: shard, part: Part::Gpus },
    Card { id: "ways", title: "Where to go next", change: as_it_is, text: ways, part: Part::Inputs },
];

fn as_it_is(own: &Seen) -> Scenario {
    own.scenario
}

/// With as many sequences as fit, or one where none does.
fn filled(own: &Seen) -> Scenario {
    own.scenario.with_batch(own.answer.batch().unwrap_or(1))
}

/// With the first sequence that does not fit.
fn one_more(own: &Seen) -> Scenario {
    own.scenario.with_batch(own.answer.batch().unwrap_or(0).saturating_add(1))
}

/// With every activation computed again, where the other settings allow it.
fn recomputed(own: &Seen) -> Scenario {
    let before = one_more(own);
    sound(before, [before.with_word(Word::Recomputation(Recomputation::Full))])
}

/// On twice as many GPUs, with all model states spread over them where the other settings allow it.
fn sharded(own: &Seen) -> Scenario {
    let before = one_more(own);
    let gpus = f64::from(before.cluster.gpus) * 2.0;
    let more = before.with_number(Field::Gpus, gpus).unwrap_or(before);
    sound(before, [more.with_word(Word::Zero(ZeroStage::Stage3)), more])
}

/// The first of these that brings no new contradiction into a configuration, or the configuration itself.
fn sound<const N: usize>(before: Scenario, wanted: [Scenario; N]) -> Scenario {
    let had = before.conflicts().len();
    wanted.into_iter().find(|scenario| scenario.conflicts().len() <= had).unwrap_or(before)
}

fn counts(seen: &Seen, count: u32) -> String {
    format::batch(count, seen.scenario.unit())
}

fn batch(seen: &Seen) -> String {
    counts(seen, seen.scenario.recipe.batch)
}

fn fullest(seen: &Seen, bucket: Bucket) -> String {
    memory(seen.estimate.fullest(bucket).1)
}

fn question(_: &Seen, now: &Seen) -> String {
    let tokens = counted(now.scenario.recipe.sequence, "token", "tokens");
    let unit = now.scenario.unit();
    let answer = match &now.answer {
        Answer::Fits(_) => format!("the answer is {}, for {} of {tokens}", format::answer(&now.answer), unit.many()),
        Answer::Infeasible(_) => format!("not even one {} of {tokens} fits", unit.one()),
        Answer::Refused(_) => "there is no answer".to_owned(),
    };
    format!("How many sequences can one GPU train on at once? In this configuration {answer}.")
}

fn parameters(_: &Seen, now: &Seen) -> String {
    let taken = fullest(now, Bucket::Parameters);
    format!("The weights of the model come first. On each GPU they take up to {taken}, however large the batch is.")
}

fn gradients(_: &Seen, now: &Seen) -> String {
    let made = fullest(now, Bucket::Gradients);
    let shared = now.estimate.bucket(Bucket::Gradients) < now.estimate.fullest(Bucket::Gradients).1;
    // Then the bar has a part of several colours (src/chart/memory.rs).
    let when = if shared { " They appear while activations are freed, and use the same memory." } else { "" };
    format!(
        "The backward pass makes one number for every weight that is trained: up to {made}, however large the batch \
         is.{when}"
    )
}

fn optimizer(_: &Seen, now: &Seen) -> String {
    let (name, kept) = match now.scenario.recipe.optimizer {
        Optimizer::AdamW => ("Adam", "two running averages for every weight that is trained"),
        Optimizer::Sgd => ("SGD", "no numbers of its own"),
        other => (other.label(), "its own numbers about the weights that are trained"),
    };
    let has_master = now.estimate.entries.iter().any(|entry| entry.name.ends_with("fp32 master"));
    let master = if has_master { ", and mixed precision adds a copy of these weights in fp32" } else { "" };
    let taken = fullest(now, Bucket::Optimizer);
    format!("{name} keeps {kept}{master}. On each GPU that takes {taken}, however large the batch is.")
}

fn forward(_: &Seen, now: &Seen) -> String {
    let kept = fullest(now, Bucket::Activations);
    format!(
        "Each layer keeps results that the backward pass will need: {kept} for {}. Of the four buckets, only these \
         activations grow with the batch.",
        batch(now)
    )
}

fn peak(_: &Seen, now: &Seen) -> String {
    let (peak, usable) = (now.estimate.peak(), memory(now.estimate.usable()));
    let taken = memory(peak.bytes);
    if now.scenario.method == Method::Ledger {
        format!(
            "Not everything is in memory at once. With {} a step needs most {}: {taken} of the {usable} that can be \
             used.",
            batch(now),
            format::at_instant(peak.instant)
        )
    } else {
        format!(
            "This method counts one moment, as if all buckets were full at once. With {} that is {taken} of the \
             {usable} that can be used.",
            batch(now)
        )
    }
}

/// The most that logits and what is made of them take at any moment.
fn logits(estimate: &Estimate) -> Bytes {
    let at = |position| estimate.bucket_at(Bucket::Logits, position);
    (0..estimate.instants.len()).map(at).fold(Bytes::ZERO, |most, next| if next > most { next } else { most })
}

fn loss(_: &Seen, now: &Seen) -> String {
    let logits = logits(&now.estimate);
    let vocabulary = format::count(now.scenario.model.vocabulary);
    let taken = if logits > Bytes::ZERO {
        format!("With {} they and their gradients take {}.", batch(now), memory(logits))
    } else {
        "The method that is chosen does not count them.".to_owned()
    };
    format!("At every token the model scores each of the {vocabulary} entries of its vocabulary: the logits. {taken}")
}

fn left(_: &Seen, now: &Seen) -> String {
    let usable = memory(now.estimate.usable());
    let free = match now.estimate.balance() {
        Balance::Free(free) => format!("{} of the {usable} that can be used stay free", memory(free)),
        Balance::Close(_) | Balance::Over(_) => format!("nothing of the {usable} that can be used stays free"),
        Balance::LacksHost(lacks) => format!("the machine lacks {} of CPU memory", memory(lacks)),
    };
    let of = if now.answer.by_host() { " of CPU memory" } else { "" };
    let more = match &now.answer {
        Answer::Fits(room) if room.capped => format!("More may fit; the search ends at {}.", counts(now, room.batch)),
        Answer::Fits(room) => {
            let [one, lack] = [room.per_sequence, room.next_lacks].map(memory);
            let next = if room.batch == now.scenario.recipe.batch {
                "One more".to_owned()
            } else {
                format!("One more than {}", counts(now, room.batch))
            };
            format!("{next} needs {one}, which is {lack}{of} too much.")
        }
        Answer::Infeasible(reason) => {
            format!("One {} is {}{of} too much.", now.scenario.unit().one(), memory(reason.over))
        }
        Answer::Refused(_) => "These settings have no answer.".to_owned(),
    };
    format!("With {} {free}. {more}", batch(now))
}

fn next(_: &Seen, now: &Seen) -> String {
    let (peak, usable) = (now.estimate.peak().bytes, now.estimate.usable());
    let [taken, room] = [peak, usable].map(memory);
    let verdict = match now.estimate.balance() {
        Balance::Free(_) => "it fits.".to_owned(),
        Balance::Close(over) => format!("{} too much. It would use the headroom.", memory(over)),
        Balance::Over(_) => {
            format!("{} too much. The run would stop with an out-of-memory error.", memory(peak - usable))
        }
        Balance::LacksHost(lacks) => format!("enough, but the machine lacks {} of CPU memory.", memory(lacks)),
    };
    format!("A step with {} needs {taken}, and {room} can be used: {verdict}", batch(now))
}

/// The answer before and after a change.
fn from_to(own: &Seen, now: &Seen) -> String {
    let [before, after] = [own, now].map(|seen| match &seen.answer {
        Answer::Fits(_) | Answer::Refused(_) => format::answer(&seen.answer),
        Answer::Infeasible(_) => "none".to_owned(),
    });
    if before == after {
        format!("the largest batch stays at {after}")
    } else {
        format!("the largest batch goes from {before} to {after}")
    }
}

fn recompute(own: &Seen, now: &Seen) -> String {
    let before = Seen::of(own.scenario.with_batch(now.scenario.recipe.batch));
    let [kept, was] = [now, &before].map(|seen| fullest(seen, Bucket::Activations));
    let how = now.scenario.recipe.recomputation;
    if how == own.scenario.recipe.recomputation {
        return format!(
            "What is thrown away in the forward pass can be computed again in the backward pass. This configuration \
             does so already ({}), and keeps {kept} for {}.",
            how.label().to_lowercase(),
            batch(now)
        );
    }
    format!(
        "Full recomputation keeps only the input of each layer and runs the forward pass a second time. For {} that \
         is {kept} instead of {was}, and {}.",
        batch(now),
        from_to(own, now)
    )
}

/// What does not depend on the batch: parameters, gradients and optimizer states.
fn states(seen: &Seen) -> Bytes {
    let buckets = [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer];
    buckets.map(|bucket| seen.estimate.fullest(bucket).1).into_iter().sum()
}

fn shard(own: &Seen, now: &Seen) -> String {
    let [gpus, had] = [now, own].map(|seen| counted(seen.scenario.cluster.gpus, "GPU", "GPUs"));
    let [hold, held] = [now, own].map(|seen| memory(states(seen)));
    let how = if now.scenario.cluster.zero == ZeroStage::Stage3 {
        "ZeRO stage 3 spreads parameters, gradients and optimizer states over all GPUs."
    } else {
        "More GPUs share the work."
    };
    format!(
        "{how} With {gpus} instead of {had} each holds {hold} of them instead of {held}, and {}.",
        from_to(own, now)
    )
}

fn ways(_: &Seen, now: &Seen) -> String {
    let fixed = memory(line_at_peak(&now.scenario).fixed);
    let one = memory(line_at_peak(&now.scenario).per_sequence);
    format!(
        "That was all. At the peak {fixed} are fixed, and each sequence adds {one}. Choose your own model and GPUs, or \
         read on:"
    )
}

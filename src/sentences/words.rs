//! Every sentence in reading order: its words, its numbers, and what follows from them. The formulas and their sources
//! are in `bmax::course::sentences`.

use bmax::course::{convergence, sentences as of, swapping};
use bmax::{Bytes, ZeroStage, number};

use super::Part::{Number as Drag, Result, Words};
use super::{Number, Sentence};
use crate::site::format;

/// Tokens of a sequence.
const TOKENS: &[f64] = &[512.0, 1_024.0, 2_048.0, 4_096.0, 8_192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0];

/// The same where a share is told, which hardly changes beyond.
const SHORTER: &[f64] = &[256.0, 512.0, 1_024.0, 2_048.0, 4_096.0, 8_192.0, 16_384.0];

/// Sequences of a micro-batch: no sentence speaks of one.
const SEQUENCES: &[f64] = &[2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];

/// Billions of parameters, from small models to GPT-3.
const BILLIONS: &[f64] = &[1.0, 3.0, 7.0, 8.0, 13.0, 30.0, 70.0, 175.0];

const GPUS: &[f64] = &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];

/// The width and the heads of the workshop's 7B model, by which the text works its examples.
const WIDTH: f64 = 4_096.0;
const HEADS: f64 = 32.0;

const fn drag(label: &'static str, values: &'static [f64], value: f64) -> super::Part {
    Drag(Number { label, values, value })
}

/// A size in the unit of data sheets and papers.
fn gb(bytes: Bytes) -> String {
    if bytes.gb() < 0.1 { factor(bytes.gb() * 1e3, 1) + " MB" } else { factor(bytes.gb(), 1) + " GB" }
}

/// A number with at most `places` digits after the point.
fn factor(value: f64, places: i32) -> String {
    let one = number::power(10.0, places);
    number::grouped((value * one).round() / one)
}

/// Every sentence.
pub static SENTENCES: &[Sentence] = &[
    Sentence {
        name: "stored-input",
        parts: &[
            Words("With "),
            drag("Sequences", SEQUENCES, 4.0),
            Words(" sequences of "),
            drag("Tokens of a sequence", TOKENS, 2_048.0),
            Words(" tokens, a layer of width 4,096 stores an input of "),
            Result(|[sequences, tokens, _]| format::memory(of::linear_input(sequences, tokens, WIDTH))),
            Words(" at 16 bits."),
        ],
    },
    Sentence {
        name: "fixed-share",
        parts: &[
            Words("With "),
            drag("Billions of parameters", BILLIONS, 8.0),
            Words(" billion parameters on "),
            drag("GPUs", GPUS, 8.0),
            Words(" GPUs, "),
            Result(|[billions, gpus, _]| format::memory(of::states(billions * 1e9, gpus, ZeroStage::Stage3))),
            Words(" are fixed on each."),
        ],
    },
    Sentence {
        name: "scores-share",
        parts: &[
            Words("At "),
            drag("Tokens of a sequence", SHORTER, 2_048.0),
            Words(" tokens the scores are "),
            Result(|[tokens, ..]| format::percent(of::share_of_scores(tokens, WIDTH, HEADS))),
            Words(" of the activations, and a sequence of twice the length takes "),
            Result(|[tokens, ..]| factor(of::twice_as_long(tokens, WIDTH, HEADS), 1)),
            Words(" times the memory."),
        ],
    },
    Sentence {
        name: "logits",
        parts: &[
            Words("With "),
            drag("Sequences", SEQUENCES, 4.0),
            Words(" sequences of "),
            drag("Tokens of a sequence", TOKENS, 8_192.0),
            Words(" tokens and a vocabulary of "),
            // Those of Llama 2, GPT-2, Llama 3 and Gemma.
            drag("Entries of the vocabulary", &[32_000.0, 50_257.0, 128_256.0, 256_000.0], 128_256.0),
            Words(", these logits alone take "),
            Result(|[sequences, tokens, vocabulary]| format::memory(of::logits(sequences, tokens, vocabulary))),
            Words(" in fp32."),
        ],
    },
    Sentence {
        name: "load-and-train",
        parts: &[
            Words("A model of "),
            drag("Billions of parameters", BILLIONS, 7.0),
            Words(" billion parameters takes "),
            Result(|[billions, ..]| gb(of::loaded_and_trained(billions * 1e9)[0])),
            Words(" to load and "),
            Result(|[billions, ..]| gb(of::loaded_and_trained(billions * 1e9)[1])),
            Words(" to train, before the first activation."),
        ],
    },
    Sentence {
        name: "moments",
        parts: &[
            Words("With "),
            drag("Billions of weights", BILLIONS, 7.0),
            Words(" billion weights and "),
            drag("Bits of a number", &[8.0, 16.0, 32.0], 32.0),
            Words(" bits a number, the two averages take "),
            Result(|[billions, bits, _]| gb(of::moments(billions * 1e9, bits))),
            Words("."),
        ],
    },
    Sentence {
        name: "scores-and-rest",
        parts: &[
            Words("In each layer of a model with a width of 4,096 and 32 heads, a sequence of "),
            drag("Tokens of a sequence", TOKENS, 8_192.0),
            Words(" tokens keeps "),
            Result(|[tokens, ..]| format::memory(of::layer(tokens, WIDTH, HEADS)[0])),
            Words(" by the 34 bytes and "),
            Result(|[tokens, ..]| format::memory(of::layer(tokens, WIDTH, HEADS)[1])),
            Words(" by the 5."),
        ],
    },
    Sentence {
        name: "checkpoints",
        parts: &[
            Words("At a distance of "),
            drag("Layers from one checkpoint to the next", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0], 6.0),
            Words(", a model of "),
            drag("Layers", &[24.0, 32.0, 40.0, 60.0, 80.0, 96.0], 32.0),
            Words(" layers keeps "),
            Result(|[every, layers, _]| number::grouped(of::checkpoints(layers, every)[0])),
            Words(" inputs, and the present segment as much as "),
            Result(|[every, layers, _]| number::grouped(of::checkpoints(layers, every)[1])),
            Words(" more: "),
            Result(|[every, layers, _]| number::grouped(of::checkpoints(layers, every).into_iter().sum())),
            Words(" together."),
        ],
    },
    Sentence {
        name: "break-even",
        parts: &[
            Words("In the time in which one byte crosses a link of "),
            // PCIe 3.0, 4.0 and 5.0 with 16 lanes, and NVLink-C2C: the page's table of data sheets.
            drag("GB/s of the link", &[15.75, 31.5, 63.0, 450.0], 63.0),
            Words(" GB/s, a GPU of "),
            // P100, V100, A100, H100 and B200: the same table.
            drag("TFLOP/s of the GPU", &[18.7, 125.0, 312.0, 989.0, 2_250.0], 989.0),
            Words(" TFLOP/s does "),
            Result(|[link, speed, _]| number::grouped(swapping::break_even(speed * 1e12, link * 1e9).round())),
            Words(" operations. The copy is free if there are at least as many for each byte."),
        ],
    },
    Sentence {
        name: "accumulated",
        parts: &[
            Words("Micro-batches of "),
            drag("Sequences of a micro-batch", SEQUENCES, 4.0),
            Words(" sequences on "),
            drag("GPUs", GPUS, 8.0),
            Words(" GPUs, "),
            drag("Accumulation steps", &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], 16.0),
            Words(" of them one after another, make a global batch of "),
            Result(|numbers| number::grouped(numbers.into_iter().product())),
            Words(" sequences."),
        ],
    },
    Sentence {
        name: "critical",
        parts: &[
            Words("At "),
            drag("Batch over the critical batch", &[0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0], 1.0),
            Words(" times the critical batch, a run takes "),
            Result(|[batch, ..]| factor(convergence::steps(batch, 1.0), 3)),
            Words(" times the fewest steps and "),
            Result(|[batch, ..]| factor(convergence::examples(batch, 1.0), 3)),
            Words(" times the fewest examples."),
        ],
    },
    Sentence {
        name: "stages",
        parts: &[
            Words("With "),
            drag("Billions of parameters", &[1.0, 3.0, 7.5, 13.0, 30.0, 70.0, 175.0], 7.5),
            Words(" billion parameters on "),
            drag("GPUs", GPUS, 64.0),
            Words(" GPUs, stage 1 leaves "),
            Result(|[billions, gpus, _]| gb(of::states(billions * 1e9, gpus, ZeroStage::Stage1))),
            Words(" on each, stage 2 "),
            Result(|[billions, gpus, _]| gb(of::states(billions * 1e9, gpus, ZeroStage::Stage2))),
            Words(" and stage 3 "),
            Result(|[billions, gpus, _]| gb(of::states(billions * 1e9, gpus, ZeroStage::Stage3))),
            Words("."),
        ],
    },
    Sentence {
        name: "ring",
        parts: &[
            Words("On "),
            drag("GPUs", GPUS, 8.0),
            Words(" GPUs a ring sends "),
            Result(|[gpus, ..]| factor(of::sent_by_ring(gpus as u32), 3)),
            Words(" times the gradients’ bytes, and with any number of GPUs less than twice."),
        ],
    },
    Sentence {
        name: "bubble",
        parts: &[
            Words("With "),
            drag("Stages", &[2.0, 4.0, 8.0, 16.0, 32.0], 4.0),
            Words(" stages and "),
            drag("Micro-batches", &[2.0, 4.0, 8.0, 12.0, 16.0, 32.0, 64.0, 128.0], 12.0),
            Words(" micro-batches the wait is "),
            Result(|[stages, micro_batches, _]| format::percent_to(of::bubble(stages, micro_batches, 1.0), 1)),
            Words(" of the computing, and with "),
            drag("Chunks of a stage", &[2.0, 4.0, 8.0], 2.0),
            Words(" chunks a stage "),
            Result(|[stages, micro_batches, chunks]| format::percent_to(of::bubble(stages, micro_batches, chunks), 1)),
            Words("."),
        ],
    },
    Sentence {
        name: "maps",
        parts: &[
            Words("Of "),
            drag("Images", SEQUENCES, 32.0),
            Words(" images with "),
            drag("Pixels of a side", &[28.0, 56.0, 112.0, 224.0, 448.0, 896.0], 224.0),
            Words(" pixels a side, 64 kernels make maps of "),
            Result(|[images, side, _]| format::memory(of::maps(images, 64.0, side))),
            Words("."),
        ],
    },
];

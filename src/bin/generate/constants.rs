//! Every number that the estimator takes from somewhere, as a table.

use std::fmt::Write;

use bmax::catalogue;
use bmax::course::quoted::{PEAK_LEAST, PEAK_MOST, Quoted};
use bmax::course::sources;
use bmax::runtime::{COMMUNICATION, CUDA_CONTEXT, EXPANDABLE_FRAGMENTATION, FIXED_FRAGMENTATION, Unknown};
use bmax::{
    Adapter, Bucket, Bytes, Estimate, GradientType, LossHead, Method, Optimizer, Percent, Precision, Recomputation,
    Scenario, Switch, Weights,
    cost::{Speed, bubble, extra_work, flops_per_token},
    estimate,
    formula::Symbol,
    number,
    source::{self, Source},
};

use super::works::{cited, link};

/// A number that the estimator takes from somewhere.
struct Constant {
    what: &'static str,
    value: String,
    unit: &'static str,
    source: String,
    date: String,
}

fn constant(what: &'static str, value: impl Into<String>, unit: &'static str, source: &Source) -> Constant {
    Constant { what, value: value.into(), unit, source: cited(source), date: source.details().date.to_owned() }
}

/// A constant out of a work that only the course's table has.
fn course_constant(what: &'static str, value: impl Into<String>, unit: &'static str, id: &str) -> Constant {
    let row = sources::find(id).expect(id);
    Constant { what, value: value.into(), unit, source: link(row, &row.short()), date: row.year.to_owned() }
}

/// A constant that is a choice of this program, with the work that lists what it was chosen from.
fn choice(what: &'static str, value: impl Into<String>, unit: &'static str, [least, most]: [Quoted; 2]) -> Constant {
    let constant = course_constant(what, value, unit, least.source);
    let source = format!("a choice; {} lists {} to {}", constant.source, least.value, most.value);
    Constant { source, ..constant }
}

fn plain(value: f64) -> String {
    let rounded = (value * 1e5).round() / 1e5;
    number::grouped(rounded)
}

fn ends<T>(unknown: Unknown<T>, in_its_unit: fn(T) -> f64) -> String {
    let [least, likely, most] =
        [unknown.optimistic, unknown.likely, unknown.safe].map(|amount| plain(in_its_unit(amount)));
    format!("{likely} ({least} to {most})")
}

/// The default with a change, by a method.
fn scenario(method: Method, change: impl Fn(&mut Scenario)) -> Scenario {
    let mut scenario = Scenario { method, ..Scenario::workshop() };
    scenario.cluster.gpus = 1;
    change(&mut scenario);
    scenario
}

/// The default on a device of the catalogue.
fn on(slug: &str) -> Scenario {
    catalogue::device(slug).expect(slug).apply(Scenario::workshop())
}

/// A peak as the table has it, or a dash.
pub fn peak(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), plain)
}

/// A coefficient of the paper's count.
fn coefficient(symbol: Symbol, change: impl Fn(&mut Scenario)) -> f64 {
    let scenario = scenario(Method::Paper, |scenario| {
        scenario.recipe.recomputation = Recomputation::None;
        change(scenario);
    });
    estimate(&scenario).values.get(symbol)
}

/// Bytes of one bucket for each weight of a matrix in a block, as the ledger counts it.
fn matrix_bytes(ledger: &Estimate, bucket: Bucket) -> f64 {
    let of_matrices = |name: &str| name.starts_with("Attention matrices") && !name.contains("DDP");
    let entries = ledger.entries.iter().filter(|entry| entry.bucket == bucket && of_matrices(entry.name));
    entries.map(|entry| entry.coefficient).sum()
}

fn recipe_bytes(precision: Precision, gradients: GradientType) -> String {
    let ledger = estimate(&scenario(Method::Ledger, |scenario| {
        scenario.recipe.precision = precision;
        scenario.recipe.gradients = gradients;
    }));
    let parts = [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer].map(|bucket| matrix_bytes(&ledger, bucket));
    let [weights, gradients, optimizer] = parts.map(plain);
    format!("{weights} + {gradients} + {optimizer} = {}", plain(parts.iter().sum()))
}

fn moments(optimizer: Optimizer) -> String {
    let ledger = estimate(&scenario(Method::Ledger, |scenario| {
        // Without a master copy all optimizer state is the optimizer's own.
        scenario.recipe.precision = Precision::Fp32;
        scenario.recipe.optimizer = optimizer;
    }));
    plain(matrix_bytes(&ledger, Bucket::Optimizer))
}

fn frozen(adapter: Adapter) -> String {
    let ledger = estimate(&scenario(Method::Ledger, |scenario| scenario.recipe.adapter = adapter));
    plain(matrix_bytes(&ledger, Bucket::Parameters))
}

fn activation_constants() -> Vec<Constant> {
    let dropout = |on| move |scenario: &mut Scenario| scenario.recipe.dropout = on;
    let fp32 = |scenario: &mut Scenario| scenario.recipe.precision = Precision::Fp32;
    let workshop = |recomputation| {
        let scenario = scenario(Method::Workshop, |scenario| {
            scenario.recipe.recomputation = recomputation;
            scenario.recipe.batch = 1;
        });
        estimate(&scenario).bucket(Bucket::Activations).get()
    };
    let model = Scenario::workshop().model;
    let [tokens, width, layers, heads] =
        [Scenario::workshop().recipe.sequence, model.hidden, model.layers, model.heads].map(f64::from);
    let linear = workshop(Recomputation::Selective) / (tokens * width * layers);
    let scores =
        (workshop(Recomputation::None) - workshop(Recomputation::Selective)) / (heads * tokens * tokens * layers);
    let of = |value: f64| plain(value);
    let token = "bytes per S·b·H and layer";
    let pair = "bytes per n·S²·b and layer";
    let paper = &source::KORTHIKANTI;
    vec![
        constant(
            "Activations of a GPT block, 16 bits",
            of(coefficient(Symbol::Linear, dropout(Switch::On))),
            token,
            paper,
        ),
        constant("the same without dropout", of(coefficient(Symbol::Linear, dropout(Switch::Off))), token, paper),
        constant("the same in fp32", of(coefficient(Symbol::Linear, fp32)), token, paper),
        constant(
            "of the first, divided by tensor parallelism",
            of(coefficient(Symbol::Split, dropout(Switch::On))),
            token,
            paper,
        ),
        constant("of the first, on every GPU", of(coefficient(Symbol::Replicated, dropout(Switch::On))), token, paper),
        constant("Attention scores, 16 bits", of(coefficient(Symbol::Scores, dropout(Switch::On))), pair, paper),
        constant("the same without dropout", of(coefficient(Symbol::Scores, dropout(Switch::Off))), pair, paper),
        constant("the same in fp32", of(coefficient(Symbol::Scores, fp32)), pair, paper),
        constant("Activations by the workshop, 34 · 2", of(linear), token, &source::WORKSHOP),
        constant("Attention scores by the workshop, 5 · 2", of(scores), pair, &source::WORKSHOP),
    ]
}

fn state_constants() -> Vec<Constant> {
    let bytes = "bytes per parameter: weights + gradients + optimizer";
    let state = "bytes of state per weight of a matrix";
    let weight = "bytes per frozen weight of a matrix";
    let half = GradientType::Half;
    let full = GradientType::Full;
    vec![
        constant("fp32 with Adam", recipe_bytes(Precision::Fp32, half), bytes, &source::RAJBHANDARI),
        constant(
            "bf16 or fp16 with fp32 master weights",
            recipe_bytes(Precision::Bf16, half),
            bytes,
            &source::RAJBHANDARI,
        ),
        constant("bf16, gradients added up in fp32", recipe_bytes(Precision::Bf16, full), bytes, &source::MEGATRON),
        constant("fp16, gradients added up in fp32", recipe_bytes(Precision::Fp16, full), bytes, &source::MEGATRON),
        constant("FSDP’s mixed precision", recipe_bytes(Precision::Mixed, half), bytes, &source::FSDP),
        constant("everything in bf16", recipe_bytes(Precision::PureBf16, half), bytes, &source::PYTORCH),
        constant("AdamW", moments(Optimizer::AdamW), state, &source::ADAM),
        course_constant("8-bit Adam, blocks of 256", moments(Optimizer::Adam8bit), state, "bitsandbytes"),
        constant(
            "Adafactor, beside sums over rows and columns",
            moments(Optimizer::Adafactor),
            state,
            &source::ADAFACTOR,
        ),
        constant("Lion", moments(Optimizer::Lion), state, &source::LION),
        constant("Muon", moments(Optimizer::Muon), state, &source::MUON),
        constant("SGD with momentum", moments(Optimizer::Momentum), state, &source::PYTORCH),
        constant("SGD", moments(Optimizer::Sgd), state, &source::PYTORCH),
        constant("LoRA on 16-bit weights", frozen(Adapter::Lora), weight, &source::LORA),
        constant("LoRA on 8-bit weights", frozen(Adapter::Lora8), weight, &source::QLORA),
        constant("QLoRA, 4 + 0.127 bits", frozen(Adapter::Qlora), weight, &source::QLORA),
    ]
}

fn other_constants() -> Vec<Constant> {
    let at = |sequence: u32| {
        let mut scenario = Scenario::workshop();
        scenario.recipe.sequence = sequence;
        (flops_per_token(&scenario), scenario.model)
    };
    let ((short, model), (long, _)) = (at(1_000), at(2_000));
    let width = f64::from(model.heads) * f64::from(model.head_dim);
    let attention = (long - short) / (1_000.0 * f64::from(model.layers) * width);
    let of = Weights::of(&model);
    let multiplied = of.multiplied_in_layers(&model) + of.multiplied_by_head();
    let weights = (2.0 * short - long) / multiplied as f64;
    let extra = |recomputation| {
        let mut scenario = Scenario::workshop();
        scenario.recipe.recomputation = recomputation;
        // Only layers are computed again, and a classifier has no head to speak of.
        scenario.recipe.loss = LossHead::Classifier;
        number::fixed(100.0 * extra_work(&scenario), 1)
    };
    let waiting = bubble(2, 1, 1);
    let host = |slug| plain(catalogue::speed(&on(slug)).host_bytes_per_second / 1e9);
    let percent = |unknown| ends(unknown, Percent::get);
    let operations = "% of the layers’ operations";
    vec![
        course_constant(
            "Operations of a token, forward and backward",
            plain(weights),
            "FLOP per weight of a product",
            "narayanan",
        ),
        course_constant("the same for attention", plain(attention), "FLOP per L·n·d·S", "narayanan"),
        course_constant("A pipeline waits", plain(waiting), "(P − 1)/m of its computing", "narayanan"),
        choice("What training reaches of a device’s peak", plain(Speed::UTILIZATION), "", [PEAK_LEAST, PEAK_MOST]),
        constant("Full recomputation adds", extra(Recomputation::Full), operations, &source::KORTHIKANTI),
        constant("Operator-level selection adds", extra(Recomputation::Operators), operations, &source::TORCHTITAN),
        course_constant("PCI Express 3.0 ×16, one way", host("v100-16"), "GB/s", "pci-sig"),
        course_constant("PCI Express 4.0 ×16, one way", host("a100-80"), "GB/s", "pci-sig"),
        course_constant("PCI Express 5.0 ×16, one way", host("h100-80"), "GB/s", "pci-sig"),
        constant("CUDA context, likely (least to most)", ends(CUDA_CONTEXT, Bytes::gib), "GiB", &source::BEKMAN),
        constant(
            "Communication buffers, likely (least to most)",
            ends(COMMUNICATION, Bytes::gib),
            "GiB",
            &source::BEKMAN,
        ),
        constant(
            "Fragmentation of fixed segments, likely (little to much)",
            percent(FIXED_FRAGMENTATION),
            "% of what comes and goes",
            &source::ALLOCATOR,
        ),
        constant(
            "Fragmentation of expandable segments, likely (little to much)",
            percent(EXPANDABLE_FRAGMENTATION),
            "% of what comes and goes",
            &source::ALLOCATOR,
        ),
    ]
}

pub fn constants(text: &mut String) {
    text.push_str(
        "\n### Constants\n\nTable: Each constant with its value, as the estimator computes with it\n\n\
         | Constant | Value | Unit | Source | Date |\n| --- | ---: | --- | --- | --- |\n",
    );
    for Constant { what, value, unit, source, date } in
        activation_constants().into_iter().chain(state_constants()).chain(other_constants())
    {
        _ = writeln!(text, "| {what} | {value} | {unit} | {source} | {date} |");
    }
}

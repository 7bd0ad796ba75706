//! The page's list of sources is written by this test, out of the provenance in the code.
//!
//! Where a source, a constant or a row of the catalogue has changed, `BMAX_BLESS=1 cargo test --test
//! sources` writes the fragment anew, and its difference is there to be read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;
use std::{env, fs};

use bmax::catalogue::{self, DEVICES, DeviceGroup, MODELS, ModelGroup};
use bmax::course::sources::{self, CourseSource, Kind};
use bmax::runtime::{COMMUNICATION, CUDA_CONTEXT, EXPANDABLE_FRAGMENTATION, FIXED_FRAGMENTATION, Unknown};
use bmax::{
    Adapter, Bucket, Bytes, Estimate, GradientType, LossHead, Method, Optimizer, Percent, Precision, Recomputation,
    Scenario, Source, Speed, Switch, Symbol, Weights, bubble, estimate, extra_work, flops_per_token, number, setting,
    source,
};

const FRAGMENT: &str = "src/page/p25_sources/prose.html";

/// The rows of the catalogue fill a page of their own, which nobody loads who does not ask.
const CATALOGUE: &str = "src/page/p25_sources/catalogue.html";

/// Text as HTML writes it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "’")
}

/// The row of the course's table that is this source of the estimator.
fn row_of(source: &Source) -> &'static CourseSource {
    sources::ALL.iter().find(|row| row.url == source.url).expect(source.short)
}

/// A link to a source of the list.
fn link(row: &CourseSource, text: &str) -> String {
    format!("<a href=\"#source-{}\">{}</a>", row.id, escaped(text))
}

fn cited(source: &Source) -> String {
    link(row_of(source), source.short)
}

/// One work of the list.
fn item(row: &CourseSource) -> String {
    let CourseSource { id, authors, year, title, url, used_for, .. } = row;
    let mut html =
        format!("    <li id=\"source-{id}\">{} ({year}), <a href=\"{url}\">{}</a>", escaped(authors), escaped(title));
    if let Some(number) = row.arxiv() {
        _ = write!(html, ", arXiv {number}");
    }
    _ = write!(html, ". {}", escaped(used_for));
    // One repository may have been read for several things.
    let read: Vec<String> = source::ALL
        .iter()
        .filter(|source| source.url == *url)
        .map(|source| source.details())
        .map(|details| format!("{}; {}", escaped(details.locus), details.date))
        .collect();
    if !read.is_empty() {
        _ = write!(html, " <span class=\"soft\">Read for the estimator: {}.</span>", read.join(". "));
    }
    html + "</li>\n"
}

fn works(html: &mut String, title: &str, kind: Kind) {
    _ = write!(html, "\n  <h4>{title}</h4>\n\n  <ul class=\"source-list\">\n");
    for row in sources::ALL.iter().filter(|row| row.kind == kind) {
        html.push_str(&item(row));
    }
    html.push_str("  </ul>\n");
}

// ── Constants ──────────────────────────────────────────────────────────────

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
    let text = format!("{} {}", row.authors.split(',').next().unwrap_or_default(), row.year);
    let text = text.replace(" and others", " et al.");
    let (_, surname) = text.split_once(". ").unwrap_or(("", &text));
    Constant { what, value: value.into(), unit, source: link(row, surname), date: row.year.to_owned() }
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
    let mut scenario = Scenario { method, ..Scenario::default() };
    scenario.cluster.gpus = 1;
    change(&mut scenario);
    scenario
}

/// The default on a device of the catalogue.
fn on(slug: &str) -> Scenario {
    catalogue::device(slug).expect(slug).apply(Scenario::default())
}

/// A peak as the table has it, or a dash.
fn peak(value: Option<f64>) -> String {
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
    let model = Scenario::default().model;
    let [tokens, width, layers, heads] =
        [Scenario::default().recipe.sequence, model.hidden, model.layers, model.heads].map(f64::from);
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
        constant("8-bit Adam, blocks of 256", moments(Optimizer::Adam8bit), state, &source::ADAM8BIT),
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
        let mut scenario = Scenario::default();
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
        let mut scenario = Scenario::default();
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
        course_constant("What training reaches of a device’s peak", plain(Speed::UTILIZATION), "", "chowdhery"),
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

fn constants(html: &mut String) {
    html.push_str(
        "\n  <h4>Constants</h4>\n\n  <div class=\"table-scroll wide\" tabindex=\"0\" role=\"region\" aria-label=\"Constants\">\n    \
         <table class=\"data-table\">\n      <caption>Each with its value, as the estimator computes with it</caption>\n      \
         <thead><tr><th scope=\"col\">Constant</th><th scope=\"col\" class=\"num\">Value</th><th scope=\"col\">Unit</th>\
         <th scope=\"col\">Source</th><th scope=\"col\">Date</th></tr></thead>\n      <tbody>\n",
    );
    for Constant { what, value, unit, source, date } in
        activation_constants().into_iter().chain(state_constants()).chain(other_constants())
    {
        _ = writeln!(
            html,
            "        <tr><th scope=\"row\">{what}</th><td class=\"num\">{value}</td><td>{unit}</td><td>{source}</td>\
             <td>{date}</td></tr>"
        );
    }
    html.push_str("      </tbody>\n    </table>\n  </div>\n");
}

// ── Entries ────────────────────────────────────────────────────────────────

/// Scenarios that between them use every line of every method: each pair of settings, on models of
/// every kind.
fn scenarios() -> Vec<Scenario> {
    let slugs = ["7b", "gpt2", "llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "gemma-2-9b", "qwen3-8b", "olmo-2-7b"];
    let rows: Vec<_> = slugs.iter().filter_map(|slug| catalogue::model(slug)).collect();
    assert!(rows.len() >= 5, "most of these models should be listed");
    let mut found = Vec::new();
    let choices: Vec<_> = setting::ALL
        .iter()
        .flat_map(|setting| setting.options.iter().map(move |option| (setting, option.key)))
        .collect();
    for row in &rows {
        for (first, (setting, word)) in choices.iter().enumerate() {
            let one = setting.read(word, row.apply(Scenario::default())).expect("a word of its own");
            for (other, word) in &choices[first..] {
                found.push(other.read(word, one).expect("a word of its own"));
            }
        }
        // A pipeline and several micro-batches of one step.
        let mut piped = row.apply(Scenario::default());
        piped.cluster.pipeline_parallel = 4;
        piped.recipe.micro_batches = 8;
        found.push(piped);
        // A vocabulary that several devices share.
        let mut divided = row.apply(Scenario::default());
        divided.cluster.tensor_parallel = 2;
        found.push(divided);
    }
    found
}

/// The names of entries by what their source is called.
fn entries() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for scenario in scenarios() {
        for entry in estimate(&scenario).entries {
            assert!(source::ALL.contains(&entry.source), "{} has a source that no list names", entry.name);
            found.entry(entry.source.short).or_default().insert(entry.name);
        }
    }
    found
}

/// The names of a source's entries. What every kind of weight has is said once.
fn gathered(names: &BTreeSet<&'static str>, kinds: &BTreeSet<&'static str>) -> Vec<String> {
    let mut said = Vec::new();
    let mut rest = names.clone();
    for suffix in ["", ", fp32 master", ", moments", ", DDP buckets"] {
        let of_kinds: BTreeSet<&str> = rest
            .iter()
            .copied()
            .filter(|name| name.strip_suffix(suffix).is_some_and(|kind| kinds.contains(kind)))
            .collect();
        if of_kinds.len() > 3 {
            said.push(format!("Every kind of weight{suffix}"));
            rest = rest.difference(&of_kinds).copied().collect();
        }
    }
    said.extend(rest.iter().map(|name| escaped(name)));
    said
}

fn ledger_entries(html: &mut String) {
    html.push_str("\n  <h2>Entries of the ledger</h2>\n\n  <dl>\n");
    let entries = entries();
    let kinds: BTreeSet<&str> = entries.values().flatten().filter_map(|name| name.strip_suffix(", moments")).collect();
    for source in source::ALL {
        let names = gathered(&entries[source.short], &kinds);
        let (id, name) = (row_of(source).id, escaped(source.short));
        _ = writeln!(html, "    <dt><a href=\"./#source-{id}\">{name}</a></dt><dd>{}</dd>", names.join("; "));
    }
    html.push_str("  </dl>\n");
}

// ── Catalogue ──────────────────────────────────────────────────────────────

fn models(html: &mut String) {
    html.push_str("\n  <h2>Models</h2>\n");
    for group in ModelGroup::ALL {
        // Rows of one source and one note stand together, in the order of the catalogue.
        let mut by_source: Vec<(&catalogue::ModelSource, Vec<&str>)> = Vec::new();
        for row in MODELS.iter().filter(|row| row.group == *group) {
            let source = row.source().expect("a row of the catalogue");
            match by_source.iter_mut().find(|(other, _)| *other == source) {
                Some((_, names)) => names.push(row.name),
                None => by_source.push((source, vec![row.name])),
            }
        }
        _ = write!(html, "\n  <details>\n    <summary>{}</summary>\n    <ul>\n", escaped(group.label()));
        for (source, names) in by_source {
            let catalogue::ModelSource { source, retrieved, note, .. } = source;
            _ = write!(html, "      <li><strong>{}</strong>: {}", escaped(&names.join(", ")), escaped(source));
            if !note.is_empty() {
                _ = write!(html, " {}", escaped(note));
            }
            _ = writeln!(html, " <span class=\"soft\">{retrieved}</span></li>");
        }
        html.push_str("    </ul>\n  </details>\n");
    }
}

fn devices(html: &mut String) {
    html.push_str("\n  <h2>Devices</h2>\n");
    for group in DeviceGroup::ALL {
        let label = group.label();
        _ = write!(
            html,
            "\n  <details>\n    <summary>{label}</summary>\n    <div class=\"table-scroll\" tabindex=\"0\" role=\"region\" \
             aria-label=\"{label}: devices and their sources\">\n      <table class=\"data-table\">\n        \
             <thead><tr><th scope=\"col\">Device</th><th scope=\"col\" class=\"num\">Total, MiB</th>\
             <th scope=\"col\" class=\"num\">For a program, MiB</th>\
             <th scope=\"col\" class=\"num\">TFLOP/s, 16 bits</th><th scope=\"col\" class=\"num\">TF32</th>\
             <th scope=\"col\" class=\"num\">fp32</th><th scope=\"col\" class=\"num\">Memory, GB/s</th>\
             <th scope=\"col\" class=\"num\">Host, GB/s</th><th scope=\"col\">Where memory was seen</th>\
             <th scope=\"col\">Where speed is stated</th></tr></thead>\n        \
             <tbody>\n"
        );
        let mut retrieved = BTreeSet::new();
        for row in DEVICES.iter().filter(|row| row.group == *group) {
            let source = row.source().expect("a row of the catalogue");
            retrieved.extend([source.retrieved, source.peaks_retrieved]);
            let [total, visible] = [row.memory_mib, row.visible_mib].map(|mib| number::grouped(mib.into()));
            let peaks = row.peaks;
            let [half, tf32, fp32, bandwidth, host] = [
                peaks.map(|peaks| peaks.half),
                peaks.and_then(|peaks| peaks.tf32),
                peaks.map(|peaks| peaks.fp32),
                peaks.map(|peaks| peaks.memory_gb_per_second),
                peaks.map(|peaks| peaks.host_gb_per_second),
            ]
            .map(peak);
            let seen = if source.memory == source.visible {
                escaped(source.memory)
            } else {
                format!("{}. {}", escaped(source.memory), escaped(source.visible))
            };
            _ = writeln!(
                html,
                "          <tr><th scope=\"row\">{}</th><td class=\"num\">{total}</td><td class=\"num\">{visible}</td>\
                 <td class=\"num\">{half}</td><td class=\"num\">{tf32}</td><td class=\"num\">{fp32}</td>\
                 <td class=\"num\">{bandwidth}</td><td class=\"num\">{host}</td><td>{seen}</td><td>{}</td></tr>",
                escaped(row.name),
                escaped(source.peaks)
            );
        }
        let days: Vec<&str> = retrieved.into_iter().collect();
        _ = write!(
            html,
            "        </tbody>\n      </table>\n    </div>\n    <p class=\"soft\">Looked up on {}. TFLOP/s are the maker’s, dense and with fp32 sums; times take those of 16 bits, or of fp32 for training in fp32, because PyTorch multiplies in TF32 only if it is told to. Where there are none, 100 TFLOP/s and 600 GB/s stand in, and every time says so.</p>\n  </details>\n",
            days.join(" and ")
        );
    }
}

/// The whole fragment.
fn fragment() -> String {
    let mut html = String::from(
        "<!-- Written by tests/sources.rs out of the provenance in the code: BMAX_BLESS=1 cargo test --test sources -->\n\
         <section id=\"sources\" class=\"prose\" aria-labelledby=\"sources-title\">\n  \
         <h3 id=\"sources-title\">Sources: where every formula and every number comes from</h3>\n\n  \
         <p>This list is written by the program’s own tests from what stands beside each formula, constant and row of its \
         tables, so that it cannot fall behind them.</p>\n",
    );
    works(&mut html, "The courses and pages this one grew from", Kind::Course);
    works(&mut html, "Papers and specifications", Kind::Paper);
    works(&mut html, "Programs and their documentation", Kind::Program);
    constants(&mut html);
    html.push_str(
        "\n  <p><a href=\"catalogue.html\">Every model and every device of the catalogue, with its numbers, its source and the \
         day of the look-up, and every entry of the ledger by its source</a>.</p>\n",
    );
    html + "</section>\n"
}

/// The page of the catalogue's rows.
fn catalogue_page() -> String {
    let mut html = String::from(
        "<!doctype html>\n\
         <!-- Written by tests/sources.rs out of the provenance in the code: BMAX_BLESS=1 cargo test --test sources -->\n\
         <html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  \
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'\">\n  \
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n  \
         <meta name=\"color-scheme\" content=\"light dark\">\n  \
         <title>bmax: models, devices and entries, and where their numbers come from</title>\n  \
         <meta name=\"description\" content=\"The models and devices that bmax knows and the entries of its ledger, each with its numbers and its source.\">\n  \
         <link rel=\"icon\" href=\"data:,\">\n  \
         <link rel=\"stylesheet\" href=\"catalogue.css\">\n</head>\n<body>\n  \
         <p><a href=\"./#sources\">Back to bmax</a></p>\n  \
         <h1>Models, devices and the entries of the ledger, and where they come from</h1>\n",
    );
    models(&mut html);
    devices(&mut html);
    ledger_entries(&mut html);
    html + "</body>\n</html>\n"
}

/// A committed file, after it was written anew if that is wanted.
fn committed(file: &str, now: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    if env::var_os("BMAX_BLESS").is_some() {
        fs::write(&path, now).expect("the file can be written");
    }
    fs::read_to_string(&path).expect("the file is committed")
}

#[test]
fn the_page_s_sources_are_those_of_the_code() {
    for (file, now) in [(FRAGMENT, fragment()), (CATALOGUE, catalogue_page())] {
        // Not assert_eq: a difference of two long texts is better read in the version control.
        let same = committed(file, &now) == now;
        assert!(same, "{file} has drifted; BMAX_BLESS=1 cargo test --test sources writes it anew");
    }
}

#[test]
fn every_source_of_the_estimator_is_cited_by_an_entry_and_listed_once() {
    let found = entries();
    let html = fragment();
    for source in source::ALL {
        assert!(found.contains_key(source.short), "no entry of any scenario cites {}", source.short);
        let anchor = format!("id=\"source-{}\"", row_of(source).id);
        assert_eq!(html.matches(&anchor).count(), 1, "{anchor}");
    }
}

#[test]
fn every_row_of_the_catalogue_is_listed_with_its_source() {
    let html = catalogue_page();
    for row in MODELS {
        let source = row.source().expect("a row of the catalogue");
        assert!(html.contains(&escaped(row.name)) && html.contains(&escaped(source.source)), "{}", row.slug);
    }
    for row in DEVICES {
        let source = row.source().expect("a row of the catalogue");
        assert!(html.contains(&escaped(row.name)), "{}", row.slug);
        for text in [source.memory, source.visible, source.peaks] {
            assert!(html.contains(&escaped(text)), "{}: {text}", row.slug);
        }
    }
}

#[test]
fn the_anchors_that_the_text_links_to_stay() {
    let html = fragment();
    for id in ["workshop", "korthikanti", "rajbhandari", "finders"] {
        assert!(html.contains(&format!("id=\"source-{id}\"")), "{id}");
    }
}

#[test]
fn the_constants_are_those_the_sources_print() {
    let html = fragment();
    for row in [
        "16 bits</th><td class=\"num\">34</td>",
        "in fp32</th><td class=\"num\">66</td>",
        "scores, 16 bits</th><td class=\"num\">5</td>",
        "in fp32</th><td class=\"num\">9</td>",
        "34 · 2</th><td class=\"num\">68</td>",
        "5 · 2</th><td class=\"num\">10</td>",
        "parallelism</th><td class=\"num\">24</td>",
        "on every GPU</th><td class=\"num\">10</td>",
        "4 + 4 + 8 = 16",
        "2 + 2 + 12 = 16",
        "2 + 4 + 12 = 18",
        "2 + 6 + 12 = 20",
        "2 + 2 + 4 = 8",
        "256</th><td class=\"num\">2.03125</td>",
        "0.6 (0.47 to 0.92)",
        "1.25 (1 to 1.5)",
        "peak</th><td class=\"num\">0.4</td>",
        "backward</th><td class=\"num\">6</td>",
        "attention</th><td class=\"num\">12</td>",
    ] {
        assert!(html.contains(row), "the constants should have “{row}”");
    }
}

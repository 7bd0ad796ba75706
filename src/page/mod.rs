//! The figures and sentences of a page, taken over.
//!
//! The text is in `src/pages/`, with their places. They are rendered into these while the pages are built; here they are
//! taken over in the browser.

#[cfg(feature = "hydrate")]
mod starts;
mod tour;

use crate::figures::{ANSWER_BAR, FIGURES};
use crate::site::{State, places_of_figures, take_over_on_arrival, take_over_part};

/// Takes over every figure and sentence of the page.
pub fn take_over(state: State) {
    take_over_part(&ANSWER_BAR, state);
    let figures = places_of_figures(FIGURES, state);
    // A program that does not run in a browser has nothing to take over.
    #[cfg(feature = "hydrate")]
    let figures = figures.chain(crate::site::places_of_sentences(crate::sentences::take_over));
    take_over_on_arrival(figures.collect());
}

/// Follows the starting points of the page, and opens the tour where the address names a card of it.
#[cfg(feature = "hydrate")]
pub fn follow(state: State) {
    starts::follow(state);
    tour::follow(state);
}

#[cfg(test)]
mod tests {
    use bmax::{
        Bucket, Choice, Entry, ExpertMatrices, Method, Recipe, Recomputation, Scenario, Weights, b_max, catalogue,
        course::{convergence::critical_tokens, splitting},
        division::division,
        estimate,
        link::{self, Beginning},
        range::range,
    };

    use crate::site::format;

    /// What the default would answer at another setting.
    fn most(change: impl Fn(&mut Scenario)) -> u32 {
        let mut scenario = Scenario::workshop();
        change(&mut scenario);
        b_max(&scenario).batch().unwrap_or(0)
    }

    /// The workshop's example, counted tensor by tensor.
    fn by_the_ledger() -> Scenario {
        Scenario { method: Method::Ledger, ..Beginning::Workshop.scenario() }
    }

    /// The text is written by hand, and the ledger learns: here they are held together. Where a line ends in the
    /// source says nothing.
    fn prints(text: &str, numbers: &[String]) {
        let lines = text.replace("> ", "").replace("\n  ", "\n");
        let flowing = lines.split_whitespace().collect::<Vec<_>>().join(" ");
        for number in numbers {
            assert!(flowing.contains(number.trim_end()), "the text should print “{number}”");
        }
    }

    #[test]
    fn the_text_prints_the_ledger_s_numbers_for_the_default() {
        let range = range(&Scenario::default());
        let [safe, likely] = [&range.safe, &range.likely].map(|answer| answer.batch().unwrap_or(0));
        let answer = [
            format!("b_\\max = {likely}$"),
            format!("{likely} sequences are likely to fit on each GPU, and {safe} to be safe."),
        ];
        prints(include_str!("../pages/home/01_opening.md"), &answer);
        let scenario = Scenario::workshop();
        let now = most(|_| ());
        let one = format::digits(division(&scenario).per_sequence.gib(), 1);
        prints(include_str!("../pages/trust/03_factor_of_two.md"), &[format!("| {one} | {now} |\n")]);
    }

    #[test]
    fn the_workshop_s_page_prints_the_numbers_of_its_own_example() {
        let example = Beginning::Workshop.scenario();
        let answers = Method::ALL.iter().map(|method| (*method, Scenario { method: *method, ..example }));
        let rows: Vec<String> = answers
            .map(|(method, scenario)| {
                let line = division(&scenario);
                let [usable, fixed, one] =
                    [line.usable, line.fixed, line.per_sequence].map(|bytes| format::digits(bytes.gib(), 1));
                let most = b_max(&scenario).batch().unwrap_or(0);
                format!("| {} | {usable} | {fixed} | {one} | {most} |", method.label())
            })
            .collect();
        prints(include_str!("../pages/workshop/12_reality.md"), &rows);
        let count = |method: Method| b_max(&Scenario { method, ..example }).batch().unwrap_or(0);
        let [workshop, paper, ledger] = [Method::Workshop, Method::Paper, Method::Ledger].map(count);
        prints(
            include_str!("../pages/workshop/01_opening.md"),
            &[format!(
                "the workshop’s count gives {workshop} sequences, the paper’s {paper}, and the count tensor by tensor {ledger}."
            )],
        );
        prints(include_str!("../pages/workshop/06_search.md"), &[format!("The answer is {workshop}, as")]);
        let counted = estimate(&example);
        let sizes = [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer, Bucket::Activations]
            .map(|bucket| format::memory(counted.bucket(bucket)).trim_end_matches("\u{a0}GiB").replace(" GiB", ""));
        let [parameters, gradients, optimizer, activations] = sizes;
        let all = format::digits(counted.peak().bytes.gib(), 1);
        prints(
            include_str!("../pages/workshop/02_buckets.md"),
            &[format!(
                "take {parameters}, {gradients}, {optimizer} and {activations} GiB on each GPU: {all} GiB together."
            )],
        );
    }

    #[test]
    fn the_text_prints_the_peaks_of_the_catalogue() {
        let [v100, a100, h100] = ["v100-16", "a100-80", "h100-80"]
            .map(|slug| catalogue::device(slug).and_then(|row| row.peaks).expect("its speed is listed"));
        let tf32 = |peaks: catalogue::Peaks| peaks.tf32.expect("it has TF32");
        prints(
            include_str!("../pages/memory/03_precision.md"),
            &[
                format!(
                    "A V100 does {} TFLOP/s in fp16 and {} in fp32, which is {:.0} times",
                    v100.half,
                    v100.fp32,
                    v100.half / v100.fp32
                ),
                format!(
                    "An A100 does {} in bf16, {} in TF32 and {} in plain fp32, which is {:.0} or {:.0} times",
                    a100.half,
                    tf32(a100),
                    a100.fp32,
                    a100.half / tf32(a100),
                    a100.half / a100.fp32
                ),
                format!(
                    "An H100 does {}, {:.0} and {}, which is {:.0} or {:.0} times",
                    h100.half,
                    tf32(h100).ceil(),
                    h100.fp32,
                    h100.half / tf32(h100),
                    h100.half / h100.fp32
                ),
            ],
        );
    }

    #[test]
    fn the_text_prints_the_critical_batches_of_its_formula() {
        let million = |loss: f64| format::digits(critical_tokens(loss) / 1e6, 1);
        let [three, two] = [3.0, 2.3].map(million);
        prints(
            include_str!("../pages/batch/06_larger.md"),
            &[format!("That is {three} million tokens at a loss of 3.0 and {two} million at 2.3")],
        );
    }

    #[test]
    fn the_text_prints_the_ledger_s_numbers_for_adapters_and_pipelines() {
        let fit = |query: &str| b_max(&link::decode(query).scenario).batch().unwrap_or(0);
        let card = "?model=llama-2-7b&gpu=rtx-4090&gpus=1&adapter=lora&zero=0";
        let none =
            |precision| [1_024, 2_048].map(|s| fit(&format!("{card}&s={s}&recompute=none&precision={precision}")));
        let [short, long] = none("bf16");
        assert_eq!([short, long], none("autocast"));
        let [full, full_autocast] =
            ["bf16", "autocast"].map(|precision| fit(&format!("{card}&s=2048&recompute=full&precision={precision}")));
        assert_eq!(full, full_autocast);
        let large =
            fit("?model=llama-2-70b&gpu=l40s&gpus=1&adapter=qlora&s=512&precision=autocast&recompute=full&dropout=off");
        let mixtral = link::decode("?v=3&model=mixtral-8x7b&gpus=1&zero=0&adapter=qlora").scenario;
        let frozen = |expert_matrices| {
            let recipe = Recipe { expert_matrices, ..mixtral.recipe };
            let estimate = estimate(&Scenario { recipe, ..mixtral });
            let kept = |entry: &&Entry| entry.bucket == Bucket::Parameters && entry.name != "Adapters";
            estimate.entries.iter().filter(kept).map(|entry| entry.bytes.get()).sum::<f64>() / 1e9
        };
        let [stacked, linear] =
            [ExpertMatrices::Stacked, ExpertMatrices::Linear].map(|form| format::digits(frozen(form), 1));
        let name = "Stacks of experts, with their adapters";
        let recipe = Recipe { recomputation: Recomputation::None, ..mixtral.recipe };
        let merged = estimate(&Scenario { recipe, ..mixtral });
        let sums = merged.entries.iter().filter(|entry| entry.name == name).map(|entry| entry.bytes.get());
        let sums = sums.fold(0.0, f64::max) / 1e9;
        let weights = Weights::of(&mixtral.model);
        let experts = (weights.expert_layers * weights.experts * weights.expert) as f64;
        let [experts, all] = [experts, weights.total() as f64].map(|count| format::digits(count / 1e9, 1));
        prints(
            include_str!("../pages/batch/05_adapters.md"),
            &[
                format!("Mixtral 8x7B, {experts} of {all} billion weights, are experts"),
                format!("frozen weights then take {stacked} GB"),
                format!("they take {linear} GB"),
                format!("without recomputation, {} GB more", format::digits(sums, 1)),
                format!("for {short} sequence of 1,024 tokens and for {long} of 2,048, with autocast or without"),
                format!("makes that {full} sequences of 2,048."),
                format!("with {large} sequences of 512 tokens under autocast"),
            ],
        );
        // Narayanan et al. 2021 and Megatron-LM's schedules: P micro-batches, and 11 chunks of L / 8.
        let kept = |query: &str| {
            let estimate = estimate(&link::decode(&format!("v=3&{query}")).scenario);
            let first = estimate.instants.iter().position(|instant| instant.name == "first stage: pipeline full");
            estimate.bucket_at(Bucket::Activations, first.expect("there is a pipeline")).get()
        };
        let [plain, interleaved] =
            ["1", "2"].map(|chunks| kept(&format!("pp=4&zero=1&accum=8&engine=megatron&vpp={chunks}")));
        let times = interleaved / plain;
        assert!((times - 11.0 / 8.0).abs() < 1e-9, "{times}");
        prints(include_str!("../pages/gpus/04_pipelines.md"), &[format!("{times} times what all layers keep")]);
    }

    #[test]
    fn the_text_prints_the_bubble_of_four_stages_and_eight_micro_batches() {
        let (computing, step) = splitting::bubble(&link::decode("?v=3&pp=4&accum=8").scenario);
        let [computing, step] = [computing, step].map(|part| format::percent_to(part, 1));
        let text = include_str!("../pages/gpus/05_splitting.md");
        prints(text, &[format!("With $P = 4$ and $m = 8$ they are {computing} and {step}.")]);
    }

    #[test]
    fn the_text_prints_the_bytes_of_loss_heads_and_of_gelu_under_autocast() {
        let logits = |loss: &str| -> f64 {
            let estimate = estimate(&link::decode(&("?loss=".to_owned() + loss)).scenario);
            let at = estimate.instants.iter().position(|instant| instant.name == "loss, backward");
            let alive = estimate.entries.iter().filter(|entry| entry.alive.contains(at.expect("the ledger has it")));
            alive.filter(|entry| entry.bucket == Bucket::Logits).map(|entry| entry.coefficient).sum()
        };
        let [plain, parallel, in_place] = ["plain", "vocab-parallel", "kernel-inplace"].map(logits);
        prints(
            include_str!("../pages/trust/04_left_out.md"),
            &[
                format!("holds {plain} bytes a logit in its backward pass"),
                format!("vocabulary-parallel loss holds {parallel} for its share"),
                format!("over the logits holds {in_place}. Fused"),
            ],
        );
        let inner = |precision: &str| {
            let query = format!("?model=gpt2&precision={precision}&recompute=none");
            let estimate = estimate(&link::decode(&query).scenario);
            let entry = estimate.entries.iter().find(|entry| entry.name == "Inside the feed-forward block");
            entry.expect("every model has one").coefficient
        };
        let [autocast, pure] = ["autocast", "bf16-pure"].map(inner);
        prints(
            include_str!("../pages/memory/03_precision.md"),
            &[format!("then keeps {autocast} bytes"), format!("pure bf16 keeps {pure}.")],
        );
    }

    #[test]
    fn the_tables_print_the_ledger_s_answers() {
        let kinds = [Recomputation::None, Recomputation::Selective, Recomputation::Full];
        let presets = [("1b", 1), ("3b", 1), ("7b", 8), ("13b", 64), ("70b", 64)].map(|(slug, gpus)| {
            let row = catalogue::model(slug).expect("a preset");
            let [none, selective, full] = kinds.map(|kind| {
                most(|s| {
                    *s = row.apply(*s);
                    s.cluster.gpus = gpus;
                    s.recipe.recomputation = kind;
                })
            });
            format!("| {none} / {selective} / {full} |")
        });
        prints(include_str!("../pages/trust/02_methods.md"), &presets);
        let llama = catalogue::model("llama-3.1-8b").expect("listed");
        for (gpus, before) in [(2, "| 1"), (4, "| 4"), (8, "| 6")] {
            let fits = most(|s| {
                *s = llama.apply(by_the_ledger());
                s.recipe.recomputation = Recomputation::Selective;
                s.cluster.gpus = gpus;
            });
            let row = format!("{before} | {fits} |\n");
            prints(include_str!("../pages/workshop/05_derivation.md"), &[row]);
        }
        for kind in kinds {
            let mut scenario = Scenario::workshop();
            scenario.recipe.recomputation = kind;
            let one = format::digits(division(&scenario).per_sequence.gib(), 1);
            let row = format!("| {one} | {} |\n", most(|s| *s = scenario));
            prints(include_str!("../pages/trust/03_factor_of_two.md"), &[row]);
        }
        for sequence in [512, 1_024, 2_048, 4_096, 8_192] {
            let cells = kinds.map(|kind| {
                let set = |s: &mut Scenario| {
                    s.recipe.sequence = sequence;
                    s.recipe.recomputation = kind;
                };
                let [workshop, paper] = [Method::Workshop, Method::Paper].map(|method| {
                    most(|s| {
                        set(s);
                        s.method = method;
                    })
                });
                format!("{workshop} / {paper} / {}", most(set))
            });
            prints(include_str!("../pages/room/02_length.md"), &cells);
        }
    }
}

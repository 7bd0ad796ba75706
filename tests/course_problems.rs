//! The worked problems: each of their numbers a second time, as with pen and paper, and what their text must hold.

use crate::support::printed::{numbers, prints};

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bmax::course::problems::{self, Problem};
use bmax::link;

const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1_024.0;
const GB: f64 = 1e9;

/// Asserts that a problem has these numbers, to half a unit of the ninth digit, and no other.
fn has(id: &str, expected: &[(&str, f64)]) {
    let problem = problems::find(id).expect(id);
    let names = |numbers: &[(&str, f64)]| numbers.iter().map(|(name, _)| name.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(names(&problem.numbers), names(expected), "{id}");
    for (name, value) in expected {
        let found = problem.number(name).expect(name);
        assert!((found - value).abs() <= 1e-9 * value.abs().max(1.0), "{id}, {name}: {found} and not {value}");
    }
}

/// The workshop's activations of one sequence in GiB: 34·S·H·L·2 and 5·n·S²·L·2.
fn of_the_workshop(tokens: f64, width: f64, heads: f64, layers: f64) -> [f64; 2] {
    [34.0 * tokens * width * layers * 2.0 / GIB, 5.0 * heads * tokens * tokens * layers * 2.0 / GIB]
}

#[test]
fn the_problems_of_the_first_page_are_worked_out() {
    let usable = 0.9 * 80.0;
    let [linear, _] = of_the_workshop(2_048.0, 4_096.0, 32.0, 32.0);
    let states = 16.0 * 7e9 / 4.0;
    let left = usable - states / GIB;
    has(
        "four-gpus",
        &[
            ("states-gb", states / GB),
            ("states", states / GIB),
            ("usable", usable),
            ("left", left),
            ("sequence", linear),
            ("quotient", left / linear),
            ("fits", (left / linear).floor()),
            // The workshop's own example: 72 GiB less 13.0, over 17.0.
            ("with-eight", 3.0),
        ],
    );

    let [[short, short_scores], [long, long_scores]] =
        [1_024.0, 2_048.0].map(|tokens| of_the_workshop(tokens, 4_096.0, 32.0, 32.0));
    let left = usable - 16.0 * 7e9 / 8.0 / GIB;
    has(
        "half-the-length",
        &[
            ("long-linear", long),
            ("long-scores", long_scores),
            ("long-sequence", long + long_scores),
            ("linear", short),
            ("scores", short_scores),
            ("sequence", short + short_scores),
            ("usable", usable),
            ("left", left),
            ("quotient", left / (short + short_scores)),
            ("fits", (left / (short + short_scores)).floor()),
            ("long-fits", (left / (long + long_scores)).floor()),
        ],
    );

    // Llama 3.1 8B of the workshop: 119.2 GiB.
    let whole = 8e9 * (2.0 + 2.0 + 4.0 + 8.0) / GIB;
    has(
        "no-saving",
        &[
            ("wrong", 8e9 * (2.0 + 2.0 + 4.0) / GIB),
            ("bytes", 16.0),
            ("whole", whole),
            ("usable", usable),
            ("over", whole - usable),
            ("gpus", 2.0),
            ("share", whole / 2.0),
            ("left", usable - whole / 2.0),
        ],
    );

    // 32 sequences each: ten times 3 and 2 more are 11 steps of 3, and 16 of 2.
    has(
        "exactly-256",
        &[
            ("most", 3.0),
            ("each", 256.0 / 8.0),
            ("batch", 2.0),
            ("steps", 16.0),
            ("fewest-steps", 11.0),
            ("reached", 3.0 * 8.0 * 11.0),
            ("extra", 8.0),
        ],
    );
}

#[test]
fn the_problems_on_memory_are_worked_out() {
    // A billion weights in fp32; 66 bytes a token and number of the width (Korthikanti et al. 2022, with 4 bytes for 2).
    let [weights, moments] = [4.0, 8.0].map(|bytes| bytes * 1e9 / GIB);
    let activations = 66.0 * 2_048.0 * 2_048.0 * 24.0 / GIB;
    has(
        "second-step",
        &[
            ("room", 16.0),
            ("weights", weights),
            ("moments", moments),
            ("activations", activations),
            ("first-forward", weights + activations),
            ("update", 2.0 * weights + moments),
            ("second-forward", weights + moments + activations),
            ("over", weights + moments + activations - 16.0),
            ("all", 2.0 * weights + moments + activations),
        ],
    );
    assert!(2.0 * weights + moments < 16.0, "the first step fits");

    has(
        "counted-twice",
        &[("wrong-bytes", 20.0), ("wrong", 260.0), ("bytes", 16.0), ("right", 208.0), ("twice", 52.0)],
    );

    // Numbers with 7 bits of fraction: 2⁻⁷ apart from 1 to 2, 2⁻⁸ from a half, 2⁻⁹ from a quarter.
    let gap = |halvings: i32| 2_f64.powi(-7 - halvings);
    assert!(gap(1) / 2.0 > 0.001 && gap(2) / 2.0 < 0.001, "a thousandth counts below a half and not above");
    let problem = problems::find("lost-update").expect("it is there");
    let fp32 = problem.number("fp32").expect("it is there");
    assert!((fp32 - 2.5).abs() < 1e-3, "a thousand thousandths in fp32: {fp32}");
    has(
        "lost-update",
        &[
            ("gap-high", gap(0)),
            ("half-high", gap(0) / 2.0),
            ("stuck", 1.5),
            ("fp32", fp32),
            ("gap-low", gap(2)),
            ("half-low", gap(2) / 2.0),
            ("moved", gap(2)),
            ("half-middle", gap(1) / 2.0),
            ("edge", 0.5),
        ],
    );

    // 16 numbers and 2 masks; 2 numbers and 1 mask.
    let [linear, scores] = [34.0 * 2_048.0 * 4_096.0 * 32.0 / GIB, 5.0 * 32.0 * 2_048.0 * 2_048.0 * 32.0 / GIB];
    let [linear_fp32, scores_fp32] = [linear * 66.0 / 34.0, scores * 9.0 / 5.0];
    has(
        "not-quite-half",
        &[
            ("linear", linear),
            ("scores", scores),
            ("linear-bytes", 16.0 * 4.0 + 2.0),
            ("score-bytes", 2.0 * 4.0 + 1.0),
            ("linear-fp32", linear_fp32),
            ("scores-fp32", scores_fp32),
            ("sum", linear + scores),
            ("sum-fp32", linear_fp32 + scores_fp32),
            ("factor", (linear_fp32 + scores_fp32) / (linear + scores)),
        ],
    );
}

#[test]
fn the_problems_on_making_room_are_worked_out() {
    let crossing = |heads: f64| 34.0 * 4_096.0 / (5.0 * heads);
    let bytes = |heads: f64| 5.0 * heads * 2_048.0 / 4_096.0;
    let share = |heads: f64| 100.0 * bytes(heads) / (34.0 + bytes(heads));
    has(
        "overtake",
        &[
            ("few", crossing(32.0)),
            ("many", crossing(64.0)),
            ("few-bytes", bytes(32.0)),
            ("few-share", share(32.0)),
            ("many-bytes", bytes(64.0)),
            ("many-share", share(64.0)),
        ],
    );

    let tokens = 4_096.0 * 2.0 * 5_120.0 / GIB;
    let [all, inputs, layer] = [40.0 * 34.0 * tokens, 40.0 * 2.0 * tokens, 34.0 * tokens];
    has(
        "only-inputs",
        &[
            ("all", all),
            ("inputs", inputs),
            ("layer", layer),
            ("together", inputs + layer),
            ("inputs-saved", 100.0 * (1.0 - 2.0 / 34.0)),
            // 80 and 34 of 1,360 bytes.
            ("saved", 100.0 * (1.0 - 114.0 / 1_360.0)),
        ],
    );

    has(
        "distance",
        &[
            ("one", 48.0 + 17.0),
            ("two", 24.0 + 34.0),
            ("three", 16.0 + 51.0),
            ("four", 12.0 + 68.0),
            ("eight", 6.0 + 136.0),
            ("best", 2.0),
            ("smooth", (48.0_f64 / 17.0).sqrt()),
            ("root", 48.0 / 7.0 + 119.0),
        ],
    );

    let flops = (2.0 * 12.0 * 4_096.0 * 4_096.0 + 4.0 * 4_096.0 * 2_048.0) * 2_048.0;
    let forward = 1e3 * flops / (0.4 * 312e12);
    let [input, kept] = [2.0, 34.0].map(|bytes| bytes * 2_048.0 * 4_096.0);
    let copy = |bytes: f64| 1e3 * bytes / 31.5e9;
    has(
        "swap-or-recompute",
        &[
            ("gflop", flops / 1e9),
            ("speed", 124.8),
            ("forward", forward),
            ("input", input / 1e6),
            ("input-copy", copy(input)),
            ("times", forward / copy(input)),
            ("kept", kept / 1e6),
            ("kept-copy", copy(kept)),
            ("late", copy(kept) - forward),
        ],
    );
}

#[test]
fn the_problems_on_the_batch_are_worked_out() {
    has(
        "two-means",
        &[
            ("wrong", (4.0 + 2.0) / 2.0),
            ("tokens", 400.0),
            ("right", (400.0 + 600.0) / 400.0),
            // 1/200 and 1/600 in place of 1/400.
            ("heavy", 2.0),
            ("light", 2.0 / 3.0),
        ],
    );
    // McCandlish et al. 2018: steps 1 + B_crit/B, examples 1 + B/B_crit.
    has(
        "doubling",
        &[
            ("ratio", 4.0),
            ("steps", 5.0),
            ("doubled-steps", 3.0),
            ("saved", 40.0),
            ("examples", 1.25),
            ("doubled-examples", 1.5),
            ("more", 20.0),
        ],
    );
    has("four-times", &[("times", 4.0), ("low", 6.0), ("high", 12.0)]);
    // Data sheets: 312 and 989 TFLOP/s, 2,039 and 3,350 GB/s.
    let [a100, h100] = [312e12 / 2_039e9, 989e12 / 3_350e9];
    // The figure: 6 bytes for each of 6.577 billion weights with their biases and norms, over 6 FLOPs for each of those
    // that multiply and 12·L·H·S for attention.
    let layer = 12.0 * 4_096.0 * 4_096.0;
    let table = 32_000.0 * 4_096.0;
    let vectors = 13.0 * 4_096.0 * 32.0 + 2.0 * 4_096.0;
    let read = 6.0 * (32.0 * layer + table + vectors);
    let work = 6.0 * (32.0 * layer + table) + 12.0 * 32.0 * 4_096.0 * 2_048.0;
    has(
        "more-tokens",
        &[
            ("a100", a100),
            ("h100", h100),
            ("a100-times", 2_048.0 / a100),
            ("h100-times", 2_048.0 / h100),
            ("h100-figure", h100 * read / work),
        ],
    );
}

#[test]
fn the_problems_on_more_gpus_are_worked_out() {
    let parameters = 13e9;
    let stages = [16.0, 4.0 + 12.0 / 16.0, 2.0 + 14.0 / 16.0, 1.0].map(|bytes| bytes * parameters);
    let sequence = 34.0 * 2_048.0 * 5_120.0 * 40.0 / GIB;
    let [_, first, second, third] = stages.map(|bytes| 72.0 - bytes / GIB);
    has(
        "lowest-stage",
        &[
            ("sequence", sequence),
            ("whole-gb", stages[0] / GB),
            ("whole", stages[0] / GIB),
            ("first-gb", stages[1] / GB),
            ("first", stages[1] / GIB),
            ("first-left", first),
            ("first-fits", (first / sequence).floor()),
            ("second-gb", stages[2] / GB),
            ("second", stages[2] / GIB),
            ("second-left", second),
            ("second-fits", (second / sequence).floor()),
            ("third-gb", stages[3] / GB),
            ("third", stages[3] / GIB),
            ("third-left", third),
            ("third-fits", (third / sequence).floor()),
            ("lowest", 2.0),
        ],
    );
    // Patarasuk and Yuan 2009: 2·(D − 1)/D of the bytes.
    let sent = |gpus: f64| 2.0 * (gpus - 1.0) / gpus * 14.0;
    has(
        "ring",
        &[
            ("sent", sent(8.0)),
            ("seconds", sent(8.0) / 25.0),
            ("slow", 8.0 * 2.0 / (2.0 + sent(8.0) / 25.0)),
            ("backward", 4.0 / 3.0),
            ("fast", 8.0),
            ("many-sent", sent(64.0)),
            ("many-seconds", sent(64.0) / 25.0),
        ],
    );
    // Narayanan et al. 2021: (P − 1)/m, and at most P micro-batches in flight.
    has(
        "in-flight",
        &[
            ("few-wait", 75.0),
            ("many-wait", 18.75),
            ("few-idle", 100.0 * 3.0 / 7.0),
            ("many-idle", 100.0 * 3.0 / 19.0),
            ("kept", 4.0),
            ("chunks-wait", 9.375),
        ],
    );
}

#[test]
fn the_problems_on_other_networks_are_worked_out() {
    let first = 64.0 * 3.0 * 3.0 * 3.0 + 64.0;
    let last = 4_096.0 * 1_000.0 + 1_000.0;
    let map = 64.0 * 224.0 * 224.0 * 4.0;
    has(
        "first-and-last",
        &[
            ("first-parameters", first),
            ("first-states", 16.0 * first / KIB),
            ("first-output", map / MIB),
            ("first-batch", 32.0 * map / MIB),
            ("last-parameters", last),
            ("last-states", 16.0 * last / MIB),
            ("last-batch", 32.0 * 1_000.0 * 4.0 / KIB),
        ],
    );

    // The maps of ResNet-50 by stage (He et al. 2016, table 1): what its convolutions, norms and ReLUs keep of an image.
    let (kept, statistics) = resnet_50();
    let batch = |area: f64| (32.0 * area * kept + statistics) / GIB;
    let states = 16.0 * 25_557_032.0 / GIB;
    // The row in front of the classifier does not grow with the image.
    let row = 32.0 * 2_048.0 * 4.0 / GIB;
    let large = batch(4.0) - 3.0 * row;
    has(
        "larger-images",
        &[
            ("kept", batch(1.0)),
            ("states", states),
            ("wrong", 2.0 * (batch(1.0) + states)),
            ("large-kept", large),
            ("large-together", large + states),
        ],
    );

    let parameters = 784.0 * 4_096.0 + 4_096.0 + 4_096.0 * 4_096.0 + 4_096.0 + 4_096.0 * 10.0 + 10.0;
    has(
        "examples-and-states",
        &[
            ("parameters", parameters),
            ("states", 16.0 * parameters / MIB),
            ("example", 2.0 * 4_096.0 * 4.0 / KIB),
            ("examples", 16.0 * parameters / (2.0 * 4_096.0 * 4.0)),
        ],
    );
}

/// Bytes that ResNet-50 keeps of one image of 224 × 224 in fp32, and once: every norm keeps its input and two fp32
/// numbers a channel, every ReLU its output, the pool its indices of 8 bytes an output, the classifier its input.
fn resnet_50() -> (f64, f64) {
    let (mut elements, mut channels_with_norm) = (0.0, 0.0);
    let mut norm = |channels: f64, side: f64| {
        elements += channels * side * side;
        channels_with_norm += channels;
        channels * side * side
    };
    // The first convolution, its norm and its ReLU.
    let mut after_relu = norm(64.0, 112.0);
    let pooled = 64.0 * 56.0 * 56.0;
    after_relu += pooled;
    for (stage, (inner, outer, blocks)) in
        [(64.0, 256.0, 3), (128.0, 512.0, 4), (256.0, 1_024.0, 6), (512.0, 2_048.0, 3)].into_iter().enumerate()
    {
        let side = 56.0 / f64::from(1 << stage);
        // The stride is on the 3 × 3 convolution: the first one of a stage still has the side before it.
        let before = if stage == 0 { side } else { 2.0 * side };
        for block in 0..blocks {
            after_relu += norm(inner, if block == 0 { before } else { side });
            after_relu += norm(inner, side);
            norm(outer, side);
            if block == 0 {
                // The shortcut is projected where the shape changes.
                norm(outer, side);
            }
            // The ReLU behind the sum.
            after_relu += outer * side * side;
        }
    }
    let row = 2_048.0;
    ((elements + after_relu + row) * 4.0 + 8.0 * pooled, 2.0 * 4.0 * channels_with_norm)
}

#[test]
fn the_problems_on_the_plan_are_worked_out() {
    let [linear, scores] = of_the_workshop(1_024.0, 4_096.0, 32.0, 32.0);
    let (sequence, left) = (linear + scores, 72.0 - 16.0 * 7e9 / 4.0 / GIB);
    has(
        "halving",
        &[
            ("share", 32.0),
            ("left", left),
            ("sequence", sequence),
            ("as-it-is", 32.0 * sequence),
            ("half", 16.0 * sequence),
            ("quarter", 8.0 * sequence),
            ("eighth", 4.0 * sequence),
            ("sixteenth", 2.0 * sequence),
            ("found", 2.0),
            ("halvings", 4.0),
            ("steps", 16.0),
            ("quotient", left / sequence),
        ],
    );
    assert!(4.0 * sequence > left && 2.0 * sequence < left, "four are too many and two are not");

    // (2·N_L + 4·L·H·S) / (6·N + 12·L·H·S), N with the head of 32,000 · 4,096.
    let layers = 32.0 * 12.0 * 4_096.0 * 4_096.0;
    let attention = 4.0 * 32.0 * 4_096.0 * 2_048.0;
    let extra = (2.0 * layers + attention) / (6.0 * (layers + 32_000.0 * 4_096.0) + 3.0 * attention);
    has(
        "twelve-days",
        &[
            ("extra", 100.0 * extra),
            ("recomputed", 12.0 * (1.0 + extra)),
            ("more", 12.0 * extra),
            ("ridge", 312e12 / 2_039e9),
            ("tokens", 2_048.0),
        ],
    );

    // What is predicted is given; what follows from the two errors of 1.5 and 6 GiB is not.
    let problem = problems::find("two-runs").expect("it is there");
    let given = |name| problem.number(name).expect("it is given");
    let [one, four, left, sequence] = ["predicted-one", "predicted-four", "left", "sequence"].map(given);
    let slope = (6.0 - 1.5) / (4.0 - 1.0);
    has(
        "two-runs",
        &[
            ("predicted-one", one),
            ("measured-one", one + 1.5),
            ("predicted-four", four),
            ("measured-four", four + 6.0),
            ("error-one", 1.5),
            ("error-four", 6.0),
            ("error-slope", 4.5),
            ("left", left),
            ("sequence", sequence),
            ("predicted-fits", (left / sequence).floor()),
            ("slope", slope),
            ("fixed", 1.5 - slope),
            ("corrected-sequence", sequence + slope),
            ("corrected", left / (sequence + slope)),
            ("fits", (left / (sequence + slope)).floor()),
            ("one-left", left - 1.5),
            ("one-fits", ((left - 1.5) / sequence).floor()),
        ],
    );
    assert!(given("one-fits") > given("fits"), "one run alone says too much");
}

/// The text of every problem, by its id: from its heading to the next one.
fn texts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pages");
    for page in fs::read_dir(pages).expect("the pages") {
        for file in fs::read_dir(page.expect("a page").path()).expect("its files") {
            let text = fs::read_to_string(file.expect("a file").path()).expect("text");
            for part in format!("\n{text}").split("\n### ").skip(1) {
                let Some((_, rest)) = part.split_once("{#problem-") else { continue };
                let (id, text) = rest.split_once('}').expect("the end of an id");
                // TeX writes the comma between thousands in braces.
                found.push((id.to_owned(), text.replace("{,}", ",")));
            }
        }
    }
    found
}

/// A text without what the build fills in and without the numbers of its lists, and the names of what is filled in.
fn parted(text: &str) -> (String, Vec<&str>) {
    let mut parts = text.split("{{");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for part in parts {
        let (name, after) = part.split_once("}}").expect("it is closed");
        names.push(name.split(' ').next().unwrap_or_default());
        rest += "x ";
        rest += after;
    }
    let unlisted =
        |line: &str| line.trim_start_matches(|sign: char| sign.is_ascii_digit()).trim_start_matches(". ").to_owned();
    let is_entry = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    let lines = rest.lines().map(|line| if is_entry(line) { unlisted(line) } else { line.to_owned() });
    (lines.collect::<Vec<_>>().join("\n"), names)
}

#[test]
fn every_problem_stands_on_one_page_with_an_answer_and_a_link_to_its_configuration() {
    let texts = texts();
    let ids: BTreeSet<&str> = texts.iter().map(|(id, _)| id.as_str()).collect();
    let all = problems::all();
    assert_eq!((texts.len(), ids), (25, all.iter().map(|problem| problem.id).collect()));
    for (id, text) in &texts {
        assert_eq!(text.matches("\n#### Answer\n").count(), 1, "{id}");
        let (question, answer) = text.split_once("\n#### Answer\n").expect("just counted");
        assert!(question.contains('?'), "{id} asks something");
        assert_eq!(answer.matches("[Open this configuration](?{{configuration}}#").count(), 1, "{id}");
        assert!(answer.contains("**"), "{id} marks its result");
        assert!(answer.split_whitespace().count() < 150, "{id} is answered shortly");
    }
}

#[test]
fn every_number_of_a_problem_is_the_library_s_or_given() {
    let mut strangers = Vec::new();
    for (id, text) in texts() {
        let problem = problems::find(&id).expect("it is listed");
        let (rest, names) = parted(&text);
        for (name, _) in &problem.numbers {
            assert!(names.contains(name), "{id}: nobody prints {name}");
        }
        let known = |printed: f64, places: u32| {
            let values = problem.given.iter().chain(problem.numbers.iter().map(|(_, value)| value));
            values.into_iter().any(|value| prints(printed, places, *value))
        };
        for (printed, places, unit) in numbers(&rest) {
            if !known(printed, places) {
                strangers.push(format!("{id}: {printed} {unit}"));
            }
        }
    }
    assert_eq!(strangers, Vec::<String>::new());
}

#[test]
fn the_link_of_every_problem_opens_its_configuration_and_nothing_is_wrong_with_it() {
    for Problem { id, scenario, .. } in problems::all() {
        let query = link::encode(&scenario);
        let read = link::decode(&query);
        assert_eq!((read.scenario, read.notices), (scenario, vec![]), "{id}: {query}");
    }
}

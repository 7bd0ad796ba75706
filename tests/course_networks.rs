//! Dense and convolutional networks: published counts, the lecture's and the article's formulas with their
//! numbers, and PyTorch's own count of what is kept.

use bmax::course::formats::Regime;
use bmax::course::networks::{Element, Kind, Layer, Network, Setup, presets};
use bmax::{Bytes, GradientType, Optimizer, Precision, StepKernel};
use proptest::prelude::*;
use serde_json::Value;

fn setup(element: Element, optimizer: Optimizer) -> Setup {
    let regime = Regime::of(Precision::Fp32, GradientType::Half);
    Setup { regime, element, optimizer, step: StepKernel::Loop, averages: false, frozen: false }
}

fn single() -> Setup {
    setup(Element::Single, Optimizer::AdamW)
}

/// Networks of the vectors by their name there.
fn network(name: &str) -> Network {
    let text = match name {
        "resnet-50" => presets::RESNET_50.to_owned(),
        "vgg-16" => presets::VGG_16.to_owned(),
        "dense" => presets::DENSE.to_owned(),
        "equal-layers" => presets::EQUAL_LAYERS.to_owned(),
        "vgg-16-bn" => presets::VGG_16.replace("pad 1 relu", "pad 1 norm relu"),
        "resnet-18" => "input 3 224 224\nconv 64 7x7 /2 pad 3 nobias norm relu\npool max 3x3 /2 pad 1\n\
            basic 64 x2\nbasic 128 /2\nbasic 128\nbasic 256 /2\nbasic 256\nbasic 512 /2\nbasic 512\n\
            pool global\nflatten\ndense 1000"
            .to_owned(),
        "resnext-50" => {
            let block = |inner: u32, outer: u32, stride: u32| {
                format!(
                    "residual\nconv {inner} 1x1 nobias norm relu\n\
                    conv {inner} 3x3 /{stride} pad 1 groups 32 nobias norm relu\n\
                    conv {outer} 1x1 nobias norm\nadd relu\n"
                )
            };
            let mut text = "input 3 224 224\nconv 64 7x7 /2 pad 3 nobias norm relu\nmax 3x3 /2 pad 1\n".to_owned();
            for (inner, times, stride) in [(128, 3, 1), (256, 4, 2), (512, 6, 2), (1024, 3, 2)] {
                text += &block(inner, 2 * inner, stride);
                text += &block(inner, 2 * inner, 1).repeat(times - 1);
            }
            text + "global flatten\ndense 1000"
        }
        _ => panic!("no network {name}"),
    };
    let network = Network::read(&text);
    assert_eq!(network.troubles, [], "{name}");
    network
}

#[test]
fn parameter_counts_are_the_published_ones() {
    // torchvision's own, in the metadata of its weights.
    for (name, parameters) in [
        ("resnet-50", 25_557_032.0),
        ("vgg-16", 138_357_544.0),
        ("resnet-18", 11_689_512.0),
        ("vgg-16-bn", 138_365_992.0),
        ("resnext-50", 25_028_904.0),
    ] {
        assert_eq!(network(name).parameters(), parameters, "{name}");
    }
    assert_eq!(network("dense").parameters(), 784.0 * 4096.0 + 4096.0 + 4096.0 * 4096.0 + 4096.0 + 40_960.0 + 10.0);
}

#[test]
fn the_work_of_a_forward_pass_is_the_published_one() {
    // 10⁹ multiplications of one image, torchvision's `_ops`.
    for (name, published) in [("resnet-50", 4.089), ("vgg-16", 15.47), ("resnet-18", 1.814), ("resnext-50", 4.23)] {
        let work = network(name).work() / 1e9;
        assert!((work - published).abs() < 0.006, "{name}: {work} against {published}");
    }
}

#[test]
fn shapes_are_those_of_the_paper() {
    // He et al. 2016, table 1: output size of each stage of ResNet-50.
    let network = network("resnet-50");
    let sides: Vec<f64> = network.layers.iter().map(|layer| layer.output.height).collect();
    for side in [112.0, 56.0, 28.0, 14.0, 7.0] {
        assert!(sides.contains(&side), "{side}");
    }
    let last = network.layers.last().expect("layers");
    assert_eq!((last.output.channels, last.output.height), (1000.0, 1.0));
    assert_eq!(network.layers.iter().filter(|layer| layer.kind == Kind::Conv).count(), 53);
}

#[test]
fn what_is_kept_and_the_peak_are_pytorch_s() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("vectors/networks.json")).expect("rows");
    assert!(rows.len() > 100);
    let mut worst: f64 = 0.0;
    for row in &rows {
        let name = row["network"].as_str().expect("a name");
        let network = network(name);
        assert_eq!(network.parameters(), row["parameters"].as_f64().expect("a count"), "{name}");
        let batch = row["batch"].as_f64().expect("a batch");
        let element = if row["autocast"] == true { Element::Cast } else { Element::Single };
        let optimizer = if row["optimizer"] == "adamw" { Optimizer::AdamW } else { Optimizer::Momentum };
        let setup = setup(element, optimizer);
        if let Some(saved) = row["saved"].as_f64() {
            // Under autocast the 16-bit copies of matrices and of the input are kept as well.
            let of_input = if element == Element::Cast { 2.0 * batch * network.input.elements() } else { 0.0 };
            let copies = network.copies(&setup).get() + of_input;
            let counted = network.need(&setup, usize::MAX, batch).kept.get() + copies;
            assert_eq!(counted, saved, "{row}");
        }
        if let Some(peak) = row["peak"].as_f64() {
            let every = row["every"].as_u64().map_or(usize::MAX, |every| every as usize);
            let counted = network.need(&setup, every, batch).peak.get();
            let off = (counted - peak) / peak;
            worst = worst.max(off.abs());
        }
    }
    assert!(worst < 0.005, "off by {worst}");
}

#[test]
fn the_article_s_sums_hold_for_its_equal_layers() {
    // B·L·H·4 bytes of activations, B·D·4 of data, N·4 of weights and 2·N·4 of Adam: for L = 12, H = 1024 and
    // B = 64 these are 3 MiB, 256 KiB (and a class of 8 bytes for each example), and N = 12·(1024² + 1024).
    let network = network("equal-layers");
    let need = network.need(&single(), usize::MAX, 64.0);
    let parameters = 12.0 * (1024.0 * 1024.0 + 1024.0);
    assert_eq!(network.parameters(), parameters);
    assert_eq!(network.outputs(), 12.0 * 1024.0);
    assert_eq!(need.kept.get(), 64.0 * 12.0 * 1024.0 * 4.0);
    assert_eq!(need.data.get(), 64.0 * (1024.0 * 4.0 + 8.0));
    assert_eq!(need.weights.get(), parameters * 4.0);
    assert_eq!(need.optimizer.get(), 2.0 * parameters * 4.0);
    // Its sum leaves the gradients out, as many bytes as the weights.
    assert_eq!(need.gradients, need.weights);
}

#[test]
fn the_lecture_s_sizes_are_those_of_outputs() {
    // bs·nc·w·h·sizeof of a convolution: 64 channels of 112 × 112, 32 images, fp16.
    let conv = &network("resnet-50").layers[0];
    assert_eq!(32.0 * conv.output.elements() * 2.0, 32.0 * 64.0 * 112.0 * 112.0 * 2.0);
    // bs·m·p·sizeof of X [bs, m, n] · W [n, p]: what comes out; what is kept is X, bs·m·n.
    let rows = Network::read(presets::ROWS);
    assert_eq!(rows.layers[0].output.elements(), 512.0 * 4096.0);
    assert_eq!(rows.layers[0].input.elements(), 512.0 * 1024.0);
    assert_eq!(rows.parameters(), 1024.0 * 4096.0 + 4096.0);
    assert_eq!(rows.kept(&single()), [0.0], "the input is counted as data");
}

#[test]
fn early_layers_hold_the_activations_and_late_ones_the_weights() {
    let network = network("vgg-16");
    let kept = network.kept(&single());
    let to_second_pool = network.layers.iter().position(|layer| layer.output.channels > 128.0).expect("a wide layer");
    let early: f64 = kept[..to_second_pool].iter().sum::<f64>() / kept.iter().sum::<f64>();
    assert!(early > 0.65, "{early}");
    let dense: f64 = network.layers.iter().filter(|layer| layer.kind == Kind::Dense).map(Layer::parameters).sum();
    assert!(dense / network.parameters() > 0.89);
}

#[test]
fn halving_the_numbers_halves_activations_and_not_states() {
    let network = network("resnet-50");
    let full = network.need(&single(), usize::MAX, 64.0);
    let cast = network.need(&setup(Element::Cast, Optimizer::AdamW), usize::MAX, 64.0);
    assert_eq!(full.weights, cast.weights);
    assert_eq!(full.optimizer, cast.optimizer);
    // Not quite half: the indices of the pool stay int64.
    assert!((0.5..0.52).contains(&(cast.kept.get() / full.kept.get())));
}

#[test]
fn segments_of_a_root_keep_twice_a_root_of_equal_layers() {
    let network = network("equal-layers");
    let each = 1024.0 * 4.0;
    let kept = |every| network.need(&single(), every, 1.0).kept_at_once.get() / each;
    assert_eq!(kept(usize::MAX), 12.0);
    // N/K inputs but the first, which is data, and K layers of one segment.
    for (every, expected) in [(1, 12.0), (2, 7.0), (3, 6.0), (4, 6.0), (6, 7.0), (12, 12.0)] {
        assert_eq!(kept(every), expected, "K = {every}");
    }
    assert_eq!(network.need(&single(), 3, 1.0).again, 0.75);
    assert_eq!(network.need(&single(), usize::MAX, 1.0).again, 0.0);
}

#[test]
fn the_largest_batch_is_where_the_peak_passes_the_device() {
    let usable = Bytes::from_gib(16.0);
    for name in ["resnet-50", "vgg-16", "dense", "equal-layers"] {
        let network = network(name);
        for every in [1, 4, usize::MAX] {
            let fit = network.fit(&single(), every, usable);
            let batch = fit.batch.expect("it fits");
            assert!(network.need(&single(), every, batch).peak <= usable);
            let next = network.need(&single(), every, batch + 1.0);
            assert!(next.peak > usable, "{name}");
        }
    }
    assert_eq!(network("vgg-16").fit(&single(), 1, Bytes::from_gib(1.0)).batch, None);
}

#[test]
fn a_line_that_cannot_be_read_is_named_and_the_others_stay() {
    let says = |text: &str| {
        let network = Network::read(text);
        (
            network.troubles.first().map(bmax::course::networks::LayerError::message).unwrap_or_default(),
            network.layers.len(),
        )
    };
    let image = "input 3 32 32\n";
    for (line, message) in [
        ("conv 64 9x9 /0", "Line 2, stride “0”: write a whole number from 1 to 1,000."),
        ("conv", "Line 2, channels “”: write a whole number from 1 to 1,000,000."),
        ("conv 64 40x3", "Line 2, kernel “40”: write a whole number from 1 to 32."),
        ("max 2x2 pad 2", "Line 2, padding “2”: write a whole number from 0 to 1."),
        ("conv 64 3x3 pad", "Line 2, padding “”: write a whole number from 0 to 1,000."),
        ("convolution 64", "Line 2, word “convolution”: a line begins with a layer."),
        ("relu 5", "Line 2, word “5”: the list knows no such word here."),
        ("dense 10", "Line 2, word “dense”: its input is an image: write flatten before it."),
        ("conv 64 groups 2", "Line 2, groups “2”: they must divide the channels before and after."),
        ("add", "Line 2, word “add”: there is no residual before it."),
        ("residual", "Line 3, word “residual”: no add follows it."),
        ("relu x5000", "Line 2, repetitions “5000”: write a whole number from 1 to 1,000."),
        ("conv 8 3x3 x20", "Line 2, kernel “3”: write a whole number from 1 to 2."),
        ("conv 8 3x3x3x3", "Line 2, kernel “3x3x3x3”: write at most three sides."),
        ("concat skip", "Line 2, name “skip”: no line before it gives an output this name."),
        ("max 2x2 /2 -> half concat half add half", "Line 2, word “add”: there is no residual before it."),
        ("-> a max 2x2 /2 concat a", "Line 2, word “concat”: the two differ in height or width."),
        ("-> 1", "Line 2, name “1”: a name begins with a letter."),
        ("groupnorm 2", "Line 2, groups “2”: they must divide the channels."),
        ("attention 2", "Line 2, word “attention”: its input is an image: write rows or flatten before it."),
        ("rows attention 2", "Line 2, heads “2”: they must divide the features."),
        ("rows cross 3", "Line 2, word “cross”: there is no line with context before it."),
        ("resblock 64", "Line 2, groups “32”: they must divide the channels."),
        ("patch 64 8", "Line 2, patch size “64”: write a whole number from 1 to 32."),
        ("rows joint 3", "Line 2, name “text”: no line before it gives an output this name."),
    ] {
        let (said, layers) = says(&(image.to_owned() + line + "\nglobal"));
        assert_eq!(said, message);
        assert_eq!(layers, 1, "the pool after “{line}” stays");
    }
    assert_eq!(says("input 784\nconv 3").0, "Line 2, word “conv”: it needs an image: channels, height and width.");
    assert_eq!(says(&"relu x999\n".repeat(11)).0, "Line 11, word “relu”: this line makes more than 10,000 layers.");
    assert_eq!(says("").1, 0);
}

/// What is repeated without making a layer, or is undone again and again, is work all the same.
#[test]
fn a_text_that_repeats_too_many_words_or_names_is_read_as_far_as_it_goes() {
    let said = |text: &str| Network::read(text).troubles.first().map(ToString::to_string).unwrap_or_default();
    let names = "relu\n".to_owned() + &"-> a x999\n".repeat(2);
    assert_eq!(said(&names), "Line 3, name “a”: there are too many names.");
    let words = "relu -> a\n".to_owned() + &"from a x1000\n".repeat(41);
    assert_eq!(said(&"relu ".repeat(201)), "Line 1, word “relu relu relu relu ”: a line has 1,000 letters at most.");
    assert_eq!(said(&words), "Line 41, word “from”: the lines up to here repeat more than 40,000 words.");
}

#[test]
fn a_line_left_out_leaves_no_trace() {
    // The convolution would have needed the ReLU's input; the third repetition does not fit.
    let with = Network::read("input 3 8 8\nconv 4\nconv 4 3x3 x4\nglobal");
    let without = Network::read("input 3 8 8\nconv 4\n\nglobal");
    assert_eq!(with.layers, without.layers);
    assert_eq!(with.troubles.len(), 1);
}

proptest! {
    #[test]
    fn any_text_gives_finite_numbers(text in "\\PC{0,200}") {
        sound(&text)?;
    }

    #[test]
    fn any_list_of_known_words_gives_finite_numbers(
        words in prop::collection::vec(prop::sample::select(vec![
            "input 3 64 64", "input 1000000 1000000 1000000", "input 9", "conv 8 3x3", "conv 1000000 1000x1000 pad 1000",
            "conv 6 /2 groups 3", "norm", "relu x3", "pool max 2x2 /2", "pool avg 3x3 pad 1", "pool global", "flatten",
            "dense 1000000", "dense 7 nobias x2", "dropout", "residual", "add", "add relu", "block 8 16 /2", "block 8 16 x1000",
            "basic 8", "gelu", "input 3 8 64 64", "conv 8 3x3x3 /1x2x2 same", "deconv 4 2x2 /2", "upsample", "upsample 1000000 x9",
            "groupnorm 4", "instancenorm leaky", "patch 4 32", "token position", "position 64", "rows", "image", "unpatch 2",
            "attention 4", "attention 2 separate", "context 7 16", "cross 2", "mlp 64", "geglu 64", "swiglu 9", "layernorm plain",
            "time 8 16", "time 8 16 4", "shift", "resblock 32", "transformer 4 2 linear", "transformer 4", "joint 4", "joint 4 last x3",
            "adanorm", "first", "-> text", "-> skip", "-> skip x9", "concat skip", "add skip", "from skip", "from context",
            "unit 8 3x3 /2", "csp 8 2 shortcut", "pyramid 8", "half", "copy", "join", "divide", "crossentropy", "mse",
            "frozen 1000000000 7", "x", "/", "# remark", "0x0", "-1", "NaN",
        ]), 0..20),
        every in 0_usize..40,
        batch in 1.0_f64..1e6,
    ) {
        let network = sound(&words.join("\n"))?;
        for optimizer in [Optimizer::AdamW, Optimizer::Adafactor, Optimizer::Adam8bit, Optimizer::Muon] {
            let need = network.need(&setup(Element::Cast, optimizer), every, batch);
            prop_assert!(need.peak.get().is_finite() && need.peak.get() >= 0.0);
            prop_assert!((0.0..=1.0).contains(&need.again));
            // What is kept at once under recomputation is never more than without, and the segments' inputs.
            prop_assert!(network.need(&setup(Element::Cast, optimizer), usize::MAX, batch).again == 0.0);
        }
        prop_assert!(network.fit(&single(), every, Bytes::from_gib(80.0)).batch.is_none_or(|batch| batch >= 1.0));
    }
}

fn sound(text: &str) -> Result<Network, TestCaseError> {
    let network = Network::read(text);
    prop_assert!(network.parameters().is_finite() && network.work().is_finite());
    for layer in &network.layers {
        prop_assert!(layer.output.elements() >= 1.0 && layer.output.elements().is_finite());
    }
    for trouble in &network.troubles {
        prop_assert!(trouble.message().starts_with("Line "));
    }
    Ok(network)
}

#[test]
fn the_page_prints_what_is_counted() {
    let texts = [
        include_str!("../src/pages/networks/04_vgg.md"),
        include_str!("../src/pages/networks/05_images.md"),
        include_str!("../src/pages/networks/05_segments.md"),
    ];
    let page = texts.concat().split_whitespace().collect::<Vec<_>>().join(" ");
    let prints = |number: f64, places: u32, unit: &str| {
        let text = bmax::number::fixed(number, places) + unit;
        assert!(page.contains(&text), "the page should print {text}");
    };
    let (vgg, resnet) = (network("vgg-16"), network("resnet-50"));
    for network in [&vgg, &resnet] {
        prints(network.need(&single(), usize::MAX, 32.0).kept.gib(), 2, " GiB");
        prints(network.parameters() * 16.0 / 1_073_741_824.0, 2, " GiB");
    }
    for (network, every, unit) in [
        (&vgg, 5, " of 2.17 GiB"),
        (&vgg, 2, " GiB"),
        (&vgg, 1, " again"),
        (&resnet, 2, " of 2.54"),
        (&resnet, 4, " with"),
    ] {
        prints(network.need(&single(), every, 32.0).kept_at_once.gib(), 2, unit);
    }
    assert_eq!([vgg.units(), resnet.units()], [22, 20]);
    prints(network("dense").parameters() * 16.0 / 1_048_576.0, 0, " MiB");
    let half =
        Setup { regime: Regime::of(Precision::PureBf16, GradientType::Half), ..setup(Element::Half, Optimizer::AdamW) };
    let cast = setup(Element::Cast, Optimizer::AdamW);
    let keeps = |text: &str, factor, patch, setup: &Setup| {
        Network::sized(text, factor, patch).need(setup, usize::MAX, 1.0).kept.gib()
    };
    for (factor, unit) in
        [(0.5, " GiB for an image of 512"), (1.0, " GiB for one of 1,024"), (2.0, " GiB for one of 2,048")]
    {
        prints(keeps(presets::SDXL, factor, None, &half), 2, unit);
    }
    prints(keeps(presets::SDXL, 1.0, None, &cast), 2, " GiB for an image of 1,024");
    prints(keeps(presets::VIT_B_16, 1.0, None, &cast), 2, " GiB for an image, and");
    prints(keeps(presets::VIT_B_16, 1.0, Some(8.0), &cast), 2, " GiB with patches of 8");
    prints(keeps(presets::NNUNET, 1.0, None, &single()), 2, " GiB, and one of 64");
    prints(keeps(presets::NNUNET, 0.5, None, &single()), 2, " GiB.");
}

/// Networks of blocks by their name in the vectors.
fn blocks(name: &str, with_loss: bool) -> Network {
    let mut text = match name {
        "vit-b-16" => presets::VIT_B_16.to_owned(),
        "vit-b-16-384" => presets::VIT_B_16.replace("224 224", "384 384"),
        "vit-b-32" => presets::VIT_B_16.replace("patch 16", "patch 32"),
        "vit-l-16" => presets::VIT_L_16.to_owned(),
        "sd-1.5" => presets::SD_15.to_owned(),
        "sd-1.5-768" => presets::SD_15.replace("64 64 /8", "96 96 /8"),
        "sdxl" => presets::SDXL.to_owned(),
        "sdxl-512" => presets::SDXL.replace("128 128 /8", "64 64 /8"),
        "sd3-medium" => presets::SD3.to_owned(),
        "sd3-medium-512" => presets::SD3.replace("128 128 /8", "64 64 /8"),
        "nnunet-3d" => presets::NNUNET.to_owned(),
        "nnunet-3d-flat" => presets::NNUNET
            .replace(
                "input 1 128 128 128\nconv 32 3x3x3 pad 1 instancenorm leaky x2",
                "input 1 32 192 160\nconv 32 1x3x3 pad 0x1x1 instancenorm leaky x2",
            )
            .replace("conv 64 3x3x3 /2", "conv 64 3x3x3 /1x2x2")
            .replace(
                "deconv 32 2x2x2 /2 concat skip\nconv 32 3x3x3 pad 1",
                "deconv 32 1x2x2 /1x2x2 concat skip\nconv 32 1x3x3 same",
            ),
        "yolov8m" => presets::YOLO.to_owned(),
        "yolov8m-320" => presets::YOLO.replace("640 640", "320 320"),
        _ => panic!("no network {name}"),
    };
    if !with_loss {
        text = text.replace(" mse", "").replace(" crossentropy", "");
    }
    let network = Network::read(&text);
    assert_eq!(network.troubles, [], "{name}");
    network
}

#[test]
fn blocks_keep_what_pytorch_keeps_and_peak_where_it_does() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("vectors/networks_blocks.json")).expect("rows");
    assert!(rows.len() > 40, "{}", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let name = row["network"].as_str().expect("a name");
        // What is kept is measured before the loss.
        let network = blocks(name, row["saved"].is_null());
        assert_eq!(Some(network.parameters()), row["parameters"].as_f64(), "{name}");
        let batch = row["batch"].as_f64().expect("a batch");
        let (precision, element) = match row["precision"].as_str() {
            Some("autocast") => (Precision::Fp32, Element::Cast),
            Some("bf16") => (Precision::PureBf16, Element::Half),
            _ => (Precision::Fp32, Element::Single),
        };
        let optimizer = if row["optimizer"] == "momentum" { Optimizer::Momentum } else { Optimizer::AdamW };
        let setup = Setup { regime: Regime::of(precision, GradientType::Half), ..setup(element, optimizer) };
        let need = network.need(&setup, usize::MAX, batch);
        if let Some(saved) = row["saved"].as_f64() {
            let of_input = if element == Element::Cast { 2.0 * batch * network.input.elements() } else { 0.0 };
            let counted = need.kept.get() + network.copies(&setup).get() + of_input;
            if counted != saved {
                wrong.push(format!("{row}: {counted}, {} more", counted - saved));
            }
        }
        if let Some(peak) = row["peak"].as_f64() {
            let off = (need.peak.get() - peak) / peak;
            if off.abs() > 0.006 {
                wrong.push(format!("{row}: {}, off by {off}", need.peak.get()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

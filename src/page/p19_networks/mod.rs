//! Beyond transformers: layer lists.

use bmax::Bytes;
use bmax::course::networks::{Element, Instant, Kind, Network, Setup, Shape, room};
use bmax::number;

use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, State, format, mount_pressed};

/// Layers that the table shows.
const SHOWN: usize = 300;

/// What stands in for a batch that cannot be read.
const EXAMPLES: f64 = 32.0;

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_pressed("network", state, draw, |live, list| live.set("layers", list));
}

/// Writes a count.
#[inline(never)]
fn count(live: &Live, name: &str, value: f64) {
    live.text(name, &number::grouped(value));
}

/// Writes a size.
#[inline(never)]
fn memory(live: &Live, name: &str, bytes: Bytes) {
    live.text(name, &format::memory(bytes));
}

fn draw(live: &Live) {
    let network = Network::read(&live.word("layers"));
    let (setup, room) = live.facts(|facts| (Setup::of(&facts.scenario), room(&facts.scenario)));
    let trouble = network.troubles.first();
    live.text("trouble", &trouble.map(|trouble| trouble.message()).unwrap_or_default());
    live.show("left-out", trouble.is_some());

    let typed = live.number("batch");
    let is_count = typed.fract() == 0.0 && (1.0..=1e6).contains(&typed);
    let batch = if is_count { typed } else { EXAMPLES };
    live.class("batch-help", "field-error", !is_count);
    live.control_attr("batch", "aria-invalid", if is_count { "false" } else { "true" });

    let units = network.units();
    live.set_range("every", 1.0, (units as f64).max(2.0));
    let every = match live.word("policy").as_str() {
        "root" => network.root_of_units(),
        "every" => live.number("every").max(1.0) as usize,
        _ => units.max(1),
    };
    live.set_number("every", every as f64);
    let need = network.need(&setup, every, batch);
    let fit = network.fit(&setup, every, room);
    count(live, "every", every as f64);
    count(live, "parameters", network.parameters());
    live.text("fit", &fit.batch.map_or_else(|| "none fits".to_owned(), number::grouped));
    memory(live, "room", room);
    count(live, "examples", batch);
    memory(live, "peak", need.peak);
    if let Instant::Backward(layer) = need.instant {
        count(live, "instant", layer as f64 + 1.0);
    }
    live.show("at-step", need.instant == Instant::Step);
    live.show("at-layer", need.instant != Instant::Step);

    let fp32 = Bytes::new(4.0 * network.parameters());
    let outputs = Bytes::new(4.0 * batch * network.outputs());
    let data = Bytes::new(4.0 * batch * network.input.elements());
    let sums = [fp32, fp32, fp32 + fp32, outputs, data];
    let own = [need.weights, need.gradients, need.optimizer, need.kept, need.data];
    for (row, (sum, own)) in ["0", "1", "2", "3", "4"].into_iter().zip(sums.into_iter().zip(own)) {
        memory(live, &("sum-".to_owned() + row), sum);
        memory(live, &("own-".to_owned() + row), own);
    }
    count(live, "units", units as f64);
    count(live, "segments", units.div_ceil(every.max(1)) as f64);
    memory(live, "kept", need.kept_at_once);
    memory(live, "all", need.kept);
    live.text("again", &format::percent(need.again));

    let layers = network.layers.len();
    live.set_range("at", 1.0, (layers as f64).max(2.0));
    let at = live.number("at").clamp(1.0, (layers as f64).max(1.0));
    let element = if setup.element == Element::Single { 4.0 } else { 2.0 };
    // A first point, so that a list without layers is a drawing without bars.
    let (mut kept, mut output, mut weights) = (vec![(0.0, 0.0, 0.0)], Vec::new(), vec![(0.0, 0.0, 0.0)]);
    let mut rows = Vec::new();
    for (position, layer) in network.layers.iter().enumerate() {
        let from = position as f64;
        let keeps = Bytes::new(network.kept_by(layer, &setup).get() * batch + layer.once);
        let makes = Bytes::new(layer.output.elements() * element * batch);
        for x in [from, from + 1.0] {
            kept.push((x, 0.0, keeps.mib()));
            output.push((x, makes.mib()));
            weights.push((x, 0.0, layer.parameters()));
        }
        let cells = || {
            vec![
                [&number::grouped(from + 1.0), " ", name(layer.kind)].concat(),
                number::grouped(layer.line as f64),
                shape(layer.output),
                number::grouped(layer.parameters()),
                format::memory(makes),
                format::memory(keeps),
            ]
        };
        if from + 1.0 == at {
            let cells = cells();
            let read = [
                "Layer ",
                &cells[0],
                ", line ",
                &cells[1],
                ": hands on ",
                &cells[2],
                " for each example, ",
                &cells[4],
                " together, of which ",
                &cells[5],
                " are kept; ",
                &cells[3],
                " parameters.",
            ]
            .concat();
            live.text("layer", &read);
            live.control_attr("at", "aria-valuetext", &read);
        }
        if position < SHOWN {
            rows.push(cells());
        }
    }
    live.rows("layers", rows);
    let plot = |name, label, series: Vec<Series>, top: f64| {
        let plot = Plot {
            x: Axis::linear(0.0, layers as f64, "layers, in order"),
            y: Axis::linear(0.0, top, label),
            series,
            marks: vec![Mark::at(at - 0.5, "mark-soft")],
        };
        live.plot(name, &plot);
    };
    let highest = |points: &[(f64, f64, f64)]| points.iter().fold(0.0, |top: f64, point| top.max(point.2));
    let top = output.iter().fold(highest(&kept), |top, point| top.max(point.1));
    let series = vec![Series::band("bucket-activations", kept), Series::line("series-3 is-dashed", output)];
    plot("kept", "MiB", series, top * 1.05);
    let top = highest(&weights);
    plot("weights", "parameters", vec![Series::band("bucket-parameters", weights)], top * 1.05);
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Conv => "convolution",
        Kind::Dense => "dense",
        Kind::Norm => "batch norm",
        Kind::Relu => "ReLU",
        Kind::Gelu => "GELU",
        Kind::MaxPool => "max pool",
        Kind::AvgPool => "average pool",
        Kind::GlobalPool => "global mean",
        Kind::Flatten => "flatten",
        Kind::Dropout => "dropout",
        Kind::Add => "add",
    }
}

fn shape(shape: Shape) -> String {
    let [channels, height, width] = [shape.channels, shape.height, shape.width].map(number::grouped);
    if shape.height * shape.width == 1.0 { channels } else { [&channels, " × ", &height, " × ", &width].concat() }
}

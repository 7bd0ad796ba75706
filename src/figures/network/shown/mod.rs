//! What the figure shows: a network of the reader's own, what its layers keep and how large a batch fits.

mod parts;
mod sizes;

use bmax::course::networks::{Again, Element, Instant, Need, Network, Setup, room};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Bucket, Bytes, Scenario, number};

use crate::site::format;
use parts::{Part, parts, shape};
use sizes::{Size, size_cells, sizes};

/// Layers that the table shows.
const SHOWN: usize = 300;

/// Bytes of an fp32 number, in which the four sums count.
const SINGLE: f64 = 4.0;

/// Which parts of the network are computed again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// None.
    Nothing,
    /// Segments of √L pieces.
    Root,
    /// Segments of as many pieces as the reader wants.
    Every,
}

impl Policy {
    /// What a link says of it, with the number of pieces that the reader wants.
    pub fn again(self, every: f64) -> Again {
        match self {
            Self::Nothing => Again::Nothing,
            Self::Root => Again::Root,
            Self::Every => Again::Every(every),
        }
    }

    /// The same back.
    pub fn of(again: Again) -> (Self, f64) {
        match again {
            Again::Nothing => (Self::Nothing, 1.0),
            Again::Root => (Self::Root, 1.0),
            Again::Every(every) => (Self::Every, every),
        }
    }
}

/// What the figure asks beside the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The list of layers.
    pub text: String,
    /// Which parts are computed again.
    pub policy: Policy,
    /// Pieces of a segment, where the reader wants a number of them.
    pub every: f64,
    /// Examples at once.
    pub batch: f64,
    /// Whether the frozen networks of the list are in memory.
    pub frozen: bool,
    /// Whether an average of the weights is.
    pub averages: bool,
}

/// What is counted, which does not depend on the layer that is read off.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    parts: Vec<Part>,
    setup: Setup,
    batch: f64,
    sizes: Vec<Size>,
    patch: Option<f64>,
    side: f64,
    /// The sizes, as the rows of their table.
    pub size_rows: Vec<Vec<String>>,
    /// What is wrong with the first line that cannot be read.
    pub trouble: Option<String>,
    /// Pieces of a segment.
    pub every: f64,
    /// The same as a text.
    pub every_text: String,
    /// Both ends of the slider that sets them.
    pub every_ends: (f64, f64),
    /// Its parameters.
    pub parameters: String,
    /// The largest batch that fits.
    pub fit: String,
    /// The noun behind the largest batch, empty where none fits.
    pub unit: &'static str,
    /// What the tensors may take.
    pub room: String,
    /// Examples at once.
    pub examples: String,
    /// What the step needs at its highest.
    pub peak: String,
    /// When that is.
    pub moment: String,
    /// The four sums and what is counted, for each of [`PARTS`].
    pub sums: [[String; 2]; PARTS.len()],
    /// Pieces that recomputation tells apart.
    pub units: String,
    /// Segments of them.
    pub segments: String,
    /// What is kept at once.
    pub kept: String,
    /// What is kept without recomputation.
    pub all: String,
    /// Which part of the forward pass is done twice.
    pub again: String,
    /// The layers, as the rows of the table.
    pub rows: Vec<Vec<String>>,
}

/// The parts that are summed up.
pub const PARTS: [(Bucket, &str); 5] = [
    (Bucket::Parameters, "Model"),
    (Bucket::Gradients, "Gradients"),
    (Bucket::Optimizer, "Optimizer"),
    (Bucket::Activations, "Activations"),
    (Bucket::Batch, "Batch data"),
];

impl Counted {
    /// What a list needs in the precision and with the optimizer of a scenario, on its device.
    pub fn of(scenario: &Scenario, asked: &Asked) -> Self {
        let network = Network::read(&asked.text);
        let setup = Setup { frozen: asked.frozen, averages: asked.averages, ..Setup::of(scenario) };
        let room = room(scenario);
        let units = network.units();
        let most = (units as f64).max(2.0);
        let again = asked.policy.again(asked.every);
        let every = again.pieces(&network);
        let need = network.need(&setup, every, asked.batch);
        let fit = network.fit(&setup, every, room);
        let sizes = sizes(&asked.text, &network, |network| network.fit(&setup, again.pieces(network), room).batch);
        let parts = parts(&network, &setup);
        let counted = Self {
            trouble: network.troubles.first().map(|trouble| trouble.message()),
            every: every as f64,
            every_text: number::grouped(every as f64),
            every_ends: (1.0, most),
            parameters: number::grouped(network.parameters()),
            fit: fit.batch.map_or_else(|| "none fits".to_owned(), number::grouped),
            unit: fit.batch.map_or("", |batch| format::noun(batch, "example", "examples")),
            room: format::memory(room),
            examples: number::grouped(asked.batch),
            peak: format::memory(need.peak),
            moment: moment(need.instant, &parts),
            sums: sums(&network, &need, asked.batch),
            units: number::grouped(units as f64),
            segments: number::grouped(units.div_ceil(every.max(1)) as f64),
            kept: format::memory(need.kept_at_once),
            all: format::memory(need.kept),
            again: format::percent(need.again),
            rows: Vec::new(),
            size_rows: sizes.iter().map(|size| size_cells(size, network.patch)).collect(),
            batch: asked.batch,
            side: network.input.height * network.pixels,
            patch: network.patch,
            sizes,
            parts,
            setup,
        };
        let rows = (0..counted.parts.len().min(SHOWN)).map(|position| counted.cells(position).into());
        Self { rows: rows.collect(), ..counted }
    }

    /// Both ends of the slider that reads off a layer.
    pub fn ends(&self) -> (f64, f64) {
        (1.0, self.count().max(2.0))
    }

    fn count(&self) -> f64 {
        self.parts.len() as f64
    }

    /// The layer that the slider is at, counted from 1; where it is behind the last, the last.
    fn nearest(&self, at: f64) -> f64 {
        at.clamp(1.0, self.count().max(1.0))
    }

    /// What a layer keeps of the whole batch.
    fn keeps(&self, part: &Part) -> Bytes {
        Bytes::new(part.each * self.batch + part.once)
    }

    /// What a layer hands on.
    fn makes(&self, part: &Part) -> Bytes {
        let element = if self.setup.element == Element::Single { SINGLE } else { 2.0 };
        Bytes::new(part.output.elements() * element * self.batch)
    }

    /// A layer as a row of the table: what it is, its line, its output, its parameters, and what it makes and
    /// keeps.
    fn cells(&self, position: usize) -> [String; 6] {
        let part = &self.parts[position];
        [
            format!("{} {}", number::grouped(position as f64 + 1.0), part.name),
            number::grouped(part.line as f64),
            shape(part.output),
            number::grouped(part.parameters),
            format::memory(self.makes(part)),
            format::memory(self.keeps(part)),
        ]
    }

    /// The layer at a place of the slider, in a sentence.
    pub fn reading(&self, at: f64) -> String {
        if self.parts.is_empty() {
            return "The list has no layer.".to_owned();
        }
        let [layer, line, output, parameters, makes, keeps] = self.cells(self.nearest(at) as usize - 1);
        format!(
            "Layer {layer}, line {line}: makes {output} for each example, {makes} together, and keeps {keeps}; {parameters} parameters."
        )
    }

    /// What each layer keeps and makes, with a mark at the layer that is read off.
    pub fn kept_plot(&self, at: f64) -> Plot {
        let kept = self.bars(|layer| self.keeps(layer).mib());
        let output = self.bars(|layer| self.makes(layer).mib());
        let top = highest(&kept).max(highest(&output));
        let outline = output.into_iter().skip(1).map(|(x, _, y)| (x, y)).collect();
        let band = Series::band(Ink::Bucket(Bucket::Activations), kept);
        self.plot("MiB", vec![band, Series::dashed(Ink::Series3, outline)], top, at)
    }

    /// What each layer weighs, with the same mark.
    pub fn weights_plot(&self, at: f64) -> Plot {
        let weights = self.bars(|part| part.parameters);
        let top = highest(&weights);
        self.plot("parameters", vec![Series::band(Ink::Bucket(Bucket::Parameters), weights)], top, at)
    }

    /// A bar for each layer. A first point stands before them, so that a list without layers is a drawing
    /// without bars.
    fn bars(&self, height: impl Fn(&Part) -> f64) -> Vec<(f64, f64, f64)> {
        let mut points = vec![(0.0, 0.0, 0.0)];
        for (position, part) in self.parts.iter().enumerate() {
            let from = position as f64;
            points.extend([from, from + 1.0].map(|x| (x, 0.0, height(part))));
        }
        points
    }

    fn plot(&self, label: &'static str, series: Vec<Series>, top: f64, at: f64) -> Plot {
        Plot {
            x: Axis::linear(0.0, self.count(), "layers, in order"),
            y: Axis::linear(0.0, top * 1.05, label),
            series,
            marks: vec![Mark::at(self.nearest(at) - 0.5, Rule::Soft)],
        }
    }
}

fn highest(points: &[(f64, f64, f64)]) -> f64 {
    points.iter().map(|point| point.2).fold(0.0, f64::max)
}

fn moment(instant: Instant, parts: &[Part]) -> String {
    match instant {
        Instant::Frozen => "while the frozen networks encode the batch".to_owned(),
        Instant::Forward(layer) | Instant::Backward(layer) => {
            let part = parts.iter().take_while(|part| part.end <= layer).count();
            let way = if matches!(instant, Instant::Forward(_)) { "forward" } else { "backward" };
            format!("while layer {} runs {way}", number::grouped(part as f64 + 1.0))
        }
        Instant::Step => "in the optimizer’s step".to_owned(),
    }
}

/// The four sums in fp32, which leave the gradients out, beside what is counted.
fn sums(network: &Network, need: &Need, batch: f64) -> [[String; 2]; PARTS.len()] {
    let single = |numbers: f64| format::memory(Bytes::new(SINGLE * numbers));
    let parameters = network.parameters();
    [
        [single(parameters), format::memory(need.weights)],
        ["left out".to_owned(), format::memory(need.gradients)],
        [single(2.0 * parameters), format::memory(need.optimizer)],
        [single(batch * network.outputs()), format::memory(need.kept)],
        [single(batch * network.input.elements()), format::memory(need.data)],
    ]
}

#[cfg(test)]
mod tests {
    use super::sizes::FACTORS;
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use bmax::course::networks::presets;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn asked(text: &str, policy: Policy, every: f64, batch: f64) -> Asked {
        Asked { text: text.to_owned(), policy, every, batch, frozen: false, averages: false }
    }

    fn counted(text: &str, policy: Policy, every: f64) -> Counted {
        let asked = asked(text, policy, every, 32.0);
        Counted::of(&Scenario::workshop(), &asked)
    }

    /// Simonyan and Zisserman 2015 and He et al. 2016, as torchvision counts their networks.
    #[test]
    fn published_networks_have_their_published_parameters() {
        for (text, parameters) in
            [(presets::VGG_16, "138,357,544"), (presets::RESNET_50, "25,557,032"), (presets::DENSE, "20,037,642")]
        {
            assert_eq!(counted(text, Policy::Nothing, 1.0).parameters, parameters);
        }
    }

    /// A 3 × 3 convolution from 64 to 64 channels has 64 · 64 · 9 weights and 64 biases.
    #[test]
    fn the_third_layer_of_vgg_16_is_read_off_with_its_parameters() {
        let reading = counted(presets::VGG_16, Policy::Nothing, 1.0).reading(3.0);
        assert!(reading.starts_with("Layer 3 convolution, line 2: makes 64 × 224 × 224"), "{reading}");
        assert!(reading.ends_with("36,928 parameters."), "{reading}");
    }

    #[test]
    fn a_place_behind_the_last_layer_is_the_last_layer() {
        let dense = counted(presets::DENSE, Policy::Nothing, 1.0);
        assert_eq!(dense.reading(99.0), dense.reading(5.0));
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_count() {
        let text = "input 3 32 32\nconv 16 40x40\nflatten\ndense 10";
        let counted = counted(text, Policy::Nothing, 1.0);
        let trouble = "Line 2, kernel “40”: write a whole number from 1 to 32.";
        assert_eq!(counted.trouble.as_deref(), Some(trouble));
        assert_eq!(counted.parameters, number::grouped(3.0 * 1_024.0 * 10.0 + 10.0));
    }

    #[test]
    fn twelve_equal_layers_keep_half_with_segments_of_their_root() {
        let equal = |policy| counted(presets::EQUAL_LAYERS, policy, 12.0);
        assert_eq!(equal(Policy::Root).every_text, "3");
        assert_eq!(equal(Policy::Every).kept, equal(Policy::Nothing).kept);
    }

    /// Twice the side are four times the numbers of every feature map.
    #[test]
    fn a_u_net_takes_fewer_images_the_larger_they_are_and_patches_fewer_the_smaller_they_are() {
        let scenario = Scenario::workshop();
        let vit = Counted::of(&scenario, &asked(presets::VIT_B_16, Policy::Nothing, 1.0, 8.0));
        assert_eq!(vit.sizes.len(), FACTORS.len());
        for (_, [own, half, double]) in &vit.sizes {
            assert!(half < own && own < double, "{half:?} {own:?} {double:?}");
        }
        let u_net = Counted::of(&scenario, &asked(presets::SD_15, Policy::Nothing, 1.0, 8.0));
        assert_eq!(u_net.side, 512.0);
        assert!(u_net.sizes.windows(2).all(|pair| pair[0].1[0] > pair[1].1[0]), "{:?}", u_net.sizes);
        assert!(u_net.sizes_text().starts_with("At 256, 512 and 1,024 pixels"), "{}", u_net.sizes_text());
        plot_is_sound(&u_net.sizes_plot());
    }

    #[test]
    fn a_block_is_one_bar_and_a_long_network_has_few() {
        let u_net = counted(presets::SD_15, Policy::Nothing, 1.0);
        assert!(u_net.rows.len() < 150, "{}", u_net.rows.len());
        assert!(u_net.rows.iter().any(|row| row[0].ends_with("resblock")));
        let parameters: f64 = u_net.parts.iter().map(|part| part.parameters).sum();
        assert_eq!(number::grouped(parameters), "859,520,964");
    }

    #[test]
    fn an_empty_list_is_a_drawing_without_bars() {
        let empty = counted("", Policy::Root, 1.0);
        plot_is_sound(&empty.kept_plot(1.0));
        plot_is_sound(&empty.weights_plot(1.0));
        assert!(empty.rows.is_empty());
        texts_are_sound(&empty.reading(1.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_list_is_counted_in_any_scenario(
            scenario in any_scenario(),
            lines in prop::collection::vec(select(presets::RESNET_50.lines().collect::<Vec<_>>()), 0..20),
            policy in select(vec![Policy::Nothing, Policy::Root, Policy::Every]),
            every in 1.0..50.0,
            batch in 1_u32..1_000_000,
            at in 1.0..100.0,
        ) {
            let asked = asked(&lines.join("\n"), policy, every, batch.into());
            let counted = Counted::of(&scenario, &asked);
            texts_are_sound(&(&counted.rows, &counted.sums, &counted.moment, counted.reading(at)));
            texts_are_sound(&[&counted.fit, &counted.room, &counted.peak, &counted.kept, &counted.again]);
            let plot = counted.kept_plot(at);
            plot_is_sound(&plot);
            plot_is_sound(&counted.weights_plot(at));
            plot_is_sound(&counted.sizes_plot());
            texts_are_sound(&(&counted.size_rows, counted.sizes_text()));
            // The table has a row for each bar, whose upper edge is two points of the band.
            let bars = (plot.series[0].points().len() - 1) / 2;
            prop_assert_eq!(counted.rows.len(), bars.min(SHOWN));
        }
    }
}

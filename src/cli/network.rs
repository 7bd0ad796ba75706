//! What is said about a network of layers: how large a batch of it fits, and what its step needs.

use schemars::JsonSchema;
use serde::Serialize;

use super::input::{Id, Question};
use super::table::{Side, Table};
use super::values::Number;
use super::words::{counted, gib};
use crate::course::networks::{Instant, Named, Network, Setup, room};
use crate::{Choice, Scenario, link, number};

/// What is said about one network of layers in one configuration: what the page of other networks says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkReport {
    /// The line of standard input, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub line: Option<u64>,
    /// The “id” of the JSON scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Id")]
    pub id: Option<Id>,
    /// The question as the query of a link to the page of other networks.
    pub link: String,
    /// What could not be used as it stands, and what was read in a way that should be known; one or two
    /// sentences each.
    pub notices: Vec<String>,
    /// The network and what is set of it, as the link has it.
    pub network: String,
    /// What it is called.
    pub name: &'static str,
    /// Its weights, biases and scales.
    pub parameters: Number,
    /// The largest batch that fits.
    pub answer: Batch,
    /// What its tensors may take on one GPU.
    pub room_bytes: Number,
    /// What a step needs at the largest batch, or with one example where none fits.
    pub step: NetworkStep,
}

/// The largest batch of a network on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Whether one example fits.
    pub fits: bool,
    /// Examples of the largest batch; null where not even one fits.
    pub b_max: Option<u64>,
    /// When one example more would not fit.
    #[schemars(schema_with = "instants")]
    pub instant: Moment,
}

/// What a training step of a network needs, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkStep {
    /// Examples at once.
    pub examples: u64,
    /// The highest moment.
    pub peak_bytes: Number,
    /// That moment.
    #[schemars(schema_with = "instants")]
    pub instant: Moment,
    /// Weights, master copy and average, running statistics and frozen networks.
    pub weights_bytes: Number,
    /// Gradients of all weights.
    pub gradients_bytes: Number,
    /// Optimizer state.
    pub optimizer_bytes: Number,
    /// The examples and what is asked of them.
    pub data_bytes: Number,
    /// What is kept of the layers for the backward pass, at the most.
    pub kept_bytes: Number,
}

/// A kind of moment of a network's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// While frozen networks encode the batch.
    Frozen,
    /// In the forward pass.
    Forward,
    /// In the backward pass.
    Backward,
    /// In the optimizer's step.
    Step,
}

/// The words of the moments.
fn instants(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "enum": ["frozen", "forward", "backward", "step"] })
}

/// The report on a network in the configuration of a question.
///
/// ```
/// use bmax::cli::{network_report, question};
/// let asked = question("network=resnet-50&gpu=rtx-3090", None)?;
/// let named = asked.network.expect("a preset");
/// let report = network_report(&named, &asked);
/// // torchvision's resnet50.
/// assert_eq!((report.name, report.parameters.0), ("ResNet-50", 25_557_032.0));
/// assert!(report.answer.fits);
/// # Ok::<(), bmax::cli::QuestionError>(())
/// ```
pub fn network_report(named: &Named, question: &Question) -> NetworkReport {
    let scenario = &question.scenario;
    let network = Network::read(&named.text());
    let setup = Setup { frozen: named.frozen, averages: named.averages, ..Setup::of(scenario) };
    let (every, room) = (named.again.pieces(&network), room(scenario));
    let fit = network.fit(&setup, every, room);
    let examples = fit.batch.unwrap_or(1.0);
    let need = network.need(&setup, every, examples);
    NetworkReport {
        line: None,
        id: question.id.clone(),
        link: format!("{}={}&{}", link::NETWORK, named.word(), link::encode(scenario)),
        notices: question.notices.iter().map(ToString::to_string).collect(),
        network: named.word(),
        name: named.preset.1,
        parameters: Number(network.parameters()),
        answer: Batch {
            fits: fit.batch.is_some(),
            // Whole and at most 10⁹.
            b_max: fit.batch.map(|batch| batch as u64),
            instant: fit.instant.into(),
        },
        room_bytes: room.into(),
        step: NetworkStep {
            examples: examples as u64,
            peak_bytes: need.peak.into(),
            instant: need.instant.into(),
            weights_bytes: need.weights.into(),
            gradients_bytes: need.gradients.into(),
            optimizer_bytes: need.optimizer.into(),
            data_bytes: need.data.into(),
            kept_bytes: need.kept_at_once.into(),
        },
    }
}

impl From<Instant> for Moment {
    fn from(instant: Instant) -> Self {
        match instant {
            Instant::Frozen => Self::Frozen,
            Instant::Forward(_) => Self::Forward,
            Instant::Backward(_) => Self::Backward,
            Instant::Step => Self::Step,
        }
    }
}

impl Moment {
    /// When it is, within a sentence.
    const fn when(self) -> &'static str {
        match self {
            Self::Frozen => "while the frozen networks encode the batch",
            Self::Forward => "in the forward pass",
            Self::Backward => "in the backward pass",
            Self::Step => "in the optimizer’s step",
        }
    }
}

/// The report as text for a terminal.
pub fn network_text(report: &NetworkReport, scenario: &Scenario) -> String {
    let device = crate::catalogue::device(scenario.device.origin).map_or("a GPU of your own", |row| row.name);
    let (precision, optimizer) = (scenario.recipe.precision.label(), scenario.recipe.optimizer.label());
    let mut sections = vec![format!("{} on {device}: {precision}, {optimizer}\n?{}\n", report.name, report.link)];
    sections.extend(super::page::listed("Notices", &report.notices));
    let room = gib(report.room_bytes.bytes());
    let weights = number::grouped(report.parameters.0);
    sections.push(match report.answer.b_max {
        Some(most) => format!(
            "b_max = {} per GPU\n  {weights} parameters, {room} GiB for tensors; one more would not fit {}.\n",
            counted(most, "example", "examples"),
            report.answer.instant.when()
        ),
        None => format!(
            "Not even one example fits\n  {weights} parameters, {room} GiB for tensors, {} GiB needed {}.\n",
            gib(report.step.peak_bytes.bytes()),
            report.step.instant.when()
        ),
    });
    let step = &report.step;
    let mut table = Table::new(&[("part", Side::Left), ("GiB", Side::Right)]);
    for (name, bytes) in [
        ("weights", step.weights_bytes),
        ("gradients", step.gradients_bytes),
        ("optimizer", step.optimizer_bytes),
        ("batch", step.data_bytes),
        ("kept of the layers", step.kept_bytes),
        ("peak", step.peak_bytes),
    ] {
        table.row([name.to_owned(), gib(bytes.bytes())]);
    }
    sections.push(format!(
        "A step of {}, at its highest {}; not all parts are there at once\n{}",
        counted(step.examples, "example", "examples"),
        step.instant.when(),
        table.text()
    ));
    sections.join("\n")
}

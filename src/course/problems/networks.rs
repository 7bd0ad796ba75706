//! Of the page on other networks: where weights and activations are, larger images, a dense network.

use super::{Problem, changed};
use crate::course::networks::{Kind, Network, Setup, presets};
use crate::{Bytes, Precision, Scenario};

/// One GPU in fp32, with Adam.
fn single() -> Scenario {
    changed(|scenario| {
        scenario.recipe.precision = Precision::Fp32;
        scenario.cluster.gpus = 1;
    })
}

/// Nothing is computed again.
const KEEP_ALL: usize = usize::MAX;

/// The first convolution and the last dense layer of VGG-16.
pub(super) fn first_and_last() -> Problem {
    let network = Network::read(presets::VGG_16);
    let first = network.layers.iter().find(|layer| layer.kind == Kind::Conv);
    let last = network.layers.iter().rfind(|layer| layer.kind == Kind::Dense);
    let parameters = |layer: Option<&_>| layer.map_or(0.0, crate::course::networks::Layer::parameters);
    let output = |layer: Option<&crate::course::networks::Layer>| {
        Bytes::new(4.0 * layer.map_or(0.0, |layer| layer.output.elements()))
    };
    let states = |parameters: f64| Bytes::new(16.0 * parameters);
    let images = 32.0;
    Problem::new(
        "first-and-last",
        single(),
        &[
            ("first-parameters", parameters(first)),
            ("first-states", states(parameters(first)).get() / 1_024.0),
            ("first-output", output(first).mib()),
            ("first-batch", images * output(first).mib()),
            ("last-parameters", parameters(last)),
            ("last-states", states(parameters(last)).mib()),
            ("last-batch", images * output(last).get() / 1_024.0),
        ],
        &[3.0, 4.0, 16.0, 32.0, 64.0, 224.0, 1_000.0, 4_096.0],
    )
}

/// Images of twice the side.
pub(super) fn larger_images() -> Problem {
    let scenario = single();
    let (setup, images) = (Setup::of(&scenario), 32.0);
    let small = Network::read(presets::RESNET_50);
    let large = Network::read(&presets::RESNET_50.replace("224 224", "448 448"));
    let kept = |network: &Network| network.need(&setup, KEEP_ALL, images).kept.gib();
    let states = Bytes::new(16.0 * small.parameters()).gib();
    Problem::new(
        "larger-images",
        scenario,
        &[
            ("kept", kept(&small)),
            ("states", states),
            ("wrong", 2.0 * (kept(&small) + states)),
            ("large-kept", kept(&large)),
            ("large-together", kept(&large) + states),
        ],
        &[4.0, 32.0, 224.0, 448.0],
    )
}

/// How many examples of a dense network weigh as much as its states.
pub(super) fn examples_and_states() -> Problem {
    let scenario = single();
    let setup = Setup::of(&scenario);
    let network = Network::read(presets::DENSE);
    let states = Bytes::new(16.0 * network.parameters());
    let example: f64 = network.kept(&setup).iter().sum();
    Problem::new(
        "examples-and-states",
        scenario,
        &[
            ("parameters", network.parameters()),
            ("states", states.mib()),
            ("example", example / 1_024.0),
            ("examples", states.get() / example),
        ],
        &[2.0, 4.0, 10.0, 16.0, 784.0, 4_096.0],
    )
}

//! Weights are gathered behind a step, or adapters are added to them.

use super::graph::Repeated;
use super::play::Play;
use super::score::Own;
use crate::estimator::operators::{Form, Part, Place, Size, Tensor, TensorId, Weight};

const SOURCE: &str = "the training program";

impl Play<'_> {
    fn of_weight(&mut self, place: Place, part: Part, size: Size) -> TensorId {
        self.registry.id(Tensor { place, part, size }, SOURCE)
    }

    /// Devices gather every weight, or so many states of each, one after another (`_gather_state_dict` in
    /// torch/distributed/_state_dict_utils.py, PyTorch 2.15). Each goes to the host at once, or stays until all are there.
    pub fn gather_all(&mut self, each: u32, names_head: bool, stays: bool) {
        let Some(network) = self.score.networks.first() else { return };
        let (data_parallel, widths) = (self.score.plan.data_parallel, network.model.widths);
        let mut kept: Vec<Repeated> = Vec::new();
        let gather = |play: &mut Self, Own { weight, .. }: Own<'_>| {
            let elements = data_parallel.gathered_alone(weight, &widths);
            let bytes = elements.saturating_mul(data_parallel.stored(weight, &widths).bytes());
            for _ in 0..each {
                let tensor = play.of_weight(weight.place, Part::GatheredWeight, Size::Bytes(bytes));
                let storage = play.tape.allocate(tensor);
                if stays {
                    kept.push(play.tape.repeated(storage));
                } else {
                    play.tape.release(storage);
                }
            }
        };
        if names_head {
            self.each_declared(network, gather);
        } else {
            self.each_weight_of(network, gather);
        }
        self.tape.release_all(&kept);
    }

    /// `merge` in peft/tuners/lora/layer.py, 0.21.2: the product of the two thin matrices beside each matrix, and the product times
    /// their scale, which is added in place. With `is_copied` that is done in a copy, whose values take the place of the matrix.
    pub fn merge_adapters(&mut self, is_copied: bool) {
        let Some(network) = self.score.networks.first() else { return };
        let blocks = network.stages.iter().flat_map(|stage| &stage.instances);
        let weights = blocks.flat_map(|instance| &instance.program.weights).filter(|weight| weight.added.is_some());
        let adapters = weights.map(|weight| (weight.place, weight.form.dtype)).collect::<Vec<_>>();
        self.each_weight_of(network, |play, Own { weight, .. }| {
            let adapter = adapters.iter().find(|(place, _)| *place == weight.place);
            if let (Some(&(place, dtype)), Weight { added: None, sides: Some(_), form, .. }) = (adapter, weight) {
                let mut make = |part, form: Form| {
                    let tensor = play.of_weight(place, part, Size::Of(form));
                    play.tape.allocate(tensor)
                };
                let copy = is_copied.then(|| make(Part::Cloned, *form));
                let product = make(Part::AdapterOuter, form.with_dtype(dtype));
                let scaled = make(Part::AdapterScaled, form.with_dtype(dtype));
                play.tape.release(product);
                copy.into_iter().chain([scaled]).for_each(|storage| play.tape.release(storage));
            }
        });
    }
}

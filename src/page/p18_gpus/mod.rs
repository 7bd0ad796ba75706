//! What more GPUs give: room for the model by sharding, speed as far as communication lets it.

mod scaling;
mod sharding;

use crate::site::{State, mount_live};

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("sharding", state, sharding::draw);
    mount_live("scaling", state, scaling::draw);
}

#[cfg(test)]
mod tests {
    use bmax::course::scaling::{at_stage, exchange, parts};
    use bmax::course::updates::update;
    use bmax::{Scenario, ZeroStage};

    use crate::site::format;

    /// What is written for readers without the program is held to the library.
    fn prints(text: &str, numbers: &[String]) {
        for number in numbers {
            assert!(text.contains(number), "the text should print “{number}”");
        }
    }

    #[test]
    fn the_text_on_batches_prints_the_library_s_numbers_for_the_default() {
        let scenario = Scenario::default();
        let at_eight = update(&scenario, 8, 10e9);
        prints(
            include_str!("../p16_global_batch/prose.html"),
            &[
                format!("takes {};", format::duration(at_eight.seconds)),
                format!("take {},", format::duration(at_eight.run_seconds())),
            ],
        );
        let over_the_network = exchange(&scenario, 8, 25e9);
        let [compute, communicate] = [over_the_network.compute, over_the_network.communicate].map(format::duration);
        let [low, high] = over_the_network.efficiency().map(|part| format::significant(part * 8.0));
        let activations = format::memory(parts(&at_stage(&scenario, ZeroStage::Stage1))[3]);
        prints(
            include_str!("prose.html"),
            &[
                format!("compute for {compute} and send for {communicate}"),
                format!("between {low} and {high} times"),
                format!("are {activations} at every stage"),
            ],
        );
    }
}

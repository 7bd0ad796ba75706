//! What others say of a scenario.

use bmax::others::{self, Largest, Row};
use bmax::{Batching, Encoder, Field, Fp8, Lengths, Outside, Scenario, StepKernel, Task, TaskKind, Vision};
use proptest::prelude::*;

use super::as_drawn;

/// Sums of the same terms in another order may differ in the last bits.
const NEARLY: f64 = 1e-12;

/// A scenario without what no estimator has, which random ones nearly always ask for.
fn known(mut scenario: Scenario) -> Scenario {
    scenario.task = Task::TRAIN;
    scenario.outside = Outside::OFF;
    scenario.lengths = Lengths::EQUAL;
    scenario.model.encoder = Encoder::NONE;
    scenario.model.vision = Vision::NONE;
    scenario.recipe.fp8 = Fp8::Off;
    scenario.recipe.step = StepKernel::Fused;
    scenario
}

fn at_batch(scenario: &Scenario, batch: u32) -> Vec<Row> {
    others::all(&scenario.with_number(Field::Batch, batch.into()).expect("in range"))
}

of_every_scenario! {
    fn every_estimator_counts_or_names_what_it_has_no_input_for(scenario in as_drawn) {
        let plain = known(scenario);
        let rows_of = |scenario| others::all(&scenario).into_iter().map(move |row| (scenario, row));
        prop_assert_eq!(rows_of(scenario).len(), others::ALL.len());
        for (scenario, row) in rows_of(scenario).chain(rows_of(plain)) {
            let key = row.other.key;
            let memory = match row.memory {
                Ok(memory) => memory,
                Err(lacking) => {
                    prop_assert_eq!(lacking.value, lacking.input.value(&scenario), "{}", key);
                    prop_assert_eq!(row.largest, Err(lacking), "{}", key);
                    continue;
                }
            };
            let total = memory.total.get();
            prop_assert!(total.is_finite() && total > 0.0, "{}: {}", key, total);
            let parts = || memory.parts.iter().map(|part| part.bytes.get());
            prop_assert!(parts().all(|bytes| bytes.is_finite() && bytes >= 0.0), "{}", key);
            let sum: f64 = parts().sum();
            if memory.adds_up {
                prop_assert!((sum / total - 1.0).abs() <= NEARLY, "{}: {} for {}", key, sum, total);
            } else {
                let most = parts().fold(0.0, f64::max);
                prop_assert!(most <= total && total <= sum * (1.0 + NEARLY), "{}: {} for {}", key, sum, total);
            }
        }
    }

    fn of_other_tasks_images_varying_lengths_and_fp8_none_of_them_says_anything(scenario in as_drawn) {
        let asked = scenario.task.kind != TaskKind::Train
            || scenario.batching() != Batching::Equal
            || scenario.recipe.fp8 != Fp8::Off
            || scenario.model.vision.is_there()
            || scenario.model.encoder.is_there();
        if asked {
            prop_assert!(others::all(&scenario).iter().all(|row| row.memory.is_err()));
        }
    }

    fn a_larger_micro_batch_takes_no_less_memory(scenario in known) {
        let batch = scenario.recipe.batch.min(1 << 19);
        for (less, more) in at_batch(&scenario, batch).into_iter().zip(at_batch(&scenario, 2 * batch)) {
            // What is asked for does not depend on the batch.
            prop_assert_eq!(less.memory.is_ok(), more.memory.is_ok());
            if let (Ok(less), Ok(more)) = (less.memory, more.memory) {
                prop_assert!(less.total.get() <= more.total.get() * (1.0 + NEARLY));
            }
        }
    }

    fn the_largest_micro_batch_does_not_depend_on_the_one_that_is_set_and_fits(scenario in known) {
        let rows = others::all(&scenario);
        for (row, other) in rows.iter().zip(at_batch(&scenario, 1)) {
            let key = row.other.key;
            // DeepSpeed's and accelerate's reason names the batch that is set.
            if row.memory.is_ok() && row.largest.is_ok() {
                prop_assert_eq!(row.largest, other.largest, "{}", key);
            }
            // llm-analysis leaves gradients out of its condition.
            let Ok(Largest::Fits { batch, .. }) = row.largest else { continue };
            if key != "llm-analysis" {
                let at = at_batch(&scenario, batch).into_iter().find(|row| row.other.key == key).expect("it is there");
                let memory = at.memory.expect("it said so before");
                prop_assert!(memory.total <= scenario.device.memory, "{}", key);
            }
        }
    }
}

//! What is said of an instant and of the three methods, held to the entries. The entries are asked by their names and
//! buckets, and not by what the sentences are made from.

use bmax::meaning::{Claim, Event, Gradients, Kept, Stack};
use bmax::others::{self, Difference};
use bmax::{
    Adapter, Answer, Bucket, Choice, Entry, Estimate, Evaluation, Fp8, Method, Recomputation, Scenario, StepKernel,
    TaskKind, b_max, estimate,
};
use proptest::prelude::*;

use super::as_drawn;

/// The instant of an estimate that a claim is about.
struct At<'a> {
    estimate: &'a Estimate,
    position: usize,
}

impl At<'_> {
    fn alive(&self) -> impl Iterator<Item = &Entry> {
        let there = |entry: &&Entry| entry.alive.contains(self.position) && entry.bytes.get() > 0.0;
        self.estimate.entries.iter().filter(there)
    }

    fn has(&self, named: impl Fn(&str) -> bool) -> bool {
        self.alive().any(|entry| named(entry.name))
    }

    fn bucket(&self, bucket: Bucket) -> f64 {
        self.estimate.bucket_at(bucket, self.position).get()
    }

    /// Bytes of the optimizer step of the same stage in a bucket.
    fn at_step(&self, bucket: Bucket) -> f64 {
        let instants = &self.estimate.instants;
        let stage = instants[self.position].stage;
        let step = instants.iter().position(|instant| instant.event == Event::Step && instant.stage == stage);
        self.estimate.bucket_at(bucket, step.expect("every stage has a step")).get()
    }

    fn host_has(&self, is: impl Fn(&Entry) -> bool) -> bool {
        self.estimate.host.entries.iter().any(|entry| entry.bytes.get() > 0.0 && is(entry))
    }

    /// Whether some logits of all tokens are alive: by their names, of which a chunk's or a reserve's say so.
    fn has_logits(&self) -> bool {
        let whole = |name: &str| {
            let name = name.to_lowercase();
            let of_logits = ["logit", "log-softmax", "divergence"].iter().any(|word| name.contains(word));
            of_logits
                && !name.contains("one chunk")
                && !name.contains("one tile")
                && !name.contains("reserved")
                && !name.contains("one sequence")
        };
        self.alive().any(|entry| entry.bucket == Bucket::Logits && whole(entry.name))
    }

    fn generates(&self) -> [bool; 2] {
        [self.has(|name| name.starts_with("Cache of")), self.has(|name| name == "Inference engine")]
    }

    fn scores(&self) -> bool {
        self.has(|name| ["without gradients", "scoring pass", "frozen model"].iter().any(|word| name.contains(word)))
    }

    fn has_layer_inputs(&self) -> bool {
        // An encoder’s have the same name, over its own tokens.
        let of_encoder = |entry: &Entry| entry.formula.contains(bmax::formula::Symbol::Source);
        self.alive().any(|entry| entry.name == "Layer inputs" && !of_encoder(entry))
    }
}

/// Whether what is said of the activations of the model's layers is so. `all` is the same without recomputation.
fn layers_are_kept(kept: Kept, at: &At, scenario: &Scenario, all: &At) -> Result<(), TestCaseError> {
    let recomputation = scenario.recipe.recomputation;
    // A vision tower and its model are counted with none or all of it.
    let full = scenario.model.vision.is_there() && recomputation != Recomputation::None;
    let recomputation = if full { Recomputation::Full } else { recomputation };
    // What of the activations is no input of a layer.
    let beside_inputs = |at: &At| -> f64 {
        let own = at.alive().filter(|entry| entry.bucket == Bucket::Activations && entry.name != "Layer inputs");
        own.map(|entry| entry.bytes.get()).sum()
    };
    let (here, whole) = (beside_inputs(at), beside_inputs(all));
    match kept {
        Kept::All => {
            prop_assert!(!at.has_layer_inputs(), "inputs beside whole layers");
            // PPO holds outputs of layers that are not computed again.
            let same = matches!(recomputation, Recomputation::None | Recomputation::Selective)
                && scenario.task.kind != TaskKind::Ppo;
            prop_assert!(!same || here >= whole * (1.0 - 1e-9), "{} of {} are kept", here, whole);
        }
        Kept::AllButSome => {
            prop_assert!(!at.has_layer_inputs(), "inputs beside whole layers");
            // The input of the one layer that is computed again is among what it has, while it runs backward.
            let runs = matches!(at.estimate.instants[at.position].event, Event::LastLayer(_))
                && matches!(recomputation, Recomputation::KthLayer | Recomputation::Block);
            let again = recomputation == Recomputation::Selective || scenario.recipe.fp8 != Fp8::Off || runs;
            prop_assert!(again, "{:?} computes nothing of a layer again", recomputation);
        }
        Kept::SomeLayers => {
            prop_assert!(at.has_layer_inputs(), "no inputs");
            prop_assert!(matches!(recomputation, Recomputation::KthLayer | Recomputation::Block), "{recomputation:?}");
            prop_assert!(here > 0.0);
        }
        Kept::Inputs(together) => {
            prop_assert!(at.has_layer_inputs(), "no inputs");
            let most = if recomputation == Recomputation::EveryK { scenario.recipe.every } else { 1 };
            prop_assert!((1..=most).contains(&together), "{together} of {most}");
            // The operators that the only layer of a stage keeps are among what it has, while it runs backward.
            let runs = matches!(at.estimate.instants[at.position].event, Event::LastLayer(_));
            let again = match recomputation {
                Recomputation::None | Recomputation::Selective => false,
                Recomputation::Operators => runs,
                _ => true,
            };
            prop_assert!(again, "{recomputation:?}");
        }
        Kept::InputsAndOperators => {
            let runs = matches!(at.estimate.instants[at.position].event, Event::LastLayer(_));
            prop_assert!(runs || at.has_layer_inputs(), "no inputs");
            prop_assert_eq!(recomputation, Recomputation::Operators);
        }
        Kept::InputsAndFrozen => {
            let runs = matches!(at.estimate.instants[at.position].event, Event::LastLayer(_));
            prop_assert!(runs || at.has_layer_inputs(), "no inputs");
            prop_assert_eq!(scenario.recipe.adapter, Adapter::Lora8);
        }
        _ => prop_assert!(false, "a claim that nobody checks: {:?}", kept),
    }
    Ok(())
}

/// Whether one claim is so.
fn is_so(claim: Claim, at: &At, scenario: &Scenario, all: &At) -> Result<(), TestCaseError> {
    let event = at.estimate.instants[at.position].event;
    match claim {
        Claim::Does(said) => {
            prop_assert_eq!(said, event);
            match event {
                Event::Loss | Event::LossBackward => prop_assert!(!at.has_logits(), "logits that nobody names"),
                Event::Score | Event::ScoredLogits => prop_assert!(at.scores(), "nothing scores"),
                Event::LastLayer(Stack::Tower) | Event::FirstLayer(Stack::Tower) => {
                    prop_assert!(at.has(|name| name == "Tower: gradient of the residual stream"));
                }
                Event::Tower => prop_assert!(at.has(|name| name == "Pixels, in fp32")),
                Event::Step => prop_assert!(
                    scenario.recipe.step != StepKernel::InBackward
                        || at.bucket(Bucket::Gradients) > 0.0
                        || at.host_has(|entry| entry.bucket == Bucket::Gradients)
                        || at.bucket(Bucket::Optimizer) == 0.0
                        || at.at_step(Bucket::Gradients) == 0.0
                ),
                _ => {}
            }
        }
        Claim::LossFromLogits => prop_assert!(event == Event::Loss && at.has_logits()),
        Claim::GradientOfLogits => prop_assert!(event == Event::LossBackward && at.has_logits()),
        Claim::Keeps(Stack::Model, kept) => layers_are_kept(kept, at, scenario, all)?,
        Claim::Keeps(Stack::Encoder, kept) => {
            prop_assert!(scenario.model.encoder.is_there());
            let symbol = bmax::formula::Symbol::Source;
            let of_encoder = |entry: &Entry| entry.bucket == Bucket::Activations && entry.formula.contains(symbol);
            prop_assert!(at.alive().any(of_encoder), "{kept:?}");
        }
        Claim::Keeps(Stack::Tower, kept) => {
            let inputs = at.has(|name| name == "Tower: layer inputs");
            prop_assert_eq!(inputs, kept == Kept::Inputs(1));
            prop_assert!(inputs || at.has(|name| name == "Tower: inputs of the norms"));
        }
        Claim::Keeps(Stack::Value, _) => prop_assert!(at.has(|name| name == "Value model’s activations")),
        Claim::InputsOnHost => {
            prop_assert!(at.host_has(|entry| entry.name == "Layer inputs"));
            let most = at.alive().filter(|entry| entry.name == "Layer inputs").map(|entry| entry.layers);
            prop_assert!(most.fold(0.0, f64::max) <= 2.0);
        }
        Claim::Gradients(gradients) => {
            let (here, all) = (at.bucket(Bucket::Gradients), at.at_step(Bucket::Gradients));
            match gradients {
                Gradients::All => prop_assert!(here > 0.0 && here >= all * (1.0 - 1e-6), "{here} of {all}"),
                Gradients::Part(percent) => {
                    let part = 100.0 * here / all;
                    // What is reduced or copied meanwhile is a gradient as well.
                    prop_assert!((1..=99).contains(&percent) && part + 1.0 >= f64::from(percent), "{part} %");
                    prop_assert!(here < all * 1.5, "{here} of {all}");
                }
                Gradients::Used => {
                    prop_assert_eq!(scenario.recipe.step, StepKernel::InBackward);
                    prop_assert_eq!(all, 0.0);
                }
                Gradients::HandedOver => {
                    prop_assert!(at.host_has(|entry| entry.bucket == Bucket::Gradients));
                    prop_assert_eq!(all, 0.0);
                }
                Gradients::None => prop_assert_eq!(here, 0.0),
                _ => prop_assert!(false, "a claim that nobody checks: {:?}", gradients),
            }
        }
        Claim::UpdatedBefore => {
            prop_assert_eq!(scenario.recipe.step, StepKernel::InBackward);
            prop_assert_eq!(at.bucket(Bucket::Gradients), 0.0);
        }
        Claim::NoActivations => {
            prop_assert_eq!((at.bucket(Bucket::Activations), at.bucket(Bucket::Logits)), (0.0, 0.0));
        }
        Claim::StillHeld(name) => {
            let held = || at.alive().filter(|entry| matches!(entry.bucket, Bucket::Activations | Bucket::Logits));
            let most = held().map(|entry| entry.bytes.get()).fold(0.0, f64::max);
            prop_assert!(held().any(|entry| entry.name == name && entry.bytes.get() == most));
        }
        Claim::Cache => prop_assert!(at.generates()[0]),
        Claim::Engine => prop_assert!(at.generates()[1]),
        Claim::GeneratesElsewhere => prop_assert_eq!(at.generates(), [false, false]),
        Claim::NoScoring => prop_assert!(!at.scores()),
        Claim::TowerHasNoGradients => prop_assert!(!at.has(|name| name == "Tower: gradient of the residual stream")),
        Claim::NoImages => prop_assert!(!at.has(|name| name == "Pixels, in fp32")),
        Claim::KeptLogits => {
            prop_assert_eq!(scenario.outside.evaluation, Evaluation::Logits);
            prop_assert!(at.has(|name| name.starts_with("Kept logits")));
        }
        Claim::JoinedLogits => {
            prop_assert!(at.has(|name| name.contains("joined with the next") || name.contains("in a new tensor")));
        }
        Claim::NoStateToGather => prop_assert!(
            !at.has(|name| matches!(name, "Optimizer state, gathered" | "One tensor of the state, gathered"))
        ),
        Claim::NoOptimizer => prop_assert_eq!(at.bucket(Bucket::Optimizer), 0.0),
        _ => prop_assert!(false, "a claim that nobody checks: {:?}", claim),
    }
    Ok(())
}

/// Holds one reason why methods differ to what they count.
fn differs_so(difference: Difference, scenario: &Scenario, answers: &[(Method, Answer)]) -> Result<(), TestCaseError> {
    let by = |method| estimate(&Scenario { method, ..*scenario });
    let most = |method: Method| answers.iter().find(|(other, _)| *other == method).expect("asked").1.batch();
    let row = |key: &str| others::all(scenario).into_iter().find(|row| row.other.key == key).expect("listed").memory;
    match difference {
        Difference::CannotSay(method, lacking) => prop_assert_eq!(row(method.key()).err(), Some(lacking)),
        Difference::NeitherCanSay(lacking) => {
            prop_assert_eq!(row("workshop").err(), Some(lacking));
            prop_assert_eq!(row("paper").err(), Some(lacking));
        }
        Difference::MultipliesBytes => {
            // 34 bytes a token, element and layer, times the bytes of an element.
            let own = by(Method::Workshop);
            let linear = own.entries.iter().find(|entry| entry.name == "Layer activations").expect("34 is in the sum");
            let (model, recipe) = (&scenario.model, &scenario.recipe);
            let all = [model.layers, recipe.sequence, model.hidden, recipe.batch, recipe.precision.element_bytes()];
            let bytes = 34.0 * all.map(f64::from).iter().product::<f64>();
            prop_assert!((linear.bytes.get() / bytes - 1.0).abs() < 1e-9);
            prop_assert!(most(Method::Workshop) != most(Method::Paper));
        }
        Difference::PlainBlock => {
            let counted = |method| by(method).entries.iter().any(|entry| entry.name == "Layer activations");
            prop_assert!(counted(Method::Workshop) && counted(Method::Paper));
        }
        Difference::InputsAlone => {
            let counted = |method| by(method).entries.iter().any(|entry| entry.name == "Layer inputs");
            prop_assert!(counted(Method::Workshop) && counted(Method::Paper));
        }
        Difference::NoLogits => {
            let ledger = by(Method::Ledger);
            let at = At { estimate: &ledger, position: ledger.binding().0 };
            prop_assert!(at.has_logits() || at.has(|name| name.to_lowercase().contains("logit")));
        }
        Difference::NoOverhead => {
            prop_assert!(by(Method::Ledger).bucket(Bucket::Runtime) > by(Method::Paper).bucket(Bucket::Runtime));
        }
        Difference::Agree => {
            for method in [Method::Workshop, Method::Paper] {
                prop_assert!(row(method.key()).is_err() || most(method) == most(Method::Ledger));
            }
        }
        _ => prop_assert!(false, "a reason that nobody checks: {:?}", difference),
    }
    Ok(())
}

of_every_scenario! {
    fn everything_that_is_said_of_an_instant_is_in_its_entries(scenario in as_drawn) {
        let scenario = Scenario { method: Method::Ledger, ..scenario };
        let mut kept = scenario;
        kept.recipe.recomputation = Recomputation::None;
        let (own, all) = (estimate(&scenario), estimate(&kept));
        for position in 0..own.instants.len() {
            let claims = own.claims(position);
            let [at, same] = [&own, &all].map(|estimate| At { estimate, position });
            for claim in &claims {
                let name = own.instants[position].name;
                is_so(*claim, &at, &scenario, &same)
                    .map_err(|why| TestCaseError::fail(format!("at “{name}”, {claim:?}: {why}")))?;
            }
            // Whoever has run forward says what is kept of it.
            let forward = matches!(own.instants[position].event, Event::Loss | Event::LossBackward);
            let says = claims.iter().any(|claim| matches!(claim, Claim::Keeps(Stack::Model, _)));
            prop_assert!(!forward || says, "nothing is said of what is kept at {}", own.instants[position].name);
        }
    }

    fn every_reason_why_methods_differ_is_in_what_they_count(scenario in as_drawn) {
        let answers = Method::ALL.iter().map(|&method| (method, b_max(&Scenario { method, ..scenario })));
        let answers: Vec<_> = answers.collect();
        let found = others::differences(&scenario, &answers);
        prop_assert!(!found.is_empty());
        for difference in found {
            differs_so(difference, &scenario, &answers)
                .map_err(|why| TestCaseError::fail(format!("{difference:?}: {why}")))?;
        }
    }

    fn no_note_on_settings_has_one_of_something_in_the_plural(scenario in as_drawn) {
        const MANY: [&str; 9] =
            ["layers", "heads", "tokens", "experts", "GPUs", "stages", "chunks", "sequences", "micro-batches"];
        for conflict in scenario.conflicts() {
            let mut words = conflict.message.split([' ', ',', '.', ';', ':']);
            let mut before = words.next().unwrap_or_default();
            for word in words {
                prop_assert!(before != "1" || !MANY.contains(&word), "{}", conflict.message);
                before = word;
            }
        }
    }

    fn the_short_methods_say_nothing_where_their_formula_lacks_an_input(scenario in as_drawn) {
        let rows = others::all(&scenario);
        for method in [Method::Workshop, Method::Paper] {
            let row = rows.iter().find(|row| row.other.key == method.key()).expect("listed");
            prop_assert_eq!(row.memory.clone().err(), others::lacking(method, &scenario));
        }
        prop_assert_eq!(others::lacking(Method::Ledger, &scenario), None);
    }
}

/// The sentences of what people most often ask for, written out.
#[test]
fn recomputation_adapters_and_fused_losses_are_told_as_they_are() {
    let said = |query: &str, name: &str| {
        let estimate = estimate(&bmax::link::decode(query).scenario);
        let position = estimate.instants.iter().position(|instant| instant.name == name).expect(name);
        estimate.meaning(position)
    };
    let loss = "loss, backward";
    assert_eq!(
        said("v=3&recompute=none&attn=eager", loss),
        "The gradient of the logits is being computed. Every layer’s activations are kept."
    );
    assert_eq!(
        said("v=3&recompute=full", loss),
        "The gradient of the logits is being computed. Only the inputs of layers are kept."
    );
    assert_eq!(
        said("v=3&recompute=full&loss=fused", loss),
        "The loss runs backward. Only the inputs of layers are kept."
    );
    assert!(said("v=3&recompute=selective&attn=eager", loss).contains("but for some that are computed again"));
    assert_eq!(
        said("v=3&step=in-backward&gpus=1&zero=0", "optimizer step"),
        "Each weight was updated in the backward pass, as soon as its gradient was there. No activation is left."
    );
}

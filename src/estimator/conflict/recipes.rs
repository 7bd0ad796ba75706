//! What fp8, optimizers, their step and their place need.

use super::Conflicts;
use crate::estimator::counted::{Unfit, has_products, unfit};
use crate::{
    Adapter, Engine, Field, Fp8, GradientType, Optimizer, Precision, Scenario, StepKernel, TaskKind, ZeroStage,
    choice::Choice, number, setting::Word,
};

impl Conflicts {
    pub(super) fn recipes(&mut self, scenario: &Scenario) {
        self.fp8(scenario);
        let [step, optimizer, offload] = unfit(scenario);
        if let Some(why) = step {
            self.step(scenario, why);
        }
        if let Some(why) = optimizer {
            self.optimizer(scenario, why);
        }
        if let Some(why) = offload {
            self.parameters(scenario, why);
        }
    }

    fn fp8(&mut self, scenario: &Scenario) {
        let (recipe, fp8) = (&scenario.recipe, scenario.recipe.fp8);
        if !fp8.is_on() {
            return;
        }
        let off = Word::Fp8(Fp8::Off);
        let tenths = |capability: u32| number::fixed(f64::from(capability) / 10.0, 1);
        if !has_products(scenario) {
            let has = scenario.device.capability;
            let message = if fp8 == Fp8::TeMxfp8 && has >= 120 {
                format!(
                    "Transformer Engine has no MXFP8 for compute capability {} yet; it has current scaling there.",
                    tenths(has)
                )
            } else {
                format!(
                    "{} needs compute capability {}, and this GPU has {}.",
                    fp8.label(),
                    tenths(fp8.capability()),
                    tenths(has)
                )
            };
            let other = if has >= 89 { Word::Fp8(Fp8::TeCurrent) } else { off };
            self.word(other, &message);
            return;
        }
        if recipe.adapter != Adapter::None {
            if recipe.adapter.is_quantized() {
                let message =
                    "Quantized weights are brought back to 16 bits for their products; none of these runs in fp8.";
                return self.word(off, message);
            }
            let message = "fp8 is counted where all weights are trained; what frozen ones beside adapters keep is not.";
            return self.uncounted(off, message);
        }
        if scenario.task.kind != TaskKind::Train {
            return self.uncounted(off, "Tasks are counted as trl runs them, with products in the training precision.");
        }
        if recipe.precision == Precision::Fp32 {
            let message = "fp8 stands beside 16-bit activations: what stays out of fp8 is counted in bf16.";
            return self.uncounted(Word::Precision(Precision::Bf16), message);
        }
        let refused = match (scenario.cluster.engine, fp8.is_torchao(), fp8) {
            (Engine::Megatron, true, _) => Some((
                Word::Fp8(Fp8::TeDelayed),
                "Megatron-LM multiplies in fp8 by Transformer Engine; it has no torchao.",
            )),
            (Engine::DeepSpeed, true, _) => {
                let message =
                    "torchao’s fp8 is counted with PyTorch and torchtitan; with DeepSpeed it is Transformer Engine’s.";
                return self.uncounted(Word::Fp8(Fp8::TeDelayed), message);
            }
            (Engine::DeepSpeed, false, Fp8::DeepSeekV3) => Some((
                Word::Fp8(Fp8::TeBlock),
                "DeepSeek-V3’s recipe is that of its own program, which is counted like Megatron-LM; DeepSpeed has no such \
                 path.",
            )),
            (Engine::Torchtitan, false, _) => Some((
                Word::Fp8(Fp8::TorchaoTensorwise),
                "torchtitan multiplies in fp8 by torchao; it has no Transformer Engine.",
            )),
            _ => None,
        };
        if let Some((other, message)) = refused {
            self.word(other, message);
        }
    }

    fn step(&mut self, scenario: &Scenario, why: Unfit) {
        let recipe = &scenario.recipe;
        match why {
            Unfit::AddsUp if scenario.cluster.pipeline_parallel > 1 => self.word(
                Word::Step(StepKernel::Foreach),
                "A pipeline adds gradients up over its micro-batches, which a step in the backward pass cannot.",
            ),
            Unfit::AddsUp if recipe.micro_batches > 1 => {
                let message = "A step in the backward pass lets go of each gradient at once, so that no micro-batch adds to \
                               it; one micro-batch a step can.";
                self.number(Field::MicroBatches, 1, message.to_owned());
            }
            Unfit::AddsUp => self.word(
                Word::Gradients(GradientType::Half),
                "A step in the backward pass takes the gradient as autograd makes it, without an fp32 buffer.",
            ),
            Unfit::Scales => self.word(
                Word::Precision(Precision::Bf16),
                "Loss scaling looks at all gradients before it updates any; bf16 needs none.",
            ),
            Unfit::Averages if recipe.optimizer.needs_whole_matrices() => self.word(
                Word::Step(StepKernel::Foreach),
                "DDP averages gradients behind the hook that would update the weight, and this optimizer needs whole matrices.",
            ),
            Unfit::Averages => self.word(
                Word::Zero(ZeroStage::Stage3),
                "DDP averages gradients behind the hook that would update the weight; FSDP averages before it.",
            ),
            Unfit::Task => self.uncounted(
                Word::Step(StepKernel::Fused),
                "A step in the backward pass is not counted for the trainers of tasks.",
            ),
            _ => self.word(
                Word::Step(StepKernel::Fused),
                "Megatron-LM and DeepSpeed have steps of their own behind the backward pass.",
            ),
        }
    }

    fn optimizer(&mut self, scenario: &Scenario, why: Unfit) {
        let optimizer = scenario.recipe.optimizer;
        let name = optimizer.label();
        let plain = Word::Optimizer(Optimizer::AdamW);
        let whole = scenario.cluster.tensor_parallel == 1;
        match why {
            Unfit::Adapted => self.uncounted(
                plain,
                format!("{name} is counted where all weights are trained; adapters are small as they are."),
            ),
            Unfit::Stacked => self.uncounted(
                plain,
                format!("{name} works on matrices; stacks of experts have three sides, and that is not counted."),
            ),
            Unfit::Divided if whole && optimizer == Optimizer::Shampoo && scenario.cluster.engine == Engine::Torch => {
                let message = "Distributed Shampoo hands whole blocks to data-parallel GPUs, which is counted like \
                               ZeRO 1; blocks of divided weights are not counted.";
                self.uncounted(Word::Zero(ZeroStage::Stage1), message);
            }
            Unfit::Divided if whole => {
                let message = format!("{name} needs whole matrices; ZeRO and FSDP leave each GPU a part of them.");
                self.word(Word::Zero(ZeroStage::Stage0), &message);
            }
            Unfit::Divided => {
                self.word(plain, &format!("{name} needs whole matrices; tensor parallelism divides them."));
            }
            Unfit::Halved => {
                let message = "SOAP multiplies gradients with fp32 preconditioners and needs fp32 gradients, as master \
                               weights give them.";
                self.word(Word::Precision(Precision::Bf16), message);
            }
            _ => {
                let off = Word::Offload(scenario.recipe.offload.without_optimizer());
                if optimizer == Optimizer::PagedAdam8bit {
                    self.word(off, "Paged moments leave the GPU by themselves; the step stays on the GPU.");
                } else {
                    let message = format!("{name} steps on the GPU; a step of it on the CPU is not counted.");
                    self.uncounted(off, message);
                }
            }
        }
    }

    fn parameters(&mut self, scenario: &Scenario, why: Unfit) {
        let other = Word::Offload(scenario.recipe.offload.without_parameters());
        match why {
            Unfit::Undivided if scenario.cluster.pipeline_parallel > 1 => {
                self.word(other, "Weights in CPU memory come layer by layer, which a pipeline does not wait for.");
            }
            Unfit::Undivided => self.word(
                Word::Zero(ZeroStage::Stage3),
                "Weights in CPU memory are those of ZeRO 3 and FSDP, which gather a layer at a time, on one GPU as well.",
            ),
            _ if scenario.cluster.engine == Engine::Megatron => {
                self.word(other, "Megatron-LM offloads optimizer state and has no weights in CPU memory.");
            }
            _ => self.uncounted(other, "Weights in CPU memory are not counted for the trainers of tasks."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::{Change, Offload, catalogue};

    fn hopper() -> Scenario {
        catalogue::device("h100-80").expect("listed").apply(ledger())
    }

    #[test]
    fn fp8_is_refused_on_a_gpu_without_it() {
        // An A100 is 8.0, an H100 9.0 and a B200 10.0.
        let mut scenario = ledger();
        scenario.recipe.fp8 = Fp8::TeDelayed;
        let conflict = only(scenario);
        assert!(
            conflict.message.contains("needs compute capability 8.9, and this GPU has 8.0"),
            "{}",
            conflict.message
        );
        assert_eq!(conflict.mend, Change::Word(Word::Fp8(Fp8::Off)));
        let mut scenario = hopper();
        scenario.recipe.fp8 = Fp8::TeMxfp8;
        assert_eq!(only(scenario).mend, Change::Word(Word::Fp8(Fp8::TeCurrent)));
        assert!(only(scenario).message.contains("needs compute capability 10.0, and this GPU has 9.0"));
        let scenario = catalogue::device("b200").expect("listed").apply(scenario);
        assert_eq!(scenario.conflicts(), []);
        let scenario = catalogue::device("rtx-5090").expect("listed").apply(scenario);
        assert!(only(scenario).message.contains("12.0 yet"));
    }

    #[test]
    fn fp8_is_refused_beside_adapters_and_in_engines_that_have_none() {
        let mut scenario = hopper();
        scenario.recipe.fp8 = Fp8::TeCurrent;
        assert_eq!(scenario.conflicts(), []);
        scenario.recipe.adapter = Adapter::Qlora;
        assert!(only(scenario).message.contains("none of these runs in fp8"));
        scenario.recipe.adapter = Adapter::None;
        scenario.cluster.engine = Engine::Torchtitan;
        assert_eq!(only(scenario).mend, Change::Word(Word::Fp8(Fp8::TorchaoTensorwise)));
        scenario.recipe.fp8 = Fp8::TorchaoRowwise;
        assert_eq!(scenario.conflicts(), []);
        scenario.cluster.engine = Engine::Megatron;
        scenario.cluster.zero = ZeroStage::Stage1;
        assert_eq!(only(scenario).mend, Change::Word(Word::Fp8(Fp8::TeDelayed)));
    }

    #[test]
    fn a_step_in_the_backward_pass_adds_nothing_up() {
        let mut scenario = ledger();
        scenario.recipe.step = StepKernel::InBackward;
        assert_eq!(scenario.conflicts(), []);
        scenario.recipe.micro_batches = 4;
        assert_eq!(only(scenario).mend, Change::Number(Field::MicroBatches, 1.0));
        scenario.recipe.micro_batches = 1;
        scenario.cluster.zero = ZeroStage::Stage0;
        assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage3)));
        scenario.cluster.gpus = 1;
        assert_eq!(scenario.conflicts(), []);
        scenario.recipe.precision = Precision::Fp16;
        assert_eq!(only(scenario).mend, Change::Word(Word::Precision(Precision::Bf16)));
    }

    #[test]
    fn what_refuses_a_step_or_weights_in_cpu_memory_is_named() {
        let says = |scenario: Scenario, what: &str| {
            let messages: Vec<_> = scenario.conflicts().into_iter().map(|conflict| conflict.message).collect();
            assert!(messages.iter().any(|message| message.contains(what)), "“{what}” is not in {messages:?}");
        };
        let mut scenario = ledger();
        scenario.recipe.step = StepKernel::InBackward;
        let mut task = scenario;
        task.task.kind = TaskKind::Dpo;
        says(task, "not counted for the trainers of tasks");
        scenario.cluster.engine = Engine::DeepSpeed;
        says(scenario, "have steps of their own");
        let mut scenario = ledger();
        scenario.recipe.offload = Offload::Parameters;
        let mut task = scenario;
        task.task.kind = TaskKind::Dpo;
        says(task, "not counted for the trainers of tasks");
        scenario.cluster.engine = Engine::Megatron;
        says(scenario, "Megatron-LM offloads optimizer state");
        scenario.cluster.engine = Engine::Torch;
        (scenario.cluster.pipeline_parallel, scenario.recipe.micro_batches) = (2, 2);
        says(scenario, "layer by layer, which a pipeline does not wait for");
        let mut scenario = ledger();
        scenario.recipe.offload = Offload::Optimizer;
        scenario.recipe.optimizer = Optimizer::PagedAdam8bit;
        says(scenario, "Paged moments leave the GPU by themselves");
        scenario.cluster.gpus = 1;
        scenario.recipe.optimizer = Optimizer::Apollo;
        says(scenario, "steps on the GPU; a step of it on the CPU is not counted");
    }

    #[test]
    fn an_optimizer_of_whole_matrices_is_led_to_whole_matrices() {
        let mut scenario = ledger();
        for optimizer in [Optimizer::Galore, Optimizer::Apollo, Optimizer::Soap] {
            scenario.recipe.optimizer = optimizer;
            assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage0)), "{optimizer}");
        }
        scenario.recipe.optimizer = Optimizer::Shampoo;
        assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage1)));
        scenario.recipe.optimizer = Optimizer::PagedAdam8bit;
        scenario.recipe.offload = Offload::Optimizer;
        assert_eq!(only(scenario).mend, Change::Word(Word::Offload(Offload::None)));
    }

    #[test]
    fn weights_in_cpu_memory_need_zero_3() {
        let mut scenario = ledger();
        scenario.recipe.offload = Offload::Parameters;
        assert_eq!(scenario.conflicts(), []);
        scenario.cluster.zero = ZeroStage::Stage2;
        assert_eq!(only(scenario).mend, Change::Word(Word::Zero(ZeroStage::Stage3)));
    }
}

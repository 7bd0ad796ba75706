//! What an input needs, against the ledger.

use bmax::compare::Input;
use bmax::{Field, Scenario, link};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;
use crate::support::matters::matters;

/// Scenarios in which other inputs matter than in the default.
const STARTS: [&str; 39] = [
    "",
    "?experts=8&active=2&kv_rank=512&q_rank=64&recompute=every-k&loss=chunked&position=learned&adapter=lora",
    "?experts=8&active=2&ep=2&norms=1",
    "?pp=4&vpp=2&zero=1&accum=8",
    "?pp=4&vpp=2&zero=1&engine=deepspeed&pp_first=6&logits=kept",
    "?engine=deepspeed&zero=2&precision=bf16",
    "?engine=megatron&zero=1&tp=2&sp=on&loss=vocab-parallel",
    "?engine=torchtitan&tp=2&recompute=ops",
    "?zero=3&precision=mixed",
    "?gpus=1&precision=fp32&kernels=fused",
    "?zero=2&precision=autocast&logits=kept",
    "?adapter=qlora",
    "?adapter=qlora&experts=8&active=2",
    "?adapter=lora&adapter_type=16&adapter_dropout=on&precision=mixed",
    "?adapter=lora-fp32&precision=autocast",
    "?adapter=lora&precision=fp32&loss=fused",
    "?recompute=block",
    "?recompute=kth-layer&loss=chunked-head",
    "?attn=eager",
    "?model=qwen2.5-vl-7b&tower=trained",
    "?model=llava-1.5-7b",
    "?method=paper&tp=2&attn=eager",
    "?method=workshop&dropout=off",
    "?task=dpo&zero=3&precision=autocast",
    "?task=dpo&adapter=lora&ref=adapter",
    "?task=grpo&completion=512",
    "?task=ppo&rollout=asleep&precision=mixed",
    "?task=reward",
    "?task=distil&teacher=70",
    "?eval=logits&eval_generate=on&eval_tokens=512",
    "?eval=loss&loss=classifier",
    "?zero=3&gather=gpu&gather_states=all&load=gpu&resume=init",
    "?adapter=qlora&zero=0&merge=whole&save=async",
    "?lengths=padded&len_max=1000",
    "?lengths=bucketed&len_attn=varlen&kv=8",
    "?lengths=packed",
    "?lengths=flattened&len_max=1000&method=paper",
    "?model=t5-base&attn=eager",
    "?model=whisper-small&precision=autocast",
];

/// The inputs that say of themselves that they change nothing, and do.
fn wrongly_idle(start: &Scenario) -> Vec<&'static str> {
    let idle = Input::each().filter(|input| !input.idle(start).is_empty());
    idle.filter(|input| matters(*input, start)).map(Input::key).collect()
}

#[test]
fn an_input_that_does_not_apply_changes_no_ledger_of_a_recipe_in_use() {
    let wrong = STARTS.iter().map(|query| (*query, wrongly_idle(&link::decode(query).scenario)));
    assert_eq!(wrong.filter(|(_, inputs)| !inputs.is_empty()).collect::<Vec<_>>(), []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn an_input_that_does_not_apply_changes_no_ledger(scenario in any_scenario()) {
        prop_assert_eq!(wrongly_idle(&scenario), Vec::<&str>::new(), "KEYS {} at {}", wrongly_idle(&scenario).join(","), link::encode(&scenario));
    }
}

#[test]
fn what_is_needed_is_said_and_what_is_there_is_not_asked_for() {
    let start = Scenario::default();
    assert_eq!(Input::Number(Field::Rank).idle(&start), "No effect without an adapter.");
    let adapted = link::decode("v=4&adapter=lora").scenario;
    assert_eq!(Input::Number(Field::Rank).idle(&adapted), "");
    let workshop = link::decode("v=4&method=workshop&adapter=lora").scenario;
    assert_eq!(Input::Number(Field::Rank).idle(&workshop), "Read by the ledger only.");
}

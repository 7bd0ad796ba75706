//! Scenarios that once broke a property, as links of version 3. Each is what a random failure shrank to.

use bmax::{Field, Scenario, link};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

use super::random;
use crate::support::any_scenario::any_scenario;

const FOUND: [&str; 17] = [
    // More keys than queries, and more parts of a tensor than heads.
    "model=gpt2-medium&kv=54&tp=23",
    "model=1b&kv=235&attn=eager",
    "model=1b&heads=973&kv=674&tp=100",
    "model=gpt-3-6.7b&kv=645&norms=1&dropout=off&attn=eager",
    // More stages than layers, and stages that do not divide the GPUs.
    "model=1b&adapter=lora&gpus=3749&pp=31",
    "model=1b&pp=438&cp=722",
    "model=1b&loss=fused&pp=158",
    "model=pythia-70m&vocab=2&pp=5",
    "model=deepseek-moe-16b&ffn=568626&pp=819",
    "model=pythia-70m&layers=1&ffn=8&pp=252",
    "model=deepseek-moe-16b&ffn=466746&pp=28&cp=350&ep=2",
    // More parts of a sequence than GPUs.
    "model=1b&vocab=1638450&precision=mixed&cp=102",
    "model=gemma-3-1b&layers=1&precision=fp32&cp=579",
    // Vocabularies and experts out of proportion.
    "model=1b&vocab=2&b=2167&precision=autocast&offload=optimizer&zero=2",
    "model=1b&layers=1&experts=845&ep=459",
    "model=deepseek-moe-16b&hidden=82885&layers=7&active=589&expert_ffn=360729",
    "model=deepseek-v2&b=12306&recompute=ops&attn=eager",
];

/// What once took less memory when this size grew by this factor.
pub const GROWING: [(&str, Field, f64); 3] = [
    ("model=pythia-70m&layers=1&ffn=8&pp=252", Field::Layers, 15.303222086686867),
    ("model=deepseek-moe-16b&ffn=466746&pp=28&cp=350&ep=2", Field::Layers, 6.27315221546679),
    ("model=deepseek-v2&b=12306&recompute=ops&attn=eager", Field::FeedForward, 3.858805849516462),
];

/// The scenario of a link of the list.
pub fn scenario(link: &str) -> Scenario {
    let read = link::decode(&format!("v=3&{link}"));
    assert_eq!(read.notices, [], "{link}");
    read.scenario
}

/// Holds a property for what was found before, and then for random scenarios, each brought into `shape` first.
pub fn hold(shape: fn(Scenario) -> Scenario, property: impl Fn(Scenario) -> Result<(), TestCaseError>) {
    for link in FOUND {
        match property(shape(scenario(link))) {
            Ok(()) | Err(TestCaseError::Reject(_)) => {}
            Err(TestCaseError::Fail(why)) => panic!("{link}: {why}"),
        }
    }
    match TestRunner::new(random()).run(&any_scenario().prop_map(shape), property) {
        Ok(()) => {}
        Err(TestError::Fail(why, scenario)) => panic!("{why}; a line for found.rs: {}", link::encode(&scenario)),
        Err(why) => panic!("{why}"),
    }
}

/// Properties of one scenario: each is a test.
macro_rules! of_every_scenario {
    ($(fn $name:ident($scenario:pat in $shape:expr) $body:block)*) => { $(
        #[test]
        fn $name() {
            super::found::hold($shape, |$scenario| {
                $body
                Ok(())
            });
        }
    )* };
}

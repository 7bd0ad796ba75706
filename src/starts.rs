//! Starting points: what most people train, each as a link with its answer.
//!
//! The first page shows them as cards, and a press on one opens its configuration. The answers are computed by the
//! estimator while the page is built, so that a card never says another number than the page that it leads to.
//!
//! ```
//! use bmax::starts::STARTS;
//! let lora = STARTS.iter().find(|start| start.id == "lora").expect("a start");
//! let range = bmax::range::range(&lora.scenario());
//! let [safe, likely] = [range.safe, range.likely].map(|answer| answer.batch().expect("it fits"));
//! assert_eq!(lora.answer(), format!("{safe} to {likely} sequences"));
//! ```

use crate::course::networks::{Named, Network, Setup, room};
use crate::range::range;
use crate::{Scenario, format, link};

/// A starting point.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// A word for it that stays.
    pub id: &'static str,
    /// What somebody wants to do, in a few words.
    pub name: &'static str,
    /// With what: the model and the GPUs.
    pub with: &'static str,
    /// What is set, in one sentence.
    pub line: &'static str,
    /// The configuration as the query of a link, as [`link::encode`] writes it.
    pub query: &'static str,
    /// The list of layers that is trained in place of a language model, as the word of a link ([`Named`]).
    pub network: Option<&'static str>,
}

/// Every start, in the order in which they are offered.
pub static STARTS: [Start; 6] = [
    Start {
        id: "lora",
        name: "LoRA on my 24 GB card",
        with: "Llama\u{a0}3.1\u{a0}8B, RTX\u{a0}4090",
        line: "Adapters of rank 16 beside frozen 16-bit weights, 1,024 tokens, whole layers recomputed.",
        query: "v=4&gpu=rtx-4090&s=1024&gpus=1&adapter=lora&zero=0",
        network: None,
    },
    Start {
        id: "qlora",
        name: "QLoRA of a 70B on 48 GB",
        with: "Llama\u{a0}3.1\u{a0}70B, RTX\u{a0}6000\u{a0}Ada",
        line: "Adapters of rank 16 beside weights of 4 bits, 1,024 tokens, whole layers recomputed.",
        query: "v=4&model=llama-3.1-70b&gpu=rtx-6000-ada&s=1024&gpus=1&adapter=qlora&zero=0",
        network: None,
    },
    Start {
        id: "full",
        name: "Full fine-tune on 8\u{a0}×\u{a0}80\u{a0}GB",
        with: "Llama\u{a0}3.1\u{a0}8B, 8\u{a0}×\u{a0}H100",
        line: "All weights trained under FSDP, in fp32 with bf16 products, 4,096 tokens, whole layers recomputed.",
        query: "v=4&s=4096&precision=mixed",
        network: None,
    },
    Start {
        id: "pretrain",
        name: "Pre-train from scratch",
        with: "GPT-2 124M, 8\u{a0}×\u{a0}A100",
        line: "The model that nanoGPT trains, on each of eight GPUs whole, under autocast, 1,024 tokens.",
        query: "v=4&model=gpt2&gpu=a100-80&precision=autocast&zero=0",
        network: None,
    },
    Start {
        id: "grpo",
        name: "DPO or GRPO on one node",
        with: "Llama\u{a0}3.1\u{a0}8B, 8\u{a0}×\u{a0}H100",
        line: "GRPO with 1,024 tokens a completion; vLLM shares the GPUs and is off while the model trains. For DPO change the task.",
        query: "v=4&completion=1024&precision=mixed&task=grpo&rollout=asleep",
        network: None,
    },
    Start {
        id: "images",
        name: "A diffusion model",
        with: "SDXL U-Net, H100",
        line: "All weights of the U-Net as a list of layers, under autocast, 1,024 × 1,024 pixels, each piece computed again, text encoders and VAE run beforehand.",
        query: "v=4&model=gpt2&gpus=1&precision=autocast",
        network: Some("sdxl.every-1"),
    },
];

impl Start {
    /// Its configuration.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        link::decode(self.query).scenario
    }

    /// How much fits, from the safe answer to the likely one, with what it counts: “2 to 4 sequences”, “61 images”.
    #[must_use]
    pub fn answer(&self) -> String {
        let scenario = self.scenario();
        let Some(named) = self.network.and_then(Named::read) else {
            return format::between(&range(&scenario), scenario.unit());
        };
        let network = Network::read(&named.text());
        let setup = Setup { frozen: named.frozen, averages: named.averages, ..Setup::of(&scenario) };
        let fit = network.fit(&setup, named.again.pieces(&network), room(&scenario));
        fit.batch.map_or_else(|| "does not fit".to_owned(), |most| format::examples(most) + " images")
    }

    /// Where it leads, seen from the first page.
    #[must_use]
    pub fn address(&self) -> String {
        match self.network {
            None => format!("?{}", self.query),
            Some(word) => format!("networks/?{}={word}&{}#network", link::NETWORK, self.query),
        }
    }
}

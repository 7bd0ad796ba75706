//! From what single keys say to parameters of a link: what counts where several say something, and what follows from
//! several together.

use super::facts::{
    AdapterRule, Base, Count, Fact, Fp8Scaling, Granularity, Half, Loaded, OwnOptimizer, Selects, Shards,
};
use crate::{Model, number};

/// Something that is said of one parameter or of one fact.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Claim {
    /// A parameter of a link and its value.
    Link(&'static str, String),
    Fact(Fact),
    Count(Count, f64),
}

impl Claim {
    /// Whether both are about the same, so that only one of them can count.
    fn is_about(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Link(one, _), Self::Link(other, _)) => one == other,
            (Self::Fact(one), Self::Fact(other)) => std::mem::discriminant(one) == std::mem::discriminant(other),
            (Self::Count(one, _), Self::Count(other, _)) => one == other,
            _ => false,
        }
    }

    /// The parameters of links that depend on it.
    pub(super) fn concerns(&self) -> Vec<&'static str> {
        match self {
            Self::Link(key, _) => vec![*key],
            Self::Fact(fact) => fact.concerns().to_vec(),
            Self::Count(count, _) => count.concerns().to_vec(),
        }
    }

    /// Whether it is what the files of a model say of its weights.
    pub(super) const fn is_of_files(&self) -> bool {
        matches!(self, Self::Count(Count::SavedWeights | Count::SavedBytes, _))
    }

    /// Whether a parameter may have this value because of it: what is off is no reason for what is on.
    pub(super) fn explains(&self, key: &str, value: &str) -> bool {
        let Self::Fact(fact) = self else { return true };
        match (key, fact) {
            ("recompute", Fact::Recomputes(on) | Fact::FsdpRecomputes(on)) => *on == (value == "full"),
            ("kernels", Fact::Compiles(on) | Fact::Liger(on) | Fact::LigerNorms(on)) => *on == (value == "fused"),
            ("loss", Fact::Liger(on)) => value != "tiled" && *on != (value == "plain"),
            ("loss", Fact::FusedLoss) => value == "fused",
            ("lengths", Fact::Packed(on) | Fact::Flattened(on)) => *on,
            ("step", Fact::Foreach(on)) => *on == (value == "foreach"),
            ("zero", Fact::ReshardsExperts(on)) => *on == (value == "3"),
            _ => true,
        }
    }
}

/// Says why weights in files are not counted: they are not those of the model.
pub(super) const OTHER_WEIGHTS: &str =
    "the files have other weights than those that are counted of the model, or no model is named that has them";

/// Says why a division of experts is not counted.
const EXPERTS: &str = "experts are divided among other tensor-parallel GPUs than attention";

/// How the weights in the files of a model stand to those that are counted of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Saved {
    /// They are as many.
    Same,
    /// They are so many, which is nearly as many.
    Close(f64),
    /// They are other ones.
    Other,
}

/// Claims of which no two are about the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims(Vec<Claim>);

impl Claims {
    /// Takes a claim over unless one about the same is there, and says whether it counts: it was taken, or says the same.
    pub(super) fn take(&mut self, claim: &Claim) -> bool {
        match self.0.iter().find(|taken| taken.is_about(claim)) {
            Some(taken) => taken == claim,
            None => {
                self.0.push(claim.clone());
                true
            }
        }
    }

    /// Whether nothing is said yet of what a claim is about.
    pub(super) fn is_open(&self, claim: &Claim) -> bool {
        !self.0.iter().any(|taken| taken.is_about(claim))
    }

    fn fact<T>(&self, find: impl Fn(Fact) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|claim| if let Claim::Fact(fact) = claim { find(*fact) } else { None })
    }

    fn count(&self, asked: Count) -> Option<f64> {
        self.0.iter().find_map(|claim| match claim {
            Claim::Count(count, number) if *count == asked => Some(*number),
            _ => None,
        })
    }

    fn link(&self, asked: &str) -> Option<&str> {
        self.0.iter().find_map(|claim| match claim {
            Claim::Link(key, value) if *key == asked => Some(value.as_str()),
            _ => None,
        })
    }

    /// The parameters of a link that all of them make together, none twice. `layers` are those of the model, where it is
    /// known, and `saved` is what [`Claims::saved`] says of it.
    pub(super) fn inputs(&self, layers: Option<u32>, saved: Option<Saved>) -> Vec<(&'static str, String)> {
        let mut inputs = Inputs(Vec::new());
        for claim in &self.0 {
            if let Claim::Link(key, value) = claim {
                inputs.0.push((*key, value.clone()));
            }
        }
        inputs.0.retain(|(key, value)| self.uncounted(&Claim::Link(key, value.clone())).is_none());
        self.torchtitan(&mut inputs);
        self.megatron(&mut inputs);
        self.chunks(layers, &mut inputs);
        self.devices(&mut inputs);
        self.division(&mut inputs);
        self.precision(&mut inputs);
        self.adapters(&mut inputs);
        self.step(&mut inputs);
        self.task(&mut inputs);
        self.batches(&mut inputs);
        if let Some(Saved::Close(weights)) = saved {
            inputs.say("params", number::plain(weights / 1e9));
        }
        inputs.0
    }

    /// What the files of a model say of how many weights it has; none where they say nothing, or nobody says of which model.
    pub(super) fn saved(&self, model: Option<&Model>) -> Option<Saved> {
        /// Nobody rounds the number of a model's weights by more than this part of it.
        const CLOSE: f64 = 0.03;
        let counted = model?.parameters as f64;
        let weights = self.count(Count::SavedWeights);
        let bytes = self.count(Count::SavedBytes);
        // Files have a model's weights in 16 bits or in fp32.
        let all = weights.into_iter().chain(bytes.into_iter().flat_map(|bytes| [bytes / 2.0, bytes / 4.0]));
        let off = |weights: &f64| (weights / counted - 1.0).abs();
        let nearest = all.min_by(|one, other| off(one).total_cmp(&off(other)))?;
        Some(if nearest == counted {
            Saved::Same
        } else if off(&nearest) <= CLOSE {
            Saved::Close(nearest)
        } else {
            Saved::Other
        })
    }

    /// Why what a key says is not counted beside what others say.
    pub(super) fn uncounted(&self, claim: &Claim) -> Option<&'static str> {
        let divides = |size: &str| size != "1";
        let is_apart = self.is(Fact::ExpertsWhole(true)) && self.link("tp").is_some_and(divides);
        (is_apart && matches!(claim, Claim::Link("ep", size) if divides(size))).then_some(EXPERTS)
    }

    fn gpus(&self) -> Option<f64> {
        if let (Some(shards), None) = (self.count(Count::Shards), self.count(Count::PerMachine)) {
            let replicas = self.count(Count::Replicas).unwrap_or(1.0);
            let group =
                ["tp", "pp", "cp"].map(|key| self.link(key).and_then(|text| number::parse(text).ok()).unwrap_or(1.0));
            return Some(replicas * shards * group.iter().product::<f64>());
        }
        let by_machine = self.count(Count::PerMachine).map(|each| {
            let machines = self.count(Count::Machines).unwrap_or(1.0);
            let away = |count| self.count(count).unwrap_or_default();
            // A part of a single machine generates, or whole machines of several do.
            match machines > 1.0 {
                true => each * (machines - away(Count::MachinesAway)).max(1.0),
                false => (each - away(Count::GpusAway)).max(1.0),
            }
        });
        by_machine.or_else(|| self.count(Count::Processes)).or_else(|| self.count(Count::Visible))
    }

    fn devices(&self, to: &mut Inputs) {
        if let Some(gpus) = self.gpus().or_else(|| self.link("gpus").and_then(|gpus| number::parse(gpus).ok())) {
            to.say("gpus", number::plain(gpus));
        }
    }

    fn shards(&self) -> Option<Shards> {
        let named = self.fact(|fact| if let Fact::Shards(shards) = fact { Some(shards) } else { None });
        let fsdp = self.fact(|fact| if let Fact::Fsdp(on) = fact { Some(on) } else { None });
        let reshards = self.fact(|fact| if let Fact::Reshards(_) = fact { Some(()) } else { None });
        match named {
            Some(Shards::DeepSpeed) => named,
            _ if fsdp == Some(true) => Some(Shards::Fsdp),
            Some(Shards::Nothing) if reshards.is_some() && fsdp != Some(false) => Some(Shards::Fsdp),
            None if reshards.is_some() => Some(Shards::Fsdp),
            _ => named,
        }
    }

    fn is(&self, asked: Fact) -> bool {
        self.0.contains(&Claim::Fact(asked))
    }

    /// Puts together what settings of torchtitan and of NeMo AutoModel say of each other.
    fn torchtitan(&self, to: &mut Inputs) {
        let Some(local) = self.count(Count::LocalBatch) else { return };
        // Nobody says over how many GPUs it is divided: over all that there are.
        let is_divided =
            self.count(Count::Shards).is_none_or(|shards| shards > 1.0) && self.shards() != Some(Shards::Nothing);
        let has_several = |key: &str, to: &Inputs| to.get(key).is_some_and(|number| number != "1");
        let (staged, tensor) = (has_several("pp", to), has_several("tp", to));
        let experts = self.fact(|fact| if let Fact::ReshardsExperts(on) = fact { Some(on) } else { None });
        let reshards = experts
            .filter(|_| has_several("ep", to))
            .or_else(|| self.fact(|fact| if let Fact::Reshards(on) = fact { Some(on) } else { None }));
        to.say(
            "zero",
            if !is_divided {
                "0"
            } else if reshards.unwrap_or(!staged) {
                "3"
            } else {
                "2"
            },
        );
        let casts = self.is(Fact::FsdpCasts(true));
        let word = match (self.loaded(), casts) {
            (Some(Loaded::Half), _) => "bf16-pure",
            (_, true) => {
                if is_divided {
                    "mixed"
                } else if self.shards().is_some() {
                    // NeMo AutoModel casts nothing where FSDP divides nothing.
                    "fp32"
                } else {
                    "autocast"
                }
            }
            (_, false) => "fp32",
        };
        to.say("precision", word);
        if self.is(Fact::OffloadsParameters(true)) && is_divided {
            to.say("offload", "parameters");
        }
        if tensor {
            to.say("sp", "on");
            // PyTorch’s foreach is not there beside tensor parallelism (`_foreach_for_mesh` in NeMo AutoModel).
            to.say("step", "loop");
        }
        let micro = if staged { self.count(Count::PipelineBatch).unwrap_or(1.0) } else { local };
        to.say("b", number::plain(micro));
        if staged {
            to.say("accum", number::plain((local / micro).floor().max(1.0)));
        }
        if to.get("chunks").is_some() {
            to.say("loss", "chunked-head");
        }
        match self.fact(|fact| if let Fact::Selects(selects) = fact { Some(selects) } else { None }) {
            Some(Selects::Nothing) => to.say("recompute", "none"),
            Some(Selects::Layers) => to.say("recompute", "full"),
            Some(Selects::Some) if self.is(Fact::SelectsOperators(true)) => to.say("recompute", "ops"),
            // Every layer alone is every layer.
            Some(Selects::Some) if to.get("every") == Some("1") => to.say("recompute", "full"),
            Some(Selects::Some) => to.say("recompute", "kth-layer"),
            None => {}
        }
        if to.get("recompute") != Some("kth-layer") {
            to.0.retain(|(key, _)| *key != "every");
        }
    }

    /// What Megatron-LM’s flags say together.
    fn megatron(&self, to: &mut Inputs) {
        if !self.is(Fact::Megatron(true)) {
            return;
        }
        let half = self.fact(|fact| if let Fact::Half(half) = fact { Some(half) } else { None });
        let word = match half {
            Some(Half::Bf16 | Half::Fp16) if self.is(Fact::Autocast(true)) => "autocast",
            Some(Half::Bf16) => "bf16",
            Some(Half::Fp16) => "fp16",
            _ => "fp32",
        };
        to.say("precision", word);
        // Without a word it adds bf16 gradients up in fp32 (`validate_args`).
        to.say("grad", if word == "bf16" { "32" } else { "16" });
        let divides = self.fact(|fact| if let Fact::Divides(stage) = fact { Some(stage) } else { None });
        let optimizer = u8::from(self.is(Fact::DividesOptimizer(true)));
        to.say("zero", divides.unwrap_or(optimizer).to_string());
        if self.is(Fact::OffloadsOptimizer(true)) {
            to.say("offload", "optimizer");
        }
        let layers = self.count(Count::RecomputedLayers).unwrap_or(1.0);
        match self.fact(|fact| if let Fact::Granularity(granularity) = fact { Some(granularity) } else { None }) {
            None => to.say("recompute", "none"),
            Some(Granularity::Selective) => to.say("recompute", "selective"),
            Some(Granularity::Full) if self.is(Fact::ByBlocks(true)) => {
                to.say("recompute", "block");
                to.say("recompute_layers", number::plain(layers));
            }
            Some(Granularity::Full) if layers > 1.0 => {
                to.say("recompute", "every-k");
                to.say("every", number::plain(layers));
            }
            Some(Granularity::Full) => to.say("recompute", "full"),
        }
        if self.is(Fact::Fp8(true)) {
            let scaling = self.fact(|fact| if let Fact::Fp8Scaling(scaling) = fact { Some(scaling) } else { None });
            to.say(
                "fp8",
                match scaling.unwrap_or(Fp8Scaling::Delayed) {
                    Fp8Scaling::Delayed => "te-delayed",
                    Fp8Scaling::Current => "te-current",
                    Fp8Scaling::Block => "te-block",
                    Fp8Scaling::Mxfp8 => "te-mxfp8",
                },
            );
        }
        self.shape(to);
    }

    /// The model that Megatron-LM’s flags describe (`validate_args` and `TransformerConfig.__post_init__`).
    fn shape(&self, to: &mut Inputs) {
        let value = |key: &str, to: &Inputs| to.get(key).and_then(|text| number::parse(text).ok());
        let (Some(hidden), Some(heads)) = (value("hidden", to), value("heads", to)) else { return };
        let gated = self.is(Fact::Gated(true));
        to.say("kv", number::plain(heads));
        to.say("head_dim", number::plain((hidden / heads).floor()));
        // Two thirds of four times the width, in multiples of 64.
        let inner = if gated { (hidden * 4.0 * 2.0 / 3.0 / 64.0).floor() * 64.0 } else { 4.0 * hidden };
        to.say("ffn", number::plain(inner));
        to.say("mlp", if gated { "gated" } else { "gelu" });
        to.say(
            "bias",
            match (self.is(Fact::Biased(false)), self.is(Fact::BiasedQueries(true))) {
                (false, _) => "all",
                (true, true) => "qkv",
                (true, false) => "none",
            },
        );
        if self.is(Fact::LearnsPositions(true)) && to.get("position").is_none() {
            to.say("position", "learned");
            let rows = self.count(Count::Positions).or_else(|| value("s", to)).unwrap_or_default();
            to.say("positions", number::plain(rows));
        }
        // What the flags do not name the model does not have.
        for (key, value) in [("experts", "0"), ("kv_rank", "0"), ("q_rank", "0"), ("rope_dim", "0"), ("qk_norm", "off")]
        {
            to.say(key, value);
        }
    }

    /// Chunks of a pipeline stage, from the layers of one.
    fn chunks(&self, layers: Option<u32>, to: &mut Inputs) {
        let value = |key: &str, to: &Inputs| to.get(key).and_then(|text| number::parse(text).ok());
        let layers = value("layers", to).or_else(|| layers.map(f64::from));
        let interleaves = self.fact(|fact| if let Fact::Interleaves(on) = fact { Some(on) } else { None });
        if interleaves == Some(false) || value("pp", to) == Some(1.0) {
            return;
        }
        match (layers, value("pp", to), self.count(Count::LayersOfChunk)) {
            (Some(layers), Some(stages), Some(each)) => {
                to.say("vpp", number::plain((layers / stages / each).round().max(1.0)));
            }
            // torchtitan gives each stage two where nobody says how long they are (`pipeline_llm`).
            (_, Some(_), None) if interleaves == Some(true) => to.say("vpp", "2"),
            _ => {}
        }
    }

    /// The ZeRO stage, as far as it is known.
    fn stage(&self) -> Option<u8> {
        Some(match self.shards()? {
            Shards::Nothing => 0,
            Shards::Fsdp if self.is(Fact::NoShard) => 0,
            Shards::Fsdp => {
                if self.is(Fact::Reshards(false)) {
                    2
                } else {
                    3
                }
            }
            Shards::DeepSpeed => {
                self.fact(|fact| if let Fact::Stage(stage) = fact { Some(stage) } else { None }).unwrap_or(0)
            }
        })
    }

    fn division(&self, to: &mut Inputs) {
        if let (true, Some(gpus)) = (self.is(Fact::DividesAll(true)), self.gpus()) {
            to.say("engine", "torch");
            to.say("zero", if gpus > 1.0 { "3" } else { "0" });
        }
        if self.is(Fact::DividesAll(true)) {
            self.offload(to);
            return;
        }
        let (Some(shards), Some(stage)) = (self.shards(), self.stage()) else { return };
        if matches!(self.link("engine"), Some("torchtitan" | "megatron")) {
            return;
        }
        to.say("engine", if shards == Shards::DeepSpeed { "deepspeed" } else { "torch" });
        to.say("zero", stage.to_string());
        self.offload(to);
    }

    /// What leaves the GPU.
    fn offload(&self, to: &mut Inputs) {
        let (optimizer, parameters, activations) = (
            self.is(Fact::OffloadsOptimizer(true)),
            self.is(Fact::OffloadsParameters(true)),
            self.is(Fact::OffloadsActivations(true)),
        );
        let offload = match (parameters, optimizer, activations) {
            (true, _, true) => "everything",
            (true, ..) => "parameters",
            (_, true, true) => "both",
            (_, true, false) => "optimizer",
            (.., true) => "activations",
            _ => return,
        };
        to.say("offload", offload);
    }

    /// Mixed precision, where anything says or implies what it is.
    fn half(&self) -> Option<Half> {
        let casts = self.fact(|fact| if let Fact::FsdpCasts(on) = fact { Some(on) } else { None });
        let said = self.fact(|fact| if let Fact::Half(half) = fact { Some(half) } else { None });
        match (casts, self.shards()) {
            (Some(true), Some(Shards::Fsdp)) => Some(Half::Bf16),
            (Some(_), Some(Shards::Fsdp | Shards::Nothing)) => Some(Half::Off),
            (_, shards) => said.or_else(|| shards.map(|_| Half::Off)),
        }
    }

    fn loaded(&self) -> Option<Loaded> {
        if self.is(Fact::LoadsAsItComputes(true)) {
            let is_full = self.half() == Some(Half::Off) && !self.is(Fact::Pure(true));
            return Some(if is_full { Loaded::Full } else { Loaded::Half });
        }
        self.fact(|fact| if let Fact::Loaded(loaded) = fact { Some(loaded) } else { None })
    }

    fn base(&self) -> Base {
        let said = self.fact(|fact| if let Fact::Base(base) = fact { Some(base) } else { None });
        said.unwrap_or(if self.is(Fact::Quantizes(true)) { Base::FourBits } else { Base::Whole })
    }

    /// Whether adapters are trained; none where nothing says it.
    fn adapts(&self) -> Option<bool> {
        let said = self.fact(|fact| if let Fact::Adapters(on) = fact { Some(on) } else { None });
        if self.base() == Base::Whole { said } else { Some(true) }
    }

    fn precision(&self, to: &mut Inputs) {
        let Some(half) = self.half() else { return };
        let shards = self.shards();
        let adapts = self.adapts() == Some(true);
        let loaded = self.loaded();
        // What is trained: adapters are in fp32 or cast to it, and so are whole weights in some programs.
        let is_full =
            loaded == Some(Loaded::Full) || self.is(Fact::CastsTrained(true)) && !adapts && !self.is(Fact::Pure(true));
        let word = if self.is(Fact::Pure(true)) {
            "bf16-pure"
        } else if shards == Some(Shards::DeepSpeed) {
            match half {
                _ if self.is(Fact::Autocast(true)) => "autocast",
                Half::Bf16 => "bf16",
                Half::Fp16 => "fp16",
                Half::Off => "fp32",
            }
        } else if half == Half::Off {
            if is_full || loaded.is_none() { "fp32" } else { "bf16-pure" }
        } else if self.is(Fact::FsdpCasts(true)) && loaded == Some(Loaded::Full) && self.gpus() == Some(1.0) {
            // NeMo-RL runs autocast as well, and on one GPU without FSDP.
            "autocast"
        } else if shards == Some(Shards::Fsdp) && (adapts || !self.is(Fact::FsdpKeepsType(true))) {
            "mixed"
        } else if adapts || is_full || loaded.is_none() {
            "autocast"
        } else {
            "bf16-pure"
        };
        to.say("precision", word);
    }

    fn is_cast_by_deepspeed(&self) -> bool {
        self.shards() == Some(Shards::DeepSpeed) && self.half() != Some(Half::Off)
    }

    fn adapters(&self, to: &mut Inputs) {
        let Some(adapts) = self.adapts() else { return };
        if !adapts {
            to.say("adapter", "none");
            to.0.retain(|(key, _)| !matches!(*key, "rank" | "targets" | "adapter_dropout" | "adapter_type"));
            return;
        }
        let base = self.base();
        let of_megatron = self.link("engine") == Some("megatron");
        let is_cast = of_megatron || self.is_cast_by_deepspeed();
        to.say(
            "adapter",
            match base {
                Base::FourBits => "qlora",
                Base::EightBits => "lora-8bit",
                // DeepSpeed casts every weight to the type of its flag, and Megatron-LM has all of them in its own.
                Base::Whole if self.loaded() == Some(Loaded::Full) && !is_cast => "lora-fp32",
                Base::Whole => "lora",
            },
        );
        let rule = self.fact(|fact| if let Fact::AdapterRule(rule) = fact { Some(rule) } else { None });
        let zero_3 = self.shards() == Some(Shards::DeepSpeed) && self.stage() == Some(3);
        match rule {
            Some(_) if of_megatron => to.say("adapter_type", "16"),
            Some(AdapterRule::Half) if self.loaded() != Some(Loaded::Full) => to.say("adapter_type", "16"),
            Some(AdapterRule::Trl) if base != Base::Whole || zero_3 => to.say("adapter_type", "16"),
            Some(_) => to.say("adapter_type", "32"),
            None => {}
        }
    }

    fn step(&self, to: &mut Inputs) {
        let recomputes = self.fact(|fact| if let Fact::Recomputes(on) = fact { Some(on) } else { None });
        match (recomputes, self.is(Fact::FsdpRecomputes(true))) {
            (Some(true), _) | (_, true) => to.say("recompute", "full"),
            (Some(false), _) => to.say("recompute", "none"),
            (None, _) => {}
        }
        let liger = self.is(Fact::Liger(true));
        let norms = self.fact(|fact| if let Fact::LigerNorms(on) = fact { Some(on) } else { None });
        let known = [Fact::Compiles(false), Fact::Liger(false)].into_iter().any(|fact| self.is(fact));
        if self.is(Fact::Compiles(true)) || liger && norms != Some(false) || norms == Some(true) {
            to.say("kernels", "fused");
        } else if known || liger {
            to.say("kernels", "eager");
        }
        let of_unsloth = match self.link("task") {
            _ if !self.is(Fact::UnslothLoss) => None,
            // Chunk by chunk, with the gradients in the forward pass, like Liger’s; a chunk takes half of the memory that is free,
            // and 4 GB at most (`UnslothFusedLoss` in unsloth_zoo/fused_losses/cross_entropy_loss.py, 002a0c99).
            None | Some("train") => Some("fused"),
            // It takes trl up to 0.24 (pyproject.toml), whose DPOTrainer has whole logits.
            Some("dpo") => Some("plain"),
            Some(_) => None,
        };
        if let Some(loss) = of_unsloth {
            to.say_instead("loss", loss);
        } else if self.is(Fact::TiledLoss) {
            // trl takes Liger’s kernels for layers alone beside its own head (`SFTTrainer.__init__`, trl 1.16.0).
            to.say_instead("loss", "tiled");
        } else if self.is(Fact::FusedLoss) || liger && !self.is(Fact::LigerLinear(false)) {
            // Liger has no such kernel for logits that are asked for in another way.
            to.say_instead("loss", "fused");
        } else if liger && self.is(Fact::LigerCrossEntropy(true)) {
            to.say("loss", "kernel-inplace");
        } else if self.is(Fact::Liger(false)) {
            to.say("loss", "plain");
        }
        if self.link("optimizer") == Some("sgd") && self.is(Fact::Momentum(true)) {
            to.say_instead("optimizer", "momentum");
        }
        if let Some(own) = self.fact(|fact| if let Fact::OwnOptimizer(own) = fact { Some(own) } else { None }) {
            let is_small = self.link("optimizer").is_some_and(|named| named.starts_with("adam8bit"));
            to.say_instead(
                "optimizer",
                match own {
                    OwnOptimizer::Galore if is_small => "galore-8bit",
                    OwnOptimizer::Galore => "galore",
                    OwnOptimizer::Apollo => "apollo",
                    OwnOptimizer::Muon => "muon",
                },
            );
        }
        if let Some(on) = self.fact(|fact| if let Fact::Foreach(on) = fact { Some(on) } else { None }) {
            to.say("step", if on { "foreach" } else { "loop" });
        }
        if self.is(Fact::StepsInBackward(true)) {
            to.say_instead("step", "in-backward");
        }
        if self.is(Fact::AdaptsFeedForward(true)) {
            to.say_instead("targets", "all");
        }
        if let Some(row) = self.count(Count::Row) {
            to.say_instead("s", number::plain(row));
            to.say("lengths", "packed");
        }
        if self.is(Fact::Flattened(true)) && !self.is(Fact::Packed(true)) {
            to.say("lengths", "flattened");
        } else if self.is(Fact::Packed(true)) {
            to.say("lengths", "packed");
        }
    }

    fn task(&self, to: &mut Inputs) {
        let engine = self.fact(|fact| if let Fact::Engine(on) = fact { Some(on) } else { None });
        if let Some(on) = engine {
            let word = match (on, self.is(Fact::EngineElsewhere(true)), self.is(Fact::EngineSleeps(true))) {
                (false, ..) => "model",
                (true, true, _) => "server",
                (true, false, true) => "asleep",
                (true, false, false) => "awake",
            };
            to.say("rollout", word);
            if matches!(word, "model" | "server") {
                to.0.retain(|(key, _)| *key != "engine_share");
            }
        }
        if let Some(completion) = self.count(Count::Completion) {
            to.say("s", number::plain(completion + self.count(Count::Prompt).unwrap_or_default()));
            to.say("completion", number::plain(completion));
        }
        if !matches!(self.link("task"), Some("dpo" | "grpo" | "ppo")) {
            to.0.retain(|(key, _)| *key != "ref");
            return;
        }
        let before = self.is(Fact::ReferenceBefore(true));
        let word = if before || self.is(Fact::Reference(false)) {
            "none"
        } else if self.adapts() == Some(true) {
            "adapter"
        } else {
            "copy"
        };
        to.say("ref", word);
    }

    /// Accumulation from the global batch, or the other way round.
    fn batches(&self, to: &mut Inputs) {
        // Programs that generate count prompts.
        let each = self.count(Count::PerPrompt).unwrap_or(1.0);
        let whole = self.count(Count::GlobalBatch).map(|batch| batch * each);
        let value = |key: &str, to: &Inputs| to.get(key).and_then(|text| number::parse(text).ok());
        let (Some(gpus), Some(micro)) = (value("gpus", to), value("b", to)) else {
            if let Some(batch) = whole {
                to.say("target", number::plain(batch));
                to.say("unit", "sequences");
            }
            return;
        };
        let group: f64 = ["tp", "pp", "cp"].iter().map(|key| value(key, to).unwrap_or(1.0)).product();
        let replicas = (gpus / group).max(1.0).floor();
        let accumulated = value("accum", to);
        if let Some(batch) = whole {
            to.say("target", number::plain(batch));
            to.say("unit", "sequences");
            let steps = (batch / (micro * replicas)).floor();
            if steps >= 1.0 {
                to.say("accum", number::plain(steps));
            }
        } else if let Some(steps) = accumulated {
            to.say("target", number::plain(micro * steps * replicas));
            to.say("unit", "sequences");
        }
    }
}

/// Parameters in the order in which they were said.
struct Inputs(Vec<(&'static str, String)>);

impl Inputs {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| *other == key).map(|(_, value)| value.as_str())
    }

    /// Says a parameter, unless a key said it in its own words.
    fn say(&mut self, key: &'static str, value: impl Into<String>) {
        if self.get(key).is_none() {
            self.0.push((key, value.into()));
        }
    }

    /// Says a parameter in the place of what a key said of it.
    fn say_instead(&mut self, key: &'static str, value: impl Into<String>) {
        self.0.retain(|(said, _)| *said != key);
        self.say(key, value);
    }
}

//! Where constants and formulas come from. The page's list of sources is made from this table.

use serde::Serialize;

/// A publication that a constant or formula is taken from, as far as a caption shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// Short name for captions: authors and year.
    pub short: &'static str,
    /// Where to read it.
    pub url: &'static str,
}

/// The rest of a source. It is a table of its own, because a program that never shows it then does
/// not carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Details {
    /// Title of the work.
    pub title: &'static str,
    /// Where in the work.
    pub locus: &'static str,
    /// When it was published or, for pages without a date, read; ISO 8601 as far as known.
    pub date: &'static str,
}

impl Source {
    /// Title, place and date.
    ///
    /// ```
    /// use bmax::source;
    /// assert_eq!(source::KORTHIKANTI.details().date, "2022-05-10");
    /// ```
    pub fn details(&self) -> Details {
        let place = ALL.iter().position(|source| *source == self).unwrap_or(0);
        DETAILS[place]
    }
}

macro_rules! sources {
    ($($(#[$meta:meta])* $name:ident = $short:literal, $title:literal, $locus:literal, $url:literal, $date:literal;)+) => {
        $($(#[$meta])* pub static $name: Source = Source { short: $short, url: $url };)+

        /// Every source that the estimator cites.
        pub static ALL: &[&Source] = &[$(&$name,)+];

        static DETAILS: &[Details] = &[$(Details { title: $title, locus: $locus, date: $date },)+];
    };
}

sources! {
    /// The workshop page that the first method restates.
    WORKSHOP = "Vizuara workshop",
        "Finding the Maximum Local Batch Size",
        "Deriving Maximum Batch Size, steps 1–4",
        "https://vizuaraai.github.io/5d-parallelism-visual-guide/max-local-batch-size.html", "2026";
    /// Activation bytes per layer.
    KORTHIKANTI = "Korthikanti et al. 2022",
        "Reducing Activation Recomputation in Large Transformer Models",
        "sections 4.1–4.2 and 5, equations 1–4, table 2",
        "https://arxiv.org/abs/2205.05198", "2022-05-10";
    /// Model states of mixed-precision Adam and their division.
    RAJBHANDARI = "Rajbhandari et al. 2020",
        "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models",
        "section 3.1 and figure 1",
        "https://arxiv.org/abs/1910.02054", "2020-05-13";
    /// What eager framework models keep, tensor by tensor.
    TRANSFORMERS = "transformers 5.23 under MemTracker",
        "Hugging Face transformers 5.23.0 model classes, simulated with PyTorch 2.15 FakeTensorMode and MemTracker",
        "saved tensors of one block and of the loss; tests/vectors/README.md",
        "https://github.com/huggingface/transformers/tree/v5.23.0/src/transformers/models", "2026";
    /// The matrices of a transformer.
    MODEL = "Vaswani et al. 2017",
        "Attention Is All You Need",
        "section 3; GLU variants: arXiv 2002.05202; grouped queries: arXiv 2305.13245",
        "https://arxiv.org/abs/1706.03762", "2017-06-12";
    /// Master weights of mixed precision.
    MICIKEVICIUS = "Micikevicius et al. 2018",
        "Mixed Precision Training",
        "section 3.1",
        "https://arxiv.org/abs/1710.03740", "2018-02-15";
    /// Bytes per parameter of the distributed optimizer, and the pipeline schedule.
    MEGATRON = "Megatron-LM",
        "Megatron Core distributed optimizer; Narayanan et al. 2021, arXiv 2104.04473, section 2.2 on 1F1B",
        "table of theoretical memory per parameter",
        "https://docs.nvidia.com/megatron-core/developer-guide/latest/api-guide/dist_optimizer.html", "2026";
    /// Two moments.
    ADAM = "Loshchilov and Hutter 2019",
        "Decoupled Weight Decay Regularization",
        "algorithm 2",
        "https://arxiv.org/abs/1711.05101", "2019-01-04";
    /// Block-wise quantized moments.
    ADAM8BIT = "Dettmers et al. 2022",
        "8-bit Optimizers via Block-wise Quantization",
        "section 2, blocks of 2,048; blocks of 256 as in bitsandbytes since version 0.44",
        "https://arxiv.org/abs/2110.02861", "2022-06-20";
    /// Row and column factors.
    ADAFACTOR = "Shazeer and Stern 2018",
        "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost",
        "section 3, algorithm 4",
        "https://arxiv.org/abs/1804.04235", "2018-04-11";
    /// One moment.
    LION = "Chen et al. 2023",
        "Symbolic Discovery of Optimization Algorithms",
        "algorithm 2",
        "https://arxiv.org/abs/2302.06675", "2023-05-08";
    /// One moment on matrices.
    MUON = "Jordan et al. 2024",
        "Muon: An optimizer for hidden layers in neural networks",
        "definition; Adam on embeddings, head and vectors",
        "https://kellerjordan.github.io/posts/muon/", "2024-12-08";
    /// What flash attention keeps.
    FLASH = "Dao et al. 2022",
        "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness",
        "section 3.1, algorithm 1: output and softmax statistics",
        "https://arxiv.org/abs/2205.14135", "2022-06-23";
    /// Recomputation in segments.
    CHECKPOINTS = "Chen et al. 2016",
        "Training Deep Nets with Sublinear Memory Cost",
        "section 4",
        "https://arxiv.org/abs/1604.06174", "2016-04-22";
    /// Operator-level recomputation and sharded training.
    TORCHTITAN = "torchtitan",
        "pytorch/torchtitan, torchtitan/models/llama/parallelize_llama.py: activation checkpointing policy and FSDP units",
        "apply_ac, apply_fsdp",
        "https://github.com/pytorch/torchtitan", "2024-12";
    /// The loss that takes head and loss in chunks.
    TORCHTITAN_LOSS = "torchtitan 2026",
        "pytorch/torchtitan, torchtitan/components/loss.py at b5bcd76c66d0: ChunkedCELoss",
        "chunks of head, loss and backward pass; GradAccumulator in fp32 (pull request 2937)",
        "https://github.com/pytorch/torchtitan", "2026-08-21";
    /// The head that makes log-probabilities from tiles of the logits.
    TRL_HEAD = "trl 1.16",
        "huggingface/trl, trl/kernels/chunked_logprob.py and trl/trainer/utils.py at 1.16.0: ChunkedLogProbFunction",
        "tiles of 4,096 tokens and 32,768 words; gradients added up in fp32",
        "https://github.com/huggingface/trl/tree/v1.16.0", "2026-11";
    /// The loss that takes finished logits in chunks.
    TORCHTUNE = "torchtune",
        "pytorch/torchtune, torchtune/modules/loss/ce_chunked_output_loss.py at bd2a0fc7c314",
        "CEWithChunkedOutputLoss: each chunk is cast to fp32 for a loss of its own",
        "https://github.com/pytorch/torchtune", "2026-04-23";
    /// The loss on a vocabulary that tensor parallelism divides.
    LOSS_PARALLEL = "PyTorch loss_parallel",
        "PyTorch source: torch/distributed/tensor/parallel/loss.py, PyTorch 2.15",
        "_log_softmax and _nll_loss_and_log_softmax_backward",
        "https://github.com/pytorch/pytorch", "2026";
    /// Gathered layers and reduce buffers.
    FSDP = "PyTorch FSDP",
        "Zhao et al. 2023, PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel",
        "section 3.2 and 4; arXiv 2304.11277",
        "https://arxiv.org/abs/2304.11277", "2023-09-12";
    /// Temporaries of optimizer steps, buckets of DDP, the autocast cache.
    PYTORCH = "PyTorch 2.15",
        "PyTorch source: torch/optim/adam.py, torch/nn/parallel/distributed.py, aten autocast_mode.cpp",
        "foreach and single-tensor paths; bucket views; weight cache",
        "https://github.com/pytorch/pytorch", "2026";
    /// Megatron's cross-entropy.
    MEGATRON_LOSS = "Megatron Core",
        "NVIDIA/Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py at d98e8a64ddf3",
        "in place since commit 9634c0e4a3 of June 2024",
        "https://github.com/NVIDIA/Megatron-LM", "2026-08-22";
    /// Dummy gradients and workspaces.
    TRANSFORMER_ENGINE = "Transformer Engine",
        "NVIDIA/TransformerEngine, transformer_engine/pytorch at d0067d0da6cb",
        "module/base.py get_dummy_wgrad; cpp_extensions/gemm.py get_cublas_workspace",
        "https://github.com/NVIDIA/TransformerEngine", "2026-08-22";
    /// Buckets, flat gradients and pipeline buffers.
    DEEPSPEED = "DeepSpeed",
        "deepspeedai/DeepSpeed, deepspeed/runtime at edaa72212672",
        "zero/stage_1_and_2.py, zero/stage3.py, pipe/engine.py",
        "https://github.com/deepspeedai/DeepSpeed", "2026-08-22";
    /// Adapters as they are run.
    PEFT = "peft 0.21",
        "huggingface/peft, src/peft/tuners/lora/layer.py, 0.21.2",
        "Linear.forward and _cast_input_dtype",
        "https://github.com/huggingface/peft", "2026";
    /// Frozen matrices in 8 bits.
    LLM_INT8 = "bitsandbytes 0.50, LLM.int8",
        "bitsandbytes 0.50.2 (95f9af309d4d), bitsandbytes/autograd/_functions.py",
        "MatMul8bitLt.forward: ctx.tensors = (CAt, subA, A)",
        "https://github.com/bitsandbytes-foundation/bitsandbytes", "2026";
    /// Cross-entropy as one kernel beside the logits.
    FLASH_CROSS_ENTROPY = "flash-attention",
        "Dao-AILab/flash-attention, flash_attn/losses/cross_entropy.py",
        "inplace_backward=False",
        "https://github.com/Dao-AILab/flash-attention", "2026";
    /// Fused linear cross-entropy.
    LIGER = "Hsu et al. 2024",
        "Liger Kernel: Efficient Triton Kernels for LLM Training",
        "section 3.2",
        "https://arxiv.org/abs/2410.10989", "2024-10-14";
    /// Preference and reinforcement learning as they are run.
    TRL = "trl 1.10",
        "huggingface/trl 1.10.0, trl/trainer: dpo_trainer.py, grpo_trainer.py, reward_trainer.py and utils.py; trl/experimental: ppo and gkd",
        "_compute_loss, selective_log_softmax, entropy_from_logits, _get_per_token_logps_and_entropies; generalized_jsd_loss",
        "https://github.com/huggingface/trl/tree/v1.10.0", "2026-07";
    /// An inference engine beside the trained model.
    VLLM = "vLLM in trl 1.10",
        "huggingface/trl 1.10.0, trl/generation/vllm_generation.py: colocated vLLM with gpu_memory_utilization and sleep(level=2)",
        "generate and sync_weights; verl (b178a3cd, verl/workers/config/rollout.py) and OpenRLHF (3c3be623, openrlhf/cli/train_ppo_ray.py) have the same two settings",
        "https://github.com/huggingface/trl/tree/v1.10.0", "2026-07";
    /// Evaluation and loading as they are run.
    TRAINER = "transformers’ trainer",
        "huggingface/transformers 5.23.0, src/transformers: trainer.py, trainer_pt_utils.py, modeling_utils.py; accelerate 1.15.0",
        "evaluation_loop, from_pretrained",
        "https://github.com/huggingface/transformers/tree/v5.23.0/src/transformers/models", "2026";
    /// State dicts, gathered and read.
    STATE_DICT = "PyTorch’s state dicts",
        "PyTorch 2.15, torch/distributed/checkpoint/state_dict.py, torch/distributed/_state_dict_utils.py and torch/optim/optimizer.py",
        "state dicts",
        "https://github.com/pytorch/pytorch", "2026";
    /// Low-rank adapters.
    LORA = "Hu et al. 2021",
        "LoRA: Low-Rank Adaptation of Large Language Models",
        "section 4.1",
        "https://arxiv.org/abs/2106.09685", "2021-10-16";
    /// 4-bit weights.
    QLORA = "Dettmers et al. 2023",
        "QLoRA: Efficient Finetuning of Quantized LLMs",
        "section 3: NF4 blocks of 64, double quantization 0.127 bits",
        "https://arxiv.org/abs/2305.14314", "2023-05-23";
    /// Latent attention and shared experts.
    DEEPSEEK = "DeepSeek-AI 2024",
        "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model",
        "sections 2.1 and 2.2",
        "https://arxiv.org/abs/2405.04434", "2024-06-19";
    /// What a process takes beside its tensors.
    BEKMAN = "Bekman 2024",
        "Machine Learning Engineering: memory usage of training",
        "CUDA context 0.47 to 0.92 GiB, NCCL 1 to 1.5 GiB",
        "https://github.com/stas00/ml-engineering/blob/master/training/performance/README.md", "2024";
    /// What the caching allocator needs and holds beyond live tensors.
    ALLOCATOR = "PyTorch 2.15’s allocator",
        "Memory management of the CUDA caching allocator",
        "c10/cuda/CUDACachingAllocator.cpp, run over a device that computes nothing: 311 runs of tests/vectors",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html", "2026";
    /// Memory that the driver keeps.
    DRIVER = "Device catalogue",
        "Total memory the driver reports, less what a program can get",
        "the row of the device",
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html", "2026";
    /// Training in fp8 at scale.
    DEEPSEEK_V3 = "DeepSeek-AI 2024b",
        "DeepSeek-V3 Technical Report",
        "sections 3.2.3 and 3.3: recomputation, mixed-precision framework, low-precision storage",
        "https://arxiv.org/abs/2412.19437", "2024-12-27";
    /// fp8 products and optimizers in few bits.
    TORCHAO = "torchao",
        "pytorch/ao at 36027d82d1ad, torchao/float8 and torchao/optim",
        "float8_linear.py matmul_with_hp_or_float8_args; adam.py _new_buffer, subclass_8bit.py, subclass_4bit.py, subclass_fp8.py",
        "https://github.com/pytorch/ao", "2026-08-21";
    /// Optimizers whose state may leave the GPU.
    BITSANDBYTES = "bitsandbytes 0.50",
        "bitsandbytes 0.50.2 (95f9af309d4d), bitsandbytes/optim/optimizer.py",
        "get_state_buffer and prefetch_state",
        "https://github.com/bitsandbytes-foundation/bitsandbytes", "2026";
    /// Gradients of low rank.
    GALORE = "Zhao et al. 2024",
        "GaLore: Memory-Efficient LLM Training by Gradient Low-Rank Projection",
        "section 4 and table 1; galore_torch at 2cc66f88cce1",
        "https://arxiv.org/abs/2403.03507", "2024-06-02";
    /// Gradients scaled by projected moments.
    APOLLO = "Zhu et al. 2024",
        "APOLLO: SGD-like Memory, AdamW-level Performance",
        "section 4; apollo_torch at 76b34725abcb",
        "https://arxiv.org/abs/2412.05270", "2025-02-17";
    /// Preconditioners of blocks.
    SHAMPOO = "Shi et al. 2023",
        "A Distributed Data-Parallel PyTorch Implementation of the Distributed Shampoo Optimizer for Training Neural Networks At-Scale",
        "section 3; facebookresearch/optimizers at f60660661194",
        "https://arxiv.org/abs/2309.06497", "2023-09-12";
    /// Adam in the eigenbasis of preconditioners.
    SOAP = "Vyas et al. 2024",
        "SOAP: Improving and Stabilizing Shampoo using Adam",
        "algorithm 3; soap.py at a1e553530fde",
        "https://arxiv.org/abs/2409.11321", "2025-01-31";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_its_own_details() {
        for (source, details) in ALL.iter().zip(DETAILS) {
            assert_eq!(source.details(), *details, "{}", source.short);
            assert!(source.url.starts_with("https://") && !details.title.is_empty() && details.date.starts_with("20"));
        }
    }
}

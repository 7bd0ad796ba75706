//! The options of every choice.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{Choice, ChoiceOption, WordError};
use crate::estimator::text::excerpt;

choices! {
    /// Which accounting turns a scenario into bytes.
    Method {
        /// Every tensor counted, and the maximum over the instants of a step.
        Ledger = "ledger", "Ledger",
            "Every tensor is counted by name, together with the moments at which it is alive; the answer is the highest moment.";
        /// The workshop's four buckets, with activations counted twice at 16 bits.
        Workshop = "workshop", "Workshop",
            "Four buckets, 16 bytes per parameter over all GPUs, and activations multiplied by the element size: cautious, because its 34 is already in bytes.";
        /// Korthikanti et al. 2022 for activations, Rajbhandari et al. 2020 for model states.
        Paper = "paper", "Paper",
            "Activations as Korthikanti et al. count them, 34 bytes at 16 bits, and model states split by the ZeRO stage you choose.";
    }

    /// The precision recipe: in what weights, activations and optimizer state are held.
    #[non_exhaustive]
    Precision {
        /// bfloat16 weights and compute with an fp32 master copy.
        Bf16 = "bf16", "bf16 with fp32 master",
            "Weights and activations take 2 bytes; the optimizer keeps an fp32 master copy and two fp32 moments, as in Megatron-LM and DeepSpeed.";
        /// IEEE half-precision weights and compute with an fp32 master copy.
        Fp16 = "fp16", "fp16 with fp32 master",
            "The same bytes as bf16; its narrower range needs loss scaling.";
        /// Weights in fp32, cast to bfloat16 module by module.
        Mixed = "mixed", "bf16 over fp32 weights (FSDP)",
            "Weights stay in fp32 and are cast to bf16 when a layer is gathered, as FSDP's mixed-precision policy does; no second master copy.";
        /// torch.autocast over an fp32 model.
        Autocast = "autocast", "autocast over fp32",
            "torch.autocast: fp32 weights, bf16 matrix products, fp32 norms and residual stream, and a bf16 copy of every weight in use.";
        /// Weights, gradients, moments and activations in bfloat16.
        PureBf16 = "bf16-pure", "pure bf16",
            "Everything in bf16, Adam's moments too: 8 bytes per parameter, at the price of coarse updates.";
        /// Everything in single precision.
        Fp32 = "fp32", "fp32",
            "Everything takes 4 bytes an element: 16 bytes per parameter with Adam, and twice the activations.";
    }

    /// In what the gradients of 16-bit weights are kept until the optimizer step.
    GradientType {
        /// Like the weights.
        Half = "16", "16 bits",
            "Gradients in the type of the weights: 16 bytes per parameter with Adam.";
        /// Added up in fp32.
        Full = "32", "fp32",
            "Gradients are added up in fp32: 18 bytes per parameter with bf16, and 20 with fp16, which keeps both.";
    }

    /// The update rule, which decides the optimizer state.
    #[non_exhaustive]
    Optimizer {
        /// Two moments.
        AdamW = "adamw", "Adam, AdamW", "Two moments, 8 bytes per parameter in fp32.";
        /// Two moments at 8 bits.
        Adam8bit = "adam8bit", "8-bit Adam", "Two moments of one byte each, with a scale per block of 256; tensors of up to 4,096 elements stay in fp32.";
        /// Row and column sums in place of the second moment, updated in fp32.
        Adafactor = "adafactor", "Adafactor (transformers)", "One number per row and per column of each matrix, and no first moment: far below a byte per parameter. The update is worked out in fp32.";
        /// The same in the type of the parameters.
        AdafactorTorch = "adafactor-torch", "Adafactor (torch.optim)", "One number per row and per column of each matrix, and no first moment. The update is worked out in the type of the parameters.";
        /// One moment.
        Lion = "lion", "Lion", "One moment, 4 bytes per parameter in fp32.";
        /// One moment on matrices, Adam on the rest.
        Muon = "muon", "Muon", "One moment on the matrices of the blocks, Adam's two on embeddings, head and vectors.";
        /// One velocity.
        Momentum = "momentum", "SGD with momentum", "One velocity, 4 bytes per parameter in fp32.";
        /// No state.
        Sgd = "sgd", "SGD", "No state at all.";
        /// Two moments at 8 bits in memory that GPU and host share.
        PagedAdam8bit = "adam8bit-paged", "8-bit Adam, paged", "bitsandbytes’ paged AdamW: moments of 100,000 elements and more are in unified memory. The driver keeps them on the GPU while there is room and in CPU memory while there is none.";
        /// Two moments at 8 bits by torchao.
        Adam8bitTorchao = "adam8bit-torchao", "8-bit Adam (torchao)", "Two moments of one byte each, with a scale per block of 256; small tensors keep moments in their own type.";
        /// Two moments at 4 bits.
        Adam4bit = "adam4bit", "4-bit Adam (torchao)", "Two moments of half a byte each, with a scale per block of 128; small tensors keep moments in their own type.";
        /// Two moments in fp8.
        AdamFp8 = "adam-fp8", "fp8 Adam (torchao)", "Two moments of one byte each in fp8 (E4M3), with a scale per block of 256; small tensors keep moments in their own type.";
        /// Moments of a projected gradient.
        Galore = "galore", "GaLore", "The gradient of each matrix of the blocks is projected to rank r by its singular vectors, and only the projection has Adam’s moments.";
        /// The same with moments at 8 bits.
        Galore8bit = "galore-8bit", "GaLore, 8 bits", "GaLore with bitsandbytes’ 8-bit Adam for the projected gradients and for all other weights.";
        /// Moments of a gradient projected at random.
        Apollo = "apollo", "APOLLO", "Moments of a randomly projected gradient scale the gradient itself. Rank 1 is APOLLO-Mini.";
        /// Preconditioners of blocks, and Adam's second moment for their length.
        Shampoo = "shampoo", "Distributed Shampoo", "Each block of a matrix has two preconditioners and their roots in fp32, beside a first moment and Adam’s second one, which sets the length of the update.";
        /// Adam in the eigenbasis of preconditioners.
        Soap = "soap", "SOAP", "Adam’s moments in the eigenbasis of Shampoo’s preconditioners: two fp32 squares for each side of a matrix that is not too wide.";
    }

    /// How the optimizer step is carried out, which decides its temporaries.
    #[non_exhaustive]
    StepKernel {
        /// One kernel for the whole update.
        Fused = "fused", "fused", "One kernel updates in place; no temporary.";
        /// PyTorch's default on a GPU: a list of tensors at a time.
        Foreach = "foreach", "foreach (PyTorch's default)", "All tensors are updated together, and so is one temporary as large as all of them.";
        /// One tensor at a time.
        Loop = "loop", "one tensor at a time", "Temporaries for one tensor at a time; the largest one counts.";
        /// In the backward pass.
        InBackward = "in-backward", "in the backward pass", "Each weight is updated as soon as its gradient is there, which then goes: the gradient of one matrix is alive, or that of one layer under FSDP. Gradients cannot be added up or clipped.";
    }

    /// How much of the forward pass is computed again instead of kept.
    #[non_exhaustive]
    Recomputation {
        /// Every activation is kept.
        None = "none", "None",
            "Every intermediate is kept for the backward pass: no extra work, most memory.";
        /// Attention scores are computed again.
        Selective = "selective", "Selective",
            "Attention scores are computed again in the backward pass: the S² term goes. The extra work is S/18H of a step at most: 0.9 % for GPT-3, 8 % for 7B at 8,192 tokens. Flash attention does this by itself.";
        /// Every second matrix product is kept, the rest is computed again.
        Operators = "ops", "Every 2nd product",
            "Every second matrix product and the attention output are kept and the rest is computed again, as torchtitan’s operator-level selection does.";
        /// Segments of K layers are computed again from their inputs.
        EveryK = "every-k", "Segments of K layers",
            "Layers stand in segments of K. Only the input of a segment is kept, and its K layers are computed again together: L / K + K layers’ worth instead of L.";
        /// Every K-th layer is computed again, the others keep everything.
        KthLayer = "kth-layer", "Every K-th layer alone",
            "Layers K, 2K, 3K and so on are computed again, each by itself; all other layers keep everything. torchtitan calls it selective_ac_option = K.";
        /// The first layers of each stage are computed again, the others keep everything.
        Block = "block", "First N layers of a stage",
            "The first N layers of each pipeline stage are computed again, each by itself; the others keep everything. Megatron-LM calls it --recompute-method block.";
        /// Whole layers are computed again from their inputs.
        Full = "full", "Full",
            "Only each layer's input is kept and the layer is computed again: least memory, about a third more work.";
    }

    /// The attention kernel.
    #[non_exhaustive]
    AttentionKernel {
        /// Tile by tile; nothing quadratic is kept.
        Flash = "flash", "Flash (SDPA)",
            "Keeps queries, keys, values, the output and one number per row: linear in S.";
        /// Scores, softmax and mask in full.
        Eager = "eager", "Eager",
            "Keeps scores, softmax and dropout in full: n·S² elements per layer and sequence.";
    }

    /// What turns the last hidden state into a loss.
    #[non_exhaustive]
    LossHead {
        /// All logits at once.
        Plain = "plain", "Plain cross-entropy",
            "All logits at once, in fp32, with their softmax and gradient: 12 bytes and more per token and vocabulary entry.";
        /// Logits kept, the fp32 work done in chunks.
        Chunked = "chunked", "Chunked",
            "Logits are made, compared and differentiated in chunks of the tokens: only one chunk is in fp32 at a time.";
        /// Megatron's: each device its part of the vocabulary, the softmax in place of the logits.
        VocabularyParallel = "vocab-parallel", "Vocabulary-parallel",
            "Megatron-LM’s cross-entropy: the softmax takes the place of the fp32 logits and the gradient that of the softmax.";
        /// Megatron's, compiled: in a second tensor.
        VocabularyParallelFused = "vocab-parallel-fused", "Vocabulary-parallel, fused",
            "The same under --cross-entropy-loss-fusion with its native kernels: compiled, so that the exponentials take a tensor of their own.";
        /// Head, loss and their backward pass one chunk after another.
        ChunkedHead = "chunked-head", "Chunked with its head",
            "The head’s product, the loss and their backward pass run chunk by chunk: one chunk of logits at a time, and an fp32 sum of the hidden states’ gradients.";
        /// Logits in full, but one kernel for loss and gradient.
        Kernel = "kernel", "Cross-entropy kernel",
            "Logits in the computing type, and one kernel from them to the loss and to their gradient, as in flash-attn; nothing of their size in fp32.";
        /// The same, with the gradient in the place of the logits.
        KernelInPlace = "kernel-inplace", "Cross-entropy kernel, in place",
            "Logits in the computing type, and one kernel that writes their gradient over them, as in Liger.";
        /// Logits never in full.
        Fused = "fused", "Fused linear cross-entropy",
            "The head’s product and the loss are one kernel; the logits are never there in full.";
        /// Logits of masked words, in the computing type.
        MaskedLm = "masked-lm", "Masked words",
            "BERT’s head: logits of every token, which are not cast to fp32 before the loss.";
        /// One output per sequence.
        Classifier = "classifier", "Classifier",
            "A few classes per sequence instead of a vocabulary per token.";
    }

    /// How many operations share a kernel.
    #[non_exhaustive]
    Kernels {
        /// One kernel per operation of the framework's code.
        Eager = "eager", "Eager framework operations",
            "Each operation of the model’s code keeps what it needs: fp32 copies in norms, both factors of every product.";
        /// Norms, activation functions and casts fused.
        Fused = "fused", "Fused (compile, Transformer Engine, Liger)",
            "Norms keep their input once, the gated product is computed again, casts are not kept.";
    }

    /// What lies in CPU memory.
    #[non_exhaustive]
    Offload {
        /// Everything is on the device.
        None = "none", "Nothing", "Everything stays on the GPU.";
        /// Optimizer state and its step.
        Optimizer = "optimizer", "Optimizer state", "Optimizer state and master weights are in CPU memory, and the CPU does the optimizer step.";
        /// What is kept at the boundaries of recomputed layers.
        Activations = "activations", "Layer inputs", "The inputs that recomputation keeps are swapped to CPU memory and back; room for two stays on the GPU.";
        /// Both.
        Both = "both", "Both", "Optimizer state and layer inputs.";
        /// Weights, gradients and optimizer state.
        Parameters = "parameters", "Weights and optimizer state", "Weights, gradients and optimizer state are in CPU memory, as with FSDP’s CPUOffloadPolicy and DeepSpeed’s offload_param; the GPU holds the layers in use.";
        /// That and inputs of layers.
        Everything = "everything", "All of these", "Weights, gradients, optimizer state and layer inputs.";
    }

    /// Low-rank adapters beside frozen weights.
    #[non_exhaustive]
    Adapter {
        /// Every weight is trained.
        None = "none", "None: all weights", "Every weight is trained.";
        /// Frozen weights as the recipe has them.
        Lora = "lora", "LoRA", "Frozen weights in 16 bits; two thin matrices of rank r beside each target are trained.";
        /// Frozen weights in fp32.
        LoraFp32 = "lora-fp32", "LoRA on fp32 weights", "Frozen weights in fp32; under autocast each product makes a 16-bit copy of its matrix and keeps it for the backward pass.";
        /// Frozen weights in one byte.
        Lora8 = "lora-8bit", "LoRA on 8-bit weights", "Frozen matrices of the blocks in one byte an element.";
        /// Frozen weights in NormalFloat4.
        Qlora = "qlora", "QLoRA", "Frozen matrices of the blocks in 4 bits and a doubly quantized scale per block of 64.";
    }

    /// The matrices that get an adapter.
    #[non_exhaustive]
    AdapterTargets {
        /// Queries and values, as in the paper.
        QueryValue = "qv", "queries and values", "The two matrices of the LoRA paper.";
        /// The four of attention.
        Attention = "attention", "all of attention", "Queries, keys, values and the output projection.";
        /// Attention and feed-forward.
        All = "all", "all matrices", "Attention and feed-forward matrices, as in QLoRA.";
    }

    /// In what adapters beside 16-bit or quantized weights are kept.
    AdapterType {
        /// In fp32.
        Full = "32", "fp32", "Adapters in fp32, as peft keeps them beside 16-bit weights: their inputs are cast to fp32 as well, unless autocast casts them back.";
        /// Like the weights.
        Half = "16", "16 bits", "Adapters in the type of the weights beside them, as in torchtune and litgpt.";
    }

    /// In what the weights of a quantized model are kept that nothing quantizes: embedding, head, norms.
    Unquantized {
        /// As they were loaded.
        Half = "16", "16 bits", "Embedding, head and norms stay in 16 bits.";
        /// Cast before training.
        Full = "32", "fp32", "Embedding, head and norms in fp32, as peft’s prepare_model_for_kbit_training makes them: under autocast the residual stream and the inputs that recomputation keeps are in fp32, too.";
    }

    /// The program that carries out a step: it decides which buffers stand beside the tensors.
    #[non_exhaustive]
    Engine {
        /// PyTorch alone.
        Torch = "torch", "PyTorch: DDP, FSDP", "PyTorch’s own data parallelism: gradients in buckets, or sharded by FSDP.";
        /// torchtitan's models and FSDP units.
        Torchtitan = "torchtitan", "torchtitan", "PyTorch as torchtitan puts it together: embedding, layers and head are FSDP units of their own, and norms are one operation.";
        /// Megatron-LM with Transformer Engine.
        Megatron = "megatron", "Megatron-LM", "Main gradients in one buffer, into which every product adds: one dummy gradient for each shape of matrix.";
        /// DeepSpeed.
        DeepSpeed = "deepspeed", "DeepSpeed", "Flat partitions: the step flattens gradients and casts them to fp32, and buckets of a fixed size carry the reduction.";
    }

    /// What is trained for: it decides which models, passes and instants stand beside the training step.
    #[non_exhaustive]
    TaskKind {
        /// The next token.
        Train = "train", "Next token",
            "Each sequence is read once and its next tokens are learned: pre-training and supervised fine-tuning.";
        /// Pairs of a chosen and a rejected answer.
        Dpo = "dpo", "DPO",
            "Pairs of a chosen and a rejected answer in one pass, and the same pairs through a reference model while the pass is kept. The micro-batch counts pairs.";
        /// A policy, a value model, a reference and a reward model.
        Ppo = "ppo", "PPO",
            "The model generates, a reference, a value and a reward model score, and policy and value model are trained together.";
        /// Groups of completions, and no value model.
        Grpo = "grpo", "GRPO",
            "The model generates a group of completions for each prompt, they are scored, and it is trained on them; there is no value model.";
        /// A model with one output for a sequence.
        Reward = "reward", "Reward model",
            "Pairs of a chosen and a rejected answer through a model with a single output in place of the vocabulary. The micro-batch counts pairs.";
        /// The distribution of a teacher.
        Distil = "distil", "Distillation",
            "The distribution of a frozen teacher is learned: the logits of both are there together.";
    }

    /// Where the frozen model is that a task compares with: the reference, or the teacher.
    #[non_exhaustive]
    Reference {
        /// Beside the trained model and divided like it.
        Copy = "copy", "a copy, divided like the model",
            "A second model on the GPU, whole or divided over the GPUs as ZeRO or FSDP divides the weights of the first.";
        /// Divided over all data-parallel devices.
        Sharded = "sharded", "a copy, sharded",
            "A second model, divided over all data-parallel GPUs at every ZeRO stage.";
        /// In CPU memory.
        Offloaded = "offloaded", "in CPU memory",
            "A second model in CPU memory; two layers of it and its embedding are on the GPU while it runs.";
        /// The model itself without its adapters.
        Adapter = "adapter", "the model, adapters off",
            "The model without its adapters is the reference: it takes no memory of its own.";
        /// There is none.
        None = "none", "none",
            "Log-probabilities of the reference were computed before, or the loss has no use for them.";
    }

    /// In what the frozen models of a task are kept.
    FrozenType {
        /// As the trained model was loaded.
        Policy = "policy", "as the trained model", "Frozen models are loaded like the trained one: in fp32 where that keeps fp32 weights, in 16 bits otherwise.";
        /// In 16 bits.
        Half = "16", "16 bits", "Frozen models in 16 bits, also where the trained one has 32.";
    }

    /// What scores completions.
    RewardModel {
        /// What the task usually has.
        Usual = "usual", "as usual for the task", "A reward model for PPO, a function for GRPO.";
        /// A model beside the others.
        Model = "model", "a model on the GPU", "A frozen model of the same shape with one output, divided like the trained one.";
        /// A model in CPU memory.
        Offloaded = "offloaded", "a model in CPU memory", "A frozen model of the same shape in CPU memory; two layers of it are on the GPU while it runs.";
        /// A function.
        Function = "function", "a function, or elsewhere", "A function, or a model on other machines: nothing here.";
    }

    /// What generates completions.
    #[non_exhaustive]
    Rollout {
        /// The model that is trained.
        Model = "model", "the trained model", "The trained model generates token by token with a cache of keys and values, as transformers’ generate does.";
        /// An engine beside it that keeps its memory.
        Awake = "awake", "an engine, always awake", "vLLM or SGLang in the same GPU: its share of the memory is taken from the start to the end.";
        /// An engine beside it that gives its memory back.
        Asleep = "asleep", "an engine that sleeps", "vLLM or SGLang in the same GPU, which lets go of its weights and its cache while others score and train.";
        /// Other devices.
        Server = "server", "other GPUs", "Other GPUs generate; nothing of it is here.";
    }

    /// How sequences of different lengths become a micro-batch.
    #[non_exhaustive]
    Batching {
        /// They have one length.
        Equal = "equal", "All as long", "Every sequence has S tokens.";
        /// Padded to the longest of their micro-batch.
        Padded = "padded", "Padded",
            "Each micro-batch is padded to its longest sequence. The worst one is as long as the longest of all.";
        /// The same, sorted by length before.
        Bucketed = "bucketed", "Bucketed by length",
            "Sequences of similar length share a micro-batch, and little is padded. The worst micro-batch is that of padding.";
        /// Side by side in one row, without padding.
        Flattened = "flattened", "Flattened, no padding",
            "The sequences of a micro-batch stand one behind the other in one row, and attention knows where each begins. The worst row has the longest sequence b times.";
        /// Documents fill rows of S tokens.
        Packed = "packed", "Packed",
            "Documents fill rows of S tokens, and attention knows where each begins. The micro-batch counts rows.";
    }

    /// How attention leaves padding out.
    PaddedAttention {
        /// By a mask of all pairs.
        Mask = "mask", "SDPA with a mask",
            "PyTorch’s SDPA takes a mask of b·S² elements in each layer, and keys and values repeated to n heads.";
        /// By taking it out.
        Unpadded = "varlen", "flash-attn, padding out",
            "The package flash-attn takes padding out before its kernel and puts it back behind it: one copy of the output more in each layer.";
    }

    /// Whether the training loop holds on to the logits.
    #[non_exhaustive]
    Logits {
        /// They go with the loss.
        Dropped = "dropped", "dropped with the loss", "Nothing refers to the logits once the loss is there.";
        /// They are alive until the backward pass has ended.
        Kept = "kept", "kept through the backward pass", "A variable of the training loop still holds the model’s output while the backward pass runs, as in “pred = model(x); loss = f(pred); loss.backward()”.";
        /// The same, of a model that puts them out in fp32.
        KeptFull = "kept-fp32", "kept in fp32", "The same with a model that casts its logits to fp32 itself, as transformers did before version 4.46: four bytes a logit.";
    }

    /// How PyTorch's caching allocator gets memory.
    Segments {
        /// In segments that never grow.
        Fixed = "fixed", "fixed (PyTorch’s default)", "The allocator asks for segments that cannot grow; what does not fit into the gaps of one needs another.";
        /// In segments that grow.
        Expandable = "expandable", "expandable", "PYTORCH_ALLOC_CONF=expandable_segments:True: segments grow at their end, so that little is lost between tensors.";
    }

    /// In what the softmax of eager attention is taken.
    #[non_exhaustive]
    Softmax {
        /// In fp32.
        Full = "fp32", "fp32", "Eager attention takes the softmax of its scores in fp32 and casts the result back.";
        /// In the type of the scores.
        Scores = "scores", "the scores’ type", "Eager attention takes the softmax in the type its scores have; autocast makes that fp32.";
    }

    /// How queries, keys and values are computed.
    #[non_exhaustive]
    Packing {
        /// By a matrix each.
        Separate = "separate", "a matrix each", "Queries, keys and values have a matrix each.";
        /// By one matrix.
        Packed = "packed", "one matrix", "One matrix makes queries, keys and values; what is cut out of its product keeps all of it alive.";
    }

    /// How model states are divided over data-parallel GPUs (Rajbhandari et al. 2020).
    ZeroStage {
        /// Every GPU holds everything.
        Stage0 = "0", "0: none",
            "Every GPU holds all parameters, gradients and optimizer state.";
        /// Optimizer state is sharded.
        Stage1 = "1", "1: optimizer",
            "Each GPU holds its share of the optimizer state.";
        /// Optimizer state and gradients are sharded.
        Stage2 = "2", "2: + gradients",
            "Each GPU holds its share of optimizer state and gradients.";
        /// Everything is sharded, as FSDP does.
        Stage3 = "3", "3: + parameters (FSDP)",
            "Each GPU holds its share of everything; layers are gathered as they are needed.";
    }

    /// The shape of the feed-forward block, and how its activation function is written.
    #[non_exhaustive]
    Mlp {
        /// Two matrices and one operation between them.
        Gelu = "gelu", "GELU, 2 matrices",
            "Two matrices with one activation function between them, as in GPT.";
        /// Two matrices and a function whose input can be told from its output.
        Relu = "relu", "ReLU, 2 matrices",
            "Two matrices with ReLU between them, as in OPT: its output says where its input was negative, so that only one of the two is kept.";
        /// Two matrices and a tanh formula spelt out in operations.
        GeluTanh = "gelu-tanh", "GELU by tanh, 2 matrices",
            "Two matrices, with GELU spelt out as a tanh formula of eight operations, as in GPT-2’s code; the same as GELU with fused kernels.";
        /// Three matrices.
        Gated = "gated", "SwiGLU or GeGLU, 3 matrices",
            "Three matrices: one gates another, as in Llama.";
        /// Three matrices and a tanh formula spelt out in operations.
        GatedGeluTanh = "gated-gelu-tanh", "GeGLU by tanh, 3 matrices",
            "Three matrices, of which one gates another by a GELU spelt out in operations, as in T5 1.1 and FLAN-T5; the same as GeGLU with fused kernels.";
    }

    /// The normalization.
    #[non_exhaustive]
    Norm {
        /// Mean and variance, weight and bias.
        LayerNorm = "layernorm", "LayerNorm", "Centred and scaled, with weight and bias, in one kernel.";
        /// Root mean square, weight only.
        RmsNorm = "rmsnorm", "RMSNorm", "Scaled by the root mean square; a framework’s own operations keep fp32 copies of it.";
        /// RMSNorm that multiplies its weight in fp32 too.
        RmsNormFull = "rmsnorm-fp32", "RMSNorm in fp32", "Scaled and weighted in fp32, as in Gemma and OLMo 2; the scaled copy is kept in fp32 as well.";
        /// LayerNorm without weight or bias.
        Plain = "plain", "LayerNorm without weights", "Centred and scaled, with nothing to learn, as in OLMo.";
    }

    /// Which matrices of a block carry a bias.
    #[non_exhaustive]
    Bias {
        /// None of them.
        None = "none", "none", "No biases, as in Llama.";
        /// Queries, keys and values.
        Qkv = "qkv", "queries, keys, values", "Biases on queries, keys and values, as in Qwen 2.";
        /// All of them.
        All = "all", "all", "A bias on every matrix of the block, as in GPT.";
    }

    /// Norms on queries and keys.
    #[non_exhaustive]
    QkNorm {
        /// None.
        Off = "off", "none", "Queries and keys are used as they are.";
        /// One of the head's width, shared by the heads.
        Head = "head", "per head", "Each head’s queries and keys are normalized, as in Qwen 3.";
        /// One over all heads.
        Full = "full", "over all heads", "Queries and keys are normalized over all heads, as in OLMo 2.";
    }

    /// How positions enter.
    #[non_exhaustive]
    Position {
        /// Rotation of queries and keys.
        Rotary = "rotary", "rotary", "Queries and keys are rotated; nothing to learn.";
        /// Rotation of a part of each head.
        PartialRotary = "rotary-part", "rotary, a part of each head", "A part of each head is rotated and joined with the rest again, as in GPT-NeoX; nothing to learn.";
        /// A table of vectors.
        Learned = "learned", "learned table", "A learned vector per position, added to the embedding.";
        /// A bias on scores, or nothing.
        None = "none", "ALiBi or none", "Nothing to learn and nothing to rotate.";
        /// A learned bias on scores for each distance.
        Relative = "relative", "relative, as in T5", "A learned bias for each head and range of distances, added to the scores of every layer, as in T5, whose norms keep their input in the type of the weights as well.";
    }

    /// In what the target global batch is given.
    BatchUnit {
        /// Sequences of the scenario's length.
        Sequences = "sequences", "sequences",
            "The target counts sequences of your sequence length.";
        /// Tokens; the number of sequences follows from the sequence length.
        Tokens = "tokens", "tokens",
            "The target counts tokens; it is rounded up to whole sequences.";
    }

    /// How images become vectors: the tower, its projector and its processor.
    #[non_exhaustive]
    Tower {
        /// No tower.
        None = "none", "none", "The model reads text alone.";
        /// ViT with LayerNorm and QuickGELU, images of any shape.
        Qwen2Vl = "qwen2-vl", "Qwen2-VL", "Images keep their shape; four patches become one token.";
        /// ViT with RMSNorm and SwiGLU, attention in windows, images of any shape.
        Qwen25Vl = "qwen2.5-vl", "Qwen2.5-VL", "Images keep their shape, and most layers attend within windows; four patches become one token.";
        /// CLIP on one square.
        Llava = "llava", "LLaVA 1.5 (CLIP)", "One square of a fixed size; every patch is a token.";
        /// CLIP on a few squares.
        LlavaNext = "llava-next", "LLaVA-NeXT (CLIP, tiles)", "A few squares and one of the whole image; every patch inside the image is a token.";
        /// SigLIP on one square, pooled.
        Gemma3 = "gemma3", "Gemma 3 (SigLIP)", "One square of a fixed size, and crops if asked for; 256 tokens for each.";
        /// Its own ViT on tiles, with pixel shuffle.
        Llama4 = "llama4", "Llama 4", "Tiles of a fixed size and one of the whole image; four patches become one token.";
    }

    /// What of the vision tower is trained.
    #[non_exhaustive]
    TowerTraining {
        /// Nothing.
        Frozen = "frozen", "frozen", "Its weights have neither gradients nor optimizer state.";
        /// All weights.
        Trained = "trained", "trained", "All its weights are trained, and its layers keep what their gradients need.";
        /// Adapters beside its matrices.
        Adapters = "adapters", "adapters", "PEFT’s “all-linear” puts adapters beside its matrices and those of the projector.";
    }

    /// Whether the projector is trained.
    ProjectorTraining {
        /// It is not.
        Frozen = "frozen", "frozen", "Its weights have neither gradients nor optimizer state.";
        /// It is.
        Trained = "trained", "trained", "All its weights are trained.";
    }

    /// What the chart of b_max has on its horizontal axis.
    ChartAxis {
        /// The length of a sequence.
        Sequence = "sequence", "sequence length",
            "One curve for each reference model, over the length of a sequence.";
        /// The number of parameters.
        Size = "size", "model size",
            "One curve for each GPU, over the size of a model of your shape.";
        /// The memory of one device.
        Memory = "memory", "GPU memory",
            "One curve for each reference model, over the memory of one GPU.";
    }

    /// Whether the model is evaluated while it is trained.
    #[non_exhaustive]
    Evaluation {
        /// Not counted.
        Off = "off", "not counted", "No evaluation, or one on other machines.";
        /// The loss alone.
        Loss = "loss", "loss alone", "A pass without gradients over each evaluation batch, of which the loss is kept.";
        /// The logits of the evaluation set.
        Logits = "logits", "with logits kept", "The same, with the logits of every batch kept on the GPU, as transformers does for compute_metrics.";
    }

    /// Where a full state dict is gathered from GPUs that divide the weights.
    #[non_exhaustive]
    Gather {
        /// Not counted.
        Off = "off", "not counted", "Each GPU writes the part that it has.";
        /// To the memory of the host.
        Cpu = "cpu", "to CPU memory", "Tensor after tensor is whole on the GPU and goes to CPU memory.";
        /// On the device.
        Gpu = "gpu", "on the GPU", "Every tensor is whole on every GPU before anything is written.";
    }

    /// What a full state dict holds.
    Gathered {
        /// Weights.
        Weights = "weights", "weights", "The weights alone.";
        /// Weights, and the optimizer's state.
        All = "all", "weights and optimizer state", "The weights, and then the optimizer’s state.";
    }

    /// How a checkpoint is written.
    #[non_exhaustive]
    Save {
        /// Not counted.
        Off = "off", "not counted", "Writing a checkpoint is not counted.";
        /// At once.
        Sync = "sync", "at once", "Tensor after tensor goes to CPU memory and to the disk; nothing is copied on the GPU.";
        /// By way of pinned memory.
        Async = "async", "in the background", "All tensors go to pinned CPU memory, from which they are written while training goes on; nothing is copied on the GPU.";
    }

    /// How weights are read when a run begins.
    #[non_exhaustive]
    Load {
        /// Not counted.
        Off = "off", "not counted", "Reading weights is not counted.";
        /// By way of the memory of the host.
        Cpu = "cpu", "by way of CPU memory", "Tensor after tensor goes from CPU memory into the model.";
        /// To the device, beside the model.
        Gpu = "gpu", "whole, to the GPU", "The whole checkpoint is read to the GPU beside the model, as torch.load with map_location=\"cuda\" does.";
    }

    /// How the optimizer's state is read when a run goes on.
    #[non_exhaustive]
    Resume {
        /// Not counted.
        Off = "off", "not counted", "The run begins anew, or reading the optimizer’s state is not counted.";
        /// From the memory of the host.
        Cpu = "cpu", "by way of CPU memory", "Tensor after tensor goes from CPU memory to the optimizer.";
        /// From the device.
        Gpu = "gpu", "whole, to the GPU", "The whole state is read to the GPU, as transformers does with several GPUs.";
        /// Into a state that is made first.
        Init = "init", "made first, then read", "A step on gradients of zeros makes the state before it is read, as torch.distributed.checkpoint does.";
    }

    /// How adapters are merged into the weights beside them.
    #[non_exhaustive]
    Merge {
        /// Not counted.
        Off = "off", "not counted", "Adapters are saved as they are, or merged on another machine.";
        /// In place.
        On = "on", "in place", "merge_and_unload of peft: one matrix after another.";
        /// In a copy.
        Safe = "safe", "in a copy", "The same with safe_merge: each matrix is merged in a copy, and looked at before it counts.";
        /// The model in 16 bits first.
        Whole = "whole", "dequantized first", "The whole quantized model is brought back to 16 bits on the GPU, and then merged in place.";
    }

    /// Which products run in 8-bit floating point, and what is kept of their operands.
    #[non_exhaustive]
    Fp8 {
        /// None.
        Off = "off", "off", "Products in the type of the training precision.";
        /// Transformer Engine with scales of earlier steps.
        TeDelayed = "te-delayed", "Transformer Engine, delayed scaling", "Inputs of linear layers are kept in one byte and weights have fp8 copies; one scale for a tensor, from earlier steps.";
        /// Transformer Engine with scales of now.
        TeCurrent = "te-current", "Transformer Engine, current scaling", "The same, with a scale from the tensor itself. Megatron-LM then keeps no fp8 copy of what attention puts out.";
        /// Transformer Engine with a scale for each block.
        TeBlock = "te-block", "Transformer Engine, block scaling", "One fp32 scale for 128 values of an input and for 128 × 128 of a weight.";
        /// Transformer Engine with shared exponents.
        TeMxfp8 = "te-mxfp8", "Transformer Engine, MXFP8", "One byte of scale for 32 values, in copies along rows and along columns; from Blackwell on.";
        /// torchao with a scale for each tensor.
        TorchaoTensorwise = "torchao-tensorwise", "torchao, tensorwise", "Operands are cast for each product and cast again in the backward pass: what is kept stays in 16 bits.";
        /// torchao with a scale for each row.
        TorchaoRowwise = "torchao-rowwise", "torchao, rowwise", "The same with a scale for each row.";
        /// DeepSeek-V3's recipe.
        DeepSeekV3 = "deepseek-v3", "DeepSeek-V3", "Block scaling; what attention puts out in 12 bits, inputs of SwiGLU in fp8, RMSNorm and MLA’s up-projections computed again, moments in bf16.";
    }

    /// What CPU memory holds while the model is loaded.
    #[non_exhaustive]
    HostLoad {
        /// It is not counted.
        Off = "off", "not counted", "Loading is not counted, as where the checkpoint is read piece by piece.";
        /// One copy for a machine.
        RankZero = "rank0", "one copy for the machine", "One process holds the weights and hands them out, as FSDP’s cpu_ram_efficient_loading does.";
        /// A copy for each GPU.
        Every = "every", "a copy for each GPU", "Each process holds the weights before its GPU has them.";
        /// Two copies for each GPU.
        Twice = "twice", "two copies for each GPU", "Each process holds the model and the state dict that is read into it, as torch.load without low_cpu_mem_usage does.";
    }

    /// A plain switch.
    Switch {
        /// Not in use.
        Off = "off", "off", "Not in use.";
        /// In use.
        On = "on", "on", "In use.";
    }
}

impl Precision {
    /// Bytes of one activation element: 2 at 16 bits, 4 at 32.
    pub const fn element_bytes(self) -> u32 {
        match self {
            Self::Fp32 => 4,
            _ => 2,
        }
    }
}

impl Mlp {
    /// Matrices of one feed-forward block: two, or three where one gates another.
    pub const fn matrices(self) -> u32 {
        match self {
            Self::Gelu | Self::Relu | Self::GeluTanh => 2,
            Self::Gated | Self::GatedGeluTanh => 3,
        }
    }

    /// Whether one matrix gates another.
    pub const fn is_gated(self) -> bool {
        self.matrices() == 3
    }
}

impl Position {
    /// Whether queries and keys are rotated, which makes new tensors of them.
    pub const fn rotates(self) -> bool {
        matches!(self, Self::Rotary | Self::PartialRotary)
    }
}

impl Engine {
    /// Whether the step is PyTorch's own: its data parallelism, its FSDP and its pipelines.
    pub const fn is_torch(self) -> bool {
        matches!(self, Self::Torch | Self::Torchtitan)
    }
}

impl Offload {
    /// Whether the optimizer's states lie in CPU memory.
    pub const fn takes_optimizer(self) -> bool {
        matches!(self, Self::Optimizer | Self::Both) || self.takes_parameters()
    }

    /// Whether inputs of layers do.
    pub const fn takes_activations(self) -> bool {
        matches!(self, Self::Activations | Self::Both | Self::Everything)
    }

    /// Whether weights and gradients do.
    pub const fn takes_parameters(self) -> bool {
        matches!(self, Self::Parameters | Self::Everything)
    }

    /// The same with weights and gradients on the device.
    #[must_use]
    pub const fn without_parameters(self) -> Self {
        match self {
            Self::Parameters => Self::Optimizer,
            Self::Everything => Self::Both,
            other => other,
        }
    }

    /// The same with the optimizer's states on the device, and with them all that is trained.
    #[must_use]
    pub const fn without_optimizer(self) -> Self {
        if self.takes_activations() { Self::Activations } else { Self::None }
    }

    /// The same with inputs of layers on the device.
    #[must_use]
    pub const fn without_activations(self) -> Self {
        match self {
            Self::Activations => Self::None,
            Self::Both => Self::Optimizer,
            Self::Everything => Self::Parameters,
            other => other,
        }
    }
}

impl Fp8 {
    /// Whether products run in fp8.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether torchao casts operands.
    pub const fn is_torchao(self) -> bool {
        matches!(self, Self::TorchaoTensorwise | Self::TorchaoRowwise)
    }

    /// Ten times the compute capability that its products need: 8.9 for fp8, 9.0 for scales of rows and blocks, 10.0 for
    /// MXFP8 (`_compute_fp8_support` and its like in transformer_engine/pytorch/quantization.py, d0067d0da6cb; README of
    /// torchao/float8, 36027d82d1ad).
    pub const fn capability(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::TeDelayed | Self::TeCurrent | Self::TorchaoTensorwise => 89,
            Self::TeBlock | Self::TorchaoRowwise | Self::DeepSeekV3 => 90,
            Self::TeMxfp8 => 100,
        }
    }
}

impl Optimizer {
    /// Whether most training programs have it; the others come from libraries of their own.
    pub const fn is_common(self) -> bool {
        matches!(
            self,
            Self::AdamW
                | Self::Adam8bit
                | Self::Adafactor
                | Self::AdafactorTorch
                | Self::Lion
                | Self::Muon
                | Self::Momentum
                | Self::Sgd
        )
    }

    /// Whether a rank says what its state is.
    pub const fn projects(self) -> bool {
        matches!(self, Self::Galore | Self::Galore8bit | Self::Apollo)
    }

    /// Whether it keeps squares for the sides of matrices.
    pub const fn preconditions(self) -> bool {
        matches!(self, Self::Shampoo | Self::Soap)
    }

    /// Whether it works on whole matrices, which neither ZeRO nor tensor parallelism may divide.
    pub const fn needs_whole_matrices(self) -> bool {
        self.projects() || self.preconditions()
    }
}

impl Adapter {
    /// Whether the frozen matrices of the blocks have fewer than 16 bits.
    pub const fn is_quantized(self) -> bool {
        matches!(self, Self::Lora8 | Self::Qlora)
    }
}

impl Batching {
    /// Every way in which sequences of different lengths become a micro-batch.
    pub fn varied() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|way| *way != Self::Equal)
    }
}

impl TaskKind {
    /// Whether completions are generated.
    pub const fn generates(self) -> bool {
        matches!(self, Self::Ppo | Self::Grpo)
    }

    /// Whether the frozen model runs while the pass of the trained one is kept.
    pub const fn scores_in_the_step(self) -> bool {
        matches!(self, Self::Dpo | Self::Distil)
    }
}

impl Tower {
    /// Whether images keep their shape, so that `max_pixels` decides their size.
    pub const fn keeps_shape(self) -> bool {
        matches!(self, Self::Qwen2Vl | Self::Qwen25Vl)
    }

    /// Whether the tower is CLIP's.
    pub const fn is_clip(self) -> bool {
        matches!(self, Self::Llava | Self::LlavaNext)
    }

    /// Whether an image may become several tiles.
    pub const fn has_tiles(self) -> bool {
        matches!(self, Self::LlavaNext | Self::Gemma3 | Self::Llama4)
    }
}

impl Switch {
    /// Whether the switch is on.
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

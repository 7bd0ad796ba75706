//! Where a measure that should save memory costs some, and why.

/// One exception: the measure makes these entries larger, and a peak may rise by as much as they do at its instant.
pub struct Exception {
    /// The measures, each with a link to a scenario that needs more by it, and would not be allowed to without this row.
    pub shown: &'static [(&'static str, &'static str)],
    /// Names of entries, or of a whole bucket.
    pub entries: &'static [&'static str],
    /// Why they are larger.
    pub because: &'static str,
}

impl Exception {
    /// Whether it is one of this measure.
    pub fn is_of(&self, measure: &str) -> bool {
        self.shown.iter().any(|(name, _)| *name == measure)
    }
}

/// Every exception.
#[rustfmt::skip]
pub static ALL: &[Exception] = &[
    Exception {
        because: "Adapters are weights of their own, with states and what their first matrices put out; at a high rank they are larger than the matrices beside them.",
        shown: &[
            ("adapter none → lora", "v=3&rank=7600"),
        ],
        entries: &[
            "Adapters", "Adapters of stacks, cast", "Adapters, fp32 master", "Adapters, moments", "Gradient of a stack",
            "Gradients in DDP’s buckets", "Gradients of one layer", "Gradients of zeros",
            "Gradients, cast for their reduction", "Gradients, flattened and cast to fp32", "Optimizer state, gathered",
            "Outputs of first matrices over the encoder’s output", "Outputs of the adapters’ first matrices",
            "Outputs of the adapters’ first matrices, in experts", "Root of the second moments",
            "Stacks of experts, with their adapters",
        ],
    },
    Exception {
        because: "Adapters in fp32 are cast to the type of a 16-bit stack of experts before they are added to it.",
        shown: &[
            ("adapter lora-fp32 → lora", "v=3&model=1b&ffn=8&experts=667&rank=1817&precision=autocast"),
            ("precision fp32 → bf16-pure", "v=3&experts=1251&rank=7991&adapter=lora-8bit"),
            ("unquantized 32 → 16", "v=3&ffn=10&experts=184&rank=4938&adapter=qlora"),
        ],
        entries: &[
            "Adapters of stacks, cast",
        ],
    },
    Exception {
        because: "The dropout of adapters has masks of its own.",
        shown: &[
            ("adapter none → lora", "v=3&hidden=114&adapter_dropout=on"),
        ],
        entries: &[
            "Masks of the adapters’ dropout, before and inside experts",
            "Masks of the adapters’ dropout, behind attention", "Masks of the adapters’ dropout, behind the encoder",
            "Masks of the adapters’ dropout, behind the norms", "Masks of the adapters’ dropout, inside the block",
        ],
    },
    Exception {
        because: "With adapters gradients run through a frozen vision tower to the first of them (`enable_input_require_grads`).",
        shown: &[
            ("adapter none → lora", "v=3&model=qwen2.5-vl-3b&b=561"),
        ],
        entries: &[
            "Projector", "Projector, the copy that is trained", "Projector: inside", "Projector: what is pooled",
            "Projector: what its norm and matrices read", "Tower: attention output",
            "Tower: gradient of the residual stream", "Tower: gradients inside the feed-forward block",
            "Tower: input of the first norm", "Tower: input of the last norm",
            "Tower: inputs of the first and the last norm", "Tower: inputs of the norms", "Tower: inside the adapter",
            "Tower: inside the feed-forward block", "Tower: layer inputs", "Tower: queries, keys and values",
            "Tower: softmax of the attention scores",
        ],
    },
    Exception {
        because: "FSDP casts fp32 adapters and frozen weights to the computing type when it gathers them.",
        shown: &[
            ("adapter none → lora", "v=3&hidden=9&precision=mixed&zero=2"),
        ],
        entries: &[
            "16-bit casts of the adapters", "16-bit copy of the weights",
        ],
    },
    Exception {
        because: "PEFT casts what an adapter reads to the type of the adapter, so that each keeps a copy of its own (peft/tuners/lora/layer.py).",
        shown: &[
            ("adapter none → lora", "v=3&precision=bf16-pure"),
        ],
        entries: &[
            "Encoder’s output, read by keys and values", "Input of its output projection",
            "Input of the output projection", "Inputs of the norms", "Inside the experts",
            "Inside the feed-forward block", "Inside the shared experts",
            "Outputs of the norms, inputs of the products", "Reduction bucket, flattened",
            "Tokens dispatched to experts", "Weights, resharded over a group",
        ],
    },
    Exception {
        because: "Fp32 weights make the residual stream fp32 under autocast, which norms then read without a cast.",
        shown: &[
            ("adapter lora-fp32 → lora", "v=3&model=t5-base&precision=autocast"),
        ],
        entries: &[
            "Inputs of the norms", "Last norm and input of the head", "Last norm of the encoder",
        ],
    },
    Exception {
        because: "A quantized matrix is brought back to 16 bits for its product.",
        shown: &[
            ("adapter lora → lora-8bit, the rest in 16 bits", "v=3&model=gpt2-large&s=1024&ffn=231375&accum=36&gpus=288&pp=36&zero=1"),
        ],
        entries: &[
            "One matrix, dequantized",
        ],
    },
    Exception {
        because: "Under autocast accelerate copies to fp32 what the policy returns in 16 bits; an fp32 residual stream comes back as it is (`convert_outputs_to_fp32` in accelerate/accelerator.py).",
        shown: &[
            ("adapter lora-fp32 → lora", "v=3&model=pythia-70m&hidden=98943&b=18107&precision=autocast&recompute=none&task=ppo&zero=2"),
            ("adapter none → lora", "v=3&b=48370&norm=plain&qk_norm=off&position=learned&qkv=packed&precision=autocast&task=ppo&zero=2"),
        ],
        entries: &[
            "Hidden states in fp32", "Hidden states that the trainer holds",
        ],
    },
    Exception {
        because: "No checkpoint lets go of what the products of LLM.int8 read: they keep it without `save_for_backward` (`ctx.tensors` of `MatMul8bitLt`).",
        shown: &[
            ("adapter lora → lora-8bit, the rest in 16 bits", "v=4"),
            ("recompute selective → ops", "v=4&mlp=relu&parallel=on&adapter=lora-8bit&engine=torchtitan"),
        ],
        entries: &[
            "8-bit products’ inputs from attention", "8-bit products’ inputs from the norms",
            "8-bit products’ inputs in the MLP", "8-bit products’ inputs in the experts",
            "8-bit products’ inputs in the shared experts", "8-bit products’ inputs of the experts",
        ],
    },
    Exception {
        because: "The products of LLM.int8 keep what they read (`MatMul8bitLt` in bitsandbytes/autograd/_functions.py); frozen 16-bit products keep nothing.",
        shown: &[
            ("adapter lora → lora-8bit, the rest in 16 bits", "v=3&targets=qv"),
        ],
        entries: &[
            "Cache of keys", "Cache of values", "Compressed queries, keys and values",
            "Gradient of the encoder’s output", "Gradient of the logits", "Gradient of the residual stream",
            "Gradients inside the experts", "Gradients inside the feed-forward block", "Input of its output projection",
            "Input of the output projection", "Inside one layer, evaluated", "Inside one layer, reading prompts",
            "Inside one layer, without gradients", "Inside the experts", "Inside the feed-forward block",
            "Inside the shared experts", "Last hidden state, evaluated", "Last norm of the encoder",
            "One layer’s keys, longer by a token", "One matrix, before it is quantized", "Output of the encoder",
            "Outputs of the experts, before they are weighted", "Outputs of the norms, inputs of the products",
            "Outputs of the stage, micro-batch by micro-batch", "Received from the neighbouring stages",
            "Residual stream and its norm, evaluated", "Residual stream and its norm, without gradients",
            "Residual streams, reading prompts", "Rest of the vision tower", "Their sum, and the same to be quantized",
            "Tokens dispatched to experts", "Tower: gradients inside the feed-forward block",
            "Tower: inside the feed-forward block", "Tower: layer inputs", "Weights, resharded over a group",
        ],
    },
    Exception {
        because: "Before merging the whole model may be brought back to 16 bits; the fewer bits it had, the more that adds beside them.",
        shown: &[
            ("adapter lora-8bit → qlora", "v=3&model=llama-3.1-70b&s=128&enc_layers=1&zero=2&merge=whole"),
        ],
        entries: &[
            "What dequantizing adds",
        ],
    },
    Exception {
        because: "16-bit adapters have an fp32 master copy with moments, which fp32 adapters are themselves.",
        shown: &[
            ("adapter_type 32 → 16", "v=3&adapter=lora"),
        ],
        entries: &[
            "Adapters of the tower and the projector", "Adapters, fp32 master", "Gradients of one layer",
            "Gradients, flattened and cast to fp32", "Optimizer state, gathered", "Projector",
        ],
    },
    Exception {
        because: "Eager attention takes its softmax in fp32 and casts it back, so that the 16-bit one is there beside it.",
        shown: &[
            ("precision fp32 → bf16-pure", "v=3&model=qwen3-0.6b&attn=eager"),
        ],
        entries: &[
            "Softmax of the attention scores", "Softmax of the scores to the encoder",
            "Tower: softmax of the attention scores",
        ],
    },
    Exception {
        because: "16-bit logits are cast to fp32 for the loss; fp32 logits need no cast.",
        shown: &[
            ("precision fp32 → bf16-pure", "v=3&eval_b=64648&eval=logits"),
        ],
        entries: &[
            "Evaluated logits in fp32",
        ],
    },
    Exception {
        because: "Adafactor of transformers updates in fp32, beside 16-bit weights.",
        shown: &[
            ("precision fp32 → bf16-pure", "v=3&hidden=36422&vocab=1688635&accum=29&gpus=29&pp=29&optimizer=adafactor&zero=1"),
        ],
        entries: &[
            "Update of the largest tensor",
        ],
    },
    Exception {
        because: "Gradients that are added up in fp32 stand beside the 16-bit ones.",
        shown: &[
            ("precision fp32 → bf16-pure", "v=3&model=llama-3.2-1b&grad=32&zero=1"),
        ],
        entries: &[
            "Attention matrices", "Embedding", "Experts", "Feed-forward matrices", "Norms, biases and routers",
        ],
    },
    Exception {
        because: "Adapters in fp32 beside 16-bit weights cast what they read, and keep a copy each.",
        shown: &[
            ("precision fp32 → bf16-pure", "v=3&hidden=7409&adapter=lora-8bit"),
        ],
        entries: &[
            "Encoder’s output, read by keys and values", "Input of the output projection", "Inputs of the norms",
            "Inside the experts", "Inside the feed-forward block", "Inside the shared experts",
            "Matrices of the encoder", "Matrices that attend to the encoder", "Output head",
            "Outputs of the norms, inputs of the products", "Pixels, cast for the patch embedding", "Position table",
            "Projector", "Shared experts", "Tokens dispatched to experts", "Value model’s activations", "Vision tower",
        ],
    },
    Exception {
        because: "Fp32 weights make the residual stream fp32, which a norm then reads without a cast.",
        shown: &[
            ("unquantized 32 → 16", "v=3&model=pythia-410m&ffn=191&precision=autocast&recompute=none&adapter=qlora"),
        ],
        entries: &[
            "Inputs of the norms", "Last norm and input of the head",
        ],
    },
    Exception {
        because: "DeepSpeed casts 16-bit gradients to fp32 for the step and reduces them in buckets; its optimizer for fp32 sums has no buckets.",
        shown: &[
            ("grad 32 → 16", "v=3&model=flan-t5-xl&engine=deepspeed&zero=0"),
        ],
        entries: &[
            "Gradients, flattened and cast to fp32", "Reduction bucket, flattened", "Reduction buckets",
        ],
    },
    Exception {
        because: "Transformer Engine keeps 16-bit weights and adds fp8 copies by row and by column; what another operation reads too is kept in both types.",
        shown: &[
            ("fp8 off → te-delayed", "v=3&gpu=gh200&zero=1"),
        ],
        entries: &[
            "Gradient of one product, cast to fp8", "Input of the output projection", "Input of the router",
            "Inside the feed-forward block", "One matrix in fp8, both ways",
            "Outputs of the norms, in fp8 for attention", "Outputs of the norms, in fp8 for the feed-forward block",
            "Weights in fp8, by row and by column",
        ],
    },
    Exception {
        because: "A frozen matrix in 8 bits keeps what it reads, like all of LLM.int8.",
        shown: &[
            ("projector trained → frozen", "v=3&model=llava-next-mistral-7b&s=2928&precision=bf16-pure&adapter=lora-8bit&tower=adapters"),
        ],
        entries: &[
            "Projector: inside", "Projector: what its norm and matrices read",
        ],
    },
    Exception {
        because: "DeepSpeed flattens gradients into reduction buckets once it divides the optimizer’s state.",
        shown: &[
            ("zero 0 → 1", "v=3&gpus=32&tp=32&engine=deepspeed"),
        ],
        entries: &[
            "Gradients, cast for their reduction", "Gradients, flattened and cast to fp32",
            "Reduction bucket, flattened", "Reduction buckets",
        ],
    },
    Exception {
        because: "FSDP keeps a 16-bit copy of fp32 weights where it does not gather them again.",
        shown: &[
            ("zero 1 → 2", "v=3&precision=mixed&adapter=lora"),
        ],
        entries: &[
            "16-bit copy of a frozen model", "16-bit copy of the weights",
        ],
    },
    Exception {
        because: "A full state dict is gathered where weights are divided.",
        shown: &[
            ("zero 1 → 2", "v=3&hidden=59852&layers=8&s=9&precision=mixed&adapter=qlora&task=reward&gather=gpu"),
        ],
        entries: &[
            "Full state dict", "Full state dict, embedding and head",
        ],
    },
    Exception {
        because: "A layer’s whole gradients are there beside its shard until the two are reduced, in buckets where it is DeepSpeed’s.",
        shown: &[
            ("zero 1 → 2", "v=3&engine=deepspeed"),
        ],
        entries: &[
            "Gradients, flattened and cast to fp32", "Reduction bucket, flattened", "Reduction buckets",
            "Whole gradients and their reduction",
        ],
    },
    Exception {
        because: "A full state dict gathers, and loading divides, what only the third stage divides.",
        shown: &[
            ("zero 2 → 3", "v=3&gather=gpu&gather_states=all"),
        ],
        entries: &[
            "Full state dict", "Full state dict, embedding and head", "One tensor, before it is divided",
            "Optimizer state, gathered",
        ],
    },
    Exception {
        because: "Weights are gathered whole for their use, layer by layer, or kept as a copy for a group.",
        shown: &[
            ("zero 2 → 3", "v=3&reshard=1"),
        ],
        entries: &[
            "16-bit copy of the weights", "Gathered embedding", "Gathered embedding and head",
            "Gathered embedding and head, evaluated", "Gathered embedding and head, without gradients",
            "Gathered ends of the tower, and projector", "Gathered experts", "Gathered head", "Gathered layers",
            "Gathered layers of the tower", "Gathered layers, evaluated", "Gathered layers, without gradients",
            "Gathered weights that are read again soon", "Weights, resharded over a group",
        ],
    },
    Exception {
        because: "DeepSpeed’s third stage has its reduction bucket and its gradients in place during the whole step.",
        shown: &[
            ("zero 2 → 3", "v=3&b=55&gpus=1&engine=deepspeed"),
        ],
        entries: &[
            "Adapters", "Attention matrices", "Embedding", "Experts", "Feed-forward matrices",
            "Matrices of the encoder", "Matrices that attend to the encoder", "Norms, biases and routers",
            "One tensor, gathered", "Output head", "Position table", "Reduction buckets", "Shared experts",
            "Value model’s gradients", "Weights, gathered to generate",
        ],
    },
    Exception {
        because: "What is divided, or lies in CPU memory, is gathered for its use: two layers, embedding and head of a small model are all of it.",
        shown: &[
            ("ref copy → offloaded", "v=3&vocab=16&teacher=0.218568011&task=distil&zero=1"),
            ("ref copy → sharded", "v=3&score_b=101945&gpus=1&task=ppo"),
        ],
        entries: &[
            "Gathered embedding and head, without gradients", "Gathered layers, without gradients",
        ],
    },
    Exception {
        because: "What lies in CPU memory is brought for its use: two layers of a small model are all of it.",
        shown: &[
            ("reward model → offloaded", "v=3&model=deepseek-moe-16b&layers=2&score_b=14&task=grpo&rollout=awake&zero=2"),
        ],
        entries: &[
            "Gathered embedding and head, without gradients", "Gathered layers, without gradients",
        ],
    },
    Exception {
        because: "What sequence parallelism divides is gathered before the products and scattered behind them, in tensors of their own.",
        shown: &[
            ("sp off → on", "v=3&tp=2&recompute=ops"),
        ],
        entries: &[
            "Gathered over the tensor-parallel group", "Outputs of the reduce-scatters",
        ],
    },
    Exception {
        because: "Communication begins with the second GPU.",
        shown: &[
            ("cp × 2", "v=3&model=pythia-70m&vocab=3&gpus=1"),
            ("gpus × 2", "v=3&gpus=1&zero=0"),
            ("tp × 2", "v=3&model=pythia-70m&vocab=3&gpus=1"),
        ],
        entries: &[
            "Communication buffers",
        ],
    },
    Exception {
        because: "An evaluation gathers the logits of all GPUs.",
        shown: &[
            ("gpus × 2", "v=3&eval_b=0&eval_steps=26&eval=logits"),
        ],
        entries: &[
            "Kept logits", "Kept logits, and the same in a new tensor",
        ],
    },
    Exception {
        because: "The second data-parallel GPU brings gathering, buckets and copies for a group; from then on more of them only share.",
        shown: &[
            ("cp × 2", "v=3&s=2&gpus=16&tp=16&offload=everything"),
            ("gpus × 2", "v=3&reshard=8&offload=optimizer"),
            ("tp × 2", "v=3&model=llama-3.1-70b&hidden=102618&layers=1&vocab=1341011&gpus=360&engine=torchtitan"),
        ],
        entries: &[
            "16-bit copy of the weights", "Embedding’s gradient, before the tensor-parallel group divides it",
            "Full state dict", "Gathered embedding and head", "Gathered embedding and head, evaluated",
            "Gathered experts", "Gathered head", "Gathered layers", "Gathered weights that are read again soon",
            "Gradients in DDP’s buckets", "Gradients of one layer", "Optimizer state, gathered",
            "The same, joined with the next", "Weights, resharded over a group",
            "Whole gradients and their reduction",
        ],
    },
    Exception {
        because: "Stages hand tensors over, gradients are added up whole and logits still held while the next micro-batch runs, and the second stage has what stood on the first before, which receives nothing.",
        shown: &[
            ("pp × 2, stages alike", "v=3&model=gemma-7b&accum=3405&gpus=40140&zero=2"),
        ],
        entries: &[
            "Communication buffers", "Gradients, added up whole", "Layer inputs", "Logits that are still held",
            "Outputs of the stage, micro-batch by micro-batch", "Received from the neighbouring stages",
        ],
    },
    Exception {
        because: "With dense layers among experts another kind of layer may stand at a place where memory is highest.",
        shown: &[
            ("layers / 2", "v=3&model=deepseek-v2&layers=1&heads=36&kv=36&ffn=334861&gpus=64"),
            ("layers − 1", "v=3&model=mixtral-8x22b&expert_ffn=6&dense_layers=56"),
        ],
        entries: &[
            "16-bit casts of a pass without gradients", "16-bit casts of one layer’s matrices",
            "16-bit casts of the layers’ matrices", "Experts", "Feed-forward matrices",
            "Feed-forward matrices, moments", "Gathered layers", "Gathered layers, evaluated",
            "Gathered layers, without gradients", "Gradients in DDP’s buckets", "Gradients of one layer",
            "Inside one layer, evaluated", "Inside one layer, without gradients", "Inside the experts",
            "Inside the feed-forward block", "Inside the shared experts",
            "Masks of the adapters’ dropout, before and inside experts",
            "Masks of the adapters’ dropout, inside the block", "One matrix in fp8, both ways",
            "One matrix, cast to fp8", "Outputs of the adapters’ first matrices",
            "Outputs of the adapters’ first matrices, in experts", "Outputs of the experts, before they are weighted",
            "Outputs of the norms, inputs of the products", "Tokens dispatched to experts",
            "Weights in fp8, by row and by column", "Whole gradients and their reduction",
        ],
    },
    Exception {
        because: "The input of a layer that is computed again is one more tensor, which the last layer does not repay.",
        shown: &[
            ("recompute block → full", "v=3&layers=2&task=reward"),
        ],
        entries: &[
            "Inside the experts", "Inside the feed-forward block", "Layer inputs",
            "Outputs of the experts, before they are weighted", "Tokens dispatched to experts",
            "Weights in fp8, by row and by column",
        ],
    },
    Exception {
        because: "Without recomputation PPO fills a cache with copies of keys and values, which frees a packed product; with it the packed product is kept (`DynamicLayer` in transformers/cache_utils.py, 5.23.0).",
        shown: &[
            ("recompute none → selective", "v=3&model=phi-4&task=ppo"),
            ("recompute none → block, layers alike", "v=3&model=pythia-12b&task=ppo"),
        ],
        entries: &["Queries, keys and values, packed"],
    },
    Exception {
        because: "What an encoder puts out is kept once more, as an input of what is computed again.",
        shown: &[
            ("recompute none → selective", "v=3&enc_layers=586&precision=autocast&zero=0"),
        ],
        entries: &[
            "Output of the encoder",
        ],
    },
    Exception {
        because: "A mask or a bias is made anew for a layer that is computed again, while that of the forward pass is still kept.",
        shown: &[
            ("recompute none → selective", "v=3&model=flan-t5-xl&head_dim=619&s=32"),
            ("recompute none → kth-layer, layers alike", "v=3&model=pythia-1.4b&every=24&loss=classifier&lengths=bucketed"),
            ("recompute none → block, layers alike", "v=3&model=llama-65b&s=1040&lengths=padded&zero=1"),
            ("recompute selective → ops", "v=3&s=7&lengths=bucketed"),
        ],
        entries: &[
            "Attention mask of every pair", "Position bias of the decoder", "Position bias of the encoder",
        ],
    },
    Exception {
        because: "DeepSpeed reduces in buckets for an optimizer on the CPU; its optimizer for fp32 sums, which is never there, has none.",
        shown: &[
            ("offload none → optimizer", "v=3&bucket=44273&grad=32&engine=deepspeed&zero=1"),
        ],
        entries: &[
            "Reduction bucket, flattened", "Reduction buckets",
        ],
    },
    Exception {
        because: "What lies in CPU memory is brought for its use, layer by layer with embedding and head.",
        shown: &[
            ("offload optimizer → parameters", "v=3&model=deepseek-llm-7b&hidden=9967&layers=2&every=2&tp=8&step=in-backward&recompute=kth-layer&attn=eager"),
        ],
        entries: &[
            "Gathered embedding and head", "Gathered layers", "Gathered weights that are read again soon",
            "Gradients of one layer",
        ],
    },
];

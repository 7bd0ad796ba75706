//! The works that the page refers to, and what each of them is used for.
//!
//! The estimator names its sources where it uses them, shortly ([`crate::source`]). Here is what a list
//! of references wants besides: everybody's name and the reason why the work stands there. A row with
//! the address of one of the estimator's sources is that source; `tests/sources.rs` makes the page's
//! list out of both, and fails when one of them is left out.
//!
//! No figure reads this table, so the program that runs in the page does not carry it.

/// What kind of work a source is, which is how the list is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The courses and pages that this one restates.
    Course,
    /// Papers, specifications and posts.
    Paper,
    /// Programs and their documentation, which are read like papers here.
    Program,
}

/// One work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CourseSource {
    /// Its anchor is `source-` and this.
    pub id: &'static str,
    /// Which part of the list it belongs to.
    pub kind: Kind,
    /// Who wrote it.
    pub authors: &'static str,
    /// The year it is cited by; for a page without a date, when it was read.
    pub year: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Where to read it.
    pub url: &'static str,
    /// What this page takes from it, as a phrase or two.
    pub used_for: &'static str,
}

impl CourseSource {
    /// Its authors and year as a sentence cites them: one name, two, or one “et al.”
    ///
    /// ```
    /// use bmax::course::sources;
    /// let short = |id| sources::find(id).map(|source| source.short());
    /// assert_eq!(short("kingma-adam").as_deref(), Some("Kingma and Ba 2014"));
    /// assert_eq!(short("dettmers-8bit").as_deref(), Some("Dettmers et al. 2022"));
    /// assert_eq!(short("pytorch").as_deref(), Some("PyTorch 2026"));
    /// ```
    pub fn short(&self) -> String {
        // An initial is a letter with a point, or two joined by a hyphen.
        let surname = |name: &str| name.split(' ').filter(|word| !word.ends_with('.')).collect::<Vec<_>>().join(" ");
        let people = |text: &'static str| text.split(", ").flat_map(|part| part.split(" and "));
        let has_initials = |name: &&str| name.split(' ').next().is_some_and(|word| word.ends_with('.'));
        let named: Vec<&str> = people(self.authors).filter(has_initials).collect();
        let all = people(self.authors).count();
        let authors = match named[..] {
            // Works of nobody by name are their publisher's.
            [] => self.authors.to_owned(),
            [one] if all == 1 => surname(one),
            [one, other] if all == 2 => format!("{} and {}", surname(one), surname(other)),
            [first, ..] => format!("{} et al.", surname(first)),
        };
        format!("{authors} {}", self.year)
    }

    /// The number of an arXiv paper.
    ///
    /// ```
    /// use bmax::course::sources;
    /// assert_eq!(sources::find("mccandlish").and_then(|source| source.arxiv()), Some("1812.06162"));
    /// assert_eq!(sources::find("patarasuk").and_then(|source| source.arxiv()), None);
    /// ```
    pub fn arxiv(&self) -> Option<&'static str> {
        self.url.strip_prefix("https://arxiv.org/abs/")
    }
}

/// The source with this id.
pub fn find(id: &str) -> Option<&'static CourseSource> {
    ALL.iter().find(|source| source.id == id)
}

macro_rules! sources {
    ($($kind:ident $id:literal $authors:literal $year:literal $title:literal $url:literal $used_for:literal)+) => {
        /// Every source, by kind and then by subject.
        pub static ALL: &[CourseSource] = &[$(CourseSource {
            id: $id, kind: Kind::$kind, authors: $authors, year: $year, title: $title, url: $url, used_for: $used_for,
        },)+];
    };
}

sources! {
    // The five that this page grew from.
    Course "workshop" "VizuaraAI" "2026" "Finding the Maximum Local Batch Size"
        "https://vizuaraai.github.io/5d-parallelism-visual-guide/max-local-batch-size.html"
        "The four buckets, 16N, the closed form of the largest batch, its presets and examples."
    Course "survival-kit" "Engineermaxxing" "2026"
        "Training on One GPU"
        "https://www.engineermaxxing.com/parminces/books/hf-ultrascale-playbook/ch02-training-one-gpu.html"
        "Memory over the course of a step, activations against length, recomputation and its price."
    Course "playbook" "N. Tazi and others, Hugging Face" "2025" "The Ultra-Scale Playbook: Training LLMs on GPU Clusters"
        "https://huggingface.co/spaces/nanotron/ultrascale-playbook" "What the page before it retells, with its formulas."
    Course "lecture" "H. Zhang, with B. Wu and other scribes" "2026"
        "Runtime: Batching and Memory, lecture 8 of a course on machine-learning systems at UC San Diego"
        "https://hao-ai-lab.github.io/"
        "The words for batches, GPT-3’s sizes, checkpoints every K layers, swapping, the order of a tuning plan, three of \
         the questions."
    Course "optimizer-page" "M. Lip" "2026" "Batch Size Optimizer"
        "https://ml0x.com/answers/batch-size-optimizer.html"
        "Convergence against batch, learning-rate scaling, many GPUs, five of the questions answered."
    Course "hidden-relationship" "S. Dhaka" "2026" "Demystifying Batch Size and Memory Usage in Deep Learning"
        "https://sunil-dhaka.github.io/ai/batch-size-and-memory.html"
        "The fully connected network and the memory of the batch itself."

    // What a model and its training keep.
    Paper "korthikanti" "V. Korthikanti and others" "2022"
        "Reducing Activation Recomputation in Large Transformer Models" "https://arxiv.org/abs/2205.05198"
        "The 34 and the 5 of the activation count; the cost of recomputation."
    Paper "rajbhandari" "S. Rajbhandari, J. Rasley, O. Ruwase and Y. He" "2020"
        "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" "https://arxiv.org/abs/1910.02054"
        "The 16 bytes per parameter and their sharding."
    Paper "vaswani" "A. Vaswani and others" "2017" "Attention Is All You Need" "https://arxiv.org/abs/1706.03762"
        "The matrices of a transformer."
    Paper "brown-gpt3" "T. Brown and others" "2020" "Language Models are Few-Shot Learners"
        "https://arxiv.org/abs/2005.14165" "Table 2.1: the sizes and batches of GPT-3."
    Paper "dao-flash" "T. Dao, D. Fu, S. Ermon, A. Rudra and C. Ré" "2022"
        "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness"
        "https://arxiv.org/abs/2205.14135" "Why attention scores need not be kept."
    Paper "chen-sublinear" "T. Chen, B. Xu, C. Zhang and C. Guestrin" "2016"
        "Training Deep Nets with Sublinear Memory Cost" "https://arxiv.org/abs/1604.06174"
        "Checkpoints every √L layers."
    Paper "ren-offload" "J. Ren and others" "2021" "ZeRO-Offload: Democratizing Billion-Scale Model Training"
        "https://arxiv.org/abs/2101.06840" "What to move to CPU memory and what not."
    Paper "hsu-liger" "P.-L. Hsu and others" "2024" "Liger Kernel: Efficient Triton Kernels for LLM Training"
        "https://arxiv.org/abs/2410.10989" "A loss that never holds all logits."
    Paper "hu-lora" "E. Hu and others" "2021" "LoRA: Low-Rank Adaptation of Large Language Models"
        "https://arxiv.org/abs/2106.09685" "The weights of adapters."
    Paper "dettmers-qlora" "T. Dettmers, A. Pagnoni, A. Holtzman and L. Zettlemoyer" "2023"
        "QLoRA: Efficient Finetuning of Quantized LLMs" "https://arxiv.org/abs/2305.14314" "Four-bit weights."
    Paper "deepseek" "DeepSeek-AI" "2024"
        "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model"
        "https://arxiv.org/abs/2405.04434" "Latent attention and shared experts."
    Paper "zhao-galore" "J. Zhao, Z. Zhang, B. Chen, Z. Wang, A. Anandkumar and Y. Tian" "2024"
        "GaLore: Memory-Efficient LLM Training by Gradient Low-Rank Projection" "https://arxiv.org/abs/2403.03507"
        "Adam’s moments of projected gradients."
    Paper "zhu-apollo" "H. Zhu and others" "2024" "APOLLO: SGD-like Memory, AdamW-level Performance"
        "https://arxiv.org/abs/2412.05270" "Gradients scaled by moments of their projection."
    Paper "shi-shampoo" "H.-J. M. Shi and others" "2023"
        "A Distributed Data-Parallel PyTorch Implementation of the Distributed Shampoo Optimizer for Training Neural Networks At-Scale"
        "https://arxiv.org/abs/2309.06497" "Preconditioners of blocks."
    Paper "vyas-soap" "N. Vyas and others" "2024" "SOAP: Improving and Stabilizing Shampoo using Adam"
        "https://arxiv.org/abs/2409.11321" "Adam in the eigenbasis of preconditioners."

    Paper "deepseek-v3" "DeepSeek-AI" "2024" "DeepSeek-V3 Technical Report" "https://arxiv.org/abs/2412.19437"
        "Training in 8 bits with a scale for each block; what of it is kept in 8 bits."
    Paper "llama-3" "A. Grattafiori and others" "2024" "The Llama 3 Herd of Models" "https://arxiv.org/abs/2407.21783"
        "The part of the peak that training on 8,192 and more GPUs reached."

    // Number formats.
    Paper "micikevicius" "P. Micikevicius and others" "2018" "Mixed Precision Training"
        "https://arxiv.org/abs/1710.03740" "fp32 master weights and loss scaling."
    Paper "kalamkar" "D. Kalamkar and others" "2019" "A Study of BFLOAT16 for Deep Learning Training"
        "https://arxiv.org/abs/1905.12322" "The range and the digits of bf16."
    Paper "micikevicius-fp8" "P. Micikevicius and others" "2022" "FP8 Formats for Deep Learning"
        "https://arxiv.org/abs/2209.05433" "Training in 8 bits."
    Paper "ocp-fp8" "Open Compute Project" "2023" "OCP 8-bit Floating Point Specification (OFP8), revision 1.0"
        "https://www.opencompute.org/documents/ocp-8-bit-floating-point-specification-ofp8-revision-1-0-2023-12-01-pdf-1"
        "The bits of E4M3 and E5M2."
    Paper "ocp-mx" "Open Compute Project" "2023" "OCP Microscaling Formats (MX) Specification, version 1.0"
        "https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf"
        "Blocks of elements that share a scale."

    Paper "nvfp4" "NVIDIA" "2025" "Pretraining Large Language Models with NVFP4"
        "https://arxiv.org/abs/2509.25149" "Training in 4 bits, and what stays in fp32 beside it."
    Paper "hoefler" "T. Hoefler, D. Alistarh, T. Ben-Nun, N. Dryden and A. Peste" "2021"
        "Sparsity in Deep Learning: Pruning and growth for efficient inference and training in neural networks"
        "https://arxiv.org/abs/2102.00554" "What pruning saves, and in which formats."

    // Optimizers.
    Paper "kingma-adam" "D. Kingma and J. Ba" "2014" "Adam: A Method for Stochastic Optimization"
        "https://arxiv.org/abs/1412.6980" "Two moments for every weight."
    Paper "loshchilov-adamw" "I. Loshchilov and F. Hutter" "2019" "Decoupled Weight Decay Regularization"
        "https://arxiv.org/abs/1711.05101" "AdamW."
    Paper "shazeer-adafactor" "N. Shazeer and M. Stern" "2018"
        "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost" "https://arxiv.org/abs/1804.04235"
        "A second moment kept as sums over rows and columns."
    Paper "dettmers-8bit" "T. Dettmers, M. Lewis, S. Shleifer and L. Zettlemoyer" "2022"
        "8-bit Optimizers via Block-wise Quantization" "https://arxiv.org/abs/2110.02861"
        "Moments in one byte, with a scale for every block of 2,048."
    Paper "chen-lion" "X. Chen and others" "2023" "Symbolic Discovery of Optimization Algorithms"
        "https://arxiv.org/abs/2302.06675" "Lion, which has one moment, and the learning rate and weight decay that it wants."
    Paper "jordan-muon" "K. Jordan and others" "2024" "Muon: An optimizer for hidden layers in neural networks"
        "https://kellerjordan.github.io/posts/muon/" "Muon, which has one moment on matrices."

    Paper "zhang-adaptive" "J. Zhang and others" "2020" "Why are Adaptive Methods Good for Attention Models?"
        "https://arxiv.org/abs/1912.03194" "Why plain SGD trains transformers poorly."

    // What a larger batch does to learning.
    Paper "mccandlish" "S. McCandlish, J. Kaplan, D. Amodei and the OpenAI Dota Team" "2018"
        "An Empirical Model of Large-Batch Training" "https://arxiv.org/abs/1812.06162"
        "Steps and examples against batch; the critical batch size."
    Paper "kaplan" "J. Kaplan and others" "2020" "Scaling Laws for Neural Language Models"
        "https://arxiv.org/abs/2001.08361" "The critical batch of language models, by their loss."
    Paper "shallue" "C. Shallue and others" "2019"
        "Measuring the Effects of Data Parallelism on Neural Network Training" "https://arxiv.org/abs/1811.03600"
        "How the useful batch differs between tasks."
    Paper "keskar" "N. Keskar and others" "2016"
        "On Large-Batch Training for Deep Learning: Generalization Gap and Sharp Minima"
        "https://arxiv.org/abs/1609.04836" "The case against very large batches."
    Paper "hoffer" "E. Hoffer, I. Hubara and D. Soudry" "2017"
        "Train longer, generalize better: closing the generalization gap in large batch training of neural networks"
        "https://arxiv.org/abs/1705.08741" "The square-root rule, and how the gap closes with more steps."
    Paper "smith" "S. Smith, P.-J. Kindermans, C. Ying and Q. Le" "2018"
        "Don’t Decay the Learning Rate, Increase the Batch Size" "https://arxiv.org/abs/1711.00489"
        "Learning rate and batch act together."
    Paper "goyal" "P. Goyal and others" "2017" "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour"
        "https://arxiv.org/abs/1706.02677" "The linear rule and its warm-up; 8,192 images on 256 GPUs."
    Paper "you-lars" "Y. You, I. Gitman and B. Ginsburg" "2017" "Large Batch Training of Convolutional Networks"
        "https://arxiv.org/abs/1708.03888" "LARS."
    Paper "you-lamb" "Y. You and others" "2019"
        "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes" "https://arxiv.org/abs/1904.00962"
        "LAMB."
    Paper "krizhevsky" "A. Krizhevsky" "2014"
        "One weird trick for parallelizing convolutional neural networks" "https://arxiv.org/abs/1404.5997"
        "The square-root rule, from the noise of a step."
    Paper "malladi" "S. Malladi, K. Lyu, A. Panigrahi and S. Arora" "2022"
        "On the SDEs and Scaling Rules for Adaptive Gradient Algorithms" "https://arxiv.org/abs/2205.10287"
        "The square-root rule for Adam."
    Paper "nado" "Z. Nado, J. Gilmer, C. Shallue, R. Anil and G. Dahl" "2021"
        "A Large Batch Optimizer Reality Check: Traditional, Generic Optimizers Suffice Across Batch Sizes"
        "https://arxiv.org/abs/2102.06356" "What LARS and LAMB reach, reached without them."
    Paper "ioffe-batchnorm" "S. Ioffe and C. Szegedy" "2015"
        "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift"
        "https://arxiv.org/abs/1502.03167" "Statistics over the batch that goes through the layer."
    Paper "wu-groupnorm" "Y. Wu and K. He" "2018" "Group Normalization" "https://arxiv.org/abs/1803.08494"
        "What to use where micro-batches are small."

    // Many devices and their speed.
    Paper "patarasuk" "P. Patarasuk and X. Yuan" "2009"
        "Bandwidth optimal all-reduce algorithms for clusters of workstations, Journal of Parallel and Distributed \
         Computing 69(2)"
        "https://doi.org/10.1016/j.jpdc.2008.09.002" "What an all-reduce has to send."
    Paper "narayanan" "D. Narayanan and others" "2021"
        "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM"
        "https://arxiv.org/abs/2104.04473" "Floating-point operations of a token; the pipeline schedule."
    Paper "chowdhery" "A. Chowdhery and others" "2022" "PaLM: Scaling Language Modeling with Pathways"
        "https://arxiv.org/abs/2204.02311" "The part of a device’s peak that large models reached."
    Paper "zhao-fsdp" "Y. Zhao and others" "2023"
        "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel" "https://arxiv.org/abs/2304.11277"
        "Gathered layers and reduce buffers."

    Paper "shoeybi" "M. Shoeybi and others" "2019"
        "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism"
        "https://arxiv.org/abs/1909.08053" "What tensor parallelism splits, and its all-reduces."
    Paper "liu-ring" "H. Liu, M. Zaharia and P. Abbeel" "2023"
        "Ring Attention with Blockwise Transformers for Near-Infinite Context" "https://arxiv.org/abs/2310.01889"
        "Keys and values that go around a ring of GPUs."
    Paper "lepikhin" "D. Lepikhin and others" "2020"
        "GShard: Scaling Giant Models with Conditional Computation and Automatic Sharding"
        "https://arxiv.org/abs/2006.16668" "Experts on many devices, and the all-to-all that tokens reach them by."
    Paper "williams" "S. Williams, A. Waterman and D. Patterson" "2009"
        "Roofline: An Insightful Visual Performance Model for Multicore Architectures, Communications of the ACM 52(4)"
        "https://doi.org/10.1145/1498765.1498785" "When a step waits for memory and when for arithmetic."
    Program "nvidia-matmul" "NVIDIA" "2023" "Matrix Multiplication Background User’s Guide"
        "https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html"
        "Which sizes of a product tensor cores are fastest with, and how many of its tiles a GPU works on at once."
    Paper "pci-sig" "PCI-SIG" "2026" "PCI Express Base Specification, generations 3 to 5"
        "https://pcisig.com/specifications/pciexpress" "What a link to CPU memory carries."

    // Networks that are no transformers.
    Paper "he-resnet" "K. He, X. Zhang, S. Ren and J. Sun" "2016" "Deep Residual Learning for Image Recognition"
        "https://arxiv.org/abs/1512.03385" "ResNet-50, layer by layer."
    Paper "simonyan-vgg" "K. Simonyan and A. Zisserman" "2015"
        "Very Deep Convolutional Networks for Large-Scale Image Recognition" "https://arxiv.org/abs/1409.1556"
        "VGG-16, layer by layer."
    Paper "podell-sdxl" "D. Podell and others" "2023"
        "SDXL: Improving Latent Diffusion Models for High-Resolution Image Synthesis" "https://arxiv.org/abs/2307.01952"
        "SDXL’s U-Net."
    Paper "esser-sd3" "P. Esser and others" "2024"
        "Scaling Rectified Flow Transformers for High-Resolution Image Synthesis" "https://arxiv.org/abs/2403.03206"
        "SD 3’s transformer."

    Program "diffusers" "Hugging Face" "2026" "diffusers 0.42, source"
        "https://github.com/huggingface/diffusers/tree/v0.42.0/src/diffusers/models"
        "Blocks as they run."
    Program "transformers" "Hugging Face" "2026" "transformers 5.23, its model classes under PyTorch’s MemTracker"
        "https://github.com/huggingface/transformers/tree/v5.23.0/src/transformers/models"
        "What eager framework code keeps, tensor by tensor."
    Program "pytorch" "PyTorch" "2026" "PyTorch 2.15, source"
        "https://github.com/pytorch/pytorch" "Temporaries of optimizer steps, gradient buckets, the autocast cache."
    Program "torchtitan" "PyTorch" "2026" "torchtitan, source" "https://github.com/pytorch/torchtitan"
        "Recomputation of chosen operators or layers, the loss in chunks, and measurements of fragmentation."
    Program "torchtune" "PyTorch" "2026" "torchtune, source" "https://github.com/pytorch/torchtune"
        "The loss on finished logits, chunk by chunk."
    Program "megatron" "NVIDIA" "2026" "Megatron Core, distributed optimizer"
        "https://docs.nvidia.com/megatron-core/developer-guide/latest/api-guide/dist_optimizer.html"
        "Bytes per parameter, with gradients in fp32."
    Program "megatron-core" "NVIDIA" "2026" "Megatron-LM, source" "https://github.com/NVIDIA/Megatron-LM"
        "Cross-entropy in place on a divided vocabulary, the interleaved pipeline, kinds of recomputation."
    Program "transformer-engine" "NVIDIA" "2026" "Transformer Engine, source"
        "https://github.com/NVIDIA/TransformerEngine" "Dummy gradients and workspaces."
    Program "deepspeed" "Microsoft and contributors" "2026" "DeepSpeed, source"
        "https://github.com/deepspeedai/DeepSpeed"
        "Reduction buckets, gradients flattened for the step, what a pipeline holds."
    Program "peft" "Hugging Face" "2026" "PEFT 0.21, source" "https://github.com/huggingface/peft"
        "What an adapter keeps of its input."
    Program "trl" "Hugging Face" "2026" "TRL 1.10, source" "https://github.com/huggingface/trl/tree/v1.10.0"
        "What preference and reinforcement learning hold beside the training step."
    Program "trl-head" "Hugging Face" "2026" "TRL 1.16, source" "https://github.com/huggingface/trl/tree/v1.16.0"
        "A head that makes the loss tile by tile."
    Program "torchao" "PyTorch" "2026" "torchao, source" "https://github.com/pytorch/ao"
        "fp8 products that keep 16 bits, and moments in 8 and 4 bits."
    Program "flash-attention" "Dao-AILab" "2026" "flash-attention, source"
        "https://github.com/Dao-AILab/flash-attention" "Cross-entropy as one kernel."
    Program "bitsandbytes" "bitsandbytes Foundation" "2026" "bitsandbytes, source"
        "https://github.com/bitsandbytes-foundation/bitsandbytes" "The blocks of 8-bit optimizers as they are in use."
    Program "bekman" "S. Bekman" "2024" "Machine Learning Engineering, on the memory of training"
        "https://github.com/stas00/ml-engineering/blob/master/training/performance/README.md"
        "What a process takes beside its tensors."
    Program "driver" "NVIDIA" "2026" "nvidia-smi" "https://docs.nvidia.com/deploy/nvidia-smi/index.html"
        "Total memory as a driver reports it; each device’s own source is below."
    Program "pytorch-derivatives" "PyTorch" "2026" "derivatives.yaml"
        "https://github.com/pytorch/pytorch/blob/main/tools/autograd/derivatives.yaml"
        "What the gradient of each operation needs."
    Program "pytorch-cuda" "PyTorch" "2026" "CUDA semantics" "https://docs.pytorch.org/docs/stable/notes/cuda.html"
        "The caching allocator, expandable segments, workspaces of cuBLAS."
    Program "pytorch-memory" "PyTorch" "2026" "Understanding CUDA Memory Usage"
        "https://docs.pytorch.org/docs/stable/torch_cuda_memory.html" "Looking at memory with a profiler."
    Program "accumulation" "Hugging Face" "2024" "Fixing Gradient Accumulation"
        "https://huggingface.co/blog/gradient_accumulation" "Why losses of micro-batches are not simply averaged."
    Program "finders" "Hugging Face" "2026" "Accelerate, memory utilities"
        "https://huggingface.co/docs/accelerate/usage_guides/memory" "A batch-size finder in use."
    Program "lightning" "Lightning AI" "2026" "Lightning, BatchSizeFinder"
        "https://lightning.ai/docs/pytorch/stable/api/lightning.pytorch.callbacks.BatchSizeFinder.html"
        "Another one."
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_words_and_addresses_occur_once() {
        let ids: BTreeSet<&str> = ALL.iter().map(|source| source.id).collect();
        let urls: BTreeSet<&str> = ALL.iter().map(|source| source.url).collect();
        assert_eq!((ids.len(), urls.len()), (ALL.len(), ALL.len()));
        for id in ids {
            assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{id}");
        }
    }

    #[test]
    fn a_row_says_who_when_what_where_and_what_for() {
        for CourseSource { id, authors, year, title, url, used_for, .. } in ALL {
            assert!(!authors.is_empty() && !title.is_empty() && used_for.ends_with('.'), "{id}");
            assert!(url.starts_with("https://") && year.parse::<u32>().is_ok_and(|year| (1990..2100).contains(&year)));
        }
    }

    #[test]
    fn the_year_is_that_of_the_preprint_or_of_the_paper_soon_after() {
        for source in ALL {
            if let Some(number) = source.arxiv() {
                let (preprint, cited) = (2000 + number[..2].parse::<u32>().expect("yymm"), source.year.parse::<u32>());
                assert!(cited.is_ok_and(|cited| (preprint..=preprint + 2).contains(&cited)), "{}", source.id);
            }
        }
    }

    #[test]
    fn every_source_of_the_estimator_has_a_row_of_the_same_year() {
        for source in crate::source::ALL {
            let row = ALL.iter().find(|row| row.url == source.url).expect(source.short);
            let (_, last) = source.short.rsplit_once(' ').unwrap_or_default();
            assert!(last.parse::<u32>().is_err() || last == row.year, "{}: {}", source.short, row.year);
        }
    }
}

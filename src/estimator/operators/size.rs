//! How many bytes a tensor or a workspace takes. Tensors are products of widths; what kernels take for themselves is
//! not always.
//!
//! The workspaces are those of PyTorch 2.15 on a device of compute capability 8.0 with 108 multiprocessors, an A100,
//! as its allocator was asked for them (tests/traces/README.md).

use super::tensor::Form;
use crate::estimator::units::{DType, S, Shape, W, Width, Widths};

/// Streaming multiprocessors of the device, and threads that each may hold (A100).
pub const PROCESSORS: u64 = 108;
const THREADS_PER_PROCESSOR: u64 = 2048;

/// Elements that one block of threads takes of a list of tensors (`kChunkSize` in
/// aten/src/ATen/native/cuda/MultiTensorApply.cuh).
pub const FOREACH_CHUNK: u64 = 65_536;

/// How many blocks of so many threads the device holds at a time.
pub const fn resident_blocks(threads: u64) -> u64 {
    PROCESSORS * (THREADS_PER_PROCESSOR / threads)
}

/// What a reduction of all elements to one of `bytes` takes: a buffer of what blocks found, and their semaphores.
pub fn reduction_of_all(elements: u64, bytes: u64) -> [u64; 2] {
    let (buffer, semaphores) = reduction(1, elements, true);
    [buffer / 4 * bytes, semaphores]
}

/// What a product takes from the allocator for cuBLAS: W bytes (`getChosenWorkspaceSize` in
/// aten/src/ATen/cuda/CublasHandlePool.cpp, PyTorch 2.15).
pub const CUBLAS: Size = Size::Library(Library::Cublas);

/// The same for a product with a bias, which cuBLASLt computes.
pub const CUBLASLT: Size = Size::Library(Library::CublasLt);

/// A library that takes a workspace for each product. PyTorch 2.15 gives it back after the product; earlier versions keep one
/// for each thread that multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Library {
    /// cuBLAS.
    Cublas,
    /// cuBLASLt: 1 MiB (`_getWorkspaceSize` in aten/src/ATen/cuda/CUDABlas.cpp).
    CublasLt,
}

/// Indices above which `embedding_dense_backward` sorts them (aten/src/ATen/native/cuda/Embedding.cu).
const SORTED_ABOVE: u64 = 3072;

/// Elements from which on bitsandbytes keeps moments at 8 bits.
const EIGHT_BITS_FROM: u64 = 4096;

/// Elements from which on it keeps them in memory that GPU and host share, where it pages (`get_state_buffer` in
/// bitsandbytes/optim/optimizer.py, 0.50.2).
const PAGED_FROM: u64 = 100_000;

/// What of a weight a device holds, and its optimizer updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Held {
    /// All of it.
    Whole,
    /// One of so many parts of its first dimension, which has `rows`; as many rows as the first part has.
    Rows {
        /// Rows of the whole weight.
        rows: Shape,
        /// Parts.
        parts: u64,
    },
    /// So many of its elements.
    Elements(u64),
}

impl Held {
    /// How many elements it is of a weight of a form.
    pub fn elements(self, whole: Form, widths: &Widths) -> u64 {
        match self {
            Self::Whole => whole.shape.elements(widths),
            Self::Rows { rows, parts } => {
                let row = (whole.shape / rows).elements(widths);
                rows.elements(widths).div_ceil(parts.max(1)).saturating_mul(row)
            }
            Self::Elements(elements) => elements,
        }
    }
}

/// A number of bytes that is known once the widths are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// So many elements of a type.
    Of(Form),
    /// Elements of one type and behind them elements of another.
    Both(Form, Form),
    /// What a device holds of a weight of so many elements of a type.
    Held(Form, Held),
    /// So many elements of a type where a micro-batch has several sequences.
    OfSeveral(Form),
    /// The same for every micro-batch.
    Bytes(u64),
    /// The workspace of a library.
    Library(Library),
    /// The buffer through which blocks share a sum of `inputs` elements for each of `outputs`, or its semaphores
    /// (`setReduceConfig` in aten/src/ATen/native/cuda/Reduce.cuh). `fast` says that the innermost dimension is summed.
    Reduction {
        /// Sums.
        outputs: Shape,
        /// Elements of each sum.
        inputs: Shape,
        /// Whether the elements of a sum lie side by side.
        fast: bool,
        /// Whether the semaphores are asked for and not the buffer.
        semaphores: bool,
    },
    /// The buffer through which blocks share what they found of `inputs` elements for each of `outputs`, of `each` bytes.
    Found {
        /// Results.
        outputs: Shape,
        /// Elements of each.
        inputs: Shape,
        /// Bytes of what a block found.
        each: u64,
    },
    /// Indices and flags of a gradient of an embedding: `each` bytes a token and `fixed` ones, where there are enough
    /// tokens (aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu).
    Sorting {
        /// Tokens.
        tokens: Shape,
        /// Bytes of each.
        each: u64,
        /// Bytes of all.
        fixed: u64,
    },
    /// CUB's search for the ends of segments of sorted ids; how much it takes was fitted to what was recorded, as that of a
    /// scan.
    Ends {
        /// Tokens.
        tokens: Shape,
    },
    /// The same, for a row or an index of each segment: the smaller of tokens and rows of the table.
    Segments {
        /// Tokens.
        tokens: Shape,
        /// Rows of the table.
        rows: Shape,
    },
    /// CUB's scan of elements; how much it takes was fitted to what was recorded.
    Scan {
        /// Elements.
        elements: Shape,
    },
    /// The same of the segments.
    SegmentScan {
        /// Tokens.
        tokens: Shape,
        /// Rows of the table.
        rows: Shape,
    },
    /// Partial sums: one for ten tokens, and one for each segment.
    Partial {
        /// Tokens.
        tokens: Shape,
        /// Rows of the table.
        rows: Shape,
        /// One sum.
        each: Form,
    },
    /// A sum in which they end.
    SortedSum {
        /// Tokens.
        tokens: Shape,
        /// The sum.
        sum: Form,
    },
    /// CUB's radix sort of the tokens.
    Sort {
        /// Tokens.
        tokens: Shape,
        /// Rows of the table.
        rows: Shape,
    },
    /// CUB's radix sort of indices whose gradients are added up (`index_put_with_sort_kernel`): one byte where one block
    /// sorts them all, 256 threads of 9 pairs each (cub/device/dispatch/tuning_radix_sort.cuh, and as recorded for 2,304
    /// and 2,306).
    IndexSort {
        /// Indices.
        entries: Shape,
        /// Rows that they number.
        rows: Shape,
    },
    /// CUB's sum of flags that `nonzero` counts: one byte where one block adds them up, 256 threads of 16 each, as recorded.
    CountOfFlags {
        /// Flags.
        flags: Shape,
    },
    /// CUB's scan of flags as int64 (`mask_exclusive_sum` in aten/src/ATen/cuda/cub.cu): a state for each tile of 896 and 32
    /// more, as recorded for 1.3 to 5.7 million.
    FlagScan {
        /// Flags.
        flags: Shape,
    },
    /// CUB's list of the flags that are set: a state for each tile of 2,304 and 32 more, as recorded for some thousand and for
    /// 1.3 to 5.7 million.
    FlagList {
        /// Flags.
        flags: Shape,
    },
    /// How many tokens each expert has in each block of as many as have 1,024 choices (`compute_routing_metadata` in
    /// liger_kernel/ops/fused_moe.py, 0.8.5).
    Histograms {
        /// Experts.
        experts: Shape,
        /// Tokens.
        tokens: Shape,
        /// Choices of a token.
        active: Shape,
    },
    /// Where each of so many begins, and where the last one ends.
    Bounds {
        /// How many there are.
        of: Shape,
    },
    /// CUB's radix sort of int64 with all their digits, which `sort` takes for more than 4,096.
    KeySort {
        /// Numbers.
        entries: Shape,
    },
    /// What flash attention adds up where it splits the keys because queries are few: `columns` for each of `rows` and
    /// each part (`num_splits_heuristic` in csrc/flash_attn/flash_api.cpp).
    Splits {
        /// Rows of queries.
        rows: Shape,
        /// Elements of each row and part.
        columns: Shape,
        /// Tokens of keys.
        keys: Shape,
    },
    /// What memory-efficient attention adds up in fp32 where heads of more than 128 columns do not fit into registers
    /// (`kNeedsOutputAccumulatorBuffer` in mem_eff_attention/kernel_forward.h).
    LongHeads {
        /// Elements of the output.
        output: Shape,
        /// Columns of a head of queries and keys.
        keys: Shape,
    },
    /// Sums of memory-efficient attention's backward pass: for each block of rows a lock, a counter and tiles of the
    /// columns (`GradQTempStorage` in mem_eff_attention/kernel_backward.h).
    Tiles {
        /// Rows of queries.
        rows: Shape,
        /// Columns of a head of queries and keys.
        keys: Shape,
        /// Columns of a head of values.
        values: Shape,
        /// Whether it computes in 16 bits.
        is_half: bool,
    },
    /// CUB's scan of a row in fp32, which `cumsum` takes where there is one row alone (aten/src/ATen/native/cuda/
    /// ScanUtils.cuh): a state for each tile of 1,920 and 32 more, as recorded for 1 to 2²² elements.
    RowScan,
    /// Labels with one more a sequence (`ForCausalLMLoss` in transformers/loss/loss_utils.py, 5.23.0), where several
    /// sequences are then copied.
    PaddedLabels,
    /// The labels that the loss reads: that copy, or the padded ones of one sequence.
    ShiftedLabels,
    /// A square of 16-bit numbers, as wide as the smaller side of a matrix.
    Gram {
        /// Rows of the matrix.
        rows: Shape,
        /// Its columns.
        columns: Shape,
    },
    /// The workspace of `addmm` with a matrix that is turned where it has more rows than columns: cuBLAS computes it then, and
    /// otherwise cuBLASLt, as was recorded (`addmm_out_cuda_impl` in aten/src/ATen/native/cuda/Blas.cpp).
    Turned {
        /// Rows of the matrix.
        rows: Shape,
        /// Its columns.
        columns: Shape,
    },
    /// A moment at 8 bits that is paged where there are enough elements.
    Paged {
        /// Elements of the weight.
        elements: Shape,
        /// What of them the device holds.
        held: Held,
    },
    /// A moment at 8 bits, in fp32 where there are few elements (`min_8bit_size` in bitsandbytes/optim/optimizer.py, 0.50.2).
    EightBits {
        /// Elements of the weight.
        elements: Shape,
        /// What of them the device holds.
        held: Held,
    },
    /// The scales of its blocks of 256 elements.
    EightBitScales {
        /// Elements of the weight.
        elements: Shape,
        /// What of them the device holds.
        held: Held,
    },
}

impl Size {
    /// The bytes for given widths; 0 where a kernel does without.
    pub fn bytes(self, widths: &Widths) -> u64 {
        let n = |shape: Shape| shape.elements(widths);
        let part = |elements, held: Held| held.elements(Form::new(DType::Byte, elements), widths);
        let sorted = |tokens: Shape, bytes: u64| if n(tokens) > SORTED_ABOVE { bytes } else { 0 };
        match self {
            Self::Of(form) => n(form.shape).saturating_mul(form.dtype.bytes()),
            Self::OfSeveral(_) if widths.of(Width::Batch) == 1 => 0,
            Self::OfSeveral(form) => Self::Of(form).bytes(widths),
            Self::Both(first, second) => Self::Of(first).bytes(widths).saturating_add(Self::Of(second).bytes(widths)),
            Self::Held(form, held) => held.elements(form, widths).saturating_mul(form.dtype.bytes()),
            Self::Bytes(bytes) => bytes,
            Self::Library(Library::Cublas) => n(W),
            Self::Library(Library::CublasLt) => 1 << 20,
            Self::Reduction { outputs, inputs, fast, semaphores } => {
                let (buffer, flags) = reduction(n(outputs), n(inputs), fast);
                if semaphores { flags } else { buffer }
            }
            Self::Found { outputs, inputs, each } => {
                (reduction(n(outputs), n(inputs), true).0 / 4).saturating_mul(each)
            }
            Self::Sorting { tokens, each, fixed } => {
                sorted(tokens, n(tokens).saturating_mul(each).saturating_add(fixed))
            }
            Self::Ends { tokens } => sorted(tokens, 1023 + 256 * n(tokens).div_ceil(20_480).min(1 << 40)),
            Self::Segments { tokens, rows } => sorted(tokens, n(tokens).min(n(rows)).saturating_mul(8)),
            Self::Scan { elements } => scan(n(elements)),
            Self::SegmentScan { tokens, rows } => sorted(tokens, scan(n(tokens).min(n(rows)))),
            Self::Partial { tokens, rows, each } => {
                let sums = (n(tokens) / 10).saturating_add(n(tokens).min(n(rows)));
                sorted(tokens, sums.saturating_mul(n(each.shape)).saturating_mul(each.dtype.bytes()))
            }
            Self::SortedSum { tokens, sum } => sorted(tokens, Self::Of(sum).bytes(widths)),
            Self::Sort { tokens, rows } => sorted(tokens, radix_sort(n(tokens), n(rows))),
            Self::IndexSort { entries, .. } if n(entries) <= 256 * 9 => 1,
            Self::IndexSort { entries, rows } => radix_sort(n(entries), n(rows)),
            Self::CountOfFlags { flags } if n(flags) <= 256 * 16 => 1,
            Self::CountOfFlags { .. } => 4607,
            Self::FlagScan { flags } => states(n(flags).div_ceil(896), 16),
            Self::FlagList { flags } => states(n(flags).div_ceil(2304), 8),
            Self::Histograms { experts, tokens, active } => {
                let each = (1024 / n(active).min(1024).next_power_of_two()).max(1);
                n(experts).saturating_mul(n(tokens).div_ceil(each)).saturating_mul(4)
            }
            Self::Bounds { of } => n(of).saturating_add(1).saturating_mul(4),
            Self::KeySort { entries } if n(entries) <= 4096 => 0,
            Self::KeySort { entries } => radix_sort(n(entries), u64::MAX),
            Self::Splits { rows, columns, keys } => {
                // Queries of one token that share a head of keys are rows of one head (`seqlenq_ngroups_swapped`).
                let queries = widths.of(Width::Sequence);
                let group = widths.of(Width::Heads) / widths.of(Width::KvHeads).max(1);
                let heads = n(rows / S);
                let (heads, queries) =
                    if queries == 1 && group > 1 { (heads / group, group) } else { (heads, queries) };
                match splits(heads.saturating_mul(queries.div_ceil(64)), n(keys), widths.of(Width::HeadDim)) {
                    1 => 0,
                    splits => splits.saturating_mul(n(rows)).saturating_mul(n(columns)).saturating_mul(4),
                }
            }
            Self::LongHeads { output, keys } if n(keys) > 128 => n(output).saturating_mul(4),
            Self::LongHeads { .. } => 0,
            Self::Tiles { rows, keys, values, is_half } => {
                tiles(n(rows / S), widths.of(Width::Sequence), [n(keys), n(values)], is_half)
            }
            Self::RowScan if widths.of(Width::Batch) == 1 => states(widths.of(Width::Sequence).div_ceil(1920), 8),
            Self::RowScan => 0,
            Self::PaddedLabels if widths.of(Width::Batch) == 1 => 0,
            Self::PaddedLabels => {
                let (batch, sequence) = (widths.of(Width::Batch), widths.of(Width::Sequence));
                batch.saturating_mul(sequence.saturating_add(1)).saturating_mul(DType::Long.bytes())
            }
            Self::ShiftedLabels => {
                let (batch, sequence) = (widths.of(Width::Batch), widths.of(Width::Sequence));
                let labels = if batch > 1 { batch.saturating_mul(sequence) } else { sequence.saturating_add(1) };
                labels.saturating_mul(DType::Long.bytes())
            }
            Self::Gram { rows, columns } => {
                let side = n(rows).min(n(columns));
                side.saturating_mul(side).saturating_mul(DType::Half.bytes())
            }
            Self::Turned { rows, columns } if n(rows) > n(columns) => CUBLAS.bytes(widths),
            Self::Turned { .. } => CUBLASLT.bytes(widths),
            Self::Paged { elements, held } if part(elements, held) >= PAGED_FROM => 0,
            Self::Paged { elements, held } => Self::EightBits { elements, held }.bytes(widths),
            Self::EightBits { elements, held } => match part(elements, held) {
                few @ ..EIGHT_BITS_FROM => 4 * few,
                many => many,
            },
            Self::EightBitScales { elements, held } => match part(elements, held) {
                ..EIGHT_BITS_FROM => 0,
                many => many.div_ceil(256).saturating_mul(4),
            },
        }
    }
}

/// Bytes of the states of CUB's tiles, of which there are 32 more.
fn states(tiles: u64, each: u64) -> u64 {
    tiles.saturating_add(32).saturating_mul(each).min(1 << 60).next_multiple_of(256) + 511
}

fn scan(elements: u64) -> u64 {
    1023 + 256 * elements.div_ceil(12_288).min(1 << 40)
}

/// Bytes of CUB's radix sort of pairs of int64: the other halves of both buffers, which a single pass does without, and
/// counters of blocks and digits. The counters were fitted to what was recorded for 3,870 to 9,000 indices.
fn radix_sort(tokens: u64, rows: u64) -> u64 {
    let digits = u64::from(64 - rows.saturating_sub(1).max(1).leading_zeros()).div_ceil(8);
    let keys = tokens.saturating_mul(8).checked_next_multiple_of(256).unwrap_or(u64::MAX);
    let halves = if digits > 1 { 2 } else { 0 };
    keys.saturating_mul(halves)
        .saturating_add(2048 * digits)
        .saturating_add(1024 * tokens.div_ceil(3840).min(1 << 40) + 511)
}

/// Bytes of the tiles into which memory-efficient attention adds up gradients, as recorded for heads of 16 to 512 columns.
fn tiles(heads: u64, sequence: u64, widths: [u64; 2], is_half: bool) -> u64 {
    let [head_dim, _] = widths;
    let block = if head_dim <= 64 { 64 } else { 128 };
    let columns = if is_half && (65..=128).contains(&head_dim) { 128 } else { 64 };
    // A lock, a counter and a tile for each 64 or 128 columns of the gradient of queries.
    let each = head_dim.div_ceil(columns).min(1 << 32) * (16 + block * columns * 4);
    let queries = sequence.div_ceil(block).saturating_mul(each);
    // In 16 bits the gradients of long keys and values do not fit into registers and are added up in fp32, for each part
    // into which keys are split, of which there are at most 200 over all heads and sequences (attention_backward.cu).
    let wide = |width: u64| if is_half && head_dim > 128 { width.div_ceil(128).min(1 << 32) * 128 } else { 0 };
    let parts = sequence.div_ceil(64).min(200 / heads.max(1)).max(1);
    let keys = parts.saturating_mul(64 * 4).saturating_mul(widths.map(wide).iter().sum());
    heads.saturating_mul(queries.saturating_add(keys))
}

/// Parts into which flash attention splits so many keys of a head, for so many blocks of queries of all heads and sequences.
fn splits(work: u64, keys: u64, head_dim: u64) -> u64 {
    let block = match head_dim {
        ..=64 => 256,
        65..=128 => 128,
        _ => 64,
    };
    let (blocks, slots) = (keys.div_ceil(block), 2 * PROCESSORS);
    // The heuristic asks for 0.8 of the slots; beyond it nothing is split.
    if work.saturating_mul(10) >= 8 * slots {
        return 1;
    }
    let differs = |parts: u64| parts == 1 || blocks.div_ceil(parts) != blocks.div_ceil(parts - 1);
    let efficiency = |parts: u64| (work * parts) as f64 / slots as f64 / (work * parts).div_ceil(slots) as f64;
    let sensible = || (1..=blocks.min(slots).min(128)).filter(|&parts| differs(parts));
    let best = sensible().map(efficiency).fold(0.0, f64::max);
    sensible().find(|&parts| efficiency(parts) >= 0.85 * best).unwrap_or(1)
}

/// Bytes of the buffer and of the semaphores of sums over `inputs` elements for each of `outputs`, added up in fp32.
fn reduction(outputs: u64, inputs: u64, fast: bool) -> (u64, u64) {
    if outputs == 0 || inputs == 0 {
        return (0, 0);
    }
    let below = |n: u64| 1 << n.max(1).ilog2();
    let vector = if fast { 1 } else { 1 << outputs.trailing_zeros().min(2) };
    let (inner, outer) = if fast { (inputs, outputs) } else { (outputs / vector, inputs) };
    let most = 512 / vector;
    let (x, y) = (most.min(below(inner)), most.min(below(outer)));
    let height = y.min(most / x.min(32));
    let width = x.min(most / height);
    let (mut step_in, mut step_out) = if fast { (width, 1) } else { (1, width) };
    let splits = inputs.div_ceil(step_in) >= (height * 16).min(256);
    *(if splits { &mut step_in } else { &mut step_out }) *= height;
    let each = inputs.div_ceil(step_in);
    let (grid, target) =
        ((outputs / vector).div_ceil(step_out), PROCESSORS * (THREADS_PER_PROCESSOR / (width * height)));
    if !(splits && each >= 256 && grid <= target) {
        return (0, 0);
    }
    match target.div_ceil(grid).min(each.div_ceil(16)).max(each.div_ceil(256)) {
        1 => (0, 0),
        parts => {
            let each = if fast { 4 } else { 4 * width * vector };
            (outputs.saturating_mul(parts).saturating_mul(each), 4 * grid)
        }
    }
}

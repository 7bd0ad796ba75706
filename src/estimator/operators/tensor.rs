//! Who a tensor is: the operator that it belongs to, which part of it, and how large.

use std::collections::HashMap;

use super::size::Size;
use crate::estimator::units::{DType, Extent, Shape, Widths};

macro_rules! names {
    ($(#[$meta:meta])* $enum:ident { $($name:ident $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each name is told by its text")]
        pub enum $enum { $($name,)+ }

        impl $enum {
            /// How many there are.
            pub const COUNT: usize = [$(Self::$name,)+].len();

            /// What a reader calls it. Nothing is decided by this text.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

names! {
    /// Where in a model an operator stands.
    Place {
        Batch "batch",
        TokenEmbedding "token embedding",
        FirstConvolution "first convolution",
        SecondConvolution "second convolution",
        PatchEmbedding "patch embedding",
        ClassEmbedding "embedding of a class",
        PatchPositions "position embedding of patches",
        PatchSum "sum of embeddings of patches",
        TowerNorm "norm of embeddings of patches",
        Pool "pooled patches",
        ProjectorNorm "norm of the projector",
        Projector "projector",
        ProjectorOutput "second matrix of the projector",
        ImageFeatures "images as tokens",
        ImageMask "which tokens are images",
        ImageBlocks "to which image tokens belong",
        PositionEmbedding "position embedding",
        TypeEmbedding "type embedding",
        EmbeddingSum "sum of embeddings",
        EmbeddingScale "scaled embedding",
        EmbeddingDropout "dropout of embeddings",
        EmbeddingNorm "norm of embeddings",
        TokenTypes "types of tokens",
        Positions "positions",
        Edges "where documents begin",
        RotaryTable "rotary table",
        Mask "causal mask",
        WindowMask "mask of a window",
        ScoreBias "bias on scores",
        AttentionNorm "norm before attention",
        QueryKeyValue "queries, keys and values",
        Query "queries",
        Key "keys",
        Value "values",
        QueryScale "queries, scaled",
        QueryNorm "norm of queries",
        KeyNorm "norm of keys",
        QueryParts "parts of queries",
        KeyParts "parts of keys",
        QueryRotary "rotary of queries",
        KeyRotary "rotary of keys",
        KeyCache "keys so far",
        ValueCache "values so far",
        Attention "attention",
        QueryDown "queries, compressed",
        QueryDownNorm "norm of compressed queries",
        LatentDown "keys and values, compressed",
        LatentParts "compressed part and position",
        LatentNorm "norm of what is compressed",
        LatentUp "keys and values of heads",
        LatentHeads "keys and values of heads, apart",
        QueryWhole "queries, joined",
        KeyWhole "keys, joined",
        Rotary "rotary",
        AttentionOutput "attention’s output matrix",
        AttentionDropout "dropout after attention",
        AttentionPostNorm "norm after attention",
        AttentionAdd "residual after attention",
        CrossNorm "norm before attention to the encoder",
        CrossQuery "queries to the encoder",
        CrossQueryScale "queries to the encoder, scaled",
        CrossKey "keys of the encoder",
        CrossValue "values of the encoder",
        CrossBias "bias on scores to the encoder",
        CrossAttention "attention to the encoder",
        CrossOutput "output matrix of attention to the encoder",
        CrossDropout "dropout after attention to the encoder",
        CrossAdd "residual after attention to the encoder",
        CrossPostNorm "norm after attention to the encoder",
        Flattened "tokens of all sequences",
        MlpNorm "norm before MLP",
        Gate "gate",
        Up "up",
        Activation "activation function",
        Product "gate × up",
        Down "down",
        MlpDropout "dropout after MLP",
        MlpPostNorm "norm after MLP",
        MlpAdd "residual after MLP",
        Router "router",
        Dispatch "tokens to experts",
        ExpertGateUp "gate and up of experts",
        ExpertActivation "activation function of experts",
        ExpertDown "down of experts",
        SharedAdd "sum with shared experts",
        Combine "experts’ results to tokens",
        EncoderNorm "final norm of the encoder",
        FinalNorm "final norm",
        Transform "transformation before the head",
        TransformNorm "norm of that",
        Pooler "pooler",
        HeadBias "bias of the head",
        Head "head",
        Logits "logits",
        Labels "labels",
        LogProbabilities "log-probabilities",
        Entropy "entropy",
        Sampling "sampling of the next token",
        Loss "loss",
        Metrics "metrics",
        MaskedRows "rows that a mask picks",
        GradientNorm "norm of gradients",
        Optimizer "optimizer",
        Libraries "libraries",
        Unit "weights that are gathered together",
        LaterUnit "weights of a later chunk that are gathered together",
        Pipeline "pipeline",
        FrozenUnit "weights of a frozen model that are gathered together",
        InferenceEngine "inference engine",
    }
}

impl Place {
    /// Whether it stands between a vision tower and its decoder.
    pub const fn is_of_projector(self) -> bool {
        matches!(self, Self::Projector | Self::ProjectorOutput)
    }
}

names! {
    /// Whose tensor it is, where a program has several networks.
    Owner {
        Trained "trained model",
        Reference "reference model",
        Teacher "teacher",
        RewardModel "reward model",
        ValueModel "value model",
    }
}

names! {
    /// Which tensor of an operator it is.
    Part {
        Weight "weights",
        ProductWeight "weights of the product",
        Bias "bias",
        Buffer "buffer",
        AdapterA "adapter A",
        AdapterB "adapter B",
        WeightGradient "gradient of weights",
        WeightGradientSum "gradient of weights, of several uses",
        FirstGradient "first gradient of weights, cast",
        FirstMoment "first moment",
        SecondMoment "second moment",
        StepCount "step count",
        SecondMomentRoot "root of the second moment",
        Denominator "root of the second moment and ε",
        Velocity "velocity",
        FirstMomentTable "values of a byte, first moment",
        SecondMomentTable "values of a byte, second moment",
        FirstMomentScales "scales of the first moment",
        SecondMomentScales "scales of the second moment",
        RowSums "sums over rows",
        ColumnSums "sums over columns",
        RootMeanSquare "root mean square",
        GradientInFp32 "gradient of weights in fp32",
        SumOfSquares "sum of squares",
        SquareEps "square and ε",
        RowMeans "means of rows",
        ColumnMeans "means of columns",
        MeanOfMeans "mean of the means of rows",
        RowFactors "factors of rows",
        ColumnFactors "factors of columns",
        Update "update",
        GradientNorm "norm of a gradient",
        GradientNorms "norms of gradients",
        UpdateNegated "update, negated",
        Ids "token ids",
        Labels "labels",
        PaddedLabels "labels, padded",
        Table "table",
        Mask "mask",
        Counted "counted",
        Result "result",
        InFp32 "copy in fp32",
        WeightInFp32 "weights in fp32",
        BiasInFp32 "bias in fp32",
        OnePlusWeight "1 + weights",
        InHalf "copy in 16 bits",
        InputCast "input in the type of the layer",
        ResultCast "result in the type of the layer",
        AutocastWeight "autocast’s copy of weights",
        AutocastInput "autocast’s copy of the input",
        Copied "copy in another order",
        Cloned "clone",
        Code "code of scales",
        Repeated "heads repeated",
        Square "square",
        Mean "mean",
        Variance "variance",
        Centered "less the mean",
        MeanEps "mean and ε",
        InverseRoot "inverse root",
        Normed "normed",
        Cube "third power",
        CubeScaled "third power, scaled",
        Inner "inner sum",
        InnerScaled "inner sum, scaled",
        Tanh "tanh",
        OnePlusTanh "1 + tanh",
        Halved "half of the input",
        CapDivided "divided by the cap",
        Capped "below the cap",
        Cosined "times cosine",
        HalfNegated "half, negated",
        HalvesTurned "halves turned",
        Sined "times sine",
        Turned "turned",
        Scores "scores",
        ScoresScaled "scores, scaled",
        ScoresBiased "scores, with their bias",
        ScoresMasked "scores, masked",
        Softmax "softmax",
        MaskPadded "mask in numbers, padded",
        MaskInNumbers "mask in numbers",
        LogSumExp "log-sum-exp",
        RandomState "random state",
        LogSoftmax "log-softmax",
        ChunkLogits "logits of a chunk",
        Exponential "exponential",
        Joined "stacked",
        Maximum "maximum",
        Absolute "absolute value",
        Picked "picked",
        Sum "sum",
        Total "sum of a mask",
        Difference "difference",
        Filled "filled where a mask says so",
        TotalWeight "total weight",
        AdapterInner "adapter A’s result",
        AdapterOuter "adapter B’s result",
        AdapterScaled "adapter’s result, scaled",
        AdapterSum "sum with the adapter",
        FactorA "adapter A in 16 bits",
        FactorB "adapter B in 16 bits",
        FoldedWeight "weights with the adapter",
        Chosen "probabilities of the chosen",
        ChosenIds "experts chosen",
        ChosenSum "sum of the chosen",
        BeforeDivision "probabilities before division",
        SortedIds "experts chosen, sorted",
        Order "order by experts",
        OrderBack "order of tokens",
        Rows "rows of tokens",
        Gathered "gathered",
        GatheredWeights "weights, gathered",
        Counts "tokens of experts",
        Offsets "where experts begin",
        Weighted "weighted",
        Restored "in the order of tokens",
        DropoutMask "dropout mask",
        Dropped "after dropout",
        Gradient "gradient",
        Received "received",
        Merged "outputs of all micro-batches",
        Workspace "workspace",
        AllGatherInput "shard, in the type of the gather",
        AllGatherOutput "gathered shards",
        StageGatherInput "shard of a whole stage, in the type of the gather",
        StageGatherOutput "gathered shards of a whole stage",
        GatheredWeight "gathered weight",
        ReduceInput "gradients on their way to their sum",
        ReduceOutput "summed gradients",
        ReduceOutputCast "summed gradients, cast",
        FlatWeights "weights, joined",
        Padding "padding of a unit",
        LowPrecisionShard "shard, cast",
        FlatGradient "gradients of a unit, joined",
        FlatGradientCast "gradients of a unit, joined and cast",
        PaddingGradient "gradient of the padding",
        Broadcast "weights on their way from the first device",
        Bucket "bucket of gradients",
        BucketIndices "which gradient is in which bucket",
        MasterWeight "weights in fp32 that are updated",
        PartitionGradients "gradients that the device updates with",
        AveragedGradients "gradients of all micro-batches that the device updates with",
        JoinedGradients "gradients that the device updates with, joined",
        GradientInFp64 "gradient in fp64",
        EndPadding "padding behind the last gradient",
        Dummy "empty gradient of a shape",
        Clipping "check and norm of gradients",
        Overflow "check of gradients for an overflow",
    }
}

names! {
    /// The kind of memory that a tensor takes.
    Kind {
        Parameters "parameters",
        Gradients "gradients",
        Optimizer "optimizer state",
        Activations "activations",
        Logits "logits and loss",
        Batch "batch",
        Temporary "temporary",
    }
}

names! {
    /// Which stack of a model's layers a tensor belongs to; each has widths of its own.
    Side {
        Decoder "decoder",
        Encoder "encoder",
    }
}

/// A CUDA stream of a training program. The allocator gives memory that one stream freed to that stream alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The one on which the model runs.
    Model,
    /// On which shards are cast before they are gathered.
    Cast,
    /// On which weights are gathered.
    Gather,
    /// On which gradients are summed over devices.
    Reduce,
    /// The same of later chunks of a rank of a pipeline.
    LaterReduce,
    /// On which shards of a frozen model are cast and gathered.
    GatherFrozen,
}

impl Stream {
    /// How many there are.
    pub const COUNT: usize = Self::GatherFrozen as usize + 1;
}

/// The type of a tensor's elements, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// The type of an element.
    pub dtype: DType,
    /// The number of elements.
    pub shape: Shape,
}

impl Form {
    /// Elements of a type.
    pub const fn new(dtype: DType, shape: Shape) -> Self {
        Self { dtype, shape }
    }

    /// As many elements of another type.
    pub const fn with_dtype(self, dtype: DType) -> Self {
        Self { dtype, ..self }
    }
}

/// A tensor: its place and part are its identity, and layers of the same build have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// The operator that it belongs to.
    pub place: Place,
    /// Which tensor of that operator it is.
    pub part: Part,
    /// How many bytes it takes.
    pub size: Size,
}

impl Tensor {
    /// The kind of memory that it takes.
    pub const fn kind(&self) -> Kind {
        match (self.place, self.part) {
            (
                _,
                Part::Weight
                | Part::ProductWeight
                | Part::Bias
                | Part::Buffer
                | Part::AdapterA
                | Part::AdapterB
                | Part::Code
                | Part::AllGatherInput
                | Part::AllGatherOutput
                | Part::StageGatherInput
                | Part::StageGatherOutput
                | Part::GatheredWeight
                | Part::FlatWeights
                | Part::Padding
                | Part::LowPrecisionShard
                | Part::Broadcast,
            ) => Kind::Parameters,
            (
                _,
                Part::WeightGradient
                | Part::WeightGradientSum
                | Part::FirstGradient
                | Part::ReduceInput
                | Part::ReduceOutput
                | Part::ReduceOutputCast
                | Part::FlatGradient
                | Part::FlatGradientCast
                | Part::PaddingGradient
                | Part::Bucket
                | Part::BucketIndices
                | Part::PartitionGradients
                | Part::AveragedGradients
                | Part::EndPadding
                | Part::Dummy,
            ) => Kind::Gradients,
            (
                _,
                Part::FirstMoment
                | Part::SecondMoment
                | Part::StepCount
                | Part::Velocity
                | Part::FirstMomentTable
                | Part::SecondMomentTable
                | Part::FirstMomentScales
                | Part::SecondMomentScales
                | Part::RowSums
                | Part::ColumnSums
                | Part::RootMeanSquare
                | Part::MasterWeight,
            ) => Kind::Optimizer,
            (
                _,
                Part::SecondMomentRoot
                | Part::Denominator
                | Part::GradientInFp32
                | Part::SumOfSquares
                | Part::SquareEps
                | Part::RowMeans
                | Part::ColumnMeans
                | Part::MeanOfMeans
                | Part::RowFactors
                | Part::ColumnFactors
                | Part::Update
                | Part::UpdateNegated
                | Part::JoinedGradients
                | Part::GradientInFp64
                | Part::Clipping
                | Part::Overflow,
            ) => Kind::Temporary,
            (_, Part::Ids | Part::Mask | Part::Counted) | (Place::Edges, _) => Kind::Batch,
            (
                Place::Head
                | Place::Logits
                | Place::LogProbabilities
                | Place::Entropy
                | Place::Sampling
                | Place::Loss
                | Place::Metrics
                | Place::MaskedRows,
                _,
            ) => Kind::Logits,
            (_, Part::Gradient | Part::Workspace) => Kind::Temporary,
            _ => Kind::Activations,
        }
    }
}

impl Tensor {
    /// The same in another type, where it is a number of elements of a type.
    pub const fn with_dtype(self, dtype: DType) -> Self {
        match self.size {
            Size::Of(form) => Self { size: Size::Of(form.with_dtype(dtype)), ..self },
            _ => self,
        }
    }

    /// The stream on which it is asked for.
    pub const fn stream(&self) -> Stream {
        match self.part {
            Part::ReduceOutput | Part::ReduceOutputCast if matches!(self.place, Place::LaterUnit) => {
                Stream::LaterReduce
            }
            Part::AllGatherInput | Part::AllGatherOutput if matches!(self.place, Place::FrozenUnit) => {
                Stream::GatherFrozen
            }
            Part::LowPrecisionShard => Stream::Cast,
            Part::AllGatherInput
            | Part::AllGatherOutput
            | Part::FlatGradient
            | Part::PaddingGradient
            | Part::WeightGradientSum => Stream::Gather,
            Part::ReduceOutput
            | Part::ReduceOutputCast
            | Part::FlatGradientCast
            | Part::PartitionGradients
            | Part::Overflow => Stream::Reduce,
            _ => Stream::Model,
        }
    }
}

/// A tensor by its number in a [`Registry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorId(u16);

impl TensorId {
    /// Its place in lists that have an item a tensor.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Every tensor that the programs of a model speak of, each once, with the source of its rule.
#[derive(Clone, Debug)]
pub struct Registry {
    tensors: Vec<(Tensor, Owner, &'static str)>,
    /// With the widths of which stack each is computed.
    sides: Vec<Side>,
    side: Side,
    /// For what pass each is, where that is given other tokens than a micro-batch has.
    extents: Vec<Option<Extent>>,
    owner: Owner,
    /// The tensors of each place. There are a few dozen of one, so that looking through them is faster than hashing.
    of_place: [Vec<TensorId>; Place::COUNT],
    /// Those of other passes. There are thousands of one place where a network generates.
    of_extents: HashMap<(TensorId, Extent), TensorId>,
}

impl Default for Registry {
    fn default() -> Self {
        let of_place = std::array::from_fn(|_| Vec::new());
        Self {
            tensors: Vec::new(),
            sides: Vec::new(),
            side: Side::Decoder,
            extents: Vec::new(),
            owner: Owner::Trained,
            of_place,
            of_extents: HashMap::new(),
        }
    }
}

impl Registry {
    /// Says whose tensors follow.
    pub fn set_owner(&mut self, owner: Owner) {
        self.owner = owner;
    }

    /// The stack to which tensors belong that follow.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Says to which stack tensors belong that follow.
    pub fn set_side(&mut self, side: Side) {
        self.side = side;
    }

    /// The number of a tensor, which is added where it is new.
    pub fn id(&mut self, tensor: Tensor, source: &'static str) -> TensorId {
        // The workspace of a library is the same for all networks.
        let is_of_all = tensor.place == Place::Libraries;
        let (owner, side) = if is_of_all { (Owner::Trained, Side::Decoder) } else { (self.owner, self.side) };
        let known = &self.of_place[tensor.place as usize];
        let is_same = |id: &&TensorId| {
            let at = id.index();
            (self.tensors[at].0, self.tensors[at].1, self.sides[at]) == (tensor, owner, side)
        };
        if let Some(&id) = known.iter().find(is_same) {
            return id;
        }
        let id = self.push((tensor, owner, source), side, None);
        self.of_place[tensor.place as usize].push(id);
        id
    }

    /// The number of the same tensor in a pass that is given other tokens than a micro-batch has.
    pub fn of_extent(&mut self, id: TensorId, extent: Extent) -> TensorId {
        if let Some(&known) = self.of_extents.get(&(id, extent)) {
            return known;
        }
        let same = self.push(self.tensors[id.index()], self.sides[id.index()], Some(extent));
        self.of_extents.insert((id, extent), same);
        same
    }

    fn push(&mut self, named: (Tensor, Owner, &'static str), side: Side, extent: Option<Extent>) -> TensorId {
        // A model has a few dozen operators of a few dozen tensors, and a round of generation a dozen that grow; 2¹⁶ are
        // never reached.
        let id = TensorId(u16::try_from(self.tensors.len()).unwrap_or(u16::MAX));
        self.tensors.push(named);
        self.sides.push(side);
        self.extents.push(extent);
        id
    }

    /// The bytes of the tensor of a number for given widths.
    pub fn bytes(&self, id: TensorId, widths: &Widths) -> u64 {
        self.bytes_at(id.index(), widths)
    }

    /// The bytes of every tensor, in the order of their numbers.
    pub fn all_bytes(&self, widths: &Widths) -> impl Iterator<Item = u64> {
        let widths = *widths;
        (0..self.tensors.len()).map(move |at| self.bytes_at(at, &widths))
    }

    fn bytes_at(&self, at: usize, widths: &Widths) -> u64 {
        let size = self.tensors[at].0.size;
        match (self.extents[at], self.sides[at]) {
            (Some(extent), _) => size.bytes(&widths.of_extent(extent)),
            (None, Side::Encoder) => size.bytes(&widths.of_encoder()),
            (None, Side::Decoder) => size.bytes(widths),
        }
    }

    /// The tensor of a number.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()].0
    }

    /// Whose the tensor of a number is.
    pub fn owner(&self, id: TensorId) -> Owner {
        self.tensors[id.index()].1
    }

    /// Every tensor with whose it is and the source of its rule, in the order of their numbers.
    pub fn all(&self) -> impl Iterator<Item = (&Tensor, Owner, &'static str)> {
        self.tensors.iter().map(|(tensor, owner, source)| (tensor, *owner, *source))
    }
}

//! How images become vectors, and what of that is trained.

choices! {
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

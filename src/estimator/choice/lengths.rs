//! How sequences of different lengths become a micro-batch.

choices! {
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
}

//! Why something is not counted, where several programs have it: what it could cost.

pub(super) const SOME_LAYERS: &str = "only some layers are trained: fewer gradients and moments than are counted";
pub(super) const SOME_PARTS: &str = "parts of the model are not trained: fewer gradients and moments than are counted";
pub(super) const WHOLE_MODULES: &str =
    "these modules are trained as a whole: weights, gradients and moments of all of them";
pub(super) const DORA: &str = "DoRA keeps a norm of every adapted matrix and the product of its adapters";
pub(super) const REPLICAS: &str = "a copy of the sharded model on every group of GPUs instead of on all together";
pub(super) const FP8: &str = "products in fp8 keep some inputs in one byte instead of two";

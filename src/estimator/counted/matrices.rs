//! Matrices of a model by their sides, for optimizers whose state follows from them.

use super::Assembly;
use super::instants::StageInstants;
use super::stage::Stage;
use super::states::{StateBytes, is_tied_head};
use crate::estimator::ledger::Bucket;
use crate::source::{APOLLO, GALORE, SHAMPOO, SOAP};
use crate::{Mlp, Optimizer, Position, Scenario, Weights};

/// So many matrices of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Matrix {
    pub(super) rows: f64,
    pub(super) columns: f64,
    pub(super) count: f64,
    /// Whether it is a linear layer of a block, which GaLore and APOLLO project.
    pub(super) inside: bool,
}

impl Matrix {
    fn elements(&self) -> f64 {
        self.rows * self.columns
    }

    fn longer(&self) -> f64 {
        self.rows.max(self.columns)
    }

    fn shorter(&self) -> f64 {
        self.rows.min(self.columns)
    }
}

/// The matrices of one stage, whole; routed experts are not among them.
pub(super) fn of(scenario: &Scenario, stage: &Stage) -> Vec<Matrix> {
    let model = &scenario.model;
    let [h, f, v, d] = [model.hidden, model.feed_forward, model.vocabulary, model.head_dim].map(f64::from);
    let (query, key) = (f64::from(model.heads) * d, f64::from(model.kv_heads) * d);
    let layers = stage.layers();
    let mut found = Vec::with_capacity(10);
    let mut push = |rows, columns, count: f64, inside| {
        if count > 0.0 {
            found.push(Matrix { rows, columns, count, inside });
        }
    };
    if model.latent.kv_rank > 0 {
        let [q, kv, rope] = [model.latent.query_rank, model.latent.kv_rank, model.latent.rope_dim].map(f64::from);
        let wide = f64::from(model.heads) * (d + rope);
        if q > 0.0 {
            push(q, h, layers, true);
            push(wide, q, layers, true);
        } else {
            push(wide, h, layers, true);
        }
        push(kv + rope, h, layers, true);
        push(2.0 * query, kv, layers, true);
    } else if model.packs_attention() {
        push(query + 2.0 * key, h, layers, true);
    } else {
        push(query, h, layers, true);
        push(key, h, 2.0 * layers, true);
    }
    push(h, query, layers, true);
    let up = if model.mlp == Mlp::Gated { 2.0 } else { 1.0 };
    let (rows, number) = if model.joins_gate() { (up * f, 1.0) } else { (f, up) };
    push(rows, h, number * stage.dense_layers, true);
    push(h, f, stage.dense_layers, true);
    let ends = [stage.has_embedding, stage.has_head && !(is_tied_head(scenario) && stage.has_embedding)];
    push(v, h, ends.iter().filter(|there| **there).count() as f64, false);
    if stage.has_embedding && model.position == Position::Learned && model.positions > 0 {
        push(model.positions.into(), h, 1.0, false);
    }
    found
}

/// Elements of the largest matrices of a stage, whole; 0 where it has none.
#[derive(Clone, Copy)]
pub(super) struct Largest {
    /// In its layers, but for routed experts.
    pub(super) inside: f64,
    /// Of the routed experts of a layer.
    pub(super) stack: f64,
    /// Embedding, head or position table.
    pub(super) ends: f64,
}

impl Largest {
    pub(super) fn of(scenario: &Scenario, weights: &Weights, stage: &Stage) -> Self {
        let mut largest = Self { inside: 0.0, stack: 0.0, ends: 0.0 };
        for matrix in of(scenario, stage) {
            let place = if matrix.inside { &mut largest.inside } else { &mut largest.ends };
            *place = place.max(matrix.elements());
        }
        if stage.expert_layers > 0.0 {
            let joined = scenario.recipe.joins_gates(scenario.cluster.engine);
            largest.stack = weights.expert_stack(&scenario.model, joined) as f64;
        }
        largest
    }

    /// The same on this device, before ZeRO divides them.
    pub(super) fn on_device(self, to: &Assembly) -> Self {
        let t = to.tensor_parallel;
        Self { inside: self.inside / t, stack: self.stack / t / to.expert_parallel, ends: self.ends / t }
    }

    /// The part of each whose optimizer state this device has.
    pub(super) fn updated(self, to: &Assembly) -> Self {
        let Self { inside, stack, ends } = self.on_device(to);
        let shards = to.optimizer_shards;
        Self { inside: inside / shards, stack: stack / to.expert_optimizer_shards, ends: ends / shards }
    }

    /// The largest of its layers.
    pub(super) fn in_blocks(self) -> f64 {
        self.inside.max(self.stack)
    }

    /// The largest of all.
    pub(super) fn any(self) -> f64 {
        self.in_blocks().max(self.ends)
    }
}

/// Preconditioners or projections of one stage.
pub(super) fn state(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, bytes: &StateBytes) {
    let optimizer = scenario.recipe.optimizer;
    let matrices = of(scenario, stage);
    let always = stage.at.always();
    let shards = to.optimizer_shards;
    let mut push = |name, bytes, weights: f64, source| {
        to.own(name, Bucket::Optimizer, bytes, weights / shards, always, source);
    };
    let inside = || matrices.iter().filter(|matrix| matrix.inside);
    let rank = f64::from(scenario.recipe.projection);
    let m = bytes.moment;
    match optimizer {
        Optimizer::Galore | Optimizer::Galore8bit => {
            let of_moment = if optimizer == Optimizer::Galore { m } else { EIGHT_BITS / 2.0 };
            let moments: f64 = inside().map(|at| at.count * rank.min(at.shorter()) * at.longer()).sum();
            // Of gradients in fp32 the projection is a view into all singular vectors, which it keeps alive; of others it
            // is cast, and thereby cut out (`get_orthogonal_matrix` in galore_torch/galore_projector.py).
            let kept = |at: &Matrix| if m < 4.0 { rank.min(at.shorter()) } else { at.shorter() };
            let projections: f64 = inside().map(|at| at.count * kept(at) * at.shorter()).sum();
            push("Moments of projected gradients", 2.0 * of_moment, moments, &GALORE);
            push("Projections", m, projections, &GALORE);
        }
        Optimizer::Apollo => {
            let moments: f64 = inside().map(|at| at.count * rank * at.longer()).sum();
            let projections: f64 = inside().map(|at| at.count * rank * at.shorter()).sum();
            push("Moments of projected gradients", 2.0 * m, moments, &APOLLO);
            // `GradientProjector` in apollo_torch/random_projector.py keeps the matrix that it drew.
            push("Projections", m, projections, &APOLLO);
        }
        Optimizer::Soap => {
            let widest = widest_side(scenario);
            let square = |side: f64| if side <= widest { side * side } else { 0.0 };
            let squares: f64 = matrices.iter().map(|at| at.count * (square(at.rows) + square(at.columns))).sum();
            push("Preconditioners", 4.0, squares, &SOAP);
            push("Eigenvectors of the preconditioners", 4.0, squares, &SOAP);
        }
        Optimizer::Shampoo => {
            let block = widest_side(scenario);
            let of_matrices: f64 = matrices.iter().map(|at| at.count * in_blocks(at, block)).sum();
            let h = f64::from(scenario.model.hidden);
            let small = stage.layers() * (weights.norms + weights.biases) as f64
                + if stage.has_head { weights.final_norm as f64 } else { 0.0 };
            let of_vectors = small / h * along(h, block);
            push("Preconditioners", 4.0, of_matrices + of_vectors, &SHAMPOO);
            push("Roots of the preconditioners", 4.0, of_matrices + of_vectors, &SHAMPOO);
        }
        _ => {}
    }
}

/// Bytes of both moments of a weight in 8 bits, with a scale for each of a block of 256.
pub(super) const EIGHT_BITS: f64 = 2.0 + 2.0 * 4.0 / 256.0;

/// The widest side of a preconditioner: 1,024 in Distributed Shampoo (`max_preconditioner_dim`) and 10,000 in SOAP
/// (`max_precond_dim`), unless the reader says another.
fn widest_side(scenario: &Scenario) -> f64 {
    match (scenario.recipe.preconditioner, scenario.recipe.optimizer) {
        (0, Optimizer::Soap) => 10_000.0,
        (0, _) => 1024.0,
        (said, _) => said.into(),
    }
}

/// Elements of the squares along a side cut into blocks. Of a symmetric matrix the triangle is kept (`_pack_matrix` in
/// distributed_shampoo/preconditioner/shampoo_preconditioner_list.py, and runs of it).
fn along(side: f64, block: f64) -> f64 {
    let whole = (side / block).floor();
    let rest = side - whole * block;
    let triangle = |n: f64| n * (n + 1.0) / 2.0;
    whole * triangle(block) + triangle(rest)
}

/// The same for both sides of every block of a matrix.
fn in_blocks(matrix: &Matrix, block: f64) -> f64 {
    let blocks = |side: f64| (side / block).ceil();
    blocks(matrix.columns) * along(matrix.rows, block) + blocks(matrix.rows) * along(matrix.columns, block)
}

/// Bytes of an update of a matrix at its highest, for the widest inside the blocks and outside them.
pub(super) fn updates(scenario: &Scenario, stage: &Stage, bytes: &StateBytes) -> [f64; 2] {
    let matrices = of(scenario, stage);
    let rank = f64::from(scenario.recipe.projection);
    let m = bytes.moment;
    let most = |inside: bool, bytes: &dyn Fn(&Matrix) -> f64| {
        matrices.iter().filter(|at| at.inside == inside).map(bytes).fold(0.0, f64::max)
    };
    // `denom` and `norm_grad` of a plain Adam step, one after the other (galore_torch/adamw.py).
    let adam = |at: &Matrix| 2.0 * m * at.elements();
    match scenario.recipe.optimizer {
        // Every so many steps a gradient’s singular vectors are worked out in fp32: its copy, the copy that the routine
        // overwrites, and both sets of vectors. The workspace of cuSOLVER comes on top and is not counted.
        Optimizer::Galore | Optimizer::Galore8bit => {
            let cast = if m < 4.0 { 8.0 } else { 4.0 };
            let vectors = |at: &Matrix| cast * at.elements() + 4.0 * at.shorter() * (at.rows + at.columns);
            let outside = if scenario.recipe.optimizer == Optimizer::Galore { most(false, &adam) } else { 0.0 };
            [most(true, &vectors), outside]
        }
        // The scaled gradient and its limited copy, beside three tensors of the projected one (apollo_torch/apollo.py).
        Optimizer::Apollo => {
            let scaled = |at: &Matrix| adam(at) + 3.0 * m * rank * at.longer();
            [most(true, &scaled), most(false, &adam)]
        }
        // The projected gradient, the denominator, their quotient and two steps of the way back; with new eigenvectors
        // four squares more (`get_orthogonal_matrix_QR` in soap.py).
        Optimizer::Soap => {
            let widest = widest_side(scenario);
            let square = |side: f64| if side <= widest { side * side } else { 0.0 };
            let turned = |at: &Matrix| 4.0 * (5.0 * at.elements() + 4.0 * square(at.rows).max(square(at.columns)));
            [most(true, &turned), most(false, &turned)]
        }
        _ => [most(true, &adam), most(false, &adam)],
    }
}

/// The instants at which an update takes place: the optimizer step, or the backward pass.
pub(super) fn when(scenario: &Scenario, stage: &Stage) -> [crate::estimator::ledger::Instants; 2] {
    let at = &stage.at;
    if scenario.recipe.step == crate::StepKernel::InBackward {
        [at.in_backward(), StageInstants::only(at.end)]
    } else {
        [StageInstants::only(at.step); 2]
    }
}

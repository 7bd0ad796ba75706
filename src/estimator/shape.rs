//! The shape of a model, in other sizes.

use super::bounds::Field;
use super::scenario::{Model, Origin};

/// Models of one shape: width, heads, feed-forward width, experts' width and depth grow and shrink together, a group of
/// heads at a time, with the width of a head, the heads of a group and the vocabulary as they are.
///
/// What a model learns depends on its shape only weakly while its parameters are as many (J. Kaplan and others 2020,
/// [Scaling Laws for Neural Language Models](https://arxiv.org/abs/2001.08361), section 3.1 and figure 5), so that one
/// shape stands for models of all sizes.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    model: &'a Model,
    /// Heads that share a key/value head, with it: they stay together.
    group: u32,
}

impl<'a> Shape<'a> {
    /// That of this model.
    pub const fn of(model: &'a Model) -> Self {
        let kv_heads = if model.kv_heads == 0 { 1 } else { model.kv_heads };
        let group = if model.heads.is_multiple_of(kv_heads) { model.heads / kv_heads } else { 1 };
        Self { model, group: if group == 0 { 1 } else { group } }
    }

    /// The groups of the model itself.
    pub const fn own(self) -> u32 {
        self.model.heads / self.group
    }

    /// The most groups with which no dimension leaves its declared range.
    pub fn most(self) -> u32 {
        let model = self.model;
        let limit = [
            (Field::Heads, model.heads),
            (Field::Hidden, model.hidden),
            (Field::Layers, model.layers.max(model.encoder.layers)),
            (Field::FeedForward, model.feed_forward),
        ]
        .iter()
        .map(|(field, at)| (field.bound().max / f64::from(*at) * f64::from(model.heads)) as u32)
        .min()
        .unwrap_or(1);
        (limit / self.group).max(1)
    }

    /// The model with this many groups. Its parameter count is the derived one, and it belongs to no catalogue row.
    pub fn model(self, groups: u32) -> Model {
        let (model, heads) = (self.model, groups.saturating_mul(self.group));
        let part = |size: u32| {
            let scaled = u64::from(size) * u64::from(heads) / u64::from(model.heads.max(1));
            u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
        };
        let mut scaled = *model;
        scaled.origin = Origin::Own;
        scaled.heads = heads;
        scaled.kv_heads = part(model.kv_heads);
        scaled.hidden = part(model.hidden).max(8);
        scaled.feed_forward = part(model.feed_forward).max(8);
        scaled.layers = part(model.layers);
        if model.encoder.is_there() {
            scaled.encoder.layers = part(model.encoder.layers);
        }
        if model.experts.width > 0 {
            scaled.experts.width = part(model.experts.width);
        }
        scaled.parameters = scaled.derived_parameters();
        scaled
    }

    /// The same with parameters counted as the model counts its own: what stands in a paper is often round, and differs
    /// from the derived count by the same part in every size. With its own groups it is the model itself.
    pub fn counted(self, groups: u32) -> Model {
        if groups == self.own() {
            return *self.model;
        }
        let mut scaled = self.model(groups);
        let part = self.model.parameters as f64 / self.model.derived_parameters().max(1) as f64;
        scaled.parameters = (scaled.parameters as f64 * part).round() as u64;
        scaled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn a_shape_grows_until_the_first_of_its_sizes_is_at_the_end_of_its_range() {
        // Llama 3.1 8B has eight groups of four heads, and 128 of width and one layer for each head: heads, width and layers
        // all end at 1,024 heads.
        let model = catalogue::model("llama-3.1-8b").expect("listed").model;
        let shape = Shape::of(&model);
        assert_eq!((shape.own(), shape.most()), (8, 256));
        let largest = shape.model(256);
        assert_eq!((largest.heads, largest.hidden, largest.layers), (1_024, 131_072, 1_024));
    }
}

//! Blocks that the time of a diffusion model steers.

use super::{At, Walk, two};
use crate::course::networks::list::{Flaw, because};
use crate::course::networks::{Kind, Layer, Network, Shape, Source};

impl Walk {
    /// A vector of the data through two dense layers (`TimestepEmbedding` of diffusers 0.42).
    pub(super) fn embedding(&mut self, network: &mut Network, features: f64, width: f64) -> Result<At, Flaw> {
        let given = At { shape: Shape::rows(1.0, features), sides: 0, source: Source::Given };
        let first = self.dense(network, given, width, true)?;
        if let Some(layer) = network.layers.last_mut() {
            layer.aside = features;
        }
        let active = self.unary(network, Kind::Gelu, first, first.shape)?;
        self.dense(network, active, width, true)
    }

    pub(super) fn activated_time(&mut self, network: &mut Network) -> Result<At, Flaw> {
        let Some(time) = self.time else {
            return because("word", "shift", "there is no line with time before it");
        };
        self.unary(network, Kind::Gelu, time, time.shape)
    }

    /// So many vectors as wide as the rows, made from the time.
    pub(super) fn modulation(&mut self, network: &mut Network, vectors: f64) -> Result<At, Flaw> {
        let width = self.at.shape.channels;
        let time = self.activated_time(network)?;
        self.dense(network, time, vectors * width, true)
    }

    /// Rows after a norm without weights, scaled and shifted.
    pub(super) fn modulated(&mut self, network: &mut Network, from: At, made: At) -> Result<At, Flaw> {
        let normed = Layer { beside: 8.0 * from.shape.places(), ..self.blank(Kind::LayerNorm, from) };
        let normed = self.push(network, normed, 0)?;
        let aside = from.shape.channels;
        let layer = Layer { reads: two(normed, made), aside, ..self.blank(Kind::Modulate, normed) };
        self.push(network, layer, 0)
    }

    /// What a gate lets through, added to the rows before it.
    fn gated(&mut self, network: &mut Network, before: At, rows: At, made: At) -> Result<At, Flaw> {
        let layer = Layer { reads: two(rows, made), ..self.blank(Kind::Scale, rows) };
        let gated = self.push(network, layer, 0)?;
        self.sum(network, before, gated)?;
        Ok(self.at)
    }

    fn narrow(&mut self, network: &mut Network, from: At, rows: f64) -> Result<At, Flaw> {
        let output = Shape { height: rows, ..from.shape };
        self.unary(network, Kind::Copy, from, output)
    }

    /// A block on two streams with one attention, the rows at hand and those named text
    /// (`JointTransformerBlock` of diffusers 0.42; Esser et al. 2024, arXiv:2403.03206, figure 2b). The last
    /// block ends with the rows at hand.
    pub(super) fn joint(&mut self, network: &mut Network, heads: f64, last: bool) -> Result<(), Flaw> {
        self.heads(heads)?;
        let (rows, text) = (self.at, self.named("text")?);
        let width = rows.shape.channels;
        if text.sides > 0 || text.shape.channels != width {
            return because("word", "joint", "the rows named text have another width");
        }
        let made = self.modulation(network, 6.0)?;
        let normed = self.modulated(network, rows, made)?;
        let made_of_text = self.modulation(network, if last { 2.0 } else { 6.0 })?;
        let normed_text = self.modulated(network, text, made_of_text)?;
        let mut parts = [None; 3];
        for part in &mut parts {
            *part = Some(self.dense(network, normed, width, true)?);
        }
        for part in &mut parts {
            let other = self.dense(network, normed_text, width, true)?;
            if let Some(one) = *part {
                *part = Some(self.concat(network, one, other, "")?);
            }
        }
        let product = self.product(network, parts, heads)?;
        let of_text = if last { None } else { Some(self.narrow(network, product, text.shape.height)?) };
        let of_text = of_text.map(|from| self.dense(network, from, width, true)).transpose()?;
        let of_rows = self.narrow(network, product, rows.shape.height)?;
        let of_rows = self.dense(network, of_rows, width, true)?;
        let rows = self.half_of_joint(network, rows, of_rows, made)?;
        if let Some(of_text) = of_text {
            let text = self.half_of_joint(network, text, of_text, made_of_text)?;
            self.names.retain(|(name, _)| name != "text");
            self.names.push(("text".to_owned(), text));
        }
        self.at = rows;
        Ok(())
    }

    fn half_of_joint(&mut self, network: &mut Network, before: At, attended: At, made: At) -> Result<At, Flaw> {
        let width = before.shape.channels;
        let rows = self.gated(network, before, attended, made)?;
        let normed = self.modulated(network, rows, made)?;
        let wide = self.dense(network, normed, 4.0 * width, true)?;
        let active = self.unary(network, Kind::Gelu, wide, wide.shape)?;
        let back = self.dense(network, active, width, true)?;
        self.gated(network, rows, back, made)
    }
}

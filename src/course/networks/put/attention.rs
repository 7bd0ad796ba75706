//! Blocks on rows that attend to each other or to a text.

use super::{At, IMAGE, ROWS, Walk, whole_number};
use crate::course::networks::list::{Flaw, Spec, because};
use crate::course::networks::{Kind, Layer, Network, Shape, Source};
use crate::number;

impl Walk {
    /// The scaled product of queries, keys and values: rows of the first read the others.
    pub(super) fn product(&mut self, network: &mut Network, read: [Option<At>; 3], heads: f64) -> Result<At, Flaw> {
        let [Some(queries), keys, values] = read else { return Ok(self.at) };
        let source = |at: Option<At>| at.map_or(Source::Nothing, |at| at.source);
        // One tensor with all three, or one for each.
        let packed = keys.is_none();
        let channels = queries.shape.channels / if packed { 3.0 } else { 1.0 };
        let (rows, others) = (queries.shape.height, keys.unwrap_or(queries).shape.height);
        let layer = Layer {
            reads: [queries.source, source(keys), source(values)],
            output: Shape { channels, ..queries.shape },
            work: 2.0 * rows * others * channels,
            beside: 4.0 * heads * rows,
            // In fp32 the memory-efficient kernel rounds the rows up to 32 (`kAlignLSE`,
            // aten/src/ATen/native/transformers/cuda/mem_eff_attention/kernel_forward.h).
            beside_single: 4.0 * heads * ((rows / 32.0).ceil() * 32.0 - rows),
            ..self.blank(Kind::Attention, queries)
        };
        self.push(network, layer, 0)
    }

    pub(super) fn heads(&self, heads: f64) -> Result<(), Flaw> {
        if self.at.sides > 0 {
            return because("word", "attention", ROWS);
        }
        if (self.at.shape.channels / heads).fract() != 0.0 {
            return because("heads", &number::plain(heads), "they must divide the features");
        }
        Ok(())
    }

    pub(super) fn attention(&mut self, network: &mut Network, heads: f64, separate: bool) -> Result<(), Flaw> {
        self.heads(heads)?;
        let (from, width) = (self.at, self.at.shape.channels);
        let read = if separate {
            let mut part = || self.dense(network, from, width, false).map(Some);
            [part()?, part()?, part()?]
        } else {
            [Some(self.dense(network, from, 3.0 * width, true)?), None, None]
        };
        let product = self.product(network, read, heads)?;
        self.at = self.dense(network, product, width, true)?;
        Ok(())
    }

    pub(super) fn cross(&mut self, network: &mut Network, heads: f64) -> Result<(), Flaw> {
        self.heads(heads)?;
        let Some(context) = self.context else {
            return because("word", "cross", "there is no line with context before it");
        };
        let width = self.at.shape.channels;
        let queries = self.dense(network, self.at, width, false)?;
        let keys = self.dense(network, context, width, false)?;
        let values = self.dense(network, context, width, false)?;
        let product = self.product(network, [Some(queries), Some(keys), Some(values)], heads)?;
        self.at = self.dense(network, product, width, true)?;
        Ok(())
    }

    /// `Transformer2DModel` of diffusers 0.42: a norm, a product, blocks of two attentions and a GEGLU four times
    /// as wide, and a product, beside a shortcut.
    pub(super) fn transformer(&mut self, network: &mut Network, spec: &Spec) -> Result<(), Flaw> {
        let word = spec.head.word;
        if self.at.sides == 0 {
            return because("word", word, IMAGE);
        }
        let (channels, blocks) = (self.at.shape.channels, if spec.count > 1 { spec.values[1] } else { 1.0 });
        let [width, heads, wide] = [channels, spec.values[0], 4.0 * channels].map(whole_number);
        let ends = if spec.flag {
            ["rows dense ", " ", "dense ", " image"]
        } else {
            ["conv ", " 1x1 rows", "image conv ", " 1x1"]
        };
        let shortcut = self.at;
        self.text(network, word, &["groupnorm 32 ", ends[0], &width, ends[1]])?;
        for _ in 0..blocks as usize {
            let text = [
                "residual layernorm attention ",
                &heads,
                " separate add residual layernorm cross ",
                &heads,
                " add residual layernorm geglu ",
                &wide,
                " add",
            ];
            self.text(network, word, &text)?;
        }
        self.text(network, word, &[ends[2], &width, ends[3]])?;
        self.sum(network, self.at, shortcut)
    }
}

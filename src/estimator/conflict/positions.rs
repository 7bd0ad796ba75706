//! Sequences that are longer than a table of learned positions.

use super::Conflicts;
use crate::estimator::text::{counted, grouped};
use crate::{Batching, Field, Position, Scenario, setting::Word};

impl Scenario {
    /// Tokens of the longest sequence for which the tables of learned positions have a row each; `None` where positions
    /// are not learned, so that none of them ends. PyTorch looks no row up that a table has not: it stops at the assertion
    /// `srcIndex < srcSelectDimSize` (`indexSelectSmallIndex` and its like in aten/src/ATen/native/cuda/Indexing.cu).
    ///
    /// ```
    /// use bmax::{Scenario, catalogue};
    /// let longest = |slug| catalogue::model(slug).expect("listed").apply(Scenario::workshop()).longest_positions();
    /// assert_eq!((longest("gpt2"), longest("llama-3.1-8b")), (Some(1_024), None));
    /// // Two of 1,026 rows are for no token.
    /// assert_eq!(longest("bart-large"), Some(1_024));
    /// ```
    pub fn longest_positions(&self) -> Option<u32> {
        let own = self.rows_of(self.model.positions)?;
        let follows = self.recipe.source == 0;
        Some(self.source_positions().filter(|_| follows).map_or(own, |other| own.min(other)))
    }

    /// The same for a source of tokens, which an encoder of its own reads.
    fn source_positions(&self) -> Option<u32> {
        let encoder = &self.model.encoder;
        // Sound is cut to the table.
        if encoder.is_there() && !encoder.hears() { self.rows_of(encoder.positions) } else { None }
    }

    fn rows_of(&self, table: u32) -> Option<u32> {
        let tokens = table.saturating_sub(self.model.spare_positions);
        (self.model.position == Position::Learned && tokens > 0).then_some(tokens)
    }

    /// Whether some sequence has more tokens than the tables of learned positions have rows.
    pub(crate) fn is_beyond_positions(&self) -> bool {
        self.longest_positions().is_some_and(|most| self.numbered() > most)
    }

    /// Tokens that have positions one after the other, at most: each document of a packed row begins anew.
    fn numbered(&self) -> u32 {
        match self.batching() {
            Batching::Packed => self.lengths.longest_within(self.recipe.sequence),
            _ => self.longest(),
        }
    }
}

impl Conflicts {
    pub(super) fn positions(&mut self, scenario: &Scenario) {
        let given = scenario.recipe.source;
        if let Some(most) = scenario.source_positions().filter(|most| given > *most) {
            self.number(Field::Source, most, message("a source", given, most));
        }
        let tokens = scenario.numbered();
        if let Some(most) = scenario.longest_positions().filter(|most| tokens > *most) {
            // What S must be a multiple of, so that nothing is longer than it.
            let step = match scenario.batching() {
                way if way.pads() => scenario.lengths.multiple,
                _ => scenario.cluster.context_parallel,
            };
            let nearest = if step > 0 && step <= most { most - most % step } else { most };
            // Images or GPUs that need more tokens than that ask for another kind of positions, not for a shorter sequence.
            if scenario.image_tokens() > u64::from(nearest) || step > most {
                self.word(Word::Position(Position::Rotary), &message("a sequence", tokens, most));
            } else {
                self.number(Field::Sequence, nearest, message("a sequence", tokens, most));
            }
        }
    }
}

fn message(what: &str, tokens: u32, most: u32) -> String {
    let longest = grouped(most);
    format!(
        "The table of learned positions has rows for {}, and {what} has {}; {longest} is the longest.",
        counted(most, "token", "tokens"),
        counted(tokens, "token", "tokens")
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::{Change, catalogue, config_json};

    fn is_of_positions(scenario: &Scenario) -> bool {
        scenario.conflicts().iter().any(|conflict| conflict.message.contains("learned positions"))
    }

    /// By the papers: Radford et al. 2019, section 2.3, and Brown et al. 2020, section 2.1 (1,024 and 2,048 tokens); Devlin
    /// et al. 2018, appendix A.2 (512); Lewis et al. 2019 by its checkpoint (1,024); Radford et al. 2022 (448 of text).
    fn published(slug: &str) -> Option<u32> {
        let starts = [("gpt2", 1_024), ("gpt-3", 2_048), ("bert", 512), ("bart", 1_024), ("whisper", 448)];
        starts.iter().find(|(start, _)| slug.starts_with(start)).map(|(_, longest)| *longest)
    }

    #[test]
    fn a_sequence_is_no_longer_than_the_positions_that_were_learned() {
        for row in catalogue::MODELS {
            let at = |sequence| {
                let mut scenario = row.apply(ledger());
                scenario.recipe.sequence = sequence;
                scenario
            };
            assert_eq!(at(1).longest_positions(), published(row.slug), "{}", row.slug);
            match published(row.slug) {
                Some(longest) => {
                    assert!(!is_of_positions(&at(longest)), "{}", row.slug);
                    let conflict = only(at(longest + 1));
                    assert_eq!(conflict.mend, Change::Number(Field::Sequence, longest.into()), "{}", row.slug);
                }
                None => assert!(!is_of_positions(&at(4_194_304)), "{}", row.slug),
            }
        }
    }

    #[test]
    fn rows_that_no_token_has_are_no_positions() {
        // RoBERTa and OPT begin at 2, the first in a table of 514 rows, the second in one of two rows more than it says;
        // BERT has rows for two kinds of tokens beside its 512.
        let sizes = r#""hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 100,
            "intermediate_size": 256, "ffn_dim": 256"#;
        for (family, longest) in [
            (r#""model_type": "roberta", "max_position_embeddings": 514, "type_vocab_size": 1"#, Some(512)),
            (r#""model_type": "opt", "max_position_embeddings": 2048"#, Some(2_048)),
            (r#""model_type": "bert", "max_position_embeddings": 512, "type_vocab_size": 2"#, Some(512)),
            (r#""model_type": "deberta-v2", "max_position_embeddings": 512, "position_biased_input": false"#, None),
            (r#""model_type": "deberta-v2", "max_position_embeddings": 512"#, Some(512)),
            (r#""model_type": "llama", "max_position_embeddings": 512"#, None),
        ] {
            let reading = config_json::read(&format!("{{ {family}, {sizes} }}")).expect("a model");
            let scenario = Scenario { model: reading.model, ..ledger() };
            assert_eq!(scenario.longest_positions(), longest, "{family}");
        }
    }

    #[test]
    fn a_source_is_no_longer_than_the_positions_of_its_encoder() {
        let mut scenario = catalogue::model("bart-large").expect("listed").apply(ledger());
        scenario.recipe.sequence = 128;
        scenario.recipe.source = 1_025;
        assert_eq!(only(scenario).mend, Change::Number(Field::Source, 1_024.0));
        // Sound is cut.
        let mut scenario = catalogue::model("whisper-small").expect("listed").apply(ledger());
        scenario.recipe.sequence = 448;
        scenario.recipe.source = 3_000;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn what_is_padded_or_divided_ends_within_the_table() {
        let mut scenario = catalogue::model("gpt2").expect("listed").apply(ledger());
        scenario.recipe.sequence = 1_020;
        scenario.lengths.batching = Batching::Padded;
        scenario.lengths.multiple = 1_000;
        assert_eq!(only(scenario).mend, Change::Number(Field::Sequence, 1_000.0));
        let mut scenario = catalogue::model("gpt2").expect("listed").apply(ledger());
        scenario.recipe.sequence = 3_000;
        scenario.cluster.gpus = 3;
        scenario.cluster.context_parallel = 3;
        assert_eq!(only(scenario).mend, Change::Number(Field::Sequence, 1_023.0));
        // Documents of a packed row begin anew.
        let mut scenario = catalogue::model("gpt2").expect("listed").apply(ledger());
        scenario.recipe.sequence = 8_192;
        scenario.lengths.batching = Batching::Packed;
        assert!(is_of_positions(&scenario));
        scenario.lengths.longest = 1_024;
        assert_eq!(scenario.conflicts(), []);
    }
}

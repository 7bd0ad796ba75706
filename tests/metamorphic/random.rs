//! Random scenarios, as many as are asked for: each follows from its number alone.

use bmax::{Field, Scenario, catalogue, setting};

/// Where the numbers of this test begin. With another seed it is another test, and as good a one.
pub const SEED: u64 = 0x62_6d61_785f_3031;

/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure 16): one addition
/// and three multiplications a number, and any number may be the seed.
pub struct Random(u64);

impl Random {
    /// The generator of the scenario with this number.
    pub fn of(number: u64) -> Self {
        Self(SEED.wrapping_add(number.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to but not 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of these.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[(self.part() * of.len() as f64) as usize]
    }

    /// A value of a field, spread evenly over orders of magnitude.
    fn within(&mut self, field: Field) -> f64 {
        let bound = field.bound();
        // What may be zero has no logarithm there.
        let (low, high) = (bound.min.max(1e-3).ln(), bound.max.ln());
        let value = (low + (high - low) * self.part()).exp().clamp(bound.min, bound.max);
        if bound.whole { value.round().clamp(bound.min, bound.max) } else { value }
    }

    /// A model and a GPU of the lists with some of their numbers and words changed: a few, or a third, or most.
    pub fn scenario(&mut self) -> Scenario {
        let mut scenario = self.one(catalogue::DEVICES).apply(self.one(catalogue::MODELS).apply(Scenario::workshop()));
        let (numbers, words) = *self.one(&[(0.03, 0.1), (0.1, 0.3), (0.3, 0.6)]);
        for &field in Field::ALL {
            if self.part() < numbers {
                scenario = scenario.with_number(field, self.within(field)).expect("the generator stays in range");
            }
        }
        for word in setting::ALL {
            if self.part() < words {
                let option = self.one(word.options);
                scenario = word.read(option.key, scenario).expect("a setting takes its own words");
            }
        }
        scenario
    }
}

/// The scenario with its conflicts mended one after another, so that its settings go together.
pub fn mended(mut scenario: Scenario) -> Option<Scenario> {
    for _ in 0..24 {
        match scenario.conflicts().into_iter().next() {
            Some(conflict) => scenario = conflict.mend.apply(scenario),
            None => return Some(scenario),
        }
    }
    None
}

//! The bar of one device's memory in a step, before anything is drawn.

use crate::{Answer, Balance, Bucket, Bytes, Estimate, format};

/// What a colour of memory stands for, on every page: the style sheet has one colour for the word of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// A bucket.
    Bucket(Bucket),
    /// Memory that two buckets have one after the other, mostly gradients where activations or logits were: the colours
    /// of all three, above each other.
    Turns,
    /// What is in none of the five named buckets: the colours of the three others, above each other.
    Other,
    /// Memory that nothing takes.
    Free,
    /// Memory that is kept free.
    Reserved,
}

impl Tint {
    /// Every tint, in the order of the bar.
    pub const ALL: [Self; PARTS] = [
        Self::Bucket(Bucket::Parameters),
        Self::Bucket(Bucket::Gradients),
        Self::Turns,
        Self::Bucket(Bucket::Optimizer),
        Self::Bucket(Bucket::Activations),
        Self::Bucket(Bucket::Logits),
        Self::Bucket(Bucket::Batch),
        Self::Bucket(Bucket::Temporary),
        Self::Bucket(Bucket::Runtime),
        Self::Other,
        Self::Free,
        Self::Reserved,
    ];

    /// The word that style sheets know it by.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Bucket(bucket) => bucket.key(),
            Self::Turns => "turns",
            Self::Other => "other",
            Self::Free => "free",
            Self::Reserved => "reserved",
        }
    }

    /// The name that a legend has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bucket(bucket) => bucket.name(),
            Self::Turns => "Used twice",
            Self::Other => "Everything else",
            Self::Free => "Free",
            Self::Reserved => "Headroom",
        }
    }
}

const PARAMETERS: usize = 0;
const GRADIENTS: usize = 1;
const TURNS: usize = 2;
const OPTIMIZER: usize = 3;
const ACTIVATIONS: usize = 4;
const LOGITS: usize = 5;
const OTHER: usize = 9;
const FREE: usize = 10;
const RESERVED: usize = 11;

/// How many parts a bar may have.
pub const PARTS: usize = 12;
/// A size for each part of the bar, left to right.
pub type Sizes = [Bytes; PARTS];

/// The buckets that the usual bar names, in its order: the workshop's four, and logits, which only the ledger counts.
pub const NAMED: [Bucket; 5] =
    [Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer, Bucket::Activations, Bucket::Logits];

/// What the part at this place is.
#[must_use]
pub fn part(at: usize) -> Tint {
    Tint::ALL[at.min(RESERVED)]
}

/// The whole length of the bar unless a figure fixes it: the device, or the peak when that is larger.
fn own_length(estimate: &Estimate) -> Bytes {
    larger(estimate.peak().bytes, estimate.memory)
}

fn larger(one: Bytes, other: Bytes) -> Bytes {
    if one > other { one } else { other }
}

fn smaller(one: Bytes, other: Bytes) -> Bytes {
    if one < other { one } else { other }
}

/// What the named buckets hold at their fullest, added up, beyond what they hold together at the peak. So much memory
/// serves one bucket after another: gradients later where the peak is at the loss, activations and logits earlier where
/// it is in the update.
#[must_use]
pub fn used_twice(estimate: &Estimate) -> Bytes {
    let beyond = NAMED.iter().map(|&bucket| estimate.fullest(bucket).1 - estimate.bucket(bucket)).sum::<Bytes>();
    // Sums in another order may differ in the last bits.
    if beyond.share_of(estimate.peak().bytes) > 1e-9 { beyond } else { Bytes::ZERO }
}

/// What the bar and its legend show.
///
/// There are two of them. The usual one shows the named buckets, each at the most that it holds within the step, which
/// add up to more than the peak where a method tells instants apart: gradients come as logits and activations go. What
/// is used twice is drawn as a part of its own, so that the whole is still the peak, and what is free is free. The
/// other one shows what is alive at the peak itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryBar {
    /// The length of each part.
    pub drawn: Sizes,
    /// The size of each part as the legend says it: of a bucket, all that it holds, whether it has the room to itself
    /// or another has it before or after.
    pub held: Sizes,
    /// How the peak stands to what may be used.
    pub balance: Balance,
    /// What should be kept free.
    pub reserved: Bytes,
    /// What a step may use.
    pub usable: Bytes,
    /// The whole device.
    pub memory: Bytes,
    /// What the step takes at its peak.
    pub peak: Bytes,
    /// What the whole length of the bar stands for.
    pub length: Bytes,
}

impl MemoryBar {
    /// The named buckets of an estimate, in a bar as long as `length` or as the estimate needs.
    #[must_use]
    pub fn of(estimate: &Estimate, length: Option<Bytes>) -> Self {
        let mut bar = Self::with(estimate, length);
        let [parameters, gradients, optimizer, activations, logits] = NAMED.map(|bucket| estimate.fullest(bucket).1);
        let named: Bytes = NAMED.iter().map(|&bucket| estimate.bucket(bucket)).sum();
        let other = Bytes::new((bar.peak - named).get().max(0.0));
        for (at, size) in [
            (PARAMETERS, parameters),
            (GRADIENTS, gradients),
            (TURNS, used_twice(estimate)),
            (OPTIMIZER, optimizer),
            (ACTIVATIONS, activations),
            (LOGITS, logits),
            // A remainder of a difference is nothing.
            (OTHER, if other.share_of(bar.peak) > 1e-9 { other } else { Bytes::ZERO }),
        ] {
            bar.held[at] = size;
        }
        // The peak is divided without a rest, whatever the buckets come to.
        let mut rest = bar.peak;
        for at in [OTHER, OPTIMIZER, PARAMETERS] {
            bar.drawn[at] = smaller(bar.held[at], rest);
            rest = rest - bar.drawn[at];
        }
        bar.share_out(rest);
        bar
    }

    /// Divides `rest` between gradients, which fill it from the left, and logits and activations, which fill it from the
    /// right, logits last. Where two meet the room is used twice, that of activations before that of logits.
    fn share_out(&mut self, rest: Bytes) {
        let [gradients, activations, logits] = [GRADIENTS, ACTIVATIONS, LOGITS].map(|at| smaller(self.held[at], rest));
        let beyond = |sum: Bytes| Bytes::new((sum - rest).get().max(0.0));
        let both = beyond(activations + logits);
        let met = beyond(gradients + activations + logits - both);
        self.drawn[GRADIENTS] = gradients - met;
        self.drawn[TURNS] = smaller(both + met, rest - self.drawn[GRADIENTS]);
        let alone = rest - self.drawn[GRADIENTS] - self.drawn[TURNS];
        let activations = Bytes::new((activations - both - met).get().max(0.0));
        self.drawn[ACTIVATIONS] = smaller(activations, alone);
        self.drawn[LOGITS] = alone - self.drawn[ACTIVATIONS];
    }

    /// What is alive at the peak of an estimate, in a bar as long as `length` or as the estimate needs.
    #[must_use]
    pub fn at_peak(estimate: &Estimate, length: Option<Bytes>) -> Self {
        let mut bar = Self::with(estimate, length);
        let (position, _) = estimate.binding();
        for &bucket in Bucket::ALL {
            if let Some(at) = Tint::ALL.iter().position(|tint| *tint == Tint::Bucket(bucket)) {
                bar.held[at] = estimate.bucket_at(bucket, position);
            }
        }
        bar.drawn = bar.held;
        bar
    }

    /// A bar without buckets. A step that is too close has eaten into the headroom, which is then drawn as what is
    /// left of it.
    fn with(estimate: &Estimate, length: Option<Bytes>) -> Self {
        let balance = estimate.balance();
        let (free, headroom) = match balance {
            Balance::Free(free) => (free, estimate.reserved),
            Balance::Close(over) => (Bytes::ZERO, estimate.reserved - over),
            Balance::Over(_) => (Bytes::ZERO, Bytes::ZERO),
            // The bar is of the device, which has room.
            Balance::LacksHost(_) => (estimate.usable() - estimate.peak().bytes, estimate.reserved),
        };
        let mut held = [Bytes::ZERO; PARTS];
        held[FREE] = free;
        held[RESERVED] = headroom;
        Self {
            drawn: held,
            held,
            balance,
            reserved: estimate.reserved,
            usable: estimate.usable(),
            memory: estimate.memory,
            peak: estimate.peak().bytes,
            length: length.unwrap_or_else(|| own_length(estimate)),
        }
    }

    /// A length that depends on the answer and not on the chosen batch, so that the fixed parts stand still while the
    /// batch moves; the first batch that does not fit is still in the picture.
    #[must_use]
    pub fn steady_length(estimate: &Estimate, answer: &Answer) -> Bytes {
        let first_too_many = match answer {
            Answer::Fits(room) => room.peak + room.per_sequence,
            // What is too much there is not on the device.
            Answer::Infeasible(_) if answer.by_host() => estimate.memory,
            Answer::Infeasible(reason) => estimate.usable() + reason.over,
            // No batch is said not to fit, so that the chosen one has to be in the picture.
            Answer::Refused(_) => estimate.peak().bytes,
        };
        let whole = larger(first_too_many, estimate.memory).get();
        Bytes::new((whole * 1.04).max(estimate.memory.get() * 1.2))
    }

    /// Whether the legend names a part: what is there, what is free, and the headroom where any is kept.
    #[must_use]
    pub fn names(&self, at: usize) -> bool {
        match at {
            FREE => true,
            RESERVED => self.reserved > Bytes::ZERO,
            _ => self.held.get(at).is_some_and(|size| *size > Bytes::ZERO),
        }
    }

    /// What hangs out of the device.
    #[must_use]
    pub fn over(&self) -> Bytes {
        if self.peak > self.memory { self.peak - self.memory } else { Bytes::ZERO }
    }

    /// One sentence that says what the bar shows.
    #[must_use]
    pub fn sentence(&self) -> String {
        let peak = format::memory(self.peak);
        let (usable, memory) = (format::memory(self.usable), format::memory(self.memory));
        match self.balance {
            Balance::Free(free) => format!("{peak} of {usable} usable: {} left.", format::memory(free)),
            Balance::Close(over) => {
                format!(
                    "{peak} is {} more than the {usable} that should be used; it eats into the headroom.",
                    format::memory(over)
                )
            }
            Balance::Over(over) => format!("{peak} is {} more than the {memory} of the GPU.", format::memory(over)),
            Balance::LacksHost(lacks) => {
                format!("{peak} of {usable} usable, but each machine lacks {} of CPU memory.", format::memory(lacks))
            }
        }
    }

    /// A part's size as the legend writes it; a headroom that is partly used says so.
    #[must_use]
    pub fn size_text(&self, at: usize) -> String {
        let (size, reserved) = (self.held.get(at).copied().unwrap_or(Bytes::ZERO), self.reserved);
        match part(at) {
            Tint::Free | Tint::Reserved if size == Bytes::ZERO => "none".to_owned(),
            Tint::Reserved if size < reserved => format!("{} left", format::memory(size)),
            _ => format::memory(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Method, Scenario, estimate};

    #[test]
    fn the_parts_fill_the_device_exactly_whenever_the_step_fits_on_it() {
        let cases = Method::ALL.iter().flat_map(|method| (1..=4).map(move |batch| (*method, batch)));
        for (method, batch) in cases {
            for headroom in [0.0, 5.0, 10.0, 50.0] {
                let scenario = Scenario { method, ..Scenario::workshop() }.with_batch(batch);
                let Ok(scenario) = scenario.with_number(crate::Field::Headroom, headroom) else { continue };
                let estimate = estimate(&scenario);
                for bar in [MemoryBar::of(&estimate, None), MemoryBar::at_peak(&estimate, None)] {
                    let filled: Bytes = bar.drawn.into_iter().sum();
                    let whole = match estimate.balance() {
                        Balance::Over(_) => estimate.peak().bytes,
                        _ => estimate.memory,
                    };
                    assert!((filled.gib() - whole.gib()).abs() < 1e-9, "b = {batch}, headroom {headroom}");
                    let held: Bytes = bar.held.into_iter().sum();
                    let twice = bar.held[TURNS] + bar.held[TURNS];
                    assert!((held.gib() - twice.gib() - whole.gib()).abs() < 1e-9, "what the legend says adds up");
                }
            }
        }
    }

    #[test]
    fn a_bar_of_fixed_length_keeps_the_widths_of_what_does_not_change() {
        let length = Some(Bytes::from_gib(120.0));
        let [one, nine] = [1, 9].map(|batch| MemoryBar::of(&estimate(&Scenario::workshop().with_batch(batch)), length));
        for at in [PARAMETERS, OPTIMIZER] {
            assert_eq!(one.drawn[at].share_of(one.length), nine.drawn[at].share_of(nine.length));
        }
        assert_eq!(one.over(), Bytes::ZERO);
        assert!(nine.over() > Bytes::ZERO);
    }

    /// What the legend of a bar names.
    fn named(bar: &MemoryBar) -> Vec<&'static str> {
        (0..PARTS).filter(|at| bar.names(*at)).map(|at| part(at).name()).collect()
    }

    #[test]
    fn the_usual_bar_names_the_workshop_s_four_buckets_and_the_logits_of_the_ledger() {
        let of = |method| named(&MemoryBar::of(&estimate(&Scenario { method, ..Scenario::workshop() }), None));
        let four = ["Parameters", "Gradients", "Optimizer state", "Activations", "Free", "Headroom"];
        assert_eq!(of(Method::Workshop), four);
        assert_eq!(of(Method::Paper), four);
        let ledger = of(Method::Ledger);
        assert!(four[..5].iter().all(|name| ledger.contains(name)));
        assert!(ledger.contains(&"Logits and loss") && ledger.contains(&"Everything else"));
        assert!(!ledger.contains(&"Temporary") && !ledger.contains(&"Headroom"));
    }

    #[test]
    fn the_view_of_the_peak_names_what_is_alive_then() {
        let ledger = named(&MemoryBar::at_peak(&estimate(&Scenario::workshop()), None));
        assert!(ledger.contains(&"Logits and loss") && ledger.contains(&"Runtime"));
        assert!(
            !ledger.contains(&"Gradients") && !ledger.contains(&"Used twice") && !ledger.contains(&"Everything else")
        );
    }

    #[test]
    fn what_is_used_twice_is_the_gradients_where_the_peak_has_none() {
        let estimate = estimate(&Scenario::workshop());
        assert_eq!(estimate.bucket(Bucket::Gradients), Bytes::ZERO);
        let bar = MemoryBar::of(&estimate, None);
        let gradients = estimate.fullest(Bucket::Gradients).1;
        assert!(bar.held[TURNS] >= gradients && bar.held[GRADIENTS] == gradients);
        assert!((bar.drawn[GRADIENTS] + bar.drawn[TURNS]).get() >= gradients.get() * (1.0 - 1e-9));
    }

    #[test]
    fn a_part_with_what_is_used_twice_has_room_for_its_bucket() {
        for link in ["", "?model=llama-3.1-8b&gpu=h100-80&s=8192&b=4", "?s=16&b=1&zero=0&gpus=1&loss=fused"] {
            let bar = MemoryBar::of(&estimate(&crate::link::decode(link).scenario), None);
            for at in [GRADIENTS, ACTIVATIONS, LOGITS] {
                let room = (bar.drawn[at] + bar.drawn[TURNS]).get();
                assert!(room >= bar.held[at].get() * (1.0 - 1e-9), "{}, {link}", part(at).name());
            }
        }
    }

    #[test]
    fn buckets_are_compared_on_the_device_that_needs_most() {
        let scenario = crate::link::decode("?v=3&gpus=16&pp=4&accum=8").scenario;
        let estimate = estimate(&scenario);
        let stage = estimate.peak().instant.stage;
        for &bucket in Bucket::ALL {
            assert_eq!(estimate.instants[estimate.fullest(bucket).0].stage, stage);
        }
    }
}

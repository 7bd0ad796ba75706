//! What the figure shows: the ledger's count, and beside it what every other estimator says of the configuration.

use bmax::others::{self, Covers, Lacking, Largest, Origin};
use bmax::{Bytes, Method, Scenario, b_max, estimate, picture};

use crate::site::format;

/// Why the ledger differs from all the others.
const OWN: &str =
    "Every tensor by name, at the moment of the step when most is alive, with what the process takes beside them.";
/// What stands in a cell that an estimator has no number for.
pub const CANNOT_SAY: &str = "cannot say";
/// The longest bar, in times the memory of the GPU: with a larger total the others would be too short to see.
const LONGEST: f64 = 2.0;

/// Who stands in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Who {
    /// A word for it.
    pub key: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Where its formula is.
    pub href: &'static str,
}

/// This program, and the others in the order of the library.
pub fn who() -> impl Iterator<Item = Who> {
    let own = Who { key: "bmax", name: "bmax, the ledger", href: "#methods" };
    let others = others::ALL.iter().map(|other| Who { key: other.key, name: other.name, href: other.origin.url });
    std::iter::once(own).chain(others)
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The configuration in one line.
    pub asked: String,
    /// The memory of the GPU.
    pub device: String,
    /// The same on the bars.
    pub mark: String,
    /// A row for each of [`who`].
    pub rows: Vec<Row>,
}

/// What one of them says.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The memory of the fullest GPU.
    pub memory: String,
    /// The same as the program prints it, where that reads differently.
    pub printed: Option<String>,
    /// What of a step it leaves to the reader.
    pub part: Option<&'static str>,
    /// Its bar.
    pub bar: Option<Bar>,
    /// The largest micro-batch.
    pub most: String,
    /// What it has no input for, where it has a memory and no largest micro-batch.
    pub lacks: Option<String>,
    /// Why it differs, or why it cannot say.
    pub why: String,
    /// What is set here and left out by it.
    pub left_out: String,
}

/// A total against the memory of the GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its length.
    pub share: String,
    /// Whether it is more than the GPU has.
    pub over: bool,
}

impl Shown {
    /// What a scenario shows. The method that is chosen does not matter: two of them have rows of their own.
    pub fn of(scenario: &Scenario) -> Self {
        let scenario = &Scenario { method: Method::Ledger, ..*scenario };
        let found = others::all(scenario);
        let own = estimate(scenario).peak().bytes;
        let totals = found.iter().filter_map(|row| row.memory.as_ref().ok()).map(|memory| memory.total);
        let device = scenario.device.memory;
        let scale = Scale::of(device, totals.chain([own]));
        let ledger = Row {
            memory: gib(own),
            printed: None,
            part: None,
            bar: Some(scale.bar(own)),
            most: format::answer(&b_max(scenario)),
            lacks: None,
            why: OWN.to_owned(),
            left_out: NOTHING.to_owned(),
        };
        Self {
            asked: picture::configuration(scenario),
            device: format::memory(device),
            mark: scale.share(device),
            rows: std::iter::once(ledger).chain(found.iter().map(|row| Row::of(row, &scale))).collect(),
        }
    }
}

/// What is said of a row that leaves out nothing.
const NOTHING: &str = "nothing";

impl Row {
    fn of(row: &others::Row, scale: &Scale) -> Self {
        let memory = match &row.memory {
            Ok(memory) => memory,
            Err(lacking) => return Self::silent(lacking),
        };
        let printed = row.other.printed.map(|printed| format::printed(printed, memory.total));
        let names: Vec<&str> = row.ignores.iter().map(|input| input.name()).collect();
        Self {
            memory: gib(memory.total),
            printed: printed.filter(|printed| *printed != gib(memory.total)),
            part: (row.other.covers == Covers::ModelStates).then_some("model states only"),
            bar: Some(scale.bar(memory.total)),
            most: row.largest.map_or_else(|_| CANNOT_SAY.to_owned(), most),
            lacks: row.largest.err().map(|lacking| format!("no input for “{}”", lacking.input.name())),
            why: row.other.why.to_owned(),
            left_out: if names.is_empty() { NOTHING.to_owned() } else { names.join(", ") },
        }
    }

    /// A row without numbers.
    fn silent(lacking: &Lacking) -> Self {
        Self {
            memory: CANNOT_SAY.to_owned(),
            printed: None,
            part: None,
            bar: None,
            most: CANNOT_SAY.to_owned(),
            lacks: None,
            why: format!("It has no input for {}.", format::lacking(lacking)),
            left_out: "–".to_owned(),
        }
    }
}

/// Where a formula stands, and what was read of it.
pub fn place(origin: &Origin) -> String {
    let Origin { place, commit, date, .. } = origin;
    match commit.get(..12) {
        Some(commit) => format!("{place}, at {commit} of {date}"),
        None => format!("{place}, {date}"),
    }
}

/// How long bars are.
struct Scale {
    /// The memory of the GPU.
    device: Bytes,
    /// What the whole length stands for.
    length: Bytes,
}

impl Scale {
    fn of(device: Bytes, totals: impl Iterator<Item = Bytes>) -> Self {
        let fullest = totals.map(Bytes::get).fold(device.get(), f64::max);
        Self { device, length: Bytes::new(fullest.min(LONGEST * device.get())) }
    }

    /// A length; what is longer than the bar ends with it.
    fn share(&self, bytes: Bytes) -> String {
        format::css_percent(bytes.share_of(self.length))
    }

    fn bar(&self, bytes: Bytes) -> Bar {
        Bar { share: self.share(bytes), over: bytes > self.device }
    }
}

fn gib(bytes: Bytes) -> String {
    format::digits(bytes.gib(), 2) + " GiB"
}

fn most(largest: Largest) -> String {
    match largest {
        Largest::Fits { batch, capped: true } => format!("≥ {}", format::count(batch)),
        Largest::Fits { batch, .. } => format::count(batch),
        _ => "none fits".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use bmax::{Answer, link};
    use proptest::prelude::*;

    fn shown(query: &str) -> Shown {
        Shown::of(&link::decode(&format!("v=3&{query}")).scenario)
    }

    fn row(query: &str, key: &str) -> Row {
        let at = who().position(|who| who.key == key).expect("listed");
        shown(query).rows.swap_remove(at)
    }

    #[test]
    fn this_program_comes_first_and_every_estimator_has_a_row_with_its_source() {
        let who: Vec<Who> = who().collect();
        assert_eq!((who.len(), shown("").rows.len()), (others::ALL.len() + 1, others::ALL.len() + 1));
        assert_eq!((who[0].key, who[0].href), ("bmax", "#methods"));
        assert!(who[1..].iter().all(|who| who.href.starts_with("https://")));
        let scenario = link::decode("v=3").scenario;
        let first = &shown("").rows[0];
        assert_eq!(first.memory, format::digits(estimate(&scenario).peak().bytes.gib(), 2) + " GiB");
        let Answer::Fits(room) = b_max(&scenario) else { panic!("the default fits") };
        assert_eq!(first.most, room.batch.to_string());
    }

    /// DeepSpeed's documentation: 18 bytes a parameter over all GPUs, and 4 of the largest layer on each.
    #[test]
    fn a_number_stands_beside_the_one_that_the_program_prints() {
        let deepspeed = row("model=llama-2-7b&gpus=8&zero=3", "deepspeed");
        assert_eq!(deepspeed.memory, "14.61 GiB");
        assert_eq!(deepspeed.printed.as_deref(), Some("14.61 GB"));
        assert_eq!(deepspeed.part, Some("model states only"));
        assert_eq!(
            (deepspeed.most.as_str(), deepspeed.lacks.as_deref()),
            (CANNOT_SAY, Some("no input for “Micro-batch”"))
        );
        // The table's own GB: half a byte of 70 billion parameters is 35 of them, and 32.60 of 2³⁰.
        let table = row("model=70b&gpus=1&adapter=qlora", "llama-factory");
        assert_eq!((table.memory.as_str(), table.printed.as_deref()), ("32.60 GiB", Some("35.00 GB")));
        // A page that prints GiB has said it already.
        assert_eq!(row("model=7b&gpus=8&zero=3&recompute=selective", "workshop").printed, None);
    }

    #[test]
    fn what_has_no_input_cannot_say_and_names_it_with_its_value() {
        let silent = row("gpus=8&zero=3", "accelerate");
        assert_eq!([silent.memory.as_str(), &silent.most], [CANNOT_SAY; 2]);
        assert_eq!(silent.why, "It has no input for “ZeRO stage”, which is set to “3: + parameters (FSDP)” here.");
        assert_eq!((silent.bar, silent.left_out.as_str()), (None, "–"));
        let adapter = row("model=llama-2-7b&gpus=1&adapter=lora-fp32", "workshop");
        assert!(adapter.why.contains("“Adapters”, which is set to “LoRA on fp32 weights”"), "{}", adapter.why);
        let rows = shown("task=dpo").rows;
        let why = "It has no input for “Task”, which is set to “DPO” here.";
        assert!(rows[1..].iter().all(|row| (row.memory.as_str(), row.why.as_str()) == (CANNOT_SAY, why)), "{rows:?}");
        // What this program says is there all the same, beside the GPU.
        assert!(rows[0].bar.is_some() && rows[0].memory != CANNOT_SAY);
    }

    #[test]
    fn the_method_that_is_chosen_changes_no_row() {
        assert_eq!(shown("method=workshop"), shown("method=ledger"));
    }

    #[test]
    fn a_bar_hangs_out_of_the_gpu_where_the_total_is_more_than_it_has() {
        let shown = shown("model=llama-2-7b&gpus=1&zero=0&gpu=rtx-4090&recompute=none");
        let own = shown.rows[0].bar.as_ref().expect("the ledger always can say");
        assert!(own.over);
        // 16 bytes of 6.7 billion parameters are 100 GiB, and the bar ends where two GPUs of 24 GiB do.
        assert_eq!((own.share.as_str(), shown.mark.as_str()), ("100.000%", "50.000%"));
        let small = self::shown("model=1b&gpus=8&zero=3");
        assert!(!small.rows[0].bar.as_ref().expect("the ledger always can say").over);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_has_something_to_say_of_everyone(scenario in any_scenario()) {
            let shown = Shown::of(&scenario);
            texts_are_sound(&shown);
            for row in &shown.rows {
                prop_assert_eq!(row.memory == CANNOT_SAY, row.bar.is_none());
                prop_assert!(row.bar.is_some() || row.most == CANNOT_SAY);
            }
        }
    }
}

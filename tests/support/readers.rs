//! Every reader of text that nobody vouches for, with what must be true of all that comes out of it. The fuzzer looks
//! for a text that breaks one (`fuzz/`), and `tests/corpus.rs` replays those that it has kept (`tests/corpus/`).

use bmax::cli::question;
use bmax::course::lengths::{Spread, pasted};
use bmax::course::networks::{Named, Network, Setup, room};
use bmax::csv::Table;
use bmax::embed::{Embed, Message, kept};
use bmax::plot::Plot;
use bmax::read::{self, Text};
use bmax::{Field, Scenario, config_json, estimate, link, number, setting};

/// One reader: its name, which is that of its fuzz target and of its folder in the corpus, and what reads.
pub type Reader = (&'static str, fn(&str));

/// All of them.
pub const ALL: [Reader; 15] = [
    ("query", query),
    ("scenario", scenario),
    ("config", config),
    ("message", message),
    ("lengths", lengths),
    ("network", network),
    ("value", value),
    ("plot", plot),
    ("table", table),
    ("yaml", yaml),
    ("toml", toml),
    ("json", json),
    ("flags", flags),
    ("python", python),
    ("memory", memory),
];

/// The reader of this name.
#[allow(dead_code, reason = "the replay asks for all of them")]
pub fn named(name: &str) -> fn(&str) {
    ALL.into_iter().find(|reader| reader.0 == name).expect("a reader has this name").1
}

/// What is said of bad input is short, however long that is.
const LONGEST_MESSAGE: usize = 2_000;

fn short(message: &str) {
    assert!(!message.is_empty() && message.len() < LONGEST_MESSAGE, "{message}");
}

/// Every number is in its range, and the ledger can be filled in.
fn usable(scenario: &Scenario) {
    for &field in Field::ALL {
        assert!(field.check(scenario.number(field)).is_ok(), "{field:?}");
    }
    let peak = estimate(scenario).peak().bytes.get();
    assert!(peak.is_finite() && peak >= 0.0, "{peak}");
}

/// The query of a link. What was read is written as a link that is read again as the same, without a notice.
fn query(text: &str) {
    let read = link::decode(text);
    read.notices.iter().for_each(|notice| short(&notice.to_string()));
    usable(&read.scenario);
    let written = link::encode_with(&read.scenario, &read.vs);
    let again = link::decode(&written);
    assert_eq!((again.scenario, again.vs, again.notices), (read.scenario, read.vs, vec![]), "{written}");
}

/// A question of the command line: a link, a query or a JSON scenario.
fn scenario(text: &str) {
    match question(text, None) {
        Ok(asked) => {
            asked.notices.iter().for_each(|notice| short(&notice.to_string()));
            usable(&asked.scenario);
        }
        Err(refusal) => short(&refusal.to_string()),
    }
}

/// A Hugging Face `config.json`.
fn config(text: &str) {
    match config_json::read(text) {
        Ok(reading) => {
            reading.notes.iter().for_each(|note| short(&note.to_string()));
            usable(&Scenario { model: reading.model, ..Scenario::workshop() });
        }
        Err(refusal) => short(&refusal.to_string()),
    }
}

/// A message of a host page: its type in the first line and its text behind it. The query of a frame is read, too.
fn message(text: &str) {
    let (kind, given) = text.split_once('\n').unwrap_or((text, ""));
    match Message::read(Some(kind), Some(given), &Scenario::workshop()) {
        Ok(Message::Scenario(read)) => {
            assert_eq!(read.notices, []);
            usable(&read.scenario);
            read.vs.iter().for_each(usable);
        }
        Ok(_) => {}
        Err(refusal) => refusal.texts().iter().for_each(|text| short(text)),
    }
    let (embed, notices) = Embed::read(given);
    notices.iter().for_each(|notice| short(&notice.to_string()));
    if let Some(embed) = embed.filter(|embed| !embed.figure.is_empty()) {
        let written = embed.query(&Scenario::workshop());
        assert_eq!(Embed::read(&written), (Some(embed), Vec::new()), "{written}");
    }
    assert!(kept(given).len() <= given.len() + 1);
}

/// Lengths that somebody pastes.
fn lengths(text: &str) {
    match pasted(text) {
        Ok(sample) => {
            assert!(sample.is_sorted_by(|one, other| one.0 < other.0));
            let spread = Spread::of(&sample).expect("there is a length");
            let all: f64 = spread.shares().iter().map(|(_, share)| share).sum();
            assert!((all - 1.0).abs() < 1e-6, "{all}");
            let quantiles = [0.0, 0.5, 0.95, 1.0].map(|part| spread.quantile(part));
            assert!(quantiles.is_sorted() && quantiles[3] <= spread.longest(), "{quantiles:?}");
            usable(&Scenario { lengths: spread.told(Scenario::workshop().lengths), ..Scenario::workshop() });
        }
        Err(refusal) => short(&refusal.to_string()),
    }
}

/// The layer list of a network, and a preset with its settings as a word.
fn network(text: &str) {
    let network = Network::read(text);
    network.troubles.iter().for_each(|trouble| short(&trouble.message()));
    let (scenario, every) = (Scenario::workshop(), network.root_of_units());
    let setup = Setup::of(&scenario);
    let need = network.need(&setup, every, 1.0);
    assert!(need.peak.get().is_finite() && need.peak.get() >= 0.0, "{:?}", need.peak);
    assert!((0.0..=1.0).contains(&need.again), "{}", need.again);
    let fit = network.fit(&setup, every, room(&scenario));
    assert!(fit.batch.is_none_or(|batch| batch.is_finite() && batch >= 1.0), "{:?}", fit.batch);
    if let Some(named) = Named::read(text) {
        assert_eq!(Named::read(&named.word()), Some(named));
        _ = named.text();
    }
}

/// What somebody types into a field, which the first character tells, and the word of a setting: a number that is read is
/// in range, and is read again as it is written.
fn value(text: &str) {
    let mut rest = text.chars();
    let place = rest.next().unwrap_or_default() as usize;
    let (field, setting, text) =
        (Field::ALL[place % Field::ALL.len()], setting::ALL[place % setting::ALL.len()], rest.as_str());
    match Scenario::workshop().with_text(field, text) {
        Ok(scenario) => {
            usable(&scenario);
            let again = scenario.with_text(field, &number::plain(scenario.number(field)));
            assert_eq!(again, Ok(scenario), "{field:?}");
        }
        Err(refusal) => short(&refusal.to_string()),
    }
    if let Err(refusal) = setting.read(text, Scenario::workshop()) {
        short(&refusal.to_string());
    }
    if let Ok(read) = number::parse(text) {
        assert!(read.is_finite());
    }
}

/// A plot as one program of the page hands it to the other. What was read is written as text that is read again.
fn plot(text: &str) {
    if let Some(plot) = Plot::from_text(text) {
        let written = plot.to_text();
        let again = Plot::from_text(&written).expect("what is written is read").to_text();
        assert_eq!(again, written);
    }
}

/// A table, lines of cells with tabs between them, as CSV: as many records of as many fields come out (RFC 4180).
fn table(text: &str) {
    let mut rows = text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let table = Table { header: rows.next().unwrap_or_default(), rows: rows.collect() };
    let width = table.rows.iter().chain([&table.header]).map(Vec::len).max().unwrap_or_default().max(1);
    let (mut quoted, mut fields, mut records) = (false, 1, 0);
    let written = table.write();
    for character in written.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields += 1,
            '\n' if !quoted => {
                assert_eq!(fields, width, "{written}");
                (fields, records) = (1, records + 1);
            }
            _ => {}
        }
    }
    assert!(!quoted && records == table.rows.len() + 1, "{written}");
}

/// Lines of YAML, by themselves and behind those by which a configuration of axolotl is known.
fn yaml(text: &str) {
    run(text);
    run(&format!("base_model: x\nsequence_len: 512\n{text}"));
}

/// Lines of TOML, by themselves and behind those by which a configuration of torchtitan is known.
fn toml(text: &str) {
    run(text);
    run(&format!("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 512\n{text}"));
}

/// JSON, by itself and as more members of a configuration of DeepSpeed.
fn json(text: &str) {
    run(text);
    run(&format!("{{\"zero_optimization\": {{\"stage\": 2}}, {text}}}"));
}

/// Commands, by themselves and as more flags of one.
fn flags(text: &str) {
    run(text);
    run(&format!("torchrun --nproc_per_node 2 train.py --output_dir o --per_device_train_batch_size 1 {text}"));
}

/// Programs in Python, by themselves and as more keyword arguments of a call.
fn python(text: &str) {
    run(text);
    run(&format!("args = TrainingArguments(output_dir=\"o\", {text})\n"));
}

/// What programs say about memory, by itself and behind words by which PyTorch’s text is known.
fn memory(text: &str) {
    run(text);
    run(&format!("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. {text}"));
}

/// A pasted text. Every key is in one list, what it says is a link that is read without a fault, and no path and no token
/// of it is shown.
fn run(text: &str) {
    let found = read::read(&[Text::pasted(text)]);
    usable(&found.decoded.scenario);
    assert_eq!(found.understood.keys(), found.texts.iter().map(|text| text.keys).sum::<usize>());
    let decoded = link::decode(&found.query());
    assert!(decoded.notices.iter().all(|notice| !notice.is_fault()), "{}: {:?}", found.query(), decoded.notices);

    let notices = found.decoded.notices.iter().map(ToString::to_string);
    let told = found.told(Some(&found.decoded.scenario)).into_iter().flat_map(|section| section.rows);
    let mut said: Vec<String> = found.what_texts_are().into_iter().chain(told).chain(notices).collect();
    said.extend([found.query(), found.model_words()]);
    said.extend(found.unread());
    let said = said.join("\n");
    for word in text.split(|sign: char| sign.is_whitespace() || "\"'`=,;:()[]{}<>|&#".contains(sign)) {
        assert!(!(is_path(word) || is_token(word)) || !said.contains(word), "{word}: {said}");
    }
}

/// Whether a word is a path that names folders of somebody’s machine.
fn is_path(word: &str) -> bool {
    word.starts_with(['/', '~', '\\']) && word.len() > 8 && word.matches(['/', '\\']).count() >= 2
}

/// Whether a word is a token as the hub gives them out: 34 letters and digits behind its beginning.
fn is_token(word: &str) -> bool {
    word.strip_prefix("hf_")
        .is_some_and(|rest| rest.len() == 34 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

//! Every event of the tape is that of a recorded run (tests/traces/README.md).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use bmax::link;
use bmax::tape::{Moment, NotCounted, Part, Place, Program, Request, Stream, Tensor, Unsaid};
use flate2::read::GzDecoder;
use serde_json::Value;

use super::unsaid;

/// Recorded rows that have no program yet, and why.
const REFUSED: &[(&str, NotCounted)] = &[];

/// An allocation, or a free of the allocation of a number.
#[derive(Clone, Debug)]
struct Asked {
    number: usize,
    /// Bytes, negative where they are given back.
    bytes: i64,
    /// The stream, from 0 in the order in which they allocate.
    stream: usize,
    /// Who asked: Python's frames, or the tensor.
    by: String,
}

/// A recorded run from the moment on at which the model is there.
struct Recorded {
    question: String,
    unsaid: Unsaid,
    /// How many steps were taken.
    steps: u32,
    events: Vec<Asked>,
    /// Where the passes of the second step alone are compared, the most that was asked for at a time in it, in blocks of 512 bytes.
    peak: Option<u64>,
}

/// Bytes in whole blocks of 512.
fn blocks(bytes: i64) -> i64 {
    (bytes as u64).next_multiple_of(512) as i64
}

/// Megatron Core compiles functions in its first step, which is left out, and has checks of its own behind the passes of each.
fn has_passes_alone(head: &Value) -> bool {
    head["run"]["with"] == "megatron"
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).expect("the traces are there");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a plain name"));
    let mut names: Vec<_> = names.filter_map(|name| Some(name.strip_suffix(".trace.gz")?.to_owned())).collect();
    names.sort();
    names
}

fn recorded(name: &str) -> Recorded {
    let file = File::open(folder().join(format!("{name}.trace.gz"))).expect("the trace is there");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("it is text, packed");
    let (head, body) = text.split_once('\n').expect("a head and events");
    let head: Value = serde_json::from_str(head).expect("the head is JSON");
    let question = head["question"].as_str().expect("the scenario is there").to_owned();
    // What stands outside the step comes behind one.
    let steps = if head["run"]["outside"].is_string() { 1 } else { 2 };
    let (mut stacks, mut made, mut events, mut loaded) = (vec![], vec![], vec![], None);
    let (is_short, mut steps_begun, mut live, mut peak) = (has_passes_alone(&head), 0, 0_i64, 0_i64);
    for line in body.lines() {
        match (is_short, line) {
            (true, "# forward") if steps_begun == 1 && loaded.is_none() => {
                loaded = Some(events.len());
                peak = live;
            }
            (true, "# optimizer") => steps_begun += 1,
            _ => {}
        }
        if steps_begun > 1 {
            break;
        }
        let words: Vec<_> = line.splitn(2, ' ').collect();
        match words[..] {
            ["f"] => stacks.push(String::new()),
            ["f", stack] => stacks.push(stack.to_owned()),
            ["#", "loaded"] if steps > 1 && !is_short => loaded = Some(events.len()),
            // torchtitan empties the cache before it builds the model, and never after; transformers' Trainer when it begins.
            ["#", "empty"] if loaded.is_none() && !is_short => loaded = Some(events.len()),
            ["#", _] => {}
            ["+", rest] => {
                let numbers: Vec<usize> = rest.split(' ').map(|word| word.parse().expect("a number")).collect();
                let asked = Asked {
                    number: made.len(),
                    bytes: numbers[0] as i64,
                    stream: numbers.get(2).copied().unwrap_or_default(),
                    by: stacks[numbers[1]].clone(),
                };
                live += blocks(asked.bytes);
                peak = peak.max(live);
                made.push(asked.clone());
                events.push(asked);
            }
            ["-", number] => {
                let of: &Asked = &made[number.parse::<usize>().expect("a number")];
                live -= blocks(of.bytes);
                events.push(Asked { bytes: -of.bytes, ..of.clone() });
            }
            _ => panic!("{name}: {line}"),
        }
    }
    if is_short {
        // The passes end with the gradient of the embedding; what a tied head adds to it is on another stream.
        let is_last = |event: &Asked| event.bytes >= 1 << 20 && event.stream == 0;
        let last = events.iter().rposition(is_last).expect("a gradient");
        events.truncate(last + 1);
    }
    let unsaid = unsaid(&head["run"]);
    let events = since(&events, loaded.expect("a model that is loaded"));
    Recorded { question, unsaid, steps, events, peak: is_short.then_some(peak as u64) }
}

/// Whether nothing is made of a tensor where nothing is computed: a mask is read as zeros there, and picks no rows.
fn is_not_recorded(tensor: &Tensor) -> bool {
    tensor.place == Place::MaskedRows && matches!(tensor.part, Part::Order | Part::Picked | Part::Mean)
}

/// The same of the tape.
fn played(program: &Program, steps: u32, is_short: bool) -> Vec<Asked> {
    let (mut made, mut events, mut loaded): (Vec<Asked>, _, _) = (vec![], vec![], 0);
    let mut streams = vec![Stream::Model];
    let (mut count, mut has_ended) = (0, false);
    for request in program.first_steps(steps).requests() {
        match request {
            Request::Allocate { bytes, tensor } => {
                let by = format!("{}: {}", tensor.place.name(), tensor.part.name());
                let known = streams.iter().position(|&stream| stream == tensor.stream());
                let stream = known.unwrap_or(streams.len());
                streams.extend(known.is_none().then_some(tensor.stream()));
                let is_recorded = !is_not_recorded(&tensor);
                let bytes = if is_recorded { bytes as i64 } else { 0 };
                let asked = Asked { number: count, bytes, stream, by };
                made.push(asked.clone());
                if is_recorded {
                    count += 1;
                    events.push(asked);
                }
            }
            Request::Free { number } if made[number].bytes == 0 => {}
            Request::Free { number } => events.push(Asked { bytes: -made[number].bytes, ..made[number].clone() }),
            Request::Mark(Moment::Loaded) => loaded = events.len(),
            // The second step begins with a number of tokens.
            Request::Mark(Moment::End) if is_short && !has_ended => (loaded, has_ended) = (events.len() + 1, true),
            Request::Mark(_) => {}
        }
    }
    since(&events, loaded)
}

/// Events from a place on, numbered from there. What was made before has no number there. The order within a run of frees
/// is nobody's: nothing that the allocator does depends on it.
fn since(events: &[Asked], place: usize) -> Vec<Asked> {
    let before = events[..place].iter().filter(|event| event.bytes > 0).count();
    let number = |event: &Asked| event.number.checked_sub(before).unwrap_or(usize::MAX);
    let numbered = events[place..].iter().map(|event| Asked { number: number(event), ..event.clone() });
    let mut events: Vec<_> = numbered.collect();
    let runs = events.chunk_by_mut(|one, other| one.bytes < 0 && other.bytes < 0);
    runs.for_each(|run| run.sort_by_key(|event| (event.number, event.bytes)));
    events
}

/// The first event that differs, with what came before it.
fn first_difference(recorded: &[Asked], played: &[Asked]) -> Option<String> {
    let key = |event: Option<&Asked>| event.map(|event| (event.number, event.bytes, event.stream));
    let most = recorded.len().max(played.len());
    let first = (0..most).find(|&at| key(recorded.get(at)) != key(played.get(at)))?;
    let shown = |event: Option<&Asked>| {
        event.map_or("nothing".to_owned(), |event| {
            let stream = if event.stream == 0 { String::new() } else { format!(" on stream {}", event.stream) };
            format!("{:+} of {}{stream} by {}", event.bytes, event.number as i64, event.by)
        })
    };
    let lines = (first.saturating_sub(8)..=first)
        .map(|at| format!("{at}: {} | {}", shown(recorded.get(at)), shown(played.get(at))));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_event_is_that_of_the_recorded_run() {
    let mut refused = vec![];
    for name in names() {
        let Recorded { question, unsaid, steps, events, peak } = recorded(&name);
        let read = link::decode(&question);
        assert_eq!(read.notices, [], "{name}");
        match Program::of_run(&read.scenario, unsaid) {
            Ok(program) => {
                let mut played = played(&program, steps, peak.is_some());
                if let Some(peak) = peak {
                    assert_eq!(program.steady().peak().bytes, peak, "{name}");
                    played.truncate(events.len());
                }
                let difference = first_difference(&events, &played);
                assert_eq!(difference, None, "{name}\n{}", difference.as_deref().unwrap_or_default());
            }
            Err(reason) => refused.push((name, reason)),
        }
    }
    let refused: Vec<_> = refused.iter().map(|(name, reason)| (name.as_str(), *reason)).collect();
    assert_eq!(refused, REFUSED);
}

#[test]
fn the_first_difference_of_two_runs_is_told_with_who_asked() {
    let event = |number, bytes, by: &str| Asked { number, bytes, stream: 0, by: by.to_owned() };
    let recorded = [event(0, 512, "query"), event(1, 64, "key"), event(0, -512, "query")];
    let played = [event(0, 512, "queries: result"), event(1, 128, "keys: result"), event(0, -512, "queries: result")];
    let difference = first_difference(&recorded, &played).expect("the second differs");
    assert!(difference.ends_with("1: +64 of 1 by key | +128 of 1 by keys: result"), "{difference}");
    assert_eq!(first_difference(&recorded, &recorded), None);
}

//! Standard input, a question a line, and standard output, an answer a line.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use super::input::{MAX_LINE_BYTES, Question, QuestionError, question};
use super::report::{Depth, line};

/// Answers every line of `input` with one line of `output`, in order, to the end.
///
/// A line that is no question is answered with a failure, and so is an empty one: the n-th answer
/// belongs to the n-th line. No more than [`MAX_LINE_BYTES`] bytes of a line are held in memory. Returns how many
/// lines were answered with a failure; with `strict` a line that has notices is one of them.
///
/// # Errors
/// Only those of reading and writing.
pub fn answer_lines(input: impl Read, output: impl Write, depth: Depth, strict: bool) -> io::Result<u64> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let mut bytes = Vec::new();
    let (mut number, mut failures) = (0, 0);
    while next_line(&mut input, &mut bytes)? {
        number += 1;
        let asked = text_of(&bytes).and_then(|text| question(text, None));
        let asked = if strict { asked.and_then(Question::strictly) } else { asked };
        failures += u64::from(asked.is_err());
        serde_json::to_writer(&mut output, &line(Some(number), asked, depth))?;
        output.write_all(b"\n")?;
        // Whoever waits for an answer before the next question gets it.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    output.flush()?;
    Ok(failures)
}

fn text_of(bytes: &[u8]) -> Result<&str, QuestionError> {
    if bytes.len() > MAX_LINE_BYTES {
        return Err(QuestionError::TooLong);
    }
    std::str::from_utf8(bytes).map_err(|_| QuestionError::NotText)
}

/// Reads a line without its end; false when there is none. Of an overlong line one byte more than
/// is allowed is kept, by which it is known.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut any = false;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(any);
        }
        any = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        let room = (MAX_LINE_BYTES + 1).saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let read = part.len() + usize::from(end.is_some());
        input.consume(read);
        if end.is_some() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &[u8]) -> Vec<serde_json::Value> {
        read(input, false).0
    }

    fn read(input: &[u8], strict: bool) -> (Vec<serde_json::Value>, u64) {
        let mut output = Vec::new();
        let failures = answer_lines(input, &mut output, Depth::Brief, strict).expect("memory can be read and written");
        let text = String::from_utf8(output).expect("JSON is UTF-8");
        (text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect(), failures)
    }

    #[test]
    fn the_nth_answer_belongs_to_the_nth_line() {
        let answers = answers(b"gpus=1\n\nnonsense\n{\"gpus\":2}\r\n\xff\ngpus=3");
        let told: Vec<_> = answers.iter().map(|answer| answer["scenario"]["gpus"].as_u64()).collect();
        assert_eq!(told, [Some(1), None, None, Some(2), None, Some(3)]);
        for (position, answer) in answers.iter().enumerate() {
            assert_eq!(answer["line"], position as u64 + 1);
            assert_eq!(answer["error"].is_string(), told[position].is_none());
        }
    }

    #[test]
    fn an_overlong_line_is_refused_and_the_next_one_answered() {
        let mut input = vec![b's'; MAX_LINE_BYTES + 1];
        input.extend(b"\ngpus=2\n");
        let answers = answers(&input);
        assert!(answers[0]["error"].as_str().is_some_and(|error| error.contains("longer than")));
        assert_eq!(answers[1]["scenario"]["gpus"], 2);
    }

    #[test]
    fn strictly_a_line_with_a_notice_is_a_failure_and_failures_are_counted() {
        let input = b"gpus=1\ngpus=2&colour=red\nnonsense\n";
        let (answers, failures) = read(input, true);
        assert_eq!(failures, 2);
        assert_eq!(answers[0]["scenario"]["gpus"], 1);
        assert_eq!(answers[1]["error"], "“colour” is not a parameter.");
        assert!(answers[2]["error"].is_string());
        assert_eq!(read(input, false).1, 1);
    }

    #[test]
    fn no_input_has_no_answer() {
        assert!(answers(b"").is_empty());
    }
}

//! What the text of the site says of the accuracy report is what the report says.

const REPORT: &str = include_str!("vectors/REPORT.md");
const TEXT: &str = include_str!("../src/pages/trust/06_accuracy.md");

/// The cells of the rows of numbers in a piece of Markdown, by setting.
fn rows(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().replace('−', "-")).collect::<Vec<_>>();
    let rows = text.lines().map(cells).filter(|cells| cells.len() > 6 && cells[2].parse::<u32>().is_ok());
    // Setting, rows, median, nine of ten.
    rows.map(|cells| cells[1..].to_vec()).collect()
}

#[test]
fn the_tables_of_the_text_are_those_of_the_report() {
    for (caption, heading) in [
        ("Table: Live tensors", "## Live tensors, by setting"),
        ("Table: What the allocator holds", "## What the allocator holds, by setting"),
        ("Table: What the driver shows", "## What the driver shows, by setting"),
    ] {
        let after = |text: &'static str, start: &str| text.split(start).nth(1).expect("it is there");
        let told = rows(after(TEXT, caption).split("Table:").next().expect("there is a first part"));
        let found = rows(after(REPORT, heading).split("\n## ").next().expect("there is a first part"));
        assert!(told.len() == found.len() && told.len() >= 3, "{caption}: {} of {} rows", told.len(), found.len());
        for (told, found) in told.iter().zip(&found) {
            // The report has the median with its sign between, and the worst row by name at the end.
            assert_eq!([&told[..4], &told[4..5]].concat(), [&found[..4], &found[5..6]].concat(), "{caption}");
        }
    }
}

#[test]
fn the_sentences_of_the_text_print_the_report_s_numbers() {
    let flowing = TEXT.split_whitespace().collect::<Vec<_>>().join(" ");
    let cells = |start: &str| -> Vec<&str> {
        let line = REPORT.lines().find(|line| line.starts_with(start)).expect(start);
        line.split('|').map(str::trim).skip(3).take(3).collect()
    };
    let [ran, out] = ["| **all** | ran |", "| **all** | ran out of memory |"].map(cells);
    assert!(flowing.contains(&format!(
        "Of {} published runs that ran, the likely answer agrees with {} and the safe answer with {}; of {} that ran \
         out of memory, the likely answer agrees with {} and the safe answer with {}.",
        ran[0], ran[1], ran[2], out[0], out[1], out[2]
    )));
    let home = include_str!("../src/pages/home/07_calculator.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(home.contains(&format!(
        "it agrees with {} of {} published runs that ran, and with {} of {} that ran out of memory",
        ran[1], ran[0], out[1], out[0]
    )));
    let adapters = REPORT.split("## What the allocator holds").nth(1).expect("a section");
    let adapters = adapters.lines().find(|line| line.starts_with("| LoRA and QLoRA |")).expect("a row");
    let cells: Vec<&str> = adapters.split('|').map(str::trim).collect();
    assert_eq!(cells[5], format!("-{}", cells[3]), "every row is predicted too low in the median");
    assert!(
        flowing
            .contains(&format!("for {} rows of LoRA and QLoRA the ledger predicts {} too little", cells[2], cells[3]))
    );
}

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

/// What our own runs have of each counter: how the text calls it, how the document does, and the heading of the report.
const OWN: [(&str, &str, &str); 3] = [
    ("live tensors", "`max_memory_allocated`", "## Our own runs: live tensors, by setting"),
    ("what the allocator holds", "`max_memory_reserved`", "## Our own runs: what the allocator holds, by setting"),
    ("what the driver shows", "`nvidia-smi`", "## Our own runs: what the driver shows, by setting"),
];

#[test]
fn the_tables_of_our_own_runs_are_those_of_the_report() {
    let document = include_str!("../docs/accuracy.md");
    for (told, read_with, heading) in OWN {
        let section =
            REPORT.split(heading).nth(1).expect(heading).split("\n## ").next().expect("there is a first part");
        let found = rows(section);
        assert!(found.len() >= 3, "{heading}");
        for row in &found {
            let figures = [&row[1..4], &row[5..6]].concat().join(" | ");
            let [on_the_page, in_the_document] =
                [format!("| {}, {told} | {figures} |", row[0]), format!("| {} | {read_with} | {figures} |", row[0])]
                    .map(|line| line.replace("| -", "| −"));
            assert!(TEXT.lines().any(|line| line == on_the_page), "{on_the_page}");
            assert!(document.lines().any(|line| line == in_the_document), "{in_the_document}");
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
    let home = include_str!("../src/pages/home/05_near.md").split_whitespace().collect::<Vec<_>>().join(" ");
    // Both kinds of error stand beside each other, wherever one is told.
    let count = |cell: &str| cell.parse::<u32>().expect("a number");
    let wrong = |cells: &[&str]| count(cells[0]) - count(cells[1]);
    let (missed, promised) = (wrong(&ran), wrong(&out));
    assert!(home.contains(&format!(
        "Of {} published runs that ran, it says of {missed} that it does not fit. Of {} that ran out of memory, it says \
         of {promised} that they fit.",
        ran[0], out[0]
    )));
    assert!(flowing.contains(&format!(
        "The likely answer is thus wrong for {missed} of {} that ran and for {promised} of {} that ran out",
        ran[0], out[0]
    )));
    let document = include_str!("../docs/accuracy.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(document.contains(&format!(
        "Of {} published runs that ran, the likely answer agrees with {} and the safe answer with {}; of {} that ran \
         out of memory, the likely answer agrees with {} and the safe answer with {}. The likely answer thus calls \
         {missed} of {} too large and {promised} of {} fitting.",
        ran[0], ran[1], ran[2], out[0], out[1], out[2], ran[0], out[0]
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

/// 0.9 · 80 GiB less 16 bytes a parameter over the GPUs, divided by 23 · 2,048 · H · L · 2 bytes: `maxBatch` and
/// `actPerSampleGiB` of the workshop's page, where attention is recomputed.
#[test]
fn the_workshop_s_own_page_answers_more_under_selective_recomputation_and_the_text_says_so() {
    let models = [
        ("1b", 1e9, 2_048.0, 24.0, 1),
        ("3b", 3e9, 3_200.0, 26.0, 1),
        ("7b", 7e9, 4_096.0, 32.0, 8),
        ("13b", 13e9, 5_120.0, 40.0, 64),
        ("70b", 70e9, 8_192.0, 80.0, 64),
    ];
    let answers = models.map(|(slug, parameters, hidden, layers, gpus)| {
        let free = 0.9 * 80.0 * 1_073_741_824.0 - 16.0 * parameters / f64::from(gpus);
        let most = (free / (23.0 * 2_048.0 * hidden * layers * 2.0)).floor();
        let query = format!("v=3&model={slug}&gpus={gpus}&s=2048&recompute=selective&attn=eager&headroom=10");
        let rows = bmax::others::all(&bmax::link::decode(&query).scenario);
        let row = rows.iter().find(|row| row.other.key == "workshop").expect("listed");
        let told = match row.largest {
            Ok(bmax::others::Largest::Fits { batch, .. }) => batch,
            _ => 0,
        };
        assert_eq!(f64::from(told), most, "{slug}: {row:?}");
        format!("{most}")
    });
    let text = include_str!("../src/pages/trust/02_methods.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let [first, second, third, fourth, last] = answers;
    assert!(text.contains(&format!("therefore {first}, {second}, {third}, {fourth} and {last}.")), "{text}");
}

#[test]
fn the_text_knows_how_many_recipes_in_fp8_there_are() {
    // All but “off”.
    assert_eq!(bmax::setting::FP8.options.len() - 1, 7);
    assert!(include_str!("../src/pages/memory/03_precision.md").contains("\nhas seven recipes in fp8,"));
}

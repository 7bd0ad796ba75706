//! Every figure as a picture and its tables as CSV, saved from the share dialog.

use bmax::chart::{Curves, batch_text, swept};
use bmax::course::scaling::{STAGES, at_stage, parts};
use bmax::picture::{Look, Theme, chart, chart_plot};
use bmax::{Scenario, b_max, estimate};
use roxmltree::{Document, Node};
use serde_json::json;

use crate::support::{PAGES, Page, Visit, expected, figures_of};

/// Notes what is handed to the browser to be saved, in place of saving it.
const WATCH: &str = "window.saved = []; \
    URL.createObjectURL = (blob) => { saved.push({ blob }); return 'data:,'; }; \
    HTMLAnchorElement.prototype.click = function () { saved.at(-1).name = this.download; };";

/// What was saved last, as its name and its bytes in hexadecimal.
const LAST: &str = "const done = arguments[0]; \
    const last = saved.at(-1); \
    last.blob.arrayBuffer().then((bytes) => \
        done([last.name, last.blob.type, [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, '0')).join('')]));";

/// Closes the dialog where it is open. The browser says so afterwards, and until then the desk takes it for open.
const CLOSED: &str = "const done = arguments[0]; \
    const dialog = document.querySelector('#desk-share[open]'); \
    if (!dialog) return done(); \
    dialog.addEventListener('close', () => done(), { once: true }); \
    dialog.close();";

/// A file as it would have been saved.
struct File {
    name: String,
    media_type: String,
    bytes: Vec<u8>,
}

impl File {
    fn text(self) -> String {
        String::from_utf8(self.bytes).expect("UTF-8")
    }
}

async fn opened(visit: Visit) -> Page {
    let page = visit.open().await;
    page.script(WATCH, vec![]).await;
    page
}

/// Opens the dialog of a figure at the pictures and waits until it says what there is.
async fn open_panel(page: &Page, figure: &str) {
    page.figure(figure).approach().await;
    page.script_async(CLOSED, vec![]).await;
    let press = "const figure = document.querySelector(`.figure [data-figure=\"${arguments[0]}\"]`).closest('.figure'); \
        figure.scrollIntoView({ block: 'nearest', behavior: 'instant' }); \
        figure.querySelector('[data-desk]').click();";
    page.script(press, vec![json!(figure)]).await;
    page.until_script("the dialog to open", "return !!document.querySelector('#desk-share[open]');", json!(true)).await;
    page.part("#desk-share").click("tab", "Picture").await;
    let told = "const seen = (name) => document.querySelector(`#desk-share [data-testid=${name}]`)?.hidden === false; \
        return (seen('drawn') || seen('no-picture')) && (seen('data') || seen('no-table'));";
    page.until_script("the panel to say what there is", told, json!(true)).await;
}

/// Presses a button of the panel and returns what it hands to the browser.
async fn saved(page: &Page, button: &str) -> File {
    let press = "saved.length = 0; document.querySelector(`#desk-share ${arguments[0]}`).click();";
    page.script(press, vec![json!(button)]).await;
    page.until_script("a file", "return saved.length === 1 && !!saved[0].name;", json!(true)).await;
    let file: (String, String, String) =
        serde_json::from_value(page.script_async(LAST, vec![]).await).expect("name, type and bytes");
    let bytes = (0..file.2.len() / 2).map(|at| u8::from_str_radix(&file.2[2 * at..2 * at + 2], 16));
    File { name: file.0, media_type: file.1, bytes: bytes.collect::<Result<_, _>>().expect("digits") }
}

fn is_shown(page: &Page, part: &str) -> impl Future<Output = bool> {
    let script = format!("return !document.querySelector('#desk-share [data-testid={part}]').hidden;");
    async move { page.script(&script, vec![]).await == json!(true) }
}

/// The rows of a CSV without quoted line ends, which the tables of the page do not have.
fn rows(csv: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in csv.trim_start_matches('\u{feff}').split_terminator("\r\n") {
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(std::mem::take(&mut cell)),
                letter => cell.push(letter),
            }
        }
        cells.push(cell);
        rows.push(cells);
    }
    rows
}

/// Parses a picture; it must need nothing from elsewhere and hold some words.
fn assert_stands_alone(figure: &str, file: &str) -> (f64, f64) {
    let tree = Document::parse(file).unwrap_or_else(|error| panic!("{figure}: {error}"));
    let mut words = 0;
    for node in tree.descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        assert!(!["script", "style", "image", "use", "foreignObject", "a"].contains(&tag), "{figure}: {tag}");
        words += usize::from(tag == "text" && node.text().is_some_and(|text| !text.is_empty()));
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.ends_with("href") && !name.starts_with("on") && name != "style", "{figure}: {name}");
            assert!(!value.contains("url(") || value.starts_with("url(#"), "{figure}: {name}={value}");
            assert!(!value.contains("var(") && !value.contains("NaN"), "{figure}: {name}={value}");
        }
    }
    assert!(words >= 6, "{figure} has {words} texts");
    let shapes = ["rect", "path", "polyline", "line"];
    let drawn = tree.descendants().filter(|node| shapes.contains(&node.tag_name().name())).count();
    assert!(drawn >= 3, "{figure} has {drawn} shapes");
    let length = |name| tree.root_element().attribute(name).and_then(|length| length.parse().ok()).expect("a size");
    (length("width"), length("height"))
}

/// How many rows each table of a figure has that has any, also those that are filled only while they are unfolded.
const SIZES: &str = "const [name, done] = arguments; \
    const figure = document.querySelector(`.figure [data-figure=\"${name}\"]`).closest('.figure'); \
    const folded = [...figure.querySelectorAll('details:not([open])')].filter((fold) => fold.querySelector('table')); \
    for (const fold of folded) fold.open = true; \
    const isFilled = (fold) => fold.querySelector('tbody > tr > :is(th, td)'); \
    let left = 100; \
    const count = () => { \
        if (left-- > 0 && !folded.every(isFilled)) return setTimeout(count, 50); \
        const sizes = [...figure.querySelectorAll('table')] \
            .map((table) => [...table.querySelectorAll('tr')].filter((row) => !row.closest('[hidden], thead'))) \
            .filter((rows) => rows.some((row) => [...row.cells].some((cell) => cell.textContent.trim()))) \
            .map((rows) => rows.length); \
        for (const fold of folded) fold.open = false; \
        done(sizes); \
    }; \
    count();";

#[tokio::test]
async fn every_figure_of_the_first_page_can_be_saved_or_says_why_not() {
    let (pictures, tables) = every_figure_of("").await;
    assert!(pictures > 3 && tables > 3, "{pictures} pictures, {tables} tables");
}

#[tokio::test]
async fn every_figure_of_the_other_pages_can_be_saved_or_says_why_not() {
    let (mut pictures, mut tables) = (0, 0);
    for name in PAGES.into_iter().filter(|name| !name.is_empty() && !figures_of(name).is_empty()) {
        let (some_pictures, some_tables) = every_figure_of(name).await;
        (pictures, tables) = (pictures + some_pictures, tables + some_tables);
    }
    assert!(pictures > 10 && tables > 8, "{pictures} pictures, {tables} tables");
}

/// Saves every picture and every table of a page, and returns how many there are.
async fn every_figure_of(name: &str) -> (u32, u32) {
    let page = opened(Visit::to(name)).await;
    let names = "return [...document.querySelectorAll('.figure')].filter((figure) => figure.querySelector('[data-desk]')) \
        .map((figure) => figure.querySelector('[data-figure]')?.dataset.figure).filter(Boolean);";
    let names: Vec<String> = serde_json::from_value(page.script(names, vec![]).await).expect("names");
    assert_eq!(names, figures_of(name));
    let (mut pictures, mut tables) = (0, 0);
    for figure in &names {
        open_panel(&page, figure).await;
        if is_shown(&page, "drawn").await {
            pictures += 1;
            let file = saved(&page, "[data-testid=picture-svg]").await;
            assert_eq!(file.media_type, "image/svg+xml");
            let own = if name == "workshop/" { "7b-8xa100-80" } else { "llama-3.1-8b-8xh100-80" };
            assert!(file.name.starts_with(&format!("bmax-{figure}-{own}-s2048")), "{}", file.name);
            let (width, height) = assert_stands_alone(figure, &file.text());
            let file = saved(&page, "[data-testid=picture-png]").await;
            assert!(file.bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{figure}");
            // The first chunk of a PNG, IHDR, begins with its size: https://www.w3.org/TR/png/#11IHDR
            let length =
                |at: usize| f64::from(u32::from_be_bytes(file.bytes[at..at + 4].try_into().expect("four bytes")));
            let twice = [(length(16), 2.0 * width), (length(20), 2.0 * height)];
            assert!(twice.iter().all(|(pixels, twice)| (pixels - twice).abs() <= 2.0), "{figure}: {twice:?}");
        }
        let buttons = "return document.querySelectorAll('#desk-share [data-table]').length;";
        let count = page.script(buttons, vec![]).await.as_u64().expect("a number");
        assert_eq!(count > 0, is_shown(&page, "data").await, "{figure}");
        let sizes: Vec<usize> =
            serde_json::from_value(page.script_async(SIZES, vec![json!(figure)]).await).expect("numbers of rows");
        for table in 0..count {
            tables += 1;
            let csv = saved(&page, &format!("[data-table=\"{table}\"]")).await.text();
            let rows = rows(&csv);
            assert_eq!(rows.len(), sizes[table as usize] + 1, "{figure}: {csv}");
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{figure}: {csv}");
        }
    }
    // What was unfolded to be read is folded again.
    assert_eq!(
        page.script("return document.querySelectorAll('.figure details[open]').length;", vec![]).await,
        json!(0)
    );
    page.close().await;
    (pictures, tables)
}

/// The CSV of a figure's table.
async fn table(page: &Page, figure: &str, position: usize) -> Vec<Vec<String>> {
    open_panel(page, figure).await;
    rows(&saved(page, &format!("[data-table=\"{position}\"]")).await.text())
}

#[tokio::test]
async fn the_numbers_of_a_saved_table_are_the_library_s() {
    let page = opened(Visit::to("")).await;
    let curves = Curves::along(swept(&Scenario::default()), None);
    let saved = table(&page, "chart", 1).await;
    assert_eq!(saved[0], ["Tokens S", "1B", "7B", "13B", "70B", "yours"]);
    let powers = curves.places.iter().enumerate().filter(|(_, length)| length.is_power_of_two());
    let expected: Vec<Vec<String>> = powers
        .map(|(at, length)| {
            let batch = |curve: &bmax::chart::Curve| batch_text(curve.batches[at]).replace(',', "");
            std::iter::once(length.to_string()).chain(curves.all.iter().map(batch)).collect()
        })
        .collect();
    assert_eq!(saved[1..], expected);

    page.close().await;

    let page = opened(Visit::about("sharding", "")).await;
    let saved = table(&page, "sharding", 0).await;
    let column = |name: &str| {
        saved[0].iter().position(|head| head == name).unwrap_or_else(|| panic!("{name} in {:?}", saved[0]))
    };
    let (peaks, batches) = (column("Peak (GiB)"), column("Largest b"));
    for (row, stage) in saved[1..].iter().zip(STAGES) {
        // The figure counts while micro-batches are added up.
        let at = at_stage(&Scenario::default(), stage);
        assert_eq!(row[batches], b_max(&at).batch().unwrap_or(0).to_string(), "{stage:?}");
        let peak: f64 = row[peaks].parse().expect("a number");
        assert!((peak - parts(&at).into_iter().map(|part| part.gib()).sum::<f64>()).abs() < 0.051, "{stage:?}: {peak}");
    }

    page.close().await;

    let page = opened(Visit::about("step", "")).await;
    let saved = table(&page, "step", 0).await;
    let together: Vec<f64> =
        saved[1..].iter().map(|row| row.last().expect("a cell").parse().expect("a number")).collect();
    let peak = estimate(&Scenario::default()).peak().bytes.gib();
    let highest = together.iter().copied().fold(0.0, f64::max);
    assert!((highest - peak).abs() < 0.051, "{highest} and {peak}");
    page.close().await;
}

/// The part of the pixels that differ clearly between the canvas of the page and an SVG drawn at its size.
const COMPARED: &str = "const [file, done] = arguments; \
    const canvas = document.querySelector('.chart-canvas'); \
    const { width, height } = canvas; \
    const image = new Image(); \
    image.onload = () => { \
        const copied = (from) => { \
            const copy = Object.assign(document.createElement('canvas'), { width, height }); \
            const on = copy.getContext('2d', { willReadFrequently: true }); \
            on.drawImage(from, 0, 0, width, height); \
            return on.getImageData(0, 0, width, height).data; \
        }; \
        const [a, b] = [copied(canvas), copied(image)]; \
        let differ = 0; \
        for (let at = 0; at < a.length; at += 4) \
            if ([0, 1, 2].some((part) => Math.abs(a[at + part] - b[at + part]) > 60)) differ += 1; \
        done(differ / (width * height)); \
    }; \
    image.onerror = () => done(null); \
    image.src = 'data:image/svg+xml,' + encodeURIComponent(file);";

#[tokio::test]
async fn the_saved_chart_and_the_canvas_show_the_same() {
    for theme in [Theme::Light, Theme::Dark] {
        let visit = Visit::to("?model=llama-3.1-8b&gpus=4");
        let page = opened(if theme == Theme::Dark { visit.dark() } else { visit }).await;
        page.figure("chart").approach().await;
        let scenario = expected::scenario("model=llama-3.1-8b&gpus=4");
        let size = "const canvas = document.querySelector('.chart-canvas'); return [canvas.width, canvas.height, devicePixelRatio];";
        let size: [f64; 3] = serde_json::from_value(page.script(size, vec![]).await).expect("a size");
        assert!(size[0] > 300.0 && size[2] == 1.0, "{size:?}");
        let look = Look { theme, ground: true };
        let differ = async |scenario: &Scenario| {
            let file = chart_plot(scenario, look, (size[0], size[1]));
            page.script_async(COMPARED, vec![json!(file)]).await.as_f64().expect("the picture can be drawn")
        };
        let (same, other) = (differ(&scenario).await, differ(&Scenario::default()).await);
        // Both smooth the edges of lines, each a little differently.
        assert!(same < 0.004, "{same} of the pixels differ");
        assert!(other > 3.0 * same.max(0.001), "another chart differs in {other}, this one in {same}");
        page.close().await;
    }
}

#[tokio::test]
async fn the_file_of_the_chart_is_the_library_s_in_the_colours_that_were_chosen() {
    let page = opened(Visit::to("?gpus=64&s=8192")).await;
    let scenario = expected::scenario("gpus=64&s=8192");
    open_panel(&page, "chart").await;
    let address = page.address().await;
    let address = address.split('?').next().unwrap_or_default();
    for (theme, name) in [(Theme::Dark, "Dark"), (Theme::Light, "Light")] {
        page.part("#desk-share").choose("Colours", name).await;
        let file = saved(&page, "[data-testid=picture-svg]").await.text();
        assert!(file == chart(&scenario, Look { theme, ground: true }, address), "{file:.400}");
    }
    page.part("#desk-share").click("checkbox", "Transparent ground").await;
    let file = saved(&page, "[data-testid=picture-svg]").await.text();
    assert!(file == chart(&scenario, Look { theme: Theme::Light, ground: false }, address), "{file:.400}");
    page.close().await;
}

#[tokio::test]
async fn a_picture_taken_from_the_page_leaves_the_page_as_it_was() {
    let page = opened(Visit::about("recompute", "")).await;
    page.figure("recompute").approach().await;
    let whole = "return [document.documentElement.dataset.theme ?? null, document.querySelectorAll('.desk-copy, [data-flat]').length, \
        document.querySelectorAll('.figure').length, document.querySelectorAll('#recompute').length, \
        document.documentElement.scrollHeight];";
    let before = page.script(whole, vec![]).await;
    open_panel(&page, "recompute").await;
    page.part("#desk-share").choose("Colours", "Dark").await;
    let file = saved(&page, "[data-testid=picture-svg]").await.text();
    // The dark ground of the page's panels.
    assert!(file.contains("fill=\"#1c2229\""), "{file:.400}");
    page.script("document.querySelector('#desk-share').close();", vec![]).await;
    assert_eq!(page.script(whole, vec![]).await, before);
    page.close().await;
}

/// The plots of a file: how many shapes each has, and every colour in which something is drawn.
fn plots(file: &str) -> (Vec<usize>, Vec<String>) {
    let tree = Document::parse(file).expect("well-formed");
    let inner: Vec<_> =
        tree.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "svg"))).skip(1).collect();
    let shapes =
        |plot: &Node| plot.children().filter(|node| ["path", "circle"].contains(&node.tag_name().name())).count();
    let strokes =
        inner.iter().flat_map(Node::descendants).filter_map(|node| node.attribute("stroke").map(str::to_owned));
    (inner.iter().map(shapes).collect(), strokes.collect())
}

#[tokio::test]
async fn the_plots_of_a_picture_are_the_library_s_in_the_colours_that_were_chosen() {
    // What the page has drawn is taken away, so that it is not what the picture has.
    let shapes = "const figure = document.querySelector(`.figure [data-figure=\"${arguments[0]}\"]`).closest('.figure'); \
        return [...figure.querySelectorAll('.plot')].map((plot) => { \
            const shapes = plot.querySelectorAll('path, circle').length; \
            plot.replaceChildren(); \
            return shapes; \
        });";
    for figure in ["step", "saturation", "learning-rate", "swapping"] {
        let page = opened(Visit::about(figure, "?gpus=64")).await;
        open_panel(&page, figure).await;
        let shown: Vec<usize> =
            serde_json::from_value(page.script(shapes, vec![json!(figure)]).await).expect("numbers of shapes");
        assert!(!shown.is_empty() && shown.iter().all(|count| *count > 0), "{figure}: {shown:?}");
        for (theme, name) in [(Theme::Dark, "Dark"), (Theme::Light, "Light")] {
            page.part("#desk-share").choose("Colours", name).await;
            let (drawn, strokes) = plots(&saved(&page, "[data-testid=picture-svg]").await.text());
            assert_eq!(drawn, shown, "{figure}, {name}");
            assert!(strokes.iter().any(|stroke| stroke == theme.colour("--control")), "{figure}, {name}: the axis");
        }
        let asked = "return document.querySelectorAll('[data-plot]').length;";
        assert_eq!(page.script(asked, vec![]).await, json!(0));
        page.close().await;
    }
}

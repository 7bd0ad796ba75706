//! The chart as a picture: drawn by the page's painter on SVG, with the words that the page lays
//! around its canvas.

use plotters::backend::SVGBackend;

use super::drawing::px;
use super::frame::{MARGIN, SMALL_LINE, head, paragraph, width_of};
use super::{Attribute, Drawing, Footer, Look};
use crate::chart::{
    BAND, Curves, Frame, Mark, OWN, PATTERNS, Palette, Spec, Tick, batch_text, description, draw, end_text, first,
    last, names, number_text, own_place, swept, value_text, words,
};
use crate::{ChartAxis, Choice, Method, Scenario, format};

/// Width of the picture, in CSS pixels.
const WIDTH: f64 = 960.0;
/// What the page gives the plot on a wide window.
const PLOT: (f64, f64) = (560.0, 330.0);
/// Room left of the plot for the labels of the micro-batch.
const LABELS: f64 = 64.0;
/// Units of the drawing in a pixel: plotters takes whole numbers.
const UNITS: f64 = 8.0;

/// The file of the chart.
///
/// `page` is the address of the page without its query; the link at the foot is made of it.
#[must_use]
pub fn chart(scenario: &Scenario, look: Look, page: &str) -> String {
    let curves = Curves::along(swept(scenario), None);
    let theme = look.theme;
    let mut drawing = Drawing::new("chart");
    let title = words(curves.axis).claim;
    let head_end = head(&mut drawing, theme, title, scenario, WIDTH);
    let corner = (MARGIN + LABELS, head_end + 42.0);
    axes(&mut drawing, look, &curves, corner, PLOT);
    plot(&mut drawing, look, &curves, scenario, corner, PLOT);
    legend(&mut drawing, look, &curves, scenario, (corner.0 + PLOT.0 + 28.0, corner.1));
    let mut y = corner.1 + PLOT.1 + 56.0;
    let small = [("font-size", "12"), ("fill", theme.colour("--ink-soft"))];
    for line in paragraph(&assumptions(scenario), WIDTH - 2.0 * MARGIN, 12.0) {
        y += SMALL_LINE;
        drawing.text((MARGIN, y), &small, &line);
    }
    let footer = Footer::of(scenario, page, WIDTH);
    footer.draw(&mut drawing, theme, y + 6.0);
    let size = (WIDTH, y + 6.0 + footer.height());
    drawing.finish(size, look, title, &description(&curves))
}

/// The plot with its axes and labels, and nothing beside it, in a box with this corner and size.
pub(super) fn scene(drawing: &mut Drawing, look: Look, scenario: &Scenario, corner: (f64, f64), size: (f64, f64)) {
    let curves = Curves::along(swept(scenario), None);
    // The title of one axis is above the plot, that of the other and its labels below.
    let (corner, size) = ((corner.0 + LABELS, corner.1 + 28.0), (size.0 - LABELS, size.1 - 28.0 - 46.0));
    axes(drawing, look, &curves, corner, size);
    plot(drawing, look, &curves, scenario, corner, size);
}

/// The plot alone, without a word: what the page has on its canvas, at this size in CSS pixels, with
/// no read-out. A test compares the two.
#[must_use]
pub fn chart_plot(scenario: &Scenario, look: Look, (width, height): (f64, f64)) -> String {
    let curves = Curves::along(swept(scenario), None);
    let mut drawing = Drawing::new("plot");
    painted(&mut drawing, &spec(&curves, scenario, look.theme.palette(), (width, height)), (0.0, 0.0));
    drawing.finish((width, height), Look { ground: false, ..look }, words(curves.axis).claim, "")
}

fn spec(curves: &Curves, scenario: &Scenario, palette: Palette, (width, height): (f64, f64)) -> Spec {
    let own = own_place(curves.axis, scenario);
    Spec {
        frame: Frame { width, height, density: 1.0, units: UNITS },
        palette,
        axes: curves.axes.clone(),
        places: curves.places.clone(),
        curves: curves.all.clone(),
        own: Some(Mark { at: own, batches: vec![(OWN, curves.batch(OWN, own))] }),
        cursor: None,
    }
}

/// The painter's work as part of a picture.
#[inline(never)]
fn painted(drawing: &mut Drawing, spec: &Spec, corner: (f64, f64)) {
    let (width, height) = (spec.frame.width, spec.frame.height);
    let mut file = String::new();
    let mut backend = SVGBackend::with_string(&mut file, ((width * UNITS) as u32, (height * UNITS) as u32));
    // A string takes everything.
    _ = draw(spec, &mut backend);
    drop(backend);
    let inner = file.split_once('>').and_then(|(_, rest)| rest.rsplit_once("</svg>")).map_or("", |(inner, _)| inner);
    // The canvas joins the pieces of a line like this.
    drawing.start("g", &[("stroke-linejoin", "round")]);
    drawing.insert(corner, (width, height), UNITS, inner.trim());
    drawing.end();
}

/// The plot in its frame, and the word at the reader's own length.
#[inline(never)]
fn plot(drawing: &mut Drawing, look: Look, curves: &Curves, scenario: &Scenario, corner: (f64, f64), size: (f64, f64)) {
    let theme = look.theme;
    let spec = spec(curves, scenario, theme.palette(), size);
    painted(drawing, &spec, corner);
    let frame = [("fill", "none"), ("stroke", theme.colour("--line"))];
    drawing.rect((corner.0 - 0.5, corner.1 - 0.5), (size.0 + 1.0, size.1 + 1.0), &frame);
    let own = own_place(curves.axis, scenario);
    let position = curves.axes.across.position(own);
    let value = format!("your {} = {}", words(curves.axis).symbol, value_text(curves.axis, own));
    let words = match position {
        position if position < 0.0 => format!("← {value}"),
        position if position > 1.0 => format!("{value} →"),
        _ => value,
    };
    let (part, width) = (position.clamp(0.0, 1.0), width_of(&words, 13.0) + 12.0);
    // It slides along its own width, as on the page, so that it stays inside at both ends.
    let left = corner.0 + spec.frame.x(part) - width * part;
    let ground = [("fill", theme.colour("--raised")), ("fill-opacity", "0.88")];
    drawing.rect((left, corner.1 + 4.0), (width, 20.0), &ground);
    let middle = (left + width / 2.0, corner.1 + 18.0);
    let bold = [("font-size", "13"), ("font-weight", "600"), ("text-anchor", "middle")];
    drawing.text(middle, &[&bold, &[("fill", theme.colour("--ink"))][..]].concat(), &words);
}

/// Titles and labels of both axes, and the word beside the band where nothing fits.
#[inline(never)]
fn axes(drawing: &mut Drawing, look: Look, curves: &Curves, (left, top): (f64, f64), (width, height): (f64, f64)) {
    let soft = look.theme.colour("--ink-soft");
    let frame = Frame { width, height, density: 1.0, units: UNITS };
    let place = [("font-size", "13"), ("fill", soft)];
    let unit = curves.unit().many();
    symbol(drawing, (MARGIN, top - 12.0), &place, &format!(", {unit} per GPU"));
    let named = |ticks: &[Tick]| ticks.iter().filter(|tick| !tick.label.is_empty()).cloned().collect::<Vec<_>>();
    let style = |anchor| [("font-size", "13"), ("text-anchor", anchor), ("fill", soft)];
    let batches = named(&curves.axes.batches);
    let at = |tick: &Tick| top + frame.y(curves.axes.up.position(tick.value)) + 4.5;
    // In a low plot only the powers of ten have room.
    let is_low = batches.windows(2).any(|pair| (at(&pair[0]) - at(&pair[1])).abs() < 14.0);
    for tick in batches.iter().filter(|tick| !is_low || tick.label.starts_with('1')) {
        let y = at(tick);
        drawing.text((left - 8.0, y), &style("end"), &tick.label);
    }
    for tick in named(&curves.axes.ticks) {
        let x = left + frame.x(curves.axes.across.position(tick.value));
        drawing.text((x, top + height + 19.0), &style("middle"), &tick.label);
    }
    let middle = (left + width / 2.0, top + height + 42.0);
    let words = words(curves.axis);
    let title = words.title.join(words.symbol);
    drawing.text(middle, &style("middle"), &title);
    let bad = [("font-size", "13"), ("font-weight", "600"), ("text-anchor", "end")];
    let bad = [&bad, &[("fill", look.theme.colour("--bad"))][..]].concat();
    let band = top + height - BAND / 2.0;
    drawing.text((left - 8.0, band - 3.0), &bad, "does");
    drawing.text((left - 8.0, band + 13.0), &bad, "not fit");
}

/// Names and dashes of the curves, with b_max at the reader's own length and where they end.
#[inline(never)]
fn legend(drawing: &mut Drawing, look: Look, curves: &Curves, scenario: &Scenario, (left, top): (f64, f64)) {
    let theme = look.theme;
    let (ink, soft, line) = (theme.colour("--ink"), theme.colour("--ink-soft"), theme.colour("--line"));
    let right = WIDTH - MARGIN;
    let middle = right - 92.0;
    let (axis, words) = (curves.axis, words(curves.axis));
    let own = own_place(axis, scenario);
    let at = own.clamp(first(&curves.places), last(&curves.places));
    let caption = format!("At {} {}{}", number_text(axis, at), words.unit, if at == own { words.own } else { "" });
    drawing.text((left, top + 12.0), &[("font-size", "13"), ("font-weight", "600"), ("fill", ink)], &caption);
    let head = |anchor| [("font-size", "12"), ("font-weight", "600"), ("text-anchor", anchor), ("fill", soft)];
    drawing.text((left, top + 38.0), &head("start"), words.curves);
    symbol(drawing, (middle, top + 38.0), &head("end"), "");
    drawing.text((right, top + 38.0), &head("end"), &format!("{}{} =", words.ends, words.symbol));
    drawing.line((left, top + 46.5), (right, top + 46.5), &[("stroke", theme.colour("--line"))]);
    let names = names(axis).into_iter().zip(PATTERNS).zip(&curves.all).zip(theme.palette().series);
    for (row, (((name, pattern), curve), colour)) in names.enumerate() {
        let y = top + 68.0 + 32.0 * row as f64;
        let weight = if row == OWN { "600" } else { "400" };
        let dashes: Vec<String> = pattern.iter().map(|length| px(*length)).collect();
        let colour = format!("#{:02x}{:02x}{:02x}", colour.0, colour.1, colour.2);
        let stroke = if pattern.is_empty() { "3" } else { "2" };
        let mut sample = vec![("stroke", &*colour), ("stroke-width", stroke)];
        let dashes = dashes.join(" ");
        if !dashes.is_empty() {
            sample.push(("stroke-dasharray", &dashes));
        }
        drawing.line((left, y - 4.5), (left + 36.0, y - 4.5), &sample);
        let style = |anchor, weight, fill| {
            [("font-size", "14"), ("font-weight", weight), ("text-anchor", anchor), ("fill", fill)]
        };
        drawing.text((left + 46.0, y), &style("start", weight, ink), name);
        let batch = curves.batch(row, at);
        let fill = if batch.is_some() { ink } else { theme.colour("--bad") };
        // The page has room for “does not fit”.
        let said = if batch.is_some() { batch_text(batch) } else { "none".to_owned() };
        drawing.text((middle, y), &style("end", "600", fill), &said);
        drawing.text((right, y), &style("end", weight, soft), &end_text(axis, curve.end));
        drawing.line((left, y + 10.5), (right, y + 10.5), &[("stroke", line)]);
    }
}

/// b with its subscript, and words behind it.
fn symbol(drawing: &mut Drawing, (x, y): (f64, f64), attributes: &[Attribute], words: &str) {
    let (x, y) = (px(x), px(y));
    drawing.start("text", &[&[("x", &*x), ("y", &*y)], attributes].concat());
    let pieces: [(&[Attribute], &str); 3] =
        [(&[("font-style", "italic")], "b"), (&[("dy", "3"), ("font-size", "10")], "max"), (&[("dy", "-3")], words)];
    for (attributes, words) in pieces.into_iter().filter(|piece| !piece.1.is_empty()) {
        drawing.start("tspan", attributes);
        drawing.words(words);
        drawing.end();
    }
    drawing.end();
}

/// What the reference curves share with the reader's configuration.
#[inline(never)]
fn assumptions(scenario: &Scenario) -> String {
    let compared = &scenario.comparison;
    let headroom = match scenario.method {
        Method::Ledger => String::new(),
        _ => format!(" with {} % headroom", format::input(scenario.device.headroom.get())),
    };
    let spread = format!(
        "{} with recomputation “{}”",
        format::counted(compared.gpus, "GPU", "GPUs"),
        compared.recomputation.label()
    );
    let memory = format!("{} of memory{headroom}", format::memory(scenario.device.memory));
    let (precision, method) = (scenario.recipe.precision.label(), scenario.method.key());
    match compared.against {
        ChartAxis::Sequence => format!(
            "The reference models 1B, 7B, 13B and 70B train on {spread} and are otherwise counted as yours: {memory}, \
             {precision}, {method} method."
        ),
        ChartAxis::Memory => format!(
            "The reference models 1B, 7B, 13B and 70B train on {spread} and are otherwise counted as yours: {} a \
             sequence, {precision}, {method} method.",
            format::counted(scenario.recipe.sequence, "token", "tokens")
        ),
        ChartAxis::Size => format!(
            "Models of your shape: width and depth in proportion, heads as wide as yours. The reference curves are of \
             {spread} and otherwise counted as yours: {} a sequence, {precision}, {method} method.",
            format::counted(scenario.recipe.sequence, "token", "tokens")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Theme;
    use super::*;
    use crate::chart::PAD;

    const LIGHT: Look = Look { theme: Theme::Light, ground: true };

    #[test]
    fn the_labels_of_the_picture_keep_the_room_of_the_painter() {
        // The ends of both axes lie within the plot by the painter's own measure.
        let frame = Frame { width: PLOT.0, height: PLOT.1, density: 1.0, units: UNITS };
        assert_eq!((frame.x(0.0), frame.x(1.0)), (PAD, PLOT.0 - PAD));
        assert_eq!(frame.y(0.0), PLOT.1 - BAND - PAD);
    }

    #[test]
    fn every_curve_tick_and_name_is_in_the_file() {
        let scenario = Scenario::workshop();
        let file = chart(&scenario, LIGHT, "https://example.org/");
        let tree = roxmltree::Document::parse(&file).expect("well-formed");
        let words: Vec<String> = tree
            .descendants()
            .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")))
            .map(|node| node.descendants().filter_map(|part| part.text().filter(|_| part.is_text())).collect())
            .collect();
        for label in
            ["128", "1k", "128k", "1", "10", "100", "1B", "7B", "13B", "70B", "yours", "not fit", "your S = 2,048"]
        {
            assert!(words.iter().any(|word| word == label), "{label} in {words:?}");
        }
        let colours = Theme::Light.palette().series;
        for colour in colours {
            let stroke = format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2);
            assert!(file.contains(&format!("stroke=\"{stroke}\"")), "{stroke}");
        }
        assert!(words.iter().any(|word| word.starts_with("https://example.org/?v=4")));
    }

    #[test]
    fn the_picture_has_the_axis_that_is_chosen() {
        for (axis, words) in [
            (ChartAxis::Size, ["Parameters N, your model’s shape", "H200", "your N = 7B", "10B"]),
            (ChartAxis::Memory, ["Memory M of one GPU in GiB", "70B", "your M = 80 GiB", "141"]),
        ] {
            let mut scenario = Scenario::workshop();
            scenario.comparison.against = axis;
            let file = chart(&scenario, LIGHT, "https://example.org/");
            for word in words {
                assert!(file.contains(&format!(">{word}<")), "{word}");
            }
            assert!(file.contains("chart_axis="), "the link at the foot keeps the axis");
        }
    }
}

//! The rows of the catalogue with their sources.

use std::collections::BTreeSet;
use std::fmt::Write;

use bmax::catalogue::{self, DEVICES, DeviceGroup, MODELS, ModelGroup};
use bmax::link::VERSION;
use bmax::number;

use super::constants::peak;
use super::works::escaped;

/// The name of a row, as a link that opens the calculator with it.
fn opening(key: &str, slug: &str, name: &str) -> String {
    format!("<a href=\"?v={VERSION}&amp;{key}={slug}#calculator\">{}</a>", escaped(name))
}

pub fn models(html: &mut String) {
    html.push_str("\n  <h2>Models</h2>\n");
    for group in ModelGroup::ALL {
        // Rows of one source and one note stand together, in the order of the catalogue.
        let mut by_source: Vec<(&catalogue::ModelSource, Vec<String>)> = Vec::new();
        for row in MODELS.iter().filter(|row| row.group == *group) {
            let source = row.source().expect("a row of the catalogue");
            let name = opening("model", row.slug, row.name);
            match by_source.iter_mut().find(|(other, _)| *other == source) {
                Some((_, names)) => names.push(name),
                None => by_source.push((source, vec![name])),
            }
        }
        _ = write!(html, "\n  <details>\n    <summary>{}</summary>\n    <ul>\n", escaped(group.label()));
        for (source, names) in by_source {
            let catalogue::ModelSource { source, retrieved, note, .. } = source;
            _ = write!(html, "      <li><strong>{}</strong>: {}", names.join(", "), escaped(source));
            if !note.is_empty() {
                _ = write!(html, " {}", escaped(note));
            }
            _ = writeln!(html, " <span class=\"soft\">{retrieved}</span></li>");
        }
        html.push_str("    </ul>\n  </details>\n");
    }
}

pub fn devices(html: &mut String) {
    html.push_str("\n  <h2>Devices</h2>\n");
    for group in DeviceGroup::ALL {
        let label = group.label();
        _ = write!(
            html,
            "\n  <details>\n    <summary>{label}</summary>\n    <div class=\"table-scroll\" tabindex=\"0\" role=\"region\" \
             aria-label=\"{label}: devices and their sources\">\n      <table class=\"data-table\">\n        \
             <thead><tr><th scope=\"col\">Device</th><th scope=\"col\" class=\"num\">Total, MiB</th>\
             <th scope=\"col\" class=\"num\">For a program, MiB</th>\
             <th scope=\"col\" class=\"num\">TFLOP/s, 16 bits</th><th scope=\"col\" class=\"num\">TF32</th>\
             <th scope=\"col\" class=\"num\">fp32</th><th scope=\"col\" class=\"num\">Memory, GB/s</th>\
             <th scope=\"col\" class=\"num\">Host, GB/s</th><th scope=\"col\">Where memory was seen</th>\
             <th scope=\"col\">Where speed is stated</th></tr></thead>\n        \
             <tbody>\n"
        );
        let mut retrieved = BTreeSet::new();
        for row in DEVICES.iter().filter(|row| row.group == *group) {
            let source = row.source().expect("a row of the catalogue");
            retrieved.extend([source.retrieved, source.peaks_retrieved]);
            let [total, visible] = [row.memory_mib, row.visible_mib].map(|mib| number::grouped(mib.into()));
            let peaks = row.peaks;
            let [half, tf32, fp32, bandwidth, host] = [
                peaks.map(|peaks| peaks.half),
                peaks.and_then(|peaks| peaks.tf32),
                peaks.map(|peaks| peaks.fp32),
                peaks.map(|peaks| peaks.memory_gb_per_second).or(row.shared_gb_per_second),
                peaks.map(|peaks| peaks.host_gb_per_second).or(row.shared_gb_per_second),
            ]
            .map(peak);
            let seen = if source.memory == source.visible {
                escaped(source.memory)
            } else {
                format!("{}. {}", escaped(source.memory), escaped(source.visible))
            };
            _ = writeln!(
                html,
                "          <tr><th scope=\"row\">{}</th><td class=\"num\">{total}</td><td class=\"num\">{visible}</td>\
                 <td class=\"num\">{half}</td><td class=\"num\">{tf32}</td><td class=\"num\">{fp32}</td>\
                 <td class=\"num\">{bandwidth}</td><td class=\"num\">{host}</td><td>{seen}</td><td>{}</td></tr>",
                opening("gpu", row.slug, row.name),
                escaped(source.peaks)
            );
        }
        let days: Vec<&str> = retrieved.into_iter().collect();
        _ = write!(
            html,
            "        </tbody>\n      </table>\n    </div>\n    <p class=\"soft\">Looked up on {}. TFLOP/s are the maker’s, dense and with fp32 sums; times take those of 16 bits, or of fp32 for training in fp32, because PyTorch multiplies in TF32 only if it is told to. Where there are none, 100 TFLOP/s stand in, and every time says so. AMD’s and Apple’s devices run no CUDA; its figures stand in for their context, communication buffers, kernels and allocator.</p>\n  </details>\n",
            days.join(" and ")
        );
    }
}

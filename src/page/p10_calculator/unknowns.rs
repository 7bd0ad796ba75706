//! What nobody can know before the run, with the values each outlook gives it; and the peak as tools
//! would show it.

use bmax::{Choice, Outlook, number};

use crate::site::{Facts, Live, format};

/// The outlooks in the order of their columns.
const OUTLOOKS: [Outlook; 3] = [Outlook::Safe, Outlook::Likely, Outlook::Optimistic];

/// The named unknowns that part safe, likely and optimistic, in the rows of the page; and the peak at
/// the chosen micro-batch under the names of the counters that can be compared with it. Only the
/// ledger has either.
pub fn draw(live: &Live, facts: &Facts) {
    for fold in ["unknowns", "counters"] {
        live.show(fold, facts.is_ledger());
    }
    let seen = OUTLOOKS.map(|outlook| outlook.of(&facts.scenario));
    let mut cells: Vec<String> = seen.iter().map(|seen| number::plain(seen.device.cuda_context.gib())).collect();
    cells.extend(seen.iter().map(|seen| match seen.cluster.gpus {
        1 => "none".to_owned(),
        _ => number::plain(seen.device.communication.gib()),
    }));
    cells.extend(seen.iter().map(|seen| number::plain(seen.device.fragmentation.get()) + " %"));
    cells.extend(seen.iter().map(|seen| seen.recipe.kernels.key().to_owned()));
    live.write("unknowns", &cells);
    let batch = format::counted(facts.scenario.recipe.batch, "sequence", "sequences");
    let counters = bmax::counters(&facts.scenario);
    let [allocated, reserved, device] = [counters.allocated, counters.reserved, counters.device].map(format::memory);
    live.write("counters", &[batch, allocated, reserved, device]);
}

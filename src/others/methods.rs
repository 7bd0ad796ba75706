//! The estimator's three methods beside each other: what one of them has no input for, and why their answers differ.

use super::{Lacking, paper, workshop};
use crate::meaning::{Keeps, Part, Stack};
use crate::{Answer, Bucket, Choice, Estimate, Method, Scenario, estimate, format};

/// The first input of a scenario that one of the estimator's methods has no place for. The ledger has a place for all.
///
/// ```
/// use bmax::{Adapter, Method, Scenario, others};
/// let mut scenario = Scenario::workshop();
/// assert_eq!(others::lacking(Method::Paper, &scenario), None);
/// scenario.recipe.adapter = Adapter::Lora;
/// assert!(others::lacking(Method::Paper, &scenario).is_some());
/// assert_eq!(others::lacking(Method::Ledger, &scenario), None);
/// ```
pub fn lacking(method: Method, scenario: &Scenario) -> Option<Lacking> {
    match method {
        Method::Ledger => None,
        Method::Workshop => workshop::OTHER.lacking(scenario),
        Method::Paper => paper::OTHER.lacking(scenario),
    }
}

/// A reason why the answers of the methods differ.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// A method cannot say, because it has no input for something that is asked for.
    CannotSay(Method, Lacking),
    /// Neither of the short methods can say, for the same reason.
    NeitherCanSay(Lacking),
    /// The workshop's 34 is in the sum and multiplied by the bytes of an element, and the paper answers otherwise.
    MultipliesBytes,
    /// The short methods count every layer as a plain GPT block.
    PlainBlock,
    /// The short methods count the inputs of layers and not the layer that is computed again.
    InputsAlone,
    /// The short methods have no logits, which the ledger has at its peak.
    NoLogits,
    /// The short methods have nothing beside the tensors, which the ledger has.
    NoOverhead,
    /// All methods that can say answer the same.
    Agree,
}

/// Why the methods differ for a scenario, given the answer of each. What a method cannot say comes first.
pub fn differences(scenario: &Scenario, answers: &[(Method, Answer)]) -> Vec<Difference> {
    let short = [Method::Workshop, Method::Paper];
    let [of_workshop, of_paper] = short.map(|method| lacking(method, scenario));
    let mut found = match (of_workshop, of_paper) {
        (Some(workshop), Some(paper)) if workshop == paper => vec![Difference::NeitherCanSay(workshop)],
        _ => {
            let silent = [(Method::Workshop, of_workshop), (Method::Paper, of_paper)].into_iter();
            silent.filter_map(|(method, lacking)| Some(Difference::CannotSay(method, lacking?))).collect()
        }
    };
    let most = |method| answers.iter().find(|(other, _)| *other == method).map(|(_, answer)| answer.batch());
    let by = |method| estimate(&Scenario { method, ..*scenario });
    let saying: Vec<Method> = short.into_iter().filter(|method| lacking(*method, scenario).is_none()).collect();
    let Some(&shown) = saying.last() else { return found };
    let own = most(Method::Ledger);
    if saying.iter().all(|&method| most(method) == own) {
        found.push(Difference::Agree);
        return found;
    }
    let (short_one, ledger) = (by(shown), by(Method::Ledger));
    if saying.len() == 2 && most(Method::Workshop) != most(Method::Paper) && keeps(&by(Method::Workshop), Keeps::Whole)
    {
        found.push(Difference::MultipliesBytes);
    }
    if keeps(&short_one, Keeps::Whole) {
        found.push(Difference::PlainBlock);
    } else if keeps(&ledger, Keeps::Again) {
        found.push(Difference::InputsAlone);
    }
    if ledger.bucket(Bucket::Logits).get() > 0.0 {
        found.push(Difference::NoLogits);
    }
    if ledger.bucket(Bucket::Runtime).get() > 0.0 {
        found.push(Difference::NoOverhead);
    }
    found
}

/// Whether layers keep this in an estimate.
fn keeps(estimate: &Estimate, keeps: Keeps) -> bool {
    let is = |entry: &crate::Entry| entry.part == Part::Layers(keeps, Stack::Model) && entry.bytes.get() > 0.0;
    estimate.entries.iter().any(is)
}

impl Difference {
    /// The difference as a sentence.
    pub fn sentence(&self) -> String {
        let fixed = match self {
            Self::CannotSay(method, lacking) => {
                return format!("The {} has no input for {}.", method.label().to_lowercase(), format::lacking(lacking));
            }
            Self::NeitherCanSay(lacking) => return format!("Neither has an input for {}.", format::lacking(lacking)),
            Self::MultipliesBytes => {
                "The workshop multiplies its 34, which is in bytes already, by the element size once more."
            }
            Self::PlainBlock => "The short formulas count a plain GPT block, the ledger what your kernels keep.",
            Self::InputsAlone => {
                "The short formulas count the inputs of layers, the ledger also the layer that runs again."
            }
            Self::NoLogits => "Only the ledger counts the logits.",
            Self::NoOverhead => "Only the ledger counts what the process takes beside tensors.",
            Self::Agree => "The answers are the same.",
        };
        fixed.to_owned()
    }
}

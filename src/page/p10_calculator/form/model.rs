//! The model: the workshop's presets, and whether the count of parameters agrees with the shape.

use bmax::catalogue::{self, Agreement, AgreementKind as Kind};
use bmax::format::billions;
use bmax::{Field, Scenario, number};

use crate::site::Live;

/// The presets, one of which may be in use; and the count that follows from the shape, beside the one
/// that is typed.
pub fn draw(live: &Live, scenario: &Scenario) {
    for row in catalogue::MODELS.iter().filter(|row| row.group == catalogue::ModelGroup::Workshop) {
        live.attr(row.slug, "aria-pressed", if scenario.model == row.model { "true" } else { "false" });
    }
    let agreement = Agreement::of(scenario);
    let derived = billions(agreement.derived);
    let texts = match agreement.kind {
        Kind::Rounded => {
            let vocabulary = number::grouped(scenario.model.vocabulary.into());
            vec![billions(scenario.model.parameters), vocabulary, derived.clone()]
        }
        Kind::Close | Kind::Off => vec![derived.clone()],
    };
    let word = match agreement.kind {
        Kind::Close => "close",
        Kind::Rounded => "rounded",
        Kind::Off => "off",
    };
    live.attr("agreement", "data-agreement", word);
    live.say("agreement", word, &texts);
    live.write("derived", &[derived]);
    live.attr("derived", "aria-disabled", if agreement.kind == Kind::Close { "true" } else { "false" });
}

/// The scenario after the press of a button: with the derived count, or with a model of the catalogue.
pub fn pressed(word: &str, scenario: Scenario) -> Scenario {
    if word == "derived" {
        let count = Agreement::of(&scenario).derived as f64 / 1e9;
        return scenario.with_number(Field::Parameters, count).unwrap_or(scenario);
    }
    catalogue::model(word).map_or(scenario, |row| row.apply(scenario))
}

#[cfg(test)]
mod tests {
    use bmax::catalogue::{MODELS, ModelGroup};

    #[test]
    fn the_page_has_a_button_for_each_of_the_workshop_s_models() {
        for row in MODELS.iter().filter(|row| row.group == ModelGroup::Workshop) {
            let button = format!("data-press=\"{0}\" data-out=\"{0}\">{1}</button>", row.slug, row.name);
            assert!(include_str!("../prose.html").contains(&button), "{button}");
        }
    }
}

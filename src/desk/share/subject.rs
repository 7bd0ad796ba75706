//! What is shared.

use bmax::link::Pinned;
use bmax::snippet::Share;
use bmax::{Answer, Scenario, b_max, catalogue, format, link, number, preview};
use leptos::prelude::document;

use crate::figures::Figure;
use crate::page;

/// A figure or the page, with the configuration that the page shows.
#[derive(Clone, PartialEq)]
pub struct Subject {
    /// The configuration.
    pub scenario: Scenario,
    /// The configurations that are pinned beside it.
    pub vs: Pinned,
    /// The figure; none for the page as a whole.
    pub figure: Option<Figure>,
}

impl Subject {
    /// Calls `write` with what is shared.
    pub fn share<T>(&self, write: impl FnOnce(&Share) -> T) -> T {
        self.share_as(self.figure.as_ref(), write)
    }

    /// Calls `write` with another figure than the one that is shared, or with the page.
    pub fn share_as<T>(&self, figure: Option<&Figure>, write: impl FnOnce(&Share) -> T) -> T {
        let (page, site) = (page::address(), page::site());
        let title = document().title();
        write(&Share {
            page: &page,
            beginning: page::beginning(),
            site: &site,
            scenario: &self.scenario,
            vs: &self.vs,
            title: figure.map_or(&title, |figure| &figure.title),
            anchor: figure.map_or("", |figure| &figure.anchor),
        })
    }

    /// The address that shows a preview of it, where the site has one.
    pub fn preview(&self) -> Option<String> {
        let name = self.figure.as_ref().map(|figure| figure.name.as_str());
        preview::address(&page::site(), &page::address(), &self.scenario, &self.vs, name)
    }

    /// What a file of a figure is called: figure and configuration.
    pub fn file(&self, figure: &str, end: &str) -> String {
        let scenario = &self.scenario;
        let device = if scenario.device.origin.is_empty() { link::OWN } else { scenario.device.origin };
        format!(
            "bmax-{figure}-{}-{}x{}-s{}-b{}{end}",
            link::model_word(scenario.model.origin),
            scenario.cluster.gpus,
            device,
            scenario.recipe.sequence,
            scenario.recipe.batch,
        )
    }

    /// The configuration in a few words.
    pub fn about(&self) -> String {
        let scenario = &self.scenario;
        let named = |row: Option<(&str, bool)>, none: &str| match row {
            Some((name, false)) => name.to_owned(),
            Some((name, true)) => format!("{name} (edited)"),
            None => none.to_owned(),
        };
        let count = |count: u32| number::grouped(count.into());
        let unit = scenario.unit();
        let answer = match b_max(scenario) {
            Answer::Fits(room) if room.capped => format!("at least {} {} fit", count(room.batch), unit.many()),
            Answer::Fits(room) if room.batch == 1 => format!("1 {} fits", unit.one()),
            Answer::Fits(room) => format!("{} {} fit", count(room.batch), unit.many()),
            Answer::Infeasible(_) => format!("not even one {} fits", unit.one()),
            Answer::Refused(refusal) => format!("no answer ({})", format::refused(refusal.kind)),
        };
        format!(
            "{} on {} × {}, S = {}: {answer}",
            named(catalogue::model_row_of(scenario).map(|(row, edited)| (row.name, edited)), "A model of your own"),
            count(scenario.cluster.gpus),
            named(catalogue::device_row_of(scenario).map(|(row, edited)| (row.name, edited)), "a GPU of your own"),
            count(scenario.recipe.sequence),
        )
    }
}

//! The page in a real browser, a capability a file.
//!
//! `dist/` must hold the built site. Every test opens the page that it is about, from a server of its own and in a
//! browser to itself, finds things by role and name, waits for conditions and never for a time, and takes the numbers
//! it expects from the library.

mod support;

mod accessibility;
mod activations;
mod ask;
mod bad_input;
mod bad_link;
mod batch_slider;
mod buckets;
mod buckets_by_length;
mod calculator;
mod calibration;
mod chart_readout;
mod compare;
mod config_json;
mod convergence;
mod course_notes;
mod derivation;
mod embed;
mod embed_script;
mod encoders;
mod engines;
mod grid;
mod host_messages;
mod injection;
mod keyboard_only;
mod layer_lists;
mod layout_shift;
mod ledger;
mod lengths;
mod levers;
mod link;
mod listings;
mod narrow_screen;
mod network;
mod no_script;
mod number_formats;
mod offline;
mod old_addresses;
mod oom_search;
mod opening_answer;
mod optimizer_states;
mod others;
mod outside;
mod pages;
mod pictures;
mod planner;
mod policy;
mod previews;
mod problems;
mod program_parts;
mod questions;
mod quiz;
mod recipes;
mod recompute;
mod sandboxed_frame;
mod scaling;
mod sentences;
mod shapes;
mod share;
mod size_budget;
mod solve_for;
mod starts;
mod step;
mod swapping;
mod tasks;
mod terms;
mod theme;
mod tour;
mod tuning;
mod update_time;
mod vision;

//! Every test that needs no browser, as one program: thirty of them would be compiled and linked thirty times, and run one
//! after another. A part of it is named by its module: `cargo test --test native -- worked_numbers::`.

mod support;

mod accuracy;
mod adapters;
mod changes;
#[cfg(feature = "chart")]
mod colours;
#[cfg(feature = "cli")]
mod command_line;
mod config_files;
mod contrast;
#[cfg(all(feature = "chart", feature = "cli"))]
mod corpus;
mod counted_numbers;
mod course_batches;
mod course_formats;
mod course_networks;
mod course_plans;
mod course_problems;
mod course_steps;
mod course_words;
mod cpu_memory;
mod dependencies;
mod differential;
mod documentation;
mod encoders;
mod exports;
mod fewest_gpus;
mod frozen;
#[cfg(feature = "cli")]
mod fuzz;
mod hosting;
mod hosts;
mod lengths;
mod levers;
mod links;
mod listings;
mod metamorphic;
mod outside;
#[cfg(feature = "picture")]
mod pictures;
mod pipeline_schedule;
mod preview;
mod properties;
mod recipes;
mod runs;
mod snippets;
mod starts;
mod tape;
mod tasks;
mod text;
mod times;
mod tour;
mod uncommon_recipes;
mod verdict;
mod vision;
mod web_manifest;
mod worked_numbers;

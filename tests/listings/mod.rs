//! The programs of the course: what each says for a scenario, and that those which were run with PyTorch
//! (`make test-exports`) are still what the code writes.
//!
//! The files under `files/` were read when they were recorded. Where a change of them is meant,
//! `BMAX_BLESS=1 cargo test --test native listings::` writes them, and `make test-exports` runs them again.

use crate::support::any_scenario::any_scenario;
use crate::support::golden::{as_committed, here, nothing_but};

use std::collections::BTreeMap;
use std::fs;

use bmax::course::listings::{Kind, Listing, tokens};
use bmax::course::updates::steps_to_goal;
use bmax::{AttentionKernel, Choice, Precision, Recomputation, Scenario, link};
use proptest::prelude::*;

fn of(query: &str, listing: Listing) -> String {
    // The programs that were run are of the workshop's example, where the question says nothing else.
    let read = link::decode(&format!("v=3&{}", query.trim_start_matches('?')));
    assert_eq!(read.notices, [], "{query}");
    listing.source(&read.scenario)
}

#[test]
fn the_programs_that_were_run_are_what_is_written_now() {
    let scenarios = fs::read_to_string(here("tests/listings/scenarios.json")).expect("it is committed");
    let scenarios: BTreeMap<String, String> = serde_json::from_str(&scenarios).expect("names and questions");
    let mut expected = Vec::new();
    for (name, question) in &scenarios {
        for listing in Listing::ALL {
            let path = format!("tests/listings/files/{name}/{}.py", listing.key());
            let now = of(question, listing);
            assert!(now.lines().all(|line| line.len() <= 92), "a line of {path} is long");
            as_committed(&path, &now);
            expected.push(path);
        }
    }
    nothing_but("tests/listings/files", &expected);
}

#[test]
fn every_precision_has_the_autocast_and_the_scaler_that_it_needs_and_no_other() {
    let needs = |precision| match precision {
        Precision::Fp32 => (None, "needs neither autocast nor a GradScaler"),
        Precision::Fp16 => (Some("torch.float16"), "scaler = torch.amp.GradScaler(\"cuda\")"),
        Precision::Bf16 | Precision::Autocast => (Some("torch.bfloat16"), "it needs no GradScaler"),
        Precision::Mixed => (None, "fully_shard(model, mp_policy=policy)"),
        Precision::PureBf16 => (None, "model.to(torch.bfloat16)"),
        other => panic!("what does {other} need?"),
    };
    for &precision in Precision::ALL {
        let (autocast, said) = needs(precision);
        for listing in [Listing::Autocast, Listing::Accumulation] {
            let text = of(&format!("precision={precision}"), listing);
            let with = autocast.map(|dtype| format!("with torch.amp.autocast(\"cuda\", dtype={dtype}):\n"));
            assert_eq!(text.contains("autocast("), with.is_some(), "{text}");
            assert!(with.is_none_or(|with| text.contains(&with)), "{text}");
            assert_eq!(text.contains("GradScaler("), precision == Precision::Fp16, "{text}");
        }
        assert!(of(&format!("precision={precision}"), Listing::Autocast).contains(said));
    }
}

#[test]
fn gradients_lose_their_scale_before_they_are_clipped_and_once_a_step() {
    let once = of("precision=fp16", Listing::Autocast);
    let places =
        ["scaler.scale(loss).backward()", "scaler.unscale_(", "clip_grad_norm_(", "scaler.step(", "scaler.update()"];
    let places = places.map(|call| once.find(call).unwrap_or_else(|| panic!("no {call} in {once}")));
    assert!(places.is_sorted(), "{once}");
    // Two levels deep is inside the loop over micro-batches, one level behind it.
    let several = of("precision=fp16&accum=4", Listing::Accumulation);
    assert!(several.contains("\n        scaler.scale(") && several.contains("\n    scaler.step("), "{several}");
}

#[test]
fn k_is_what_the_scenario_accumulates_or_what_reaches_its_global_batch() {
    // 3 sequences on each of 8 GPUs are 24: eleven of them are the first multiple beyond 256.
    let default = of("", Listing::Accumulation);
    assert!(default.contains("K = 11  # 3 sequences x 8 GPUs x 11 = 264 sequences in a step\n"), "{default}");
    let asked = of("gpus=1&b=2&accum=4", Listing::Accumulation);
    assert!(asked.contains("K = 4  # 2 sequences x 4 = 8 sequences in a step\n"), "{asked}");
    let one = of("gpus=1&b=2&target=2", Listing::Accumulation);
    assert!(one.contains("K = 1  # one micro-batch is the whole step"), "{one}");
}

#[test]
fn the_loss_is_a_sum_divided_by_the_tokens_of_all_gpus() {
    let alone = of("gpus=1&b=1&accum=4&precision=fp32", Listing::Accumulation);
    assert!(alone.contains("reduction=\"sum\")\n        (loss / tokens).backward()\n"), "{alone}");
    assert!(!alone.contains("all_reduce"), "{alone}");
    let eight = of("", Listing::Accumulation);
    assert!(eight.contains("torch.distributed.all_reduce(tokens)") && eight.contains("(loss * 8 / tokens)"), "{eight}");
    // Two of every eight GPUs see the same tokens, and two see other tokens of the same sequences.
    let groups = of("gpus=8&tp=2&cp=2", Listing::Accumulation);
    assert!(groups.contains("all_reduce(tokens, group=data_group)") && groups.contains("(loss * 4 / tokens)"));
    assert!(of("gpus=8&pp=4&accum=8", Listing::Accumulation).contains("scale_grads=False"));
}

#[test]
fn every_policy_checkpoints_the_layers_that_it_computes_again() {
    let says = |recomputation| match recomputation {
        Recomputation::None => "recomputes nothing",
        Recomputation::Selective => "F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        Recomputation::Operators => "context_fn=keep_some",
        Recomputation::EveryK => "self.blocks[first : first + 7]",
        Recomputation::KthLayer => "if number % 7 == 0:",
        Recomputation::Block => "if number <= 5:",
        Recomputation::Full => "        x = checkpoint(block, x, use_reentrant=False)\n",
        other => panic!("what does {other} say?"),
    };
    for &recomputation in Recomputation::ALL {
        let text = of(&format!("recompute={recomputation}&every=7&recompute_layers=5"), Listing::Checkpoint);
        assert!(text.contains(says(recomputation)), "{text}");
        // A checkpoint stands in each, if only in the comment on what it would be.
        assert!(text.matches("checkpoint(").count() == text.matches("use_reentrant=False").count(), "{text}");
        assert!(text.contains("checkpoint("), "{text}");
    }
    let eager = of("attn=eager", Listing::Checkpoint);
    assert!(eager.contains("checkpoint(weighted, q, k, v, use_reentrant=False)"), "{eager}");
    assert_eq!(Scenario::workshop().recipe.attention, AttentionKernel::Flash);
}

#[test]
fn a_program_has_about_ten_lines_that_do_something() {
    for query in ["", "precision=fp32", "precision=fp16", "recompute=full", "recompute=every-k", "gpus=1&accum=4"] {
        for listing in Listing::ALL {
            let text = of(query, listing);
            let lines = text.lines().map(str::trim);
            let count =
                lines.filter(|line| !line.is_empty() && !line.starts_with(['#']) && !line.contains("import ")).count();
            assert!((4..=15).contains(&count), "{query} {}: {count}", listing.key());
        }
    }
}

#[test]
fn words_numbers_texts_and_comments_are_told_apart() {
    let all: Vec<_> = tokens("for n in range(16):  # in \"16\"\n    x1 = f(\"# for 1\", 2.5)\n");
    let of = |kind| all.iter().filter(|token| token.kind == kind).map(|token| token.text.as_str()).collect::<Vec<_>>();
    assert_eq!(of(Kind::Keyword), ["for", "in"]);
    assert_eq!(of(Kind::Number), ["16", "2.5"]);
    assert_eq!(of(Kind::Text), ["\"# for 1\""]);
    assert_eq!(of(Kind::Comment), ["# in \"16\""]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_scenario_has_programs_of_short_ascii_lines_whose_pieces_are_the_text(scenario in any_scenario()) {
        for listing in Listing::ALL {
            let text = listing.source(&scenario);
            prop_assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{}", text);
            for line in text.lines() {
                prop_assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{}", line);
                prop_assert!(line.len() <= 120 && !line.ends_with(' '), "{}", line);
            }
            let pieces = tokens(&text);
            prop_assert_eq!(pieces.iter().map(|token| token.text.as_str()).collect::<String>(), text);
            prop_assert!(pieces.iter().all(|token| !token.text.is_empty()));
        }
    }

    #[test]
    fn any_text_is_the_sum_of_its_pieces(text in "\\PC{0,40}") {
        let pieces = tokens(&text);
        prop_assert_eq!(pieces.iter().map(|token| token.text.as_str()).collect::<String>(), text);
    }

    #[test]
    fn k_of_any_scenario_is_in_the_program(scenario in any_scenario()) {
        let k = if scenario.recipe.micro_batches > 1 { scenario.recipe.micro_batches } else { steps_to_goal(&scenario) };
        let text = Listing::Accumulation.source(&scenario);
        let line = format!("\nK = {k}  # ");
        prop_assert!(text.contains(&line), "{}", text);
    }
}

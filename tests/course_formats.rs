//! The number formats against PyTorch's casts and the printed figures of the sources; bytes per parameter
//! against the ledger.

use bmax::course::formats::{BF16, E4M3, E5M2, FORMATS, FP16, FP32, Fate, Regime};
use bmax::{Bucket, Choice, GradientType, Method, Precision, Scenario, ZeroStage, catalogue, estimate};
use proptest::prelude::*;

#[test]
fn every_number_becomes_the_bits_that_pytorch_makes_of_it() {
    let rows: Vec<[u32; 5]> = serde_json::from_str(include_str!("vectors/formats.json")).expect("rows");
    assert!(rows.len() > 300);
    for [single, half, brain, e4m3, e5m2] in rows {
        let number = f64::from(f32::from_bits(single));
        for (format, bits) in [(FP32, single), (FP16, half), (BF16, brain), (E4M3, e4m3), (E5M2, e5m2)] {
            // PyTorch’s cast to E4M3 stops at its largest number.
            assert_eq!(format.keep(number, format == E4M3).bits, bits, "{number:e} in {}", format.key);
        }
    }
}

#[test]
fn ranges_are_the_printed_ones() {
    // fp16 up to about 65504 and from about 6e-8, bf16 up to about 3.4e38.
    assert_eq!(FP16.max(), 65504.0);
    assert!((FP16.min_subnormal() - 6e-8).abs() < 1e-9);
    assert!((BF16.max() - 3.4e38).abs() < 0.02e38);
    assert_eq!(FP32.max(), f64::from(f32::MAX));
    assert_eq!(FP32.min_normal(), f64::from(f32::MIN_POSITIVE));
    assert_eq!(FP32.min_subnormal(), f64::from(f32::from_bits(1)));
    assert_eq!(FP32.min_normal(), BF16.min_normal());
    // OCP 8-bit floating point, table 2.
    assert_eq!([E4M3.max(), E4M3.min_normal(), E4M3.min_subnormal()], [448.0, 0.015625, 0.001953125]);
    assert_eq!([E5M2.max(), E5M2.min_normal(), E5M2.min_subnormal()], [57344.0, 2_f64.powi(-14), 2_f64.powi(-16)]);
    // Fraction bits: 7 against 23 and 10. “About three digits” of bf16 are between two and three.
    assert_eq!([BF16.fraction_bits, FP32.fraction_bits, FP16.fraction_bits], [7, 23, 10]);
    assert!((2.0..3.0).contains(&BF16.digits()) && (3.0..4.0).contains(&FP16.digits()));
    assert_eq!(FORMATS.map(|format| format.bits()), [32, 16, 16, 8, 8]);
}

#[test]
fn what_is_too_large_or_too_small_is_said() {
    assert_eq!(FP16.keep(65519.0, false).value, 65504.0);
    assert_eq!(FP16.keep(65520.0, false).fate, Fate::Overflow);
    assert_eq!(FP16.keep(-1e9, false).value, f64::NEG_INFINITY);
    assert!(E4M3.keep(1e3, false).value.is_nan());
    assert_eq!((E4M3.keep(-1e3, true).value, E4M3.keep(-1e3, true).fate), (-448.0, Fate::Saturated));
    assert_eq!(E4M3.keep(1e3, true).bits, 0x7e);
    assert_eq!(FP16.keep(2_f64.powi(-24), false).fate, Fate::Subnormal);
    // Half of the smallest number is a tie, and goes to the even zero; a little more survives.
    assert_eq!(FP16.keep(2_f64.powi(-25), false).fate, Fate::Zero);
    assert_eq!(FP16.keep(1.01 * 2_f64.powi(-25), false).value, 2_f64.powi(-24));
    assert_eq!(FP16.keep(-0.0, false).bits, 0x8000);
    assert_eq!(FP16.keep(f64::NAN, false).bits, 0x7e00);
    assert_eq!(BF16.keep(1.0 / 3.0, false).bits, 0x3eab);
    assert_eq!(FP16.keep(1.0 / 3.0, false).bits, 0x3555);
    assert_eq!(FP32.keep(1.0 / 3.0, false).bits, 0x3eaa_aaab);
}

#[test]
fn scaling_the_loss_brings_gradients_back_that_fp16_loses() {
    // Micikevicius et al. 2018, section 3.2: values of 2⁻²⁷ to 2⁻²⁴ were needed, and a factor of 8 kept them.
    let gradient = 2_f64.powi(-27);
    assert_eq!(FP16.keep(gradient, false).value, 0.0);
    assert_eq!(FP16.keep(gradient * 8.0, false).value / 8.0, gradient);
    // bf16 needs none: it has the exponents of fp32.
    assert_eq!(BF16.keep(gradient, false).value, gradient);
}

#[test]
fn small_updates_stall_in_bf16() {
    assert_eq!(BF16.after_updates(1.0, 0.001, 1000), 1.0);
    assert_eq!(BF16.keep(1.001, false).value, 1.0);
    assert!((FP32.after_updates(1.0, 0.001, 1000) - 2.0).abs() < 1e-4);
    // A little under half a step is lost every time; a little more counts as a whole step.
    assert_eq!(BF16.after_updates(1.0, 0.0039, 1000), 1.0);
    assert!(BF16.after_updates(1.0, 0.004, 10) > 1.07);
}

#[test]
fn bytes_per_parameter_are_16_18_20_and_8() {
    use GradientType::{Full, Half};
    for (precision, gradients, bytes) in [
        (Precision::Fp32, Half, 16.0),
        (Precision::Bf16, Half, 16.0),
        (Precision::Fp16, Half, 16.0),
        (Precision::Bf16, Full, 18.0),
        (Precision::Fp16, Full, 20.0),
        (Precision::Mixed, Half, 16.0),
        (Precision::Autocast, Half, 16.0),
        (Precision::PureBf16, Half, 8.0),
    ] {
        assert_eq!(Regime::of(precision, gradients).with_adam(), bytes, "{precision:?} {gradients:?}");
    }
}

#[test]
fn sizes_of_weights_and_states_are_the_printed_ones() {
    let fp32 = Regime::of(Precision::Fp32, GradientType::Half);
    let bf16 = Regime::of(Precision::Bf16, GradientType::Half);
    // 7·10⁹ parameters take 28 GB in fp32 and 14 GB at 16 bits; 125·10⁶ take 500 and 250 MB, and Adam 1 GB.
    assert_eq!([7e9 * fp32.weights, 7e9 * bf16.weights], [28e9, 14e9]);
    assert_eq!([125e6 * fp32.weights, 125e6 * bf16.weights, 125e6 * 2.0 * fp32.moment], [500e6, 250e6, 1e9]);
    // GPT-3 takes 350 and 700 GB, a model of 10⁹ parameters 2 GB at 16 bits.
    assert_eq!([175e9 * bf16.weights, 175e9 * fp32.weights, 1e9 * bf16.weights], [350e9, 700e9, 2e9]);
    // 1B, 7B and 70B need 16, 112 and 1,120 GB of states.
    assert_eq!([1e9, 7e9, 70e9].map(|parameters| parameters * bf16.with_adam()), [16e9, 112e9, 1_120e9]);
    // GPT-3's optimizer memory, gradients included: 12 bytes for each of 175·10⁹, 2,100 GB.
    assert_eq!(175e9 * (fp32.gradients + 2.0 * fp32.moment), 2_100e9);
}

#[test]
fn the_ledger_counts_the_same_bytes() {
    let mut scenario = catalogue::model("7b").expect("a preset").apply(Scenario::workshop());
    scenario.method = Method::Ledger;
    (scenario.cluster.gpus, scenario.cluster.zero) = (1, ZeroStage::Stage0);
    for &precision in Precision::ALL {
        for gradients in [GradientType::Half, GradientType::Full] {
            (scenario.recipe.precision, scenario.recipe.gradients) = (precision, gradients);
            let regime = Regime::of(precision, gradients);
            let estimate = estimate(&scenario);
            let parameters = scenario.model.derived_parameters() as f64;
            let step = estimate.instants.len() - 1;
            let per_parameter = |bucket| estimate.bucket_at(bucket, step).get() / parameters;
            let close = |counted: f64, expected: f64| (counted - expected).abs() < 1e-6;
            assert!(close(per_parameter(Bucket::Parameters), regime.weights), "{precision:?}");
            assert!(close(per_parameter(Bucket::Gradients), regime.gradients), "{precision:?}");
            assert!(close(per_parameter(Bucket::Optimizer), regime.master + 2.0 * regime.moment), "{precision:?}");
        }
    }
}

/// The number that the bits of an fp16 stand for, by its fields.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    let size = match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 => f64::INFINITY,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

proptest! {
    #[test]
    fn a_number_of_a_format_stays_as_it_is(bits in any::<u16>()) {
        for (format, value) in [(FP16, half(bits)), (BF16, f64::from(f32::from_bits(u32::from(bits) << 16)))] {
            if value.is_finite() {
                let kept = format.keep(value, false);
                prop_assert_eq!(kept.bits, u32::from(bits));
                prop_assert_eq!(kept.value, value);
            }
        }
    }

    #[test]
    fn fp32_rounds_as_the_processor_does(number in any::<f64>()) {
        let kept = FP32.keep(number, false);
        let expected = number as f32;
        prop_assert!(expected.is_nan() && kept.value.is_nan() || kept.bits == expected.to_bits());
    }
}

//! Known facts of adapters, as the built program answers them.

use serde_json::json;

use super::adapter_facts::{FITS, FITS_NOT, PRECISIONS, under};
use super::{report, run, words};

fn printed(question: &str) -> String {
    let output = run(&["--strict", question]);
    assert_eq!((output.status.code(), words(&output.stderr)), (Some(0), ""), "{question}");
    words(&output.stdout).to_owned()
}

#[test]
fn what_people_have_fine_tuned_on_one_gpu_fits_on_it() {
    for question in FITS {
        for precision in PRECISIONS {
            let question = &under(question, precision);
            let report = report(question);
            let batch = report["answer"]["b_max"].as_u64();
            assert!(report["answer"]["fits"] == true && batch >= Some(1), "{question}: {}", report["answer"]);
            assert_eq!((&report["notices"], &report["conflicts"]), (&json!([]), &json!([])), "{question}");
            let text = printed(question);
            let number = batch.map(|batch| format!("b_max = {batch} sequence"));
            assert!(number.is_some_and(|number| text.contains(&number)), "{question}: {text}");
        }
    }
}

#[test]
fn what_is_larger_than_the_gpu_by_its_weights_alone_does_not_fit() {
    for question in FITS_NOT {
        for precision in PRECISIONS {
            let question = &under(question, precision);
            let answer = &report(question)["answer"];
            assert_eq!((&answer["fits"], &answer["reason"]), (&json!(false), &json!("model-states")), "{question}");
            assert!(printed(question).contains("Not even one sequence fits"), "{question}");
        }
    }
}

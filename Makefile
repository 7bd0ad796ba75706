# One command each; the work is in tools/. Everything here may be repeated: what is there is kept.

.DEFAULT_GOAL := help
.PHONY: help serve gallery generate test quick test-chromium test-firefox test-webkit test-exports test-configs fuzz hunt mutants dist reproduce bench accuracy setup clean

PORT ?= 8080

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

serve: ## build the page and serve it on 127.0.0.1:8080 (another port: make serve PORT=9000)
	@PORT='$(PORT)' sh tools/serve.sh

gallery: ## write target/gallery.html: every component in all its states, in light and in dark
	@sh tools/gallery.sh

generate: ## write every committed file that follows from the code: sources, catalogue, schemas, tables and pictures of docs/
	@cargo run --quiet --features cli,picture --bin generate

test: ## run the checks: all that need no browser, and browser tests by turns (README.md)
	@sh tools/check.sh

quick: ## format, lints, everything that needs no browser, and each page once in Chromium
	@sh tools/check.sh quick

test-chromium: ## run all browser tests in Chromium, on the page in dist/
	@sh tools/browsers.sh chromium

test-firefox: ## the same in Firefox
	@sh tools/browsers.sh firefox

test-webkit: ## the same in WebKit
	@sh tools/browsers.sh webkit

test-exports: ## hand every export to the program it is for (installs them: 8 GB), run the code of the course, count random models, read the examples of others, record it all
	@sh tools/exports.sh

test-configs: ## read the config.json of every model_type of transformers (installed with test-exports), and record it
	@sh tools/configs.sh

fuzz: ## a million scenarios and ten million texts for each reader, some hours (docs/hard-inputs.md; needs a nightly Rust)
	@sh tools/fuzz.sh

hunt: ## the tests of random scenarios with other random numbers, round after round (20; another number: make hunt ROUNDS=5)
	@sh tools/hunt.sh '$(ROUNDS)'

mutants: ## change one thing in the estimator at a time and see which tests notice (half an hour; another part: make mutants PART=1/60)
	@sh tools/mutants.sh $(PART)

dist: ## build the page into dist/, a folder that works from any path
	@sh tools/dist.sh

reproduce: ## build the page here and in another folder, and compare every byte (twice as long as dist)
	@sh tools/reproduce.sh

bench: ## measure the estimator, how pages load, and every slider beside the workshop's page (its folder: ORIGINAL=path)
	@ORIGINAL='$(ORIGINAL)' sh tools/bench.sh

accuracy: ## compare the estimator with measurements; write the report, what the page says of it, and the tables of answers (another file: CASES=path)
	@BMAX_CASES='$(CASES)' cargo test --quiet --test native -- --ignored --nocapture --exact accuracy::write_the_report

setup: ## install what serve and test need, and nothing else
	@sh tools/setup.sh test

clean: ## remove what was built, and keep the tools
	rm -rf dist target

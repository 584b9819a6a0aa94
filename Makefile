PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.installed
# Folder of the Multi30k files.
DATA ?= data/multi30k
# The run of an experiment that was made last.
newest = "$$(ls -td runs/$(1)/*/ | head -n 1)"

.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest lint bench multi30k study study-grammar clean

help: ## Show the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-13s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The stamp lies inside .venv, so that a removed .venv is made anew, and is written last, so that an interrupted
# installation is repeated.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: $(READY) ## Train a small model on the built-in corpus, score its components, prune and rewind some, and report.
	$(BIN)/lit-transformer fit --config demo.yaml
	$(BIN)/lit-transformer analyze --config analysis.yaml --ckpt_path $(call newest,demo) --trainer.callbacks.k 3
	$(BIN)/lit-transformer study $(call newest,demo) --config study_demo.yaml --name "demo-$$(basename $(call newest,demo))"
	$(BIN)/lit-transformer report $(call newest,demo) "studies/demo-$$(basename $(call newest,demo))"

multi30k: $(READY) ## The same on Multi30k: make multi30k DATA=FOLDER (42 minutes on two cores, then the analysis).
	$(BIN)/lit-transformer fit --config multi30k.yaml --data.dir $(DATA)
	$(BIN)/lit-transformer test --ckpt_path $(call newest,multi30k-en-de)
	$(BIN)/lit-transformer test --ckpt_path $(call newest,multi30k-en-de) --data.test 'test_2017_flickr.{lang}.gz'
	$(BIN)/lit-transformer analyze --config analysis.yaml --ckpt_path $(call newest,multi30k-en-de)

study: $(READY) ## Prune, rewind and fine-tune a Multi30k model, with controls: make study DATA=FOLDER [STUDY=OPTIONS].
	$(BIN)/lit-transformer study --config study_multi30k.yaml --options '[--data.dir=$(DATA)]' $(STUDY)

study-grammar: $(READY) ## The same for a small model on the built-in corpus, with five seeds and every arm.
	$(BIN)/lit-transformer study --config study_grammar.yaml $(STUDY)

# A file's tests share trained models, so that a file stays on one process.
test: lint ## Lint, check the types, and run all tests.
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# Made anew each time, because what is asked for may be older now. wandb-workspaces is not among it: it asks for a newer wandb.
test-lowest: ## Run the tests with the oldest versions that pyproject.toml allows, in .venv-lowest (Python 3.11).
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable .
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python build pip playwright pytest pytest-xdist setuptools
	.venv-lowest/bin/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

lint: $(READY) ## Check style and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) ## Run the timed comparisons.
	@for file in benchmarks/*.py; do echo "$$file"; $(BIN)/python "$$file" || exit 1; done

clean: ## Remove .venv, caches and build output; runs/ stays.
	rm -rf .venv .venv-lowest build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# make demo   sets everything up, trains a small agent live, shows what the shipped one can do
# make test   sets everything up and runs every check
# make benchmark   a generation of evolution beside EvoJAX's and a plain PyTorch loop's, in one run
# make lock   renews requirements.lock, the versions development is done with

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
READY_TEST := $(VENV)/.ready-test

.PHONY: demo test benchmark setup extras lock clean
.DEFAULT_GOAL := demo

demo: setup
	$(BIN)/anyorder demo

test: setup extras
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest

benchmark: setup extras
	@$(BIN)/pip install -qq --disable-pip-version-check --no-deps evojax==0.2.17 cma==4.4.0
	$(BIN)/anyorder bench

setup: $(READY)

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "anyorder needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@echo 'Setting up .venv: this downloads about 400 MB once and takes a minute or two.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -qq --disable-pip-version-check -r requirements.lock
	@$(BIN)/pip install -qq --disable-pip-version-check --no-deps --editable .
	@touch $@

# Other people's frameworks and simulators, which only the tests need. They stay out of the lock because
# torch would bring gigabytes for graphics cards into it; the rest is listed with all it needs.
extras: $(READY_TEST)

$(READY_TEST): requirements-extras.txt $(READY)
	@echo 'Adding torch, stable-baselines3, onnxruntime, MuJoCo and Ray for the tests.'
	@$(BIN)/pip install -qq --disable-pip-version-check torch==2.13.0
	@$(BIN)/pip install -qq --disable-pip-version-check --no-deps -r requirements-extras.txt
	@touch $@

lock:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --no-emit-find-links \
		--no-header --no-annotate --group dev --extra tensorboard pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) runs

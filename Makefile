# make demo   set up and do the main job once: compile a kernel, run it, verify it, show it
# make lab    open JupyterLab on the notebooks; ARGS="--port 9999 --no-browser" passes it options
# make test   run the tests that a commit should pass
# make test-quick  those for an edit, in a minute
# make test-all  all tests
# make test-product  the full product of generated kernels and of operators; EVERY=10: a tenth of it
# make test-triton  Triton's kernels on the emulated devices, with two of its libraries; 250 MB of downloads
# make test-rocm  programs with AMD's own runtime, in a root of Debian sid: ROOT=folder; needs root and mmdebstrap
# make coverage  the share of codeobject's and targets' statements that their tests run; fails below its floor
# make lint   style, names, types, formatting, generated files
# make generated  writes every file that follows from others; make check-generated names what is stale
# make wheels  dist/ with a wheel for each kind of machine, native libraries in it, and one for all others
# make docs   the documentation site, in build/site; runs notebooks that changed, NOTEBOOKS=off runs none
# make release  wheels and sdist of this version in build/release, checked, and tried in an empty environment
# make browser  the browser that tests/browser drives, where this machine lets it be installed
#
# Each target works alone on a fresh machine with Python 3.11+ and pip; what it needs goes into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python tests/install.py

# Containers set it to keep images small. Here it would make each process compile all that it imports, and each worker
# of pytest rewrite the assertions of all tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: generated check-generated demo lab test test-quick test-all test-product test-triton test-rocm coverage lint wheels docs release browser format clean

demo: $(VENV)/.installed
	$(BIN)/python notebooks/run.py notebooks/01_first_kernel.ipynb --html build/demo.html

# The extension is built with the Node that is here, else with the one of a wheel; without either the magics
# still work, and the command says what is missing. The root is here because the notebooks point to docs/.
lab: $(VENV)/.installed-lab
	$(BIN)/python -m workbench.lab.build --install --get-node
	$(BIN)/jupyter lab --notebook-dir=. --FileContentsManager.preferred_dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(ARGS)

# A test that failed is run again, alone, twice, and then listed as unstable where it passes.
PYTEST := $(BIN)/python tests/retry_failures.py

test: $(VENV)/.installed-test
	$(PYTEST) tests -n auto --tier=test $(ARGS)

test-quick: $(VENV)/.installed-test
	$(BIN)/python -m pytest $$($(BIN)/python tests/tiers.py) -n auto $(ARGS)

test-all: $(VENV)/.installed-test
	$(PYTEST) tests -n auto $(ARGS)

EVERY ?= 1
test-product: $(VENV)/.installed-test
	HIPKITTENS_TEST_ALL=$(EVERY) $(PYTEST) $(if $(filter-out 1,$(EVERY)),tests/kernels/generated tests/kernels/test_operators.py::test_every_setting,tests) -n auto

test-triton: $(VENV)/.installed-test
	$(INSTALL) -e '.[triton]'
	$(INSTALL) liger-kernel einops
	$(INSTALL) --no-deps fla-core
	$(BIN)/python -m pytest tests/triton_driver tests/bench/test_implementations.py tests/notebooks -k triton -n auto

ROOT ?= build/sid
test-rocm: $(VENV)/.installed
	$(BIN)/python tests/rocm/programs.py $(ROOT) $(ARGS)
	$(BIN)/python -m tests.emulator.hip.answers --root $(ROOT)

# Packages that need no launch: tracing costs a third of a test's time, too much for the rest.
coverage: $(VENV)/.installed-test
	@mkdir -p build
	$(BIN)/python -m coverage run tests/retry_failures.py tests/codeobject tests/targets
	$(BIN)/python -m coverage report

generated: $(VENV)/.installed-test
	$(BIN)/python tests/generated.py

check-generated: $(VENV)/.installed-test
	$(BIN)/python tests/generated.py --check

lint: $(VENV)/.installed-test check-generated
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tests/vague_names.py
	@mkdir -p build/types && ln -sfn ../../kernels build/types/workbench_kernels
	$(BIN)/mypy
	git ls-files '*.c' '*.h' '*.cpp' '*.cuh' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/nbstripout --verify notebooks/*.ipynb
	$(BIN)/python -m workbench.lab.build --lint --get-node

wheels: $(VENV)/.installed-test
	rm -rf dist
	$(BIN)/python -m build --no-isolation --wheel
	for machine in x86_64 aarch64; do \
	  $(BIN)/python -m workbench.prebuilt $$machine build/prebuilt/$$machine && \
	  HIPKITTENS_WHEEL=$$machine $(BIN)/python -m build --no-isolation --wheel || exit 1; done

docs: $(VENV)/.installed-test
	$(INSTALL) -e '.[docs]'
	$(BIN)/python -m sphinx -W --keep-going -q -j auto -c docs . build/site
	@echo "build/site/docs/index.html"

# The wheel for all machines is built from the sdist, so both are complete. The empty environment has nothing but the
# wheel for this machine and what it asks for; its first kernel is compiled, run and verified there.
RELEASE := build/release
release: wheels
	$(INSTALL) -e '.[release]'
	rm -rf $(RELEASE)
	@version=$$($(BIN)/python -c 'import workbench; print(workbench.__version__)'); \
	  grep -q "^## $$version (" CHANGELOG.md || \
	  { echo "CHANGELOG.md has no section $$version: $(BIN)/towncrier build --version $$version writes it"; exit 1; }
	$(BIN)/towncrier build --draft --version next
	$(BIN)/python -m build --outdir $(RELEASE)
	cp dist/*manylinux*.whl $(RELEASE)
	$(BIN)/python -m twine check --strict $(RELEASE)/*.whl $(RELEASE)/*.tar.gz
	$(PYTHON) -m venv $(RELEASE)/empty
	wheel=$$(ls $(RELEASE)/*_$$(uname -m).whl 2>/dev/null || ls $(RELEASE)/*-any.whl) && \
	  $(RELEASE)/empty/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $$wheel
	cd $(RELEASE)/empty && bin/python -m workbench doctor && bin/python -m workbench run normalization/rmsnorm

# Without a browser its tests are skipped and say so, so nothing here fails. The stored pictures are of Liberation Sans,
# which stands for Arial where that is not installed.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable "$${HIPKITTENS_CHROMIUM:-none}"; do \
	  command -v "$$name" >/dev/null && fc-match Arial 2>/dev/null | grep -q "Liberation\|Arial" && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "installing Chromium for the browser tests"; \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    timeout 600 apt-get install -qq -y --no-install-recommends chromium fontconfig fonts-dejavu-core fonts-liberation; } \
	    >/dev/null 2>&1 || echo "Chromium could not be installed; the browser tests will be skipped"; \
	else echo "no Chromium here; the browser tests will be skipped"; fi

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files '*.c' '*.h' '*.cpp' '*.cuh' | xargs $(BIN)/clang-format -i
	$(BIN)/nbstripout notebooks/*.ipynb

clean:
	rm -rf $(VENV) build dist

# A torch that the base Python has already is kept (a ROCm build on a GPU machine, say): the environment
# then sees the base packages and the constraint that picks a CPU build is left out.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or later is needed, $(PYTHON) is $$($(PYTHON) --version 2>&1); try make PYTHON=python3.11"; exit 1; }
	@if $(PYTHON) -c 'import importlib.metadata as m, sys; sys.exit(m.version("torch").split(".")[0] != "2")' 2>/dev/null; \
	  then $(PYTHON) -m venv --system-site-packages $(VENV); \
	  else $(PYTHON) -m venv $(VENV); fi || \
	  { echo "could not make $(VENV): on Debian and Ubuntu, install python3-venv and run make again"; rm -rf $(VENV); exit 1; }

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing into $(VENV) (the first time 290 MB are downloaded)"
	@$(BIN)/python -c 'import torch' 2>/dev/null && constraint= || constraint="-c constraints.txt"; \
	  set -x; $(INSTALL) $$constraint -e .
	@touch $@

# Editors and mypy read the stub.
$(VENV)/.installed-lab $(VENV)/.installed-test: $(VENV)/.installed-%: $(VENV)/.installed pyproject.toml
	$(INSTALL) -e '.[$*]'
	$(BIN)/python -m workbench.ops.stub
	@touch $@

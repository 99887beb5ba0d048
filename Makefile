# The two commands of the README are `make serve` and `make test`; both install what is missing.

JOBS  ?= $(shell nproc)
MODEL ?= models/tiny
HOST  ?= 127.0.0.1
PORT  ?= 8000
ARGS  ?=

PRESET  ?= release

RELEASE := build/release
BIN     := build/$(PRESET)/bin/deltaserve
PYTHON  := build/venv/bin/python

.PHONY: serve build test cuda setup lint format sanitize fuzz install clean

serve: build
	@echo
	@echo "Try it from another terminal:"
	@echo
	@echo "  curl -N http://$(HOST):$(PORT)/v1/chat/completions -H 'Content-Type: application/json' \\"
	@echo "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"What is 12 + 30?\"}], \"stream\": true}'"
	@echo
	@exec $(BIN) serve $(MODEL) --host $(HOST) --port $(PORT) $(ARGS)

setup:
	@tools/setup build

# PRESET=cuda builds the CUDA backend too.
build: setup
	@case $(PRESET) in cuda*) tools/setup cuda ;; esac
	@cmake --preset $(PRESET) -DDELTASERVE_TESTS=OFF -DDELTASERVE_BENCH=OFF >/dev/null
	@cmake --build --preset $(PRESET) -j $(JOBS)

# Everything that needs no GPU: unit, conformance, engine and end-to-end tests of the release build,
# the same code under ASan and UBSan, the threads under TSan, and the linters.
# Several test programs share the cores, so waiting compute threads must sleep, not spin.
test sanitize: export OMP_WAIT_POLICY := passive
test: $(PYTHON)
	@tools/setup build test
	cmake --preset release -DDELTASERVE_TESTS=ON -DDELTASERVE_BENCH=ON -DDELTASERVE_PYTHON=$(CURDIR)/$(PYTHON)
	cmake --build --preset release -j $(JOBS)
	$(MAKE) cuda
	$(MAKE) lint
	$(MAKE) sanitize
	ctest --test-dir $(RELEASE) --output-on-failure -j $(JOBS)

# Compiles the CUDA backend and its tests for every architecture; they run on a machine with a GPU
# (docs/operating.md).
cuda:
	@tools/setup build test
	@tools/setup cuda
	cmake --preset cuda-all -DDELTASERVE_BENCH=OFF -DDELTASERVE_PYTHON=$(CURDIR)/$(PYTHON)
	cmake --build --preset cuda-all -j $(JOBS) --target deltaserve-cuda test_ops_cuda

sanitize:
	cmake --preset asan -DDELTASERVE_PYTHON=$(CURDIR)/$(PYTHON)
	cmake --build --preset asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS) -LE 'slow|e2e|oracle'
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS) --target test_engine test_server
	ctest --test-dir build/tsan --output-on-failure -R '^(ThreadedEngine|Server)'

lint:
	tools/lint

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

# Coverage-guided fuzzing of every parser, FUZZ_SECONDS each.
FUZZ_SECONDS ?= 60
fuzz:
	@tools/setup build fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	tools/run_fuzzers build/fuzz $(FUZZ_SECONDS)

$(PYTHON): tests/requirements.txt
	@tools/setup build test
	python3 -m venv build/venv
	build/venv/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt
	@touch $(PYTHON)

install: build
	cmake --install build/$(PRESET) --prefix $(or $(PREFIX),/usr/local)

clean:
	rm -rf build

# `make demo` and `make test` need only Python and make.

PYTHON ?= python3
VENV   := .venv
# Compiled modules are kept: most tests that start a process would compile the package again.
export PYTHONDONTWRITEBYTECODE :=
BIN    := $(VENV)/bin
LIGHT   = $(shell $(BIN)/python -c "import importlib.util as u; print(u.find_spec('onnx').submodule_search_locations[0])")/backend/test/data/light

.PHONY: decisions commands operator demo test pytest deep whole mutants lint proofs theorems pythons oldest docs node-verdicts bench campaign completion-campaign bounds-campaign equivalence-campaign validity-campaign certificate-campaign companions-campaign fault-campaign rewriting-campaign short-campaign fuzz clean verified recorded-verdicts definition-mutants formal formal-terms handover manual pictures recorded-bounds repeated-test wrong-kernels conformance manipulation-campaign cost

$(VENV)/installed: requirements.txt pyproject.toml
	[ -e sonnx/proofs ] || ln -s ../proofs ../restrictions sonnx
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: $(VENV)/installed
	@echo "== three models: one inside the profile, one as exporters write it, a CNN of the onnx package"
	@$(BIN)/sonnx check --quiet examples/conforming.onnx examples/as_exported.onnx $(LIGHT)/light_squeezenet.onnx || true
	@echo "== which rules fail in the second one, and for how many failures sonnx fix has a rewrite"
	@$(BIN)/sonnx check --statistics examples/as_exported.onnx || true
	@echo "== one rule: where it stands, its condition, its examples"
	@$(BIN)/sonnx explain no-dead-node

# Tests and lint at once.
test: $(VENV)/installed
	$(MAKE) --no-print-directory --jobs=2 lint pytest

# `make test` in TIMES fresh clones, every second time, or each time with EVERY=1, beside two busy processes with MEGABYTES of
# free memory: a table.
TIMES ?= 10
EVERY ?= 2
MEGABYTES ?= 2048
repeated-test:
	$(PYTHON) -m benchmarks.repeated_test --times $(TIMES) --every $(EVERY) --megabytes $(MEGABYTES)

pytest: $(VENV)/installed
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# The tests with all cases of the long lists, of which `make test` takes a part; ten minutes on two cores.
deep:
	SONNX_DEEP=1 $(MAKE) pytest

# The lists of which `make test` takes a part: all cases of the test files that use what takes a part.
whole: WHOLE = $(shell grep -lE '^from tests.support.cases import .*(crossed|examples|first_of_each|spread|DEEP)' tests/*/test_*.py)
whole: $(VENV)/installed
	SONNX_DEEP=1 $(BIN)/pytest --numprocesses auto --dist load $(WHOLE)

# Small changes of code, and which of them the tests do not detect: a sample of the modules or packages MODULES; each change
# takes a second and the tests of the package.
MODULES ?= sonnx.bounds sonnx.equivalence sonnx.rewriter sonnx.suite sonnx.prover
mutants: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check "cosmic-ray>=8.4"
	nice -n 19 $(BIN)/python -m tools.mutants $(MODULES)

# Compare proofs/record.json with the theorems: what asks the recorded questions, of the recorded versions of the
# solvers, is as recorded, and both solvers decide the rest; a minute.  0 if all results are as expected.
# `make proofs ASK=--no-cache` asks every question again: some minutes.
proofs: $(VENV)/installed
	$(BIN)/python -m tools.record --check $(ASK)

# Every command that README, the documents and the help texts print, in a fresh environment with the wheel; an
# hour on two cores, with QUICK=--quick a quarter.
commands: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.printed_commands $(QUICK) build/commands

# What the working group can merge or discuss, in the folder handover; eight minutes, most of them for suites.
manual: $(VENV)/installed
	$(BIN)/python -m tools.manual build/man

pictures: $(VENV)/installed  ## BROWSER=PATH takes those of pages, too
	$(BIN)/python -m tools.pictures $(if $(BROWSER),--browser $(BROWSER))

handover: $(VENV)/installed
	rm -rf handover
	$(BIN)/python -m tools.handover handover

# The check of a model as one native program, build/verified/sonnx-verified: the formalization is compiled and extracted; half
# a minute.  Needs Coq and the OCaml compiler, which `sh tools/install_coq.sh` installs.
VERIFIED := build/verified
CHECK_IN_COQ := syntax values evaluation encoding correctness lengths_first model call declarations alike graph_rules node_rules format_rules walk file_bytes wire_format messages file_constants file_graphs file_model
OF_CHECK := slice budget evaluator reading editions tables sonnx_verified
OCAML := ocamlopt -w -a -O3 -inline 100 -I +unix unix.cmxa
verified: $(VENV)/installed
	rm -rf $(VERIFIED)
	mkdir -p $(VERIFIED)
	cp $(CHECK_IN_COQ:%=proofs/coq/%.v) proofs/coq/extraction.v proofs/coq/checker/*.ml $(VERIFIED)
	$(BIN)/sonnx export coq $(VERIFIED)
	$(BIN)/python -m tools.embedded_texts $(VERIFIED)
	cd $(VERIFIED) && for file in $(CHECK_IN_COQ) extraction; do coqc -Q . Sonnx $$file.v || exit 1; done
	cd $(VERIFIED) && rm -f evaluator.mli && $(OCAML) $(OF_CHECK:%=%.ml) -o sonnx-verified

# What the program says of the models of the cases, in tests/data; `make test` compares the check with it.
recorded-verdicts: $(VENV)/installed
	$(BIN)/python -m tests.support.verified_check $(VERIFIED)/sonnx-verified --record

# Changes of the definitions of the check in Coq that a proof or the comparison must detect; ten minutes.
definition-mutants: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.definition_mutants $(VERIFIED)

# Compile the formalization of the rule language and the exported rules in build/formal, print what its theorems assume,
# compare that with what they may, decide the questions of proofs/coq/any_size.toml, build the programs extracted from it,
# and compare the verdicts of sonnx-verified with those of the check; several minutes.
# Needs Coq, Flocq and the OCaml compiler, which `sh tools/install_coq.sh` installs.
FORMAL := build/formal
RANDOM_MODELS ?= 200
DAMAGED_FILES ?= 2000
REWRITTEN_FILES ?= 1000
formal: $(VENV)/installed
	rm -rf $(FORMAL)
	mkdir -p $(FORMAL)
	cp proofs/coq/*.v proofs/coq/_CoqProject proofs/coq/checker/*.ml $(FORMAL)
	$(BIN)/sonnx export coq $(FORMAL)
	$(BIN)/python -m tools.embedded_texts $(FORMAL)
	cd $(FORMAL) && coq_makefile -f _CoqProject -o Makefile.coq && $(MAKE) --no-print-directory -j 2 -f Makefile.coq
	cd $(FORMAL) && coqc -Q . Sonnx assumptions.v > assumptions.txt
	$(BIN)/python -m tests.support.assumptions $(FORMAL)/assumptions.txt
	cd $(FORMAL) && coqc -Q . Sonnx rules.v && coqc -Q . Sonnx questions.v
	cd $(FORMAL) && printf '%s\n' decided_first.v decided_rest.v | xargs -n 1 -P 2 coqc -Q . Sonnx && coqc -Q . Sonnx decided.v
	cd $(FORMAL) && coqc -Q . Sonnx extraction.v && rm -f evaluator.mli
	cd $(FORMAL) && $(OCAML) $(OF_CHECK:%=%.ml) -o sonnx-verified
	cd $(FORMAL) && ocamlopt -w -a slice.ml budget.ml evaluator.ml reading.ml second_encoder.ml -o second_encoder
	$(BIN)/python -m tests.support.verified_check $(FORMAL)/sonnx-verified --random $(RANDOM_MODELS)
	$(BIN)/python -m tests.support.verified_check $(FORMAL)/sonnx-verified --damaged $(DAMAGED_FILES)
	$(BIN)/python -m tests.support.verified_check $(FORMAL)/sonnx-verified --rewritten $(REWRITTEN_FILES)

# The terms that the prover makes of the rules, compared with those of the translation extracted by `make formal`.
formal-terms: $(VENV)/installed
	$(BIN)/python -m tests.support.second_encoder $(FORMAL)/second_encoder $(FORMAL)/rules.v

# A suite of the newest edition in build/suite, its runs on all runtimes of the extra [suite], and their tables in
# docs/measurements; an hour and more. Reports of other versions of a runtime in build/reports stay.
RUNTIMES ?= onnxruntime reference openvino tract
conformance:
	rm -rf build/suite
	nice -n 19 $(BIN)/sonnx suite make build/suite --jobs 2 --format json --output build/suite.json
	nice -n 19 $(BIN)/python -m benchmarks.conformance build/suite build/reports $(RUNTIMES:%=--run %) --write

# A suite of the newest edition in build/suite, and how many wrong kernels it and ONNX's node tests detect; writes the table
# in docs/measurements; half an hour.
# `make wrong-kernels EVERY_KERNEL=5` measures a sample: every fifth kernel of each operator.
EVERY_KERNEL ?= 1
wrong-kernels: $(VENV)/installed
	rm -rf build/suite
	nice -n 19 $(BIN)/sonnx suite make build/suite --jobs 2 --format json --output build/suite.json
	nice -n 19 $(BIN)/python -m benchmarks.suite_mutants build/suite --every $(EVERY_KERNEL) --write

# Comparison of models: 10,000 mutants judged by exact runs, which also ends after MINUTES; an hour on an idle core.
MINUTES ?= 120
equivalence-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m benchmarks.equivalence mutants --first 1000 --valid 10000 --minutes $(MINUTES) \
		--record .venv/equivalence-campaign.jsonl

# What `sonnx bound` says of many small networks, in tests/data; each changed line needs a reason.
recorded-bounds: $(VENV)/installed
	$(BIN)/python -m tests.support.recorded_bounds

# What follows from the rules of one operator, NAME=Conv: proofs, figures, verdicts on node tests, mutants of rules.
operator: $(VENV)/installed
	$(BIN)/python -m tools.operator_records $(NAME)

# Record the verdict on each node test of the onnx package; the tests compare.
node-verdicts: $(VENV)/installed
	$(BIN)/python -m tests.support.node_verdicts

# The results of all theorems, mutants included, in proofs/record.json; a quarter of an hour on two cores.
# Then the change that refutes each obligation, in proofs/mutants.json; half an hour if all questions changed.
theorems: $(VENV)/installed
	$(BIN)/python -m tools.record
	$(BIN)/python -m tools.obligation_mutants

# Ask the solver again what sonnx/suite/decided says about the classes of every operator, and compare; four minutes.
decisions: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tools.suite_decisions --check

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	rm -rf build/programs
	$(BIN)/python -m tests.support.documented_programs build/programs
	$(BIN)/mypy build/programs
	$(BIN)/lint-imports --no-logo

# The tests with other versions of Python, those of them that are installed.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
pythons:
	for each in $(PYTHONS); do \
	  if command -v $$each; then $(MAKE) PYTHON=$$each VENV=build/$$each pytest || exit 1; fi; \
	done

# The tests with the oldest version of each package that pyproject.toml admits.
oldest:
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/pip install --quiet --disable-pip-version-check --requirement requirements-oldest.txt
	build/oldest/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	build/oldest/bin/pytest --numprocesses auto --dist loadfile

# The documentation as a site in build/docs, with the generated pages; warnings are errors; the size of the site is printed.
docs: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-docs.txt
	$(BIN)/python -m tools.pages build/pages
	$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs -d build/doctrees build/pages build/docs
	du -sh build/docs

bench: $(VENV)/installed
	$(BIN)/python -m benchmarks.check
	$(BIN)/python -m benchmarks.large
	$(BIN)/python -m benchmarks.values

# All tables of what commands cost, measured on this commit and written to docs/measurements; ten minutes on two cores that do
# nothing else.
cost: $(VENV)/installed
	$(BIN)/python -m benchmarks.cost

# The long tests, each in its own process; an interrupted run resumes the next time.
# After a change of the program or the tests, remove build/campaigns.jsonl.
campaign: deep
	mkdir -p build
	$(BIN)/python -m tests.support.campaigns --resume build/campaigns.jsonl

# A million random expressions of the rule language: what is decided on part of the facts must stay so; four minutes.
EXPRESSIONS ?= 1000000
completion-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.completion --expressions $(EXPRESSIONS)

# Ten million values of networks that an optimizer fuses, then random models of all operators, against the bounds: some
# minutes.
bounds-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.fusions
	nice -n 19 $(BIN)/python -m tests.support.bounded_models

# 100,000 random models with graphs inside nodes, through every rewrite, in JOBS processes: six hours of processor time.
# It also ends after MINUTES.
JOBS ?= 2
rewriting-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.nested_models --minutes $(MINUTES) --jobs $(JOBS)

# 1,000 changed certificates against the program that checks them; two minutes.
certificate-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.certificate_mutants

# Damaged copies of every file that a command reads beside a model; an hour.
COPIES ?= 200
companions-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.companions --most $(COPIES)

# FAULTS faults of the system and at most KILLS kills in each command: a quarter of an hour of processor time.
FAULTS ?= 20
KILLS ?= 60
fault-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.faults --faults $(FAULTS) --kills $(KILLS)

# MANIPULATIONS of packs, suites and certificates, of which each must be noticed; two minutes.
MANIPULATIONS ?= 1000
manipulation-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.manipulations --number $(MANIPULATIONS)

# A few campaigns that end within minutes.
short-campaign: $(VENV)/installed
	$(BIN)/python -m tests.support.campaigns --select cluster --select "raise[1]" --timeout 600

# MODELS models of the onnx package with random edits: what the checker of onnx refuses is reported as not valid ONNX, or a
# text explains why not; ten minutes.
MODELS ?= 30000
validity-campaign: $(VENV)/installed
	nice -n 19 $(BIN)/python -m tests.support.invalid_models $(MODELS)

# Coverage-guided fuzzing of check, prove, run and the rule language; failures and figures in fuzz/.
fuzz: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check "atheris>=2.3"
	nice -n 19 $(BIN)/python -m tests.fuzz.campaign --runs 200000 --folder fuzz
	nice -n 19 $(BIN)/python -m tests.fuzz.campaign --runs 50000 --folder fuzz/drawn --drawn

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

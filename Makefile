# A dependency that asks for a newer Go fails loudly instead of fetching one.
export GOTOOLCHAIN := local
# The version is given to the linker below; Go's own stamp needs git and a checkout that git trusts. With trimmed paths
# and no C, all targets and all checkouts share what was compiled.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath -buildvcs=false)
export CGO_ENABLED ?= 0

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LINT_VERSION := v2.15.0
LINT := $(shell go env GOPATH)/lint/$(LINT_VERSION)/golangci-lint

# PKG=./users/... narrows a target to some packages.
PKG ?= ./...
# How long the tests of one package may take. The slow ones have every page in a browser, one after the other.
TIMEOUT = 30m
test-all: TIMEOUT = 1h
# Tests wait more than they compute: for processes, leases and browsers. More of them at once fill the processors.
PARALLEL = 4
# The linter vets, and what only debuggers read takes two thirds of the time of a link.
TEST = go run ./core/coretest/withpostgres -suite -- go test -vet=off '-ldflags=-s -w' \
	-parallel $(PARALLEL) -timeout $(TIMEOUT)

MODULE := github.com/simplevalidations/simplevalidations
PACKAGES = $(patsubst $(MODULE)%,.%,$(shell go list $(PKG)))
# Goroutines share state in these, from the pool to the workers, and the conformance tests send raced servers requests
# at once. All tests with the race detector take three times the processor time: test-all has them.
RACED = $(filter-out ./validations/engines% ./validations/formats%,$(filter ./core ./core/client% ./core/coalesce% \
	./core/db% ./core/idempotency% ./core/metrics% ./core/share% ./core/coretest/conformance% \
	./tasks% ./users% ./validations% ./workflows%,$(PACKAGES)))
# The conformance tests are in both halves: those of crowds start raced servers, those of the contract plain ones.
PLAIN = $(filter-out $(filter-out ./core/coretest/conformance,$(RACED)),$(PACKAGES))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The validators that are programs of their own, each a module.
PROGRAMS := $(patsubst validations/programs/%/go.mod,%,$(wildcard validations/programs/*/go.mod))

.PHONY: run
run: programs ## start the service with a demonstration organization, data in .data
	@test -n "$$DATABASE_URL" || .ci/setup postgresql
	SV_PROGRAMS=$${SV_PROGRAMS:-$(CURDIR)/bin/programs} go run . serve --demo

.PHONY: test
test: ## run the tests on a private PostgreSQL, with the race detector where goroutines share state
	@.ci/setup gcc postgresql redis xmllint curl python3 promtool npm ssh-keygen
	@trap 'exit 130' INT TERM; failed=0; \
	$(if $(PLAIN),$(TEST) -skip '^TestCrowd' $(PLAIN) || failed=$$?;) \
	$(if $(RACED),$(TEST) -race -skip '^Test(Contract|Idemcheck)$$' $(RACED) || failed=$$?;) exit $$failed

.PHONY: test-all
test-all: ## run the tests and the slow ones (crashes, failovers, browsers), all with the race detector
	@.ci/setup gcc postgresql redis xmllint curl python3 python3-venv python3-lxml mypy nginx pgbouncer patroni promtool \
		chromium npm skopeo umoci systemd ssh-keygen
	$(TEST) -race -tags slow $(PKG)

API_TESTS = TestOpenAPI|TestGeneratedClients
# A tab waits for the browser more than it computes.
BROWSER_PARALLEL = 6

.PHONY: api
api: ## check the OpenAPI document: form, breaking changes, answers, clients
	@.ci/setup postgresql npm
	go run ./core/coretest/withpostgres -- go test -count=1 -tags slow -run '$(API_TESTS)' ./config/tests/api

.PHONY: a11y
a11y: ## hold every page to the bar in a browser: access, layout, weight
	@.ci/setup postgresql chromium npm
	go run ./core/coretest/withpostgres -- go test -count=1 -tags slow -parallel $(BROWSER_PARALLEL) -run 'Browser' \
		./core/coretest/browser ./config/tests/pages

.PHONY: api-and-pages
api-and-pages: ## do what api and a11y do with one build, side by side
	@.ci/setup postgresql chromium npm
	go run ./core/coretest/withpostgres -suite -- go test -vet=off '-ldflags=-s -w' -count=1 -tags slow \
		-timeout $(TIMEOUT) -parallel $(BROWSER_PARALLEL) -run '$(API_TESTS)|Browser' \
		./core/coretest/browser ./config/tests/api ./config/tests/pages

.PHONY: screenshots
screenshots: ## write pictures of every page to build/screenshots
	@.ci/setup postgresql chromium npm
	go run ./core/coretest/withpostgres -- go test -count=1 -tags slow -run 'TestScreenshots' ./config/tests/pages \
		-screenshots $(CURDIR)/build/screenshots
	@echo build/screenshots/index.html

# Without a SEED one is drawn and printed. ONLY is what is left of a schedule that was shrunk.
PROFILE ?= short
SEED ?= 0
REPEAT ?= 1
SHRINK ?= 0
ONLY ?=

.PHONY: chaos
chaos: ## try the service under random faults, PROFILE=short, mixed or long; SEED=7, REPEAT=10 and SHRINK=3 try again
	@.ci/setup gcc postgresql redis pgbouncer
	go test -count=1 -tags slow -v -timeout 0 -run '^TestRandom$$' ./core/coretest/chaos/random \
		-profile $(PROFILE) -seed $(SEED) -repeat $(REPEAT) -shrink $(SHRINK) -only '$(ONLY)'

# How long each fuzz test looks for inputs.
FUZZTIME ?= 30s

.PHONY: fuzz
fuzz: ## look for inputs that break a parser, FUZZTIME=30s for each
	@.ci/setup postgresql
	go run ./core/coretest/withpostgres -- sh -c 'set -e; grep -r --include="*_test.go" "^func Fuzz" . | \
		sed -E "s|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9]*).*|\1 \2|" | while read -r package name; do \
		go test -C "$$package" -run "^$$" -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s .; done'

.PHONY: mutants
mutants: ## plant bugs one by one and see the test of each fail, ONLY=name for some
	@.ci/setup postgresql redis
	go run ./core/coretest/withpostgres -- go run ./core/coretest/mutants $(ONLY)

.PHONY: lint
lint: $(LINT) ## check layers, shapes, names and formats
	$(LINT) run $(PKG)
	cd core/coretest/bench/peers && go vet .
	cd config/release && $(LINT) run
	for program in $(PROGRAMS); do (cd validations/programs/$$program && $(LINT) run) || exit 1; done

.PHONY: fmt
fmt: $(LINT) ## format the code and sort its imports
	$(LINT) fmt $(PKG)
	for program in $(PROGRAMS); do (cd validations/programs/$$program && $(LINT) fmt) || exit 1; done

.PHONY: build
build: programs ## build bin/simplevalidations, one static file, and its programs
	CGO_ENABLED=0 go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/simplevalidations .

.PHONY: programs
programs: ## build bin/programs, the validators that are programs of their own
	@for program in $(PROGRAMS); do CGO_ENABLED=0 go build -C validations/programs/$$program -ldflags '-s -w' \
		-o $(CURDIR)/bin/programs/$$program . || exit 1; done

# A version that is no tag, such as VERSION=1.2.3-rc1, can be built from any commit.
.PHONY: release
release: ## build the release into build/release: archives, OCI image, bills of materials, checksums, signed by RELEASE_KEY
	go run -C config/release . -version '$(VERSION)' -key '$(RELEASE_KEY)'

.PHONY: test-release
test-release: ## run the tests of the release, which is a module of its own
	cd config/release && go test -count=1 -vet=off '-ldflags=-s -w' -tags '$(TAGS)' .

.PHONY: test-programs
test-programs: ## run the tests of the programs, which are modules of their own
	@for program in $(PROGRAMS); do go test -C validations/programs/$$program -vet=off '-ldflags=-s -w' \
		-tags '$(TAGS)' ./... || exit 1; done

test-all: TAGS = slow
ifeq ($(PKG),./...)
test test-all: test-release
test-all: test-programs vet-peers
endif

.PHONY: vet-peers
vet-peers:
	cd config/peers && go vet ./...

.PHONY: settle
settle: ## record the migrations as they are now, which is part of a release: from then on they never change
	cd migrations && sha256sum [0-9]*.sql > settled.txt

.PHONY: build-clients
build-clients: ## build the packages of the clients into build/clients
	@.ci/setup python3 npm
	python3 core/client/python/backend.py build/clients
	core/client/typescript/scripts/pack.sh build/clients

.PHONY: bench
bench: ## hold this machine to every target of speed, FULL=1 with longer measurements
	@.ci/setup postgresql redis
	go run ./core/coretest/bench $(if $(FULL),-full)

.PHONY: setup
setup: $(LINT) ## install what the tests and the linter need
	@.ci/setup gcc postgresql redis xmllint curl python3 promtool npm ssh-keygen
	go mod download

.PHONY: clean
clean: ## remove what was built, and keep .data
	rm -rf bin build

# Neither npm nor Debian has the linter. It is built once for all checkouts, apart from the module, so that its
# requirements never become those of the service.
$(LINT):
	GOBIN=$(@D) GOFLAGS=-buildvcs=false \
		go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

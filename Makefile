# Everything is built with Go, make and git alone; tools come from the module
# proxy at the versions pinned in internal/tools. Start with `make help`.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: FORCE

# An older Go fetches the toolchain that go.mod asks for.
GOTOOLCHAIN ?= auto
export GOTOOLCHAIN

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)
# gRPC's own traces, which nothing here shows, need html/template, and with that the linker must keep every method.
TAGS      := grpcnotrace
FUZZTIME  ?= 10s
SOAK      ?= 10m
CHAOS     ?= 10m
INQUIRIES ?= 20000
BENCH     ?= .
BENCHTIME ?= 1s
PKG       ?= ./...

MODULES = $(patsubst ./%,%,$(shell find . -name .git -prune -o -name go.mod -exec dirname {} \;))

# Tools run here even when the product is built for elsewhere.
HOST_BUILD := GOOS= GOARCH= go build

TOOLS     := bin/tools
BUF       := $(TOOLS)/buf
GOTESTSUM := $(TOOLS)/gotestsum
LINT      := $(TOOLS)/golangci-lint
VULN      := $(TOOLS)/govulncheck
PLUGINS   := $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc
KUBE      := bin/e2e/etcd bin/e2e/kube-apiserver bin/e2e/kubectl bin/e2e/kubemark bin/e2e/manager
SUITE     := bin/e2e/conformance

##@ Build

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-21s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build static binaries into bin/
	CGO_ENABLED=0 go build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/ ./cmd/cloudhub ./cmd/edgehub ./cmd/tombolo

.PHONY: run
run: build ## Build, then run a cloud and an edge on this machine
	bin/tombolo demo

.PHONY: kube
kube: $(KUBE) ## Build the etcd, kube-apiserver and clients that tests run with

.PHONY: tools
tools: $(BUF) $(GOTESTSUM) $(LINT) $(VULN) $(PLUGINS) ## Build every pinned tool into bin/tools

.PHONY: clean
clean: ## Remove the product's binaries (tools and test servers stay)
	rm -f bin/cloudhub bin/edgehub bin/tombolo coverage.out

##@ Test

.PHONY: test
test: test-unit test-e2e ## Unit tests, then the end-to-end suite

.PHONY: test-unit
test-unit: $(GOTESTSUM) ## Unit tests
	$(GOTESTSUM) --format pkgname --format-hide-empty-pkg -- $(PKG)

.PHONY: test-race
test-race: $(GOTESTSUM) ## Unit tests under the race detector
	CGO_ENABLED=1 $(GOTESTSUM) --format pkgname --format-hide-empty-pkg -- -race $(PKG)

.PHONY: test-e2e
test-e2e: $(GOTESTSUM) $(KUBE) build ## End-to-end tests: real processes, a real kube-apiserver
	$(GOTESTSUM) --format testname -- -tags e2e -count=1 -p 1 -timeout 40m ./internal/e2e/...

.PHONY: conformance
conformance: $(GOTESTSUM) $(KUBE) $(SUITE) build ## Kubernetes' own API specs, against an edge
	$(GOTESTSUM) --format testname -- -tags 'e2e conformance' -count=1 -timeout 60m -run '^TestConformance' ./internal/e2e

.PHONY: conformance-baseline
conformance-baseline: $(GOTESTSUM) $(KUBE) $(SUITE) ## The same specs, against kube-apiserver
	$(GOTESTSUM) --format testname -- -tags 'e2e conformance' -count=1 -timeout 60m -run '^TestBaseline' ./internal/e2e

.PHONY: soak
soak: $(GOTESTSUM) $(KUBE) build ## A controller through an edge with link cuts (SOAK=10m)
	TOMBOLO_E2E_SOAK=$(SOAK) $(GOTESTSUM) --format testname -- -tags e2e -count=1 -timeout 90m -run TestManagerConverges ./internal/e2e

.PHONY: chaos
chaos: $(GOTESTSUM) $(KUBE) build ## Everything fails in an order of a seed (CHAOS=10m EDGES=50, another seed each time)
	TOMBOLO_E2E_CHAOS=$(CHAOS) TOMBOLO_E2E_EDGES=$(or $(EDGES),50) TOMBOLO_E2E_SEED=$${TOMBOLO_E2E_SEED:-$$(date +%s)} \
	$(GOTESTSUM) --format standard-verbose -- -tags e2e -count=1 -timeout 120m -run '^TestChaos$$' ./internal/e2e

.PHONY: bench
bench: ## Benchmarks (BENCH=regexp BENCHTIME=1s PKG=./...)
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem $(PKG)

.PHONY: bench-sync
bench-sync: ## Figures of the sync protocol: a hub and a fleet of edges (EDGES=10000; needs ulimit -n EDGES+200)
	TOMBOLO_BENCH_EDGES=$(or $(EDGES),10000) go test -tags e2e -count=1 -timeout 60m -v -run '$(or $(filter-out .,$(BENCH)),^Test)' ./internal/e2e/syncbench

.PHONY: fuzz
fuzz: fuzz-go fuzz-api ## Both of the below

.PHONY: fuzz-go
fuzz-go: ## Every Go fuzz target for a short time (FUZZTIME=10s PKG=./...)
	@found=$$(go test -list '^Fuzz' $(PKG)) || { echo "$$found"; exit 1; }; \
	echo "$$found" | awk '/^Fuzz/ { n[++k] = $$1 } /^ok/ { while (k) print n[k--], $$2 }' | \
	while read -r name pkg; do \
		echo "== $$name $$pkg"; \
		go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
	done

.PHONY: fuzz-api
fuzz-api: $(KUBE) build ## Generated reads to a kube-apiserver and an edge (INQUIRIES=20000, another seed each time)
	TOMBOLO_E2E_INQUIRIES=$(INQUIRIES) TOMBOLO_E2E_SEED=$${TOMBOLO_E2E_SEED:-$$(date +%s)} \
	go test -tags e2e -count=1 -timeout 90m -v -run TestSameAnswersAsTheCloud ./internal/e2e

##@ Generate and format

.PHONY: generate
generate: $(BUF) $(PLUGINS) ## Generate code from proto/
	$(BUF) generate

.PHONY: fmt
fmt: $(LINT) $(BUF) ## Format Go and proto files
	$(LINT) fmt
	$(BUF) format -w

##@ Verify

.PHONY: verify
verify: verify-format verify-lint verify-proto verify-generate verify-mod verify-deploy ## All of these, as CI does

.PHONY: verify-format
verify-format: $(LINT) $(BUF) ## Files are formatted
	$(LINT) fmt --diff
	$(BUF) format --diff --exit-code

.PHONY: verify-lint
verify-lint: $(LINT) ## Linters, the import rules among them
	$(LINT) run

.PHONY: verify-imports
verify-imports: $(LINT) ## The import rules alone
	$(LINT) run --enable-only depguard

.PHONY: verify-proto
verify-proto: $(BUF) ## The wire is well formed and compatible with the last release
	$(BUF) lint
	@tag=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || { echo 'no release to compare with yet'; exit 0; }; \
	echo "buf breaking against $$tag"; $(BUF) breaking --against ".git#tag=$$tag"

.PHONY: verify-generate
verify-generate: $(BUF) $(PLUGINS) ## Generated code is current
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	mkdir "$$tmp/have" && cp -R proto "$$tmp/have/" && find "$$tmp/have" -type f ! -name '*.pb.go' -delete && \
	$(BUF) generate -o "$$tmp/want" && \
	git diff --no-index --stat "$$tmp/have" "$$tmp/want" || { echo 'generated code is stale: make generate'; exit 1; }

.PHONY: verify-mod
verify-mod: ## Every go.mod is tidy
	@rc=0; for m in $(MODULES); do echo "go mod tidy -diff ($$m)"; (cd $$m && go mod tidy -diff) || rc=1; done; exit $$rc

.PHONY: verify-deploy
verify-deploy: $(KUBE) build ## The manifests are accepted by a real kube-apiserver
	go test -tags e2e -count=1 -timeout 5m ./internal/e2e/deploy

.PHONY: vuln
vuln: $(VULN) ## Known vulnerabilities (needs vuln.go.dev)
	$(VULN) ./...

##@ Fix

.PHONY: fix
fix: fix-format fix-lint fix-generate fix-mod ## All of the below

.PHONY: fix-format
fix-format: fmt ## Repair what verify-format finds

.PHONY: fix-lint
fix-lint: $(LINT) ## Repair what verify-lint can repair by itself
	$(LINT) run --fix

.PHONY: fix-generate
fix-generate: generate ## Repair what verify-generate finds

.PHONY: fix-mod
fix-mod: ## Repair what verify-mod finds
	@for m in $(MODULES); do echo "go mod tidy ($$m)"; (cd $$m && go mod tidy) || exit 1; done

# Tools and test servers are rebuilt when the module that pins them changes.

$(BUF): internal/tools/buf/go.mod internal/tools/buf/go.sum
	cd internal/tools/buf && $(HOST_BUILD) -o $(CURDIR)/$@ github.com/bufbuild/buf/cmd/buf
	@touch $@

$(LINT): internal/tools/lint/go.mod internal/tools/lint/go.sum
	cd internal/tools/lint && $(HOST_BUILD) -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(TOOLS)/protoc-gen-go:      TOOL := google.golang.org/protobuf/cmd/protoc-gen-go
$(TOOLS)/protoc-gen-go-grpc: TOOL := google.golang.org/grpc/cmd/protoc-gen-go-grpc
$(GOTESTSUM):                TOOL := gotest.tools/gotestsum
$(VULN):                     TOOL := golang.org/x/vuln/cmd/govulncheck
$(GOTESTSUM) $(VULN) $(PLUGINS): internal/tools/go.mod internal/tools/go.sum
	cd internal/tools && $(HOST_BUILD) -o $(CURDIR)/$@ $(TOOL)
	@touch $@

bin/e2e/etcd: internal/e2e/etcd/go.mod internal/e2e/etcd/go.sum
	cd internal/e2e/etcd && $(HOST_BUILD) -o $(CURDIR)/$@ go.etcd.io/etcd/server/v3
	@touch $@

bin/e2e/manager: internal/e2e/manager/go.mod internal/e2e/manager/go.sum internal/e2e/manager/main.go
	cd internal/e2e/manager && $(HOST_BUILD) -o $(CURDIR)/$@ .
	@touch $@

# Without a version kube-apiserver reports one that clients can't parse, and the suite doesn't know what it is of.
IN_KUBE := cd internal/e2e/kube && v=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes) && n=$${v\#v} && minor=$${n\#*.} && \
	p=k8s.io/component-base/version && \
	version="-X $$p.gitVersion=$$v -X $$p.gitMajor=$${n%%.*} -X $$p.gitMinor=$${minor%%.*} -X $$p.gitTreeState=clean" &&

bin/e2e/kube-apiserver bin/e2e/kubectl bin/e2e/kubemark: bin/e2e/%: internal/e2e/kube/go.mod internal/e2e/kube/go.sum
	$(IN_KUBE) $(HOST_BUILD) -o $(CURDIR)/$@ -ldflags "$$version" k8s.io/kubernetes/cmd/$*
	@touch $@

$(SUITE): internal/e2e/kube/go.mod internal/e2e/kube/go.sum $(wildcard internal/e2e/kube/conformance/*.go)
	$(IN_KUBE) GOOS= GOARCH= go test -c -o $(CURDIR)/$@ -ldflags "$$version" ./conformance
	@touch $@

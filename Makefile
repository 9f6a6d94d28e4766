# Everything a developer runs. `make` or `make help` lists it.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
GORELEASER ?= $(GO) run github.com/goreleaser/goreleaser/v2@v2.15.0
TOOL    := $(GO) tool -modfile=tools/go.mod
KILLS   ?= 1000
SEEDS   ?= 10
FUZZTIME ?= 30s
BENCH   ?= .

export CGO_ENABLED := 0

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build ./ypcrawl
	$(GO) build -o ypcrawl .

.PHONY: release
release: ## Make what is published: dist (of the commit's tag; SNAPSHOT=1 without one). The first time builds goreleaser, some minutes
	$(GORELEASER) release --clean $(if $(SNAPSHOT),--snapshot,--skip=publish)

.PHONY: packages
packages: ## Install the .deb in a fresh Debian tree and crawl there (as root; apt-get install debootstrap systemd)
	$(MAKE) release SNAPSHOT=1
	.ci/packages

.PHONY: test
test: ## Run all tests
	$(GO) test ./...

.PHONY: race
race: ## Run all tests in random order under the race detector (needs gcc)
	CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout 40m ./...

.PHONY: lint
lint: ## Run go vet and golangci-lint (built at the first run, about a minute)
	$(GO) vet ./...
	$(TOOL) golangci-lint run ./...

.PHONY: fmt
fmt: ## Format all Go files with gofumpt
	$(TOOL) gofumpt -l -w .

.PHONY: manual
manual: ## Make docs/cli.md and the man page anew from the commands, docs/definition.md from crawl/site, docs/database.md and store/report/columns.go from schema.sql
	$(GO) test ./cli -count 1 -run "^TestManual$$" -update
	$(GO) test ./crawl/site -count 1 -run "^TestDefinitionDoc$$" -update
	$(GO) test ./e2e -count 1 -run "^Test(DatabaseDoc|ColumnKinds)$$" -update

.PHONY: tidy
tidy: ## Tidy both modules
	$(GO) mod tidy
	$(GO) -C tools mod tidy

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (30s)
	.ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks that match BENCH (.)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: bench-growth
bench-growth: ## Compare what a page costs in a file of 500,000 listings with one into an empty file; takes minutes
	YPCRAWL_BENCH_STORED=500000 $(GO) test -run '^$$' -bench '^BenchmarkGrowth$$' -benchtime 10x ./checkpoint

.PHONY: bench-rates
bench-rates: ## Time what the plots of the page read in a file of 10,000,000 requests and 1,000,000 listings; takes minutes, and 5 GB
	YPCRAWL_BENCH_REQUESTS=10000000 $(GO) test -run '^$$' -bench '^BenchmarkRates$$' -benchtime 20x -timeout 60m ./store/report

.PHONY: crash
crash: ## Kill crawls at random KILLS (1000) times in each crash test, and at each arrival at each named point, and compare them with the truth; takes long
	$(GO) test -count 1 -v -timeout 0 -run '^TestCrash(Random|Points|TwoProcesses|InTrouble|Sources|Campaign|DeliveriesRandom|Directories|Capped|StaleCursors)$$' ./e2e -args -crash.kills=$(KILLS)

.PHONY: seeds
seeds: ## Crawl SEEDS (10) demo directories in trouble; takes minutes
	$(GO) test -count 1 -v -timeout 0 -run '^TestTrouble$$' ./crawl -args -seeds $(SEEDS)

.PHONY: browser
browser: ## Look at the page with a real Chromium (apt-get install chromium)
	command -v chromium >/dev/null || { echo 'chromium is missing: apt-get install --no-install-recommends chromium' >&2; exit 1; }
	$(GO) test -tags browser -count 1 -timeout 30m -run '^TestBrowser' ./e2e

.PHONY: screens
screens: ## Look at commands and the bar on a real terminal (apt-get install tmux); SCREENS=-update writes testdata/screens anew
	command -v tmux >/dev/null || { echo 'tmux is missing: apt-get install --no-install-recommends tmux' >&2; exit 1; }
	$(GO) test -tags screens -count 1 -timeout 5m -run '^TestScreens|^TestBarOnATerminal' ./e2e -args $(SCREENS)

.PHONY: windows
windows: ## Run the program for Windows, and tests of what deals with files, under Wine (as root: apt-get install --no-install-recommends wine64 gcc-mingw-w64-x86-64)
	$(GO) test -tags wine -count 1 -timeout 10m -run '^TestWine$$' ./e2e

.PHONY: office
office: ## Read an XLSX with LibreOffice and compare it with the CSV (apt-get install --no-install-recommends libreoffice-calc); its pages as dist/listings.pdf
	command -v soffice >/dev/null || { echo 'LibreOffice is missing: apt-get install --no-install-recommends libreoffice-calc' >&2; exit 1; }
	mkdir -p dist
	OFFICE_PICTURES=$(CURDIR)/dist $(GO) test -tags office -count 1 -timeout 10m -run '^TestOffice$$' ./e2e

.PHONY: pictures
pictures: ## Take pictures of the page into dist/pictures; those that the documents show are copied into docs
	mkdir -p dist/pictures
	$(GO) test -tags browser -count 1 -run '^TestBrowserPictures$$' ./e2e -args -pictures $(CURDIR)/dist/pictures
	cp dist/pictures/page-*.png docs/

.PHONY: imports
imports: ## Draw which package imports which: docs/imports.md
	.ci/imports >docs/imports.md

.PHONY: cover
cover: ## Write the tests' coverage to dist/cover.html
	mkdir -p dist
	$(GO) test -coverpkg=./... -coverprofile=dist/cover.out ./...
	$(GO) tool cover -html=dist/cover.out -o dist/cover.html
	$(GO) tool cover -func=dist/cover.out | tail -1

.PHONY: ci
ci: ## Run what CI runs
	bash .ci/run

.PHONY: clean
clean: ## Remove what was built (never a database or a log)
	rm -rf dist bin ypcrawl

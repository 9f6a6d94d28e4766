# Everything a developer runs. `make` or `make help` lists it.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod
KILLS   ?= 1000
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
release: ## Make what is published, of PLATFORMS (all six; linux/amd64 linux/arm/7): dist/release
	$(GO) -C tools run ./release $(PLATFORMS)

.PHONY: image
image: ## Make the image's root file system and what `docker load` takes, of PLATFORMS (linux/amd64): dist/image
	$(GO) -C tools run ./release -what image $(or $(PLATFORMS),linux/amd64)

.PHONY: packages
packages: ## Install the .deb in a fresh Debian tree, crawl in the image, build all twice (as root; apt-get install debootstrap)
	command -v debootstrap >/dev/null || { echo 'debootstrap is missing: apt-get install debootstrap' >&2; exit 1; }
	$(GO) -C tools test -tags packages -count 1 -timeout 20m ./release

.PHONY: weight
weight: ## Say what each module weighs in the binary, as the table of docs/size.md
	$(GO) build -trimpath -o dist/weight .
	$(GO) -C tools run ./weight ../dist/weight

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
manual: ## Make docs/cli.md and the man page anew from the commands, docs/database.md from schema.sql
	$(GO) test ./cli -count 1 -run "^TestManual$$" -update
	$(GO) test . -count 1 -run "^TestDatabaseDoc$$" -update

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

.PHONY: crash
crash: ## Kill crawls of searches, of the whole chain and beside another process KILLS (1000) times each and compare them with the truth; takes long
	$(GO) test -count 1 -v -timeout 0 -run '^TestCrash(Random|TwoProcesses)$$' -crash.kills=$(KILLS) .

.PHONY: browser
browser: ## Look at the page with a real Chromium (apt-get install chromium)
	command -v chromium >/dev/null || { echo 'chromium is missing: apt-get install --no-install-recommends chromium' >&2; exit 1; }
	$(GO) test -tags browser -count 1 -timeout 20m -run '^TestBrowser' .

.PHONY: screens
screens: ## Look at commands and the bar on a real terminal (apt-get install tmux); SCREENS=-update writes testdata/screens anew
	command -v tmux >/dev/null || { echo 'tmux is missing: apt-get install --no-install-recommends tmux' >&2; exit 1; }
	$(GO) test -tags screens -count 1 -timeout 5m -run '^TestScreens|^TestBarOnATerminal' . -args $(SCREENS)

.PHONY: pictures
pictures: ## Take the pictures of the page that the README shows: docs/page-light.png, docs/page-dark.png, and others in dist
	mkdir -p dist
	$(GO) test -tags browser -count 1 -run '^TestBrowserPictures$$' -args -pictures $(CURDIR)/dist
	cp dist/light.png docs/page-light.png
	cp dist/dark.png docs/page-dark.png

.PHONY: imports
imports: ## Draw which package imports which: docs/imports.md
	.ci/imports >docs/imports.md

.PHONY: messages
messages: ## List every text that the program prints: docs/messages.md
	$(GO) -C tools run ./messages .. >docs/messages.md

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

# twinlog: see README.md. Every target does the set-up that it needs; Go, Node 20 with npm, and make are enough.

SHELL := /bin/bash
.DEFAULT_GOAL := help

WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/e2e/shots/*' 2>/dev/null)
GO_SOURCES  := $(shell find . -name '*.go' -not -path './web/node_modules/*') go.mod go.sum $(shell find labs/catalogue labs/labtest/scaffold visualizer -type f -not -name '*.go' 2>/dev/null)
FUZZ_TIME   ?= 60s
OPERATIONS  ?= 2000
PULSAR_GROUPS ?= t2
PAGE_SECONDS ?= 600
RANDOM_RUNS ?= 50
export TWINLOG_BIN := $(CURDIR)/bin/twinlog

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

.PHONY: run
run: build ## build everything and start the whole classroom on this machine
	@exec bin/twinlog up

.PHONY: build
build: bin/twinlog ## bin/twinlog: static, the page embedded

bin/twinlog: web/dist/app/index.html $(GO_SOURCES)
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o bin/twinlog .

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

web/dist/app/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	cd web && npm run build
	@touch $@

.PHONY: test
test: check test-go build ## everything that CI runs
	@# two by two, of like length: each mostly waits, for servers of its own
	$(MAKE) --no-print-directory -j2 --output-sync=target test-web test-compose
	$(MAKE) --no-print-directory -j2 --output-sync=target test-interop test-page
	$(MAKE) --no-print-directory -j2 --output-sync=target test-zookeeper test-pulsar

.PHONY: check
check: ## format, vet, generated files, and that it builds for macOS and Windows
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not formatted:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go build -o /dev/null .
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -o /dev/null .

.PHONY: test-go
test-go: ## the Go tests, with the race detector
	@# which does not look into the ZooKeeper client (v1.0.4): it reads its last zxid without a lock whenever it reconnects within a session
	go test -race -gcflags='github.com/go-zookeeper/zk=-race=false' -timeout 10m $$(go list ./... | grep -v '^twinlog/interop')

.PHONY: test-web
test-web: web/node_modules/.package-lock.json ## the page's types and unit tests
	cd web && npm run check && npm test

interop/kafkajs/node_modules/.package-lock.json: interop/kafkajs/package-lock.json
	cd interop/kafkajs && npm ci --no-audit --no-fund
	@touch $@

.PHONY: test-interop
test-interop: build interop/kafkajs/node_modules/.package-lock.json ## real clients against a running classroom, and kills under load
	go test -count=1 -timeout 12m -v ./interop | grep -vE '^(=== |    --- PASS)'; exit $${PIPESTATUS[0]}

.PHONY: test-zookeeper
test-zookeeper: build ## go-zookeeper's own tests against the ensemble, and random operations compared with Apache's ZooKeeper
	interop/zksuite/run.sh
	ENSEMBLE_OPERATIONS=$(OPERATIONS) go test -count=1 -tags oracle -run SameAsZooKeeper ./engine/ensemble/server

.PHONY: test-pulsar
test-pulsar: build ## the public tests of pulsar-client-go; PULSAR_GROUPS='t2 t3 t4 t5' runs more (needs the default ports)
	interop/pulsarsuite/run.sh t1
	MAY_MISS=1 interop/pulsarsuite/run.sh $(PULSAR_GROUPS)

.PHONY: test-page
test-page: build web/node_modules/.package-lock.json ## the page in a real Chromium
	cd web && npm run e2e

.PHONY: test-compose
test-compose: build ## the classroom in containers (needs root and Docker's packages)
	scripts/test-compose.sh

.PHONY: fuzz
fuzz: ## fuzz every decoder for FUZZ_TIME each
	@set -e; grep -rlE '^func Fuzz' --include='*_test.go' engine labs visualizer | while read -r file; do \
	  for name in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$$file" | cut -d' ' -f2); do \
	    echo "$$(dirname $$file) $$name"; \
	    go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZ_TIME) "./$$(dirname $$file)" | tail -2; \
	    test $${PIPESTATUS[0]} -eq 0; \
	  done; done

.PHONY: soak
soak: ## the long run of the ensemble's simulation: 500 seeds
	set -o pipefail; ENSEMBLE_SEEDS=500 go test -count=1 -timeout 60m -run Simulation -v ./engine/ensemble/server | grep -vE '^=== '

.PHONY: soak-labs
soak-labs: build ## the long run of the labs, some 20 minutes: RANDOM_RUNS random sequences for each, half of them a solution with something left out
	bin/twinlog lab test --random $(RANDOM_RUNS)

.PHONY: bench
bench: build ## benchmarks, as ratios where there is something to compare with
	go build -o bin/kfakepeer ./bench/kfakepeer
	bin/twinlog bench --kafka-peer bin/kfakepeer
	$(MAKE) --no-print-directory bench-page

.PHONY: bench-page
bench-page: build web/node_modules/.package-lock.json ## the page at 10,000 events a second for PAGE_SECONDS: frames, memory, size
	cd web && node dev/endurance.js $(TWINLOG_BIN) $(PAGE_SECONDS)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin web/dist/app web/node_modules interop/kafkajs/node_modules

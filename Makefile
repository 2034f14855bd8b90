# The project's own commands. `make check` is what a commit must pass.
.PHONY: all build playground playground-check size test quick race checkptr lint platforms night fmt gen golden fuzz bench bench-page bench-playground otel-check otel-receiver spec cover mutants sim sim-mutants kill durable-kill work-kill merge-kill engine-kill relay-kill replicas check tidy arch site conformance mcp-reference sdk vscode vscode-e2e agents agents-latest release release-check misbehave soak web-vendor components screenshots pictures models

all: build

# The packages of the product, and those of tools/, a module of its own: generators, tests in a browser and
# whatever else needs modules that the product does not.
ALL = ./... ./tools/...

# What is written in Concerto and stands in its style; a test of format holds it.
OWN = stdlib bench internal/cli/project/templates $(filter-out examples/seeds/,$(wildcard examples/*/))

# Modules of their own, for they use the SDK as its users do.
MODULES = sdk/go sdk/testdata/probe examples/hosts/go/host

# Without C there is no dynamic linking at start, which takes half a millisecond.
build:
	CGO_ENABLED=0 go build -o bin/concerto ./cmd/concerto
	CGO_ENABLED=0 go build -o bin/concerto-relay ./cmd/concerto-relay

test:
	go test $(ALL)

# A part of the tests that ends within two minutes on two cores: the compiler, the VM, the library,
# hosts, models, the examples, and scripts that run the command. `make test` runs all.
QUICK = ./lexer ./parser ./sema ./codegen ./vm ./stdlib ./runtime/host ./runtime/llm ./examples
QUICK_SCRIPTS = hello|listen|agent|host|emit|async|tool|check
quick:
	go test -vet=off -ldflags=-w $(QUICK)
	go test -vet=off -ldflags=-w ./internal/cli -run 'TestScripts/($(QUICK_SCRIPTS))'

# The VM addresses its stack by pointer arithmetic, which -race would check at
# 80 times the cost; the checkptr target checks it by itself. A process with the
# race detector sleeps a second before it exits, unless told not to: the tests
# start hundreds. SQLite's machine and the hashes of passwords run in one goroutine each,
# and would take ten times as long. Without RACE_ALL every 32nd of the scripts and of the
# manual's pages are run.
RACE_ALL ?= 1
RACE ?= $(ALL)
UNRACED = -gcflags=github.com/ncruces/go-sqlite3-wasm/...=-race=false -gcflags=golang.org/x/crypto/...=-race=false
UNCHECKED = -gcflags=github.com/concerto-lang/concerto/vm=-d=checkptr=0 -gcflags=github.com/concerto-lang/concerto/internal/data/value=-d=checkptr=0
race:
	CGO_ENABLED=1 CONCERTO_RACE_ALL=$(RACE_ALL) GORACE=atexit_sleep_ms=0 go test -race -timeout 15m $(UNRACED) $(UNCHECKED) $(RACE)

checkptr:
	go test -gcflags=github.com/concerto-lang/concerto/...=-d=checkptr ./internal/data/value ./vm

lint:
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-formatted:"; gofmt -l .; exit 1; }
	@! git grep -nE '^(<<<<<<< |>>>>>>> )' -- ':!*/testdata/*' || { echo "these conflicts of a merge are not resolved"; exit 1; }
	go vet $(ALL)
	for module in $(MODULES); do go vet -C $$module ./... || exit 1; done
	go tool staticcheck $(ALL)
	go tool go-check-sumtype ./...

# Compiles everything, tests included, for the other systems.
platforms:
	for system in windows darwin; do GOOS=$$system CGO_ENABLED=0 go vet $(ALL) || exit 1; done

fmt:
	gofmt -w .
	go run ./cmd/concerto fmt $(OWN)

# Files written by programs: chapters of the manual, the picture of the packages.
gen:
	go generate ./...

# Draws docs/packages.svg from the table in internal/arch; gen does it too.
arch:
	go generate ./internal/arch

# Rewrites the expectations of the golden tests; read the diff.
golden:
	go test ./lexer ./parser ./sema ./codegen ./internal/compile/optimize -update

FUZZTIME ?= 10s
fuzz:
	.ci/fuzz $(FUZZTIME)

bench:
	bench/run.sh

# The manual's examples are tests.
spec:
	go test ./spec/...

cover:
	go test -coverpkg=./... -coverprofile=cover.out $(ALL)
	go tool cover -func=cover.out | tail -1

# Small changes of the code that no test notices; -n says how many are tried of a
# package, -seed which.
MUTANTS ?= -n 100
mutants:
	go run ./internal/testkit/mutants/run $(MUTANTS)

# Generated programs run on a simulated machine with the faults that the seeds select. KEEP is a directory for the shortest
# schedules of violations; one that is copied to internal/sim/testdata is tried at each test. On two processors, two runs
# with other seeds take the same time. WORLD is Seeds, or another world: Workers, Merges or Relay.
WORLD ?= Seeds
FIRST ?= 1
SEEDS ?= 500000
sim:
	go test ./internal/sim -run 'Test$(WORLD)$$' -count=1 -timeout 0 -v -args -first $(FIRST) -seeds $(SEEDS) $(if $(KEEP),-keep $(abspath $(KEEP)))

# Faults are planted in the product, one at a time: the tests of the simulation must find each.
sim-mutants:
	CONCERTO_SIM_MUTANTS=1 go test ./internal/sim -run 'Test(Worker|Merge|Relay)?Mutants' -count=1 -timeout 0 -v

# A writing program is killed 200 times; what it had acknowledged is there. With ENGINE=postgres://…, the
# workers of an engine in this database are killed instead. The database must be empty.
KILLS ?= 10000
ifdef ENGINE
kill: engine-kill
else
kill: durable-kill work-kill merge-kill
	CONCERTO_KILL_ROUNDS=200 go test ./internal/cli -run 'TestKill$$' -count=1 -timeout 0 -v
endif

# Durable runs of each kind are killed so often, and resumed: nothing is lost, and nothing is done twice.
durable-kill:
	CONCERTO_DURABLE_KILLS=$(KILLS) go test ./internal/cli -run 'TestDurableKill$$' -count=1 -timeout 0 -v
	go test ./internal/cli -run 'TestTurnsKill$$' -fresh 15m -count=1 -timeout 0 -v

# Commands for workspaces are killed: the next one finds a whole workspace, or none.
WORK_KILLS ?= 350
work-kill:
	CONCERTO_WORK_KILLS=$(WORK_KILLS) go test ./internal/cli -run 'TestWorkKilled$$' -count=1 -timeout 0 -v

# Commands for merges are killed: every value of the branch passes, and each change lands once.
MERGE_KILLS ?= 100
merge-kill:
	CONCERTO_FLEET_KILLS=$(MERGE_KILLS) go test ./internal/cli -run 'TestFleetKilled$$' -count=1 -timeout 0 -v
	CONCERTO_MERGE_KILLS=$(MERGE_KILLS) go test ./internal/cli -run 'TestMergeKilled$$' -count=1 -timeout 0 -v

# Workers of an engine are killed so often, stopped and drained; the server crashes and rejects writes, and
# connections fail. Without ENGINE, the test starts a server.
ENGINE_KILLS ?= $(KILLS)
engine-kill:
	CONCERTO_ENGINE_KILLS=$(ENGINE_KILLS) CONCERTO_ENGINE_SERVER=$(ENGINE) go test ./internal/cli -run 'TestEngineKill$$' -count=1 -timeout 0 -v

# The relay's server, hostd, PTY holders and connections are killed so often: each event reaches the app once, and
# each input the run once or not at all. Then, the networks lose frames.
RELAY_ROUNDS ?= 1000
relay-kill:
	RELAY_KILL_ROUNDS=$(RELAY_ROUNDS) go test ./tools/relay/relaytest -count=1 -timeout 0 -v

# Three servers on one database are killed so often: once with a private NATS server (or RELAY_NATS),
# and once without NATS. The server's version is the one that the tests embed.
replicas:
	.ci/nats env RELAY_KILL_ROUNDS=$(RELAY_ROUNDS) go test ./tools/relay/relaytest -run TestReplicas -count=1 -timeout 0 -v

# A run whose host dies each second: nothing is lost, and nothing grows.
SOAK ?= 30m
soak:
	CONCERTO_SOAK=$(SOAK) go test ./internal/cli -run TestSoak -count=1 -timeout 0 -v

# Hosts that misbehave, with floods of their full size, held to their times, on a machine
# that has nothing else to do.
misbehave:
	CONCERTO_ROWS_FULL=1 CONCERTO_ROWS_STRICT=1 go test ./internal/cli -run TestMisbehaviour -count=1 -v

# Pictures of each screen of the relay's page, on a phone and a desk, light and dark.
SCREENSHOTS ?= $(CURDIR)/bin/screenshots
screenshots:
	CONCERTO_SCREENSHOTS=$(SCREENSHOTS) go test ./tools/relay/web -run TestScreens -count=1

# Measures the page of a report of 100,000 items in Chromium: time to write it, to show it, and frames while scrolling.
bench-page:
	CONCERTO_BENCH_PAGE=1 go test ./tools/web/onepage -run TestReportSpeed -count=1 -v

# Measures the playground in Chromium: time until it is ready, of a run, of a stop, and of diagnostics while typing.
bench-playground: playground
	CONCERTO_PLAYGROUND=$(abspath $(or $(OUT),bin/playground)) CONCERTO_BENCH_PLAYGROUND=1 go test ./tools/playground -run TestFigures -count=1 -v

# Exports the examples, and checks that everything is in the table of names, without orphans.
otel-check: otel-receiver
	go test ./tools/otel -count=1

# Exports an example to the receiver of OpenTelemetry's collector.
otel-receiver:
	GOWORK=off go -C tools/otel/receiver test -count=1 .

# Draws the pictures of README.md from real runs of examples/coder and of tools/pictures/testdata/fleet.
pictures:
	go test ./tools/pictures -count=1 -update

# Compares the sizes of the stripped programs with the committed ones; UPDATE=1 writes them.
size: build
	UPDATE=$(UPDATE) .ci/size

# Builds the playground, static files for any web server and for `concerto playground --files`. Compressing takes
# two minutes after a change of Go code. UPDATE=1 writes the sizes of the module to tools/playground/sizes.txt.
playground:
	go run ./tools/playground -o $(or $(OUT),bin/playground) $(if $(UPDATE),-update)

# Compares the playground with the command: under Node, all samples of the manual, the scripts of internal/cli and, if it
# lies beside the checkout, the conformance suite; in Chromium, a tenth of them; and all tests of the page.
playground-check:
	CONCERTO_PLAYGROUND_CHECK=1 go test ./tools/playground/... ./internal/playground/... -count=1

# Builds the website in OUT, static files that work at any address: guide, manual, library, errors, examples, and the
# playground from PLAYGROUND, which is built if it does not exist.
PLAYGROUND ?= bin/playground
site:
	test -e $(PLAYGROUND)/index.html || $(MAKE) playground OUT=$(PLAYGROUND)
	go run ./tools/site -o $(or $(OUT),bin/site) -playground $(PLAYGROUND)

# All that sends requests to models: each row of the table on a server that enforces it, the collected refusals, prices,
# caches, and the scripts of agents.
models:
	go test ./internal/data/models/... ./internal/testkit/testllm ./runtime/llm/... ./runtime/budget
	go test ./internal/cli -run 'TestScripts/(agent|models|cost|limit)_'

# The black-box suite, when it lies beside the checkout.
conformance: build
	.ci/conformance

# Each go.mod lists the modules that its code imports, and no others, and is enough without the other.
tidy:
	go mod tidy -diff
	go -C tools mod tidy -diff
	GOWORK=off go vet ./...
	GOWORK=off go -C tools vet ./...

check: tidy lint test race checkptr spec gen
	@git diff --exit-code || { echo "make gen changed files: commit them"; exit 1; }
	go test ./lexer ./parser ./sema ./codegen ./internal/compile/optimize -update
	@git diff --exit-code || { echo "golden files are out of date: run make golden and read the diff"; exit 1; }

# What takes too long for each change: everything under the race detector, the storms, pointer checks, the compiled tests of
# the other systems, the sizes, an export to a collector, and whole the tests that otherwise run in part (randtest.Night).
night: export CONCERTO_NIGHT = 1
night: race platforms size checkptr otel-receiver kill engine-kill relay-kill
	go test -timeout 2h $(ALL)

# The protocol's reference server, for TestMCPReference, and with it the reference
# client, for TestServeReference.
mcp-reference:
	npm install --no-audit --no-fund --prefix bin/npm @modelcontextprotocol/server-everything@2026.8.31

# Holds the published modules in web/vendor, and axe, against what npm has of them;
# those that are missing are fetched.
web-vendor:
	go run ./tools/web/vendors web/vendor/* tools/browser/axe

# The page that shows every part of pages in all its states.
components:
	go run ./tools/web/show

# JavaScript and declarations of the SDK in TypeScript; a test reports files that are out of date. Installs Pyright for the
# test of the SDKs in Python.
sdk:
	.ci/sdk

# The extension of VS Code, as a file that the editor installs.
vscode: editors/vscode/node_modules
	mkdir -p bin
	cd editors/vscode && npx --no vsce package --out ../../bin/concerto.vsix

# Plays what a person does with the extension in a real workbench, and makes the picture that the README shows; 4 minutes.
vscode-e2e: vscode
	.ci/workbench bin/workbench
	CONCERTO_WORKBENCH=1 CONCERTO_PICTURE="$(PICTURE)" go test ./tools/editors -run TestWorkbench -count=1 -v

editors/vscode/node_modules: editors/vscode/package-lock.json
	npm ci --no-audit --no-fund --ignore-scripts --prefix editors/vscode
	touch $@

# Installs the vendors' coding agents, in the versions that internal/agents/agents.go names,
# and records a conversation with each; the tests play the recordings without them.
agents:
	go run ./internal/testkit/agentwire

# Installs the newest versions of the agents, plays every scenario with them, and writes what differs from the stored
# results to bin/agents-latest.md. ACCEPT=1 stores the results; then `make gen` writes the manual's table.
agents-latest:
	mkdir -p bin
	go run ./internal/testkit/agentwire -conform -latest $(if $(ACCEPT),-accept) -bin bin/npm-latest > bin/agents-latest.md
	cat bin/agents-latest.md

# Builds a release: OUT (bin/release) has its archives, packages, installers and lists. TARGETS limits the systems,
# VERSION is by default the tag of the commit, BASE_URL the address that the installers download from, SIGN a command
# that signs SHA256SUMS. DIRTY=1 permits uncommitted changes.
release:
	@go run -buildvcs=false ./internal/release/run

# Builds a release twice, in two directories, and compares them; installs each format and runs it. It takes the
# settings of release, except OUT.
release-check:
	@go run -buildvcs=false ./internal/release/run check

# Countersign. `make help` lists the targets.
.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the program into ./countersign
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o countersign .

.PHONY: demo
demo: ## a local workspace with the bot in it, in the browser
	go run . demo

.PHONY: test
test: ## what the README promises: the whole suite
	go test ./...

.PHONY: race
race: ## the suite under the race detector
	go test -race ./...

.PHONY: long
long: ## the slow tests too: kill at every crash point, large stores, random schedules
	.ci/long

.PHONY: lint
lint: ## gofmt, vet, staticcheck, go.mod in order
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go vet -tags faults ./...
	go tool staticcheck ./...
	go mod tidy -diff

.PHONY: golden
golden: ## rewrite the golden files after reading the difference
	go test ./bot ./agent ./agent/oteltrace ./agent/shelltool -update

.PHONY: screenshots
screenshots: ## pictures of every card at two widths into ./screenshots, and those in docs/
	go test ./internal/app -timeout 30m -run TestScreenshots -screenshots "$(CURDIR)/screenshots"

.PHONY: fuzz
fuzz: ## half a minute of every fuzz target
	.ci/fuzz 30s

.PHONY: bench
bench: ## the figures of bench/README.md, with peers where they can be installed
	bench/run

.PHONY: image
image: ## the container image
	docker build -t countersign .

.PHONY: release
release: ## what is published, of the tagged commit, into dist/; RELEASE_KEY names the key
	.ci/release

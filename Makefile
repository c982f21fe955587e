.DEFAULT_GOAL := help
.PHONY: help setup servers demo test check fix lock bench crash mutants docs screenshots clean

help: ## List these recipes
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: ## Make .venv as requirements.lock says
	@scripts/setup

servers: ## Install the servers that tests speak to
	@scripts/servers

demo: setup ## See a pipeline run, die and go on
	@scripts/demo

test: setup servers ## Run the tests; pass more with ARGS="-k name"
	@scripts/browser
	@scripts/test $(ARGS)

check: setup ## Lint, types, import contracts, spelling, secrets, documents
	@scripts/check

fix: setup ## Mend what tools can mend
	@scripts/fix

lock: setup ## Write requirements.lock anew from pyproject.toml
	@scripts/lock

bench: setup ## Measure beside peers and a bare loop; pass more with ARGS=
	@scripts/bench $(ARGS)

crash: setup ## Thousands of random programs and crashes; pass more with ARGS=
	@scripts/crash $(ARGS)

mutants: setup ## Plant bugs in copies of the code, and see each one caught; pass more with ARGS=
	@scripts/mutants $(ARGS)

docs: setup ## Write docs/reference anew from the code
	@scripts/docs

screenshots: setup ## Take the pictures of the dashboard anew
	@scripts/screenshots

clean: ## Remove what the tools left behind, .venv too
	@scripts/clean

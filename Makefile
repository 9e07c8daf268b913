# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
LABHOSTS := tests/hosts/labhosts
# Those that take minutes: part of test-long.
LONG_SCENARIOS := benchmark
SCENARIOS := $(filter-out $(LONG_SCENARIOS),$(notdir $(patsubst %/molecule.yml,%,$(wildcard molecule/*/molecule.yml))))

# All that tools keep goes into .cache in the tree, not into the home folder.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export ANSIBLE_HOME := $(CURDIR)/.cache/ansible
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export PYTHONPYCACHEPREFIX := $(CURDIR)/.cache/pycache
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export LC_ALL := C.UTF-8

.PHONY: help setup hosts real-engine demo demo-down test test-long test-real lint sanity importer unit cores installed molecule deployments benchmark long molecule-long browser settings clean

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 12

setup: $(VENV)/.complete ## make .venv with Ansible, the collection's needs and the test tools

$(VENV)/.complete: requirements.txt requirements-test.txt constraints.txt
	@python=$$(tools/find-python 3.11 3.13 2>/dev/null) || { tools/install-packages python3-venv; python=$$(tools/find-python 3.11 3.13); }; \
	tools/make-venv $(VENV) "$$python" -r requirements-test.txt

hosts: setup ## make what the test hosts share: Debian packages, base image, router
	@tools/install-packages systemd-container mmdebstrap iproute2 openssh-client util-linux
	@$(LABHOSTS) image

real-engine: hosts ## install the real SGLang for test hosts' CPUs, once: 3 GB
	@$(LABHOSTS) image --real

demo: $(if $(filter real,$(ENGINE)),real-engine,hosts) ## boot test hosts, deploy DeepSeek-R1 2P1D, ask it something, leave it up; ENGINE=real: the real SGLang, a tiny 1P1D
	@ENGINE=$(ENGINE) tools/demo up

demo-down: ## destroy the demo and all that the test hosts keep on this machine
	@tools/demo down

test: setup ## all that CI runs before it runs test-long
	@tools/stages lint unit sanity importer installed cores beside molecule deployments

test-long: setup ## what takes longer; CI runs it too
	@tools/stages long molecule-long browser then benchmark

test-real: real-engine ## the real SGLang on test hosts; CI runs it where REAL_ENGINE=1
	tools/as-found pytest tests/real

lint: setup ## ruff, mypy, shellcheck, yamllint, ansible-lint
	ruff check .
	mypy
	shellcheck $$(git grep -l '^#!/usr/bin/env bash' -- .ci tests tools) $$(git ls-files '*.sh')
	yamllint .
	ansible-lint --offline

unit: setup ## unit and property tests
	pytest -n 2 tests/unit

sanity: setup ## ansible-test sanity, without ignore file
	tools/sanity

importer: setup ## galaxy-importer on the built collection
	tools/importer

installed: setup ## the collection as a user installs it
	pytest tests/installed

cores: setup ## the plans of all profiles on the oldest and the newest ansible-core
	tools/cores
	pytest -n 2 tests/cores

molecule: hosts ## the scenarios on test hosts; SCENARIOS="a b" takes only those
	tools/as-found tools/molecule $(SCENARIOS)

deployments: hosts ## wrong inputs, removals and what else a deploy must do or refuse on test hosts
	tools/as-found pytest tests/deploy

benchmark: hosts ## what plans, preflights and deploys cost, as ratios
	tools/as-found pytest tests/benchmark

long: hosts
	tools/as-found pytest tests/long tests/on_hosts

molecule-long: hosts ## the scenarios that take longer
	tools/as-found tools/molecule $(LONG_SCENARIOS)

browser: setup ## the HTML pages in headless Chromium
	@tools/install-packages chromium fonts-dejavu-core
	pytest tests/browser

settings: setup ## write group_vars/all.example.yml from the one list of settings
	python tools/settings_example.py >group_vars/all.example.yml

clean: ## remove what the tools keep in the tree, .venv too
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/output

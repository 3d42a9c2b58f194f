# SPDX-License-Identifier: MIT
# Thin: everything here is one or two commands that can be typed by hand.
# The builds are CMake's presets (CMakePresets.json), in build/PRESET.

PREFIX ?= /usr/local
DESTDIR ?=

# JOBS limits the compilers that run at once; empty leaves it to ninja.
JOBS ?=
# From which seed a soak begins, and where the seeds that fail are written.
SIM_FROM ?= 1000000
SIM_FAILED ?= build/sim-failed.txt

build_flags = $(if $(JOBS),--parallel $(JOBS))

.PHONY: help demo test interop servers bench check coverage install clean sim \
	soak

help:
	@echo 'make demo     build, and see the lock at work (under a minute)'
	@echo 'make test     build with warnings as errors, and run every test'
	@echo 'make interop  the tests against real peers, Redisson first (installs Java)'
	@echo 'make servers  the tests with other servers: old and new Redis, Valkey'
	@echo 'make bench    the floor and holdfast side by side, on a private server'
	@echo 'make check    formatting, analysers and the house rules'
	@echo 'make coverage what the unit tests reach of src/sync and src/redis'
	@echo 'make sim      2,000 random histories in the simulated world'
	@echo 'make soak     for hours: SOAK_SECONDS=3600 SOAK="fair sim model"'
	@echo 'make install  to PREFIX (now $(PREFIX)); DESTDIR is honoured'
	@echo 'make clean    remove build/'

demo:
	tools/setup build test
	cmake --preset release >/dev/null
	cmake --build --preset release $(build_flags) --target holdfast_cli \
		holdfast_demo holdfast_example
	demo/run-demo build/release

test:
	tools/setup build test
	cmake --preset dev >/dev/null
	cmake --build --preset dev $(build_flags)
	ctest --preset dev

sim:
	tools/setup build test
	cmake --preset release >/dev/null
	cmake --build --preset release $(build_flags) \
	    --target hf_sim hf_sim_groups_run
	HOLDFAST_BUILD=build/release tests/sim/run --seeds 2000
	build/release/tests/sim/sim_groups --seeds 1000

bench:
	tools/setup build test
	cmake --preset release >/dev/null
	cmake --build --preset release $(build_flags)
	tools/bench build/release

# Each of SOAK for so long, or until it finds something: fair (a fair lock's
# visitors are killed, stopped and cancelled), sim (random histories), model
# (the model of a server against a real one).
SOAK_SECONDS ?= 3600
SOAK ?= fair sim model

soak:
	tools/setup build test
	cmake --preset release >/dev/null
	cmake --build --preset release $(build_flags) --target hf_sim \
		test_sim_model_against_redis test_server_fair_soak
	SIM_FROM='$(SIM_FROM)' SIM_FAILED='$(SIM_FAILED)' \
		tools/soak build/release '$(SOAK_SECONDS)' $(SOAK)

# Downloads Java, Maven and Redisson the first time; see CONTRIBUTING.md.
interop:
	tools/setup build test interop
	cmake --preset dev >/dev/null
	cmake --build --preset dev $(build_flags) --target hf_interop_tests
	tests/interop/build-peers build/dev/interop-peers
	ctest --preset dev -C interop -L interop

# The tests with Redis 6.2, Redis 8.2 and Valkey 9.1, fetched the first time.
SERVERS ?=

servers:
	tools/setup build test servers
	cmake --preset dev >/dev/null
	cmake --build --preset dev $(build_flags)
	tests/servers/run build/dev $(SERVERS)

check:
	tools/setup build test check
	cmake --preset dev >/dev/null
	tools/check build/dev

coverage:
	tools/setup build test
	tools/coverage

install:
	cmake --preset release >/dev/null
	cmake --build --preset release $(build_flags)
	DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

clean:
	rm -rf build

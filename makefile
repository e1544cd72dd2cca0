# petsccsrc: the commands. `make help` lists them; gmakefile builds; scripts/ sets up what is missing.
#
# Without PETSC_DIR, PETSc and SLEPc are downloaded and built in external/. With it, that PETSc is used, untouched.

.DEFAULT_GOAL := all
.SUFFIXES :
MAKEFLAGS += --no-builtin-rules --no-print-directory

PETSC_VERSION := 3.26.1
SLEPC_VERSION := 3.26.1

ifeq ($(strip $(PETSC_DIR)),)
  ifneq ($(strip $(SLEPC_DIR)),)
    $(error SLEPC_DIR is set but PETSC_DIR is not: set both, or neither to have them built here)
  endif
  OWN_PETSC           := 1
  override PETSC_DIR  := $(CURDIR)/external/petsc-$(PETSC_VERSION)
  override PETSC_ARCH := arch-csrc
  override SLEPC_DIR  := $(CURDIR)/external/slepc-$(SLEPC_VERSION)
else
  OWN_PETSC          :=
  override PETSC_DIR := $(abspath $(PETSC_DIR))
  PETSC_ARCH         ?=
  # A SLEPc installed into the same place as PETSc is found without being named
  override SLEPC_DIR := $(abspath $(or $(SLEPC_DIR),$(patsubst %/include/slepc.h,%,$(firstword $(wildcard $(PETSC_DIR)/$(PETSC_ARCH)/include/slepc.h)))))
endif

BUILDDIR := $(CURDIR)/build/$(or $(PETSC_ARCH),installed-petsc)
BINDIR   := $(BUILDDIR)/bin
CONF     := $(PETSC_DIR)/$(PETSC_ARCH)/lib/petsc/conf/petscvariables
PREFIX   ?=
MATRICES ?= $(abspath $(firstword $(wildcard ../shared/matrices)))

# Exported under their own names to every script and to gmakefile
export PETSC_DIR PETSC_ARCH SLEPC_DIR OWN_PETSC PETSC_VERSION SLEPC_VERSION BUILDDIR BINDIR MATRICES CUDA_ARCH CUDA_DIR JOBS

# As many processes as there are cores, unless make was given -j
jobs  = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(or $(JOBS),$(shell nproc)))
build = $(MAKE) -f gmakefile $(jobs)

all : setup
	@+$(build) all

setup :
	@scripts/setup.sh

tests : setup
	@+$(build) all tests

demo : all
	@+$(run) bash examples/demo.sh

check : tests
	@+$(run) bash tests/run.sh

# Runs a script with what `make env` prints
run = set -e; eval "$$(scripts/env.sh)";

env :
	@scripts/env.sh

install : all
	@PREFIX='$(PREFIX)' scripts/install.sh

bundle : tests
	@scripts/bundle.sh

clean :
	rm -rf build

distclean : clean
	rm -rf external

help :
	@scripts/help.sh

.PHONY : all setup tests demo check env install bundle clean distclean help

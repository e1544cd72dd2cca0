# The commands of petsccsrc. `make help` lists them; gmakefile builds; the scripts in scripts/ install what is missing.
#
# Without PETSC_DIR, PETSc and SLEPc are downloaded and built in external/. With PETSC_DIR, that PETSc is used and not changed.

.DEFAULT_GOAL := all
.SUFFIXES :
MAKEFLAGS += --no-builtin-rules --no-print-directory
# one command after the other: each builds with as many processes as there are cores
.NOTPARALLEL :

# for make, a space is the end of a name
$(if $(word 2,$(CURDIR)),$(error This checkout is in "$(CURDIR)": move it to a folder without spaces in its path))

PETSC_VERSION := 3.26.1
SLEPC_VERSION := 3.26.1

OWN_DIR := $(CURDIR)/external/petsc-$(PETSC_VERSION)

# In a shell that has evaluated `make env`, PETSC_DIR may be the PETSc in external/
ifeq ($(filter-out $(OWN_DIR),$(PETSC_DIR)),)
  ifneq ($(if $(PETSC_DIR),,$(SLEPC_DIR)),)
    $(error SLEPC_DIR is set but PETSC_DIR is not: set both, or neither to have them built here)
  endif
  OWN_PETSC           := 1
  override PETSC_DIR  := $(OWN_DIR)
  override PETSC_ARCH := arch-csrc
  override SLEPC_DIR  := $(CURDIR)/external/slepc-$(SLEPC_VERSION)
else
  OWN_PETSC           :=
  override PETSC_DIR  := $(abspath $(PETSC_DIR))
  # A PETSc that is not installed records its last build
  override PETSC_ARCH := $(or $(strip $(PETSC_ARCH)),$(shell sed -n 's/^PETSC_ARCH *= *//p' $(PETSC_DIR)/lib/petsc/conf/petscvariables 2>/dev/null))
  # A SLEPc installed in the same place as PETSc is found without SLEPC_DIR
  override SLEPC_DIR  := $(abspath $(or $(SLEPC_DIR),$(patsubst %/include/slepc.h,%,$(firstword $(wildcard $(PETSC_DIR)/$(PETSC_ARCH)/include/slepc.h)))))
endif

BUILDDIR := $(CURDIR)/build/$(or $(PETSC_ARCH),installed-petsc)
BINDIR   := $(BUILDDIR)/bin
MATRICES ?= $(abspath $(firstword $(wildcard ../shared/matrices)))

# Exported to all scripts and to gmakefile
export PETSC_DIR PETSC_ARCH SLEPC_DIR OWN_PETSC PETSC_VERSION SLEPC_VERSION BUILDDIR BINDIR MATRICES TESTS CUDA CUDA_ARCH CUDA_DIR JOBS
export LIBSUPPORT := $(BUILDDIR)/libsupport.a

# As many processes as there are cores, unless make was given -j
jobs  = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(or $(JOBS),$(shell env -u OMP_NUM_THREADS nproc)))
build = $(MAKE) -f gmakefile $(jobs)

all : setup
	@+$(build) all

setup :
	@scripts/setup.sh

# Runs a script with the variables that `make env` prints, and without the flags of this make
run = set -e; unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS; eval "$$(scripts/env.sh)";

reconfigure :
	@RECONFIGURE=1 scripts/setup.sh

tests : setup
	@+$(build) all tests
	@$(run) bash tests/run.sh --build

demo : all
	@$(run) bash examples/demo.sh

check : setup
	@+$(build) all tests
	@$(run) bash tests/run.sh

# The measurements of measurements/performance.md; without a GPU only a trial, which checks products on the host and times nothing
bench : all
	@$(run) export PATH=$(BINDIR):$$PATH; \
	  if ls /dev/nvidia[0-9]* >/dev/null 2>&1; then benchmarks/measure.sh $(BUILDDIR)/bench large small wide csrc setup svd; \
	  else SCALE=$${SCALE:-0.02} benchmarks/measure.sh $(BUILDDIR)/bench large small wide; fi

# The same for CPUs, compared with MKL and librsb where these can be downloaded
bench-cpu : setup
	@scripts/mkl.sh
	@scripts/librsb.sh
	@+$(build) all
	@$(run) PATH=$(BINDIR):$$PATH benchmarks/measure.sh $(BUILDDIR)/bench cpu cpuone cpudense ranks

# Several GPUs of this machine compared with one: docs/parallel.md
bench-parallel : all
	@$(run) PATH=$(BINDIR):$$PATH benchmarks/parallel.sh $(BUILDDIR)/bench/parallel

# Linear programs: LPS lists files, by default those in MATRICES/lp; compared with cuPDLPx if it is in the PATH or in CUPDLPX
bench-lp : all
	@$(run) PATH=$(BINDIR):$$PATH benchmarks/lp.sh $(BUILDDIR)/bench/lp $(LPS)

python : all
	@scripts/setup.sh python

# WHEELS: cpu, cu13, or both, which is the default where nvcc is
wheel :
	@scripts/wheel.sh $(WHEELS)

check-wheel : wheel
	@status=0; for wheel in build/wheel/*.whl; do tests/wheel.sh $$wheel || status=1; done; exit $$status

env :
	@scripts/env.sh

install : $(if $(PREFIX),all)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install.sh

# PETSc's tutorial programs that benchmarks/programs.sh runs
tutorials : setup
	@+$(build) tutorials

bundle : $(if $(filter 0,$(TESTS)),all,tests) tutorials
	@scripts/bundle.sh

# The guides and manual pages as a searchable web site, in build/site
site :
	@mkdir -p external/logs; [ -x external/sitevenv/bin/mkdocs ] || { python3 -m venv external/sitevenv && external/sitevenv/bin/pip install -q --disable-pip-version-check -r scripts/site-requirements.txt; } >external/logs/site.log 2>&1 || { cat external/logs/site.log; exit 1; }
	@external/sitevenv/bin/python scripts/site.py

format :
	@scripts/format.sh -i

checkformat :
	@scripts/format.sh --dry-run -Werror

clean :
	rm -rf build

distclean : clean
	rm -rf external

help :
	@scripts/help.sh

.PHONY : all setup reconfigure tests tutorials demo check bench bench-cpu bench-parallel bench-lp python wheel check-wheel env install bundle site clean format checkformat distclean help

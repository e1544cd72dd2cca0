#!/usr/bin/env bash
#
# `pip install .` and the source distribution: importing the package registers types and solvers.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
python=${PETSCCSRC_PYTHON:-python3}
root=$(dirname "$SRCDIR")
"$python" -c 'import setuptools.command.bdist_wheel, petsc4py, pip' 2>/dev/null || { skip pip 'no petsc4py: make python'; exit; }
[ -e "$BUILDDIR/obj/sources" ] || { skip pip 'nothing can be built here'; exit; }
dir=$TESTDIR/pip
rm -rf "$dir"
mkdir -p "$dir"
unset PETSC_OPTIONS # these load the library

# reuses objects of make that are up to date; MAKEFLAGS and the like must not reach pip's build
if run 'pip install' env PETSCCSRC_BUILDDIR="$BUILDDIR" "$python" -m pip install --disable-pip-version-check --no-cache-dir --no-deps --no-index --no-build-isolation --target "$dir/site" "$root"; then
  for n in 1 2; do
    label="import petsccsrc, $n processes"
    run "$label" env PYTHONPATH="$dir/site" bash -c "$MPIEXEC -n $n $python $SRCDIR/programs/importcsrc.py" && case $output in *Right*) ok "$label" ;; *) not_ok "$label" "$output" ;; esac
  done
  # refusals say why
  refused() { # LABEL REASON CODE
    output=$(PYTHONPATH="$dir/site" "$python" -c "$3" 2>&1)
    case $output in *"$2"*) ok "$1" ;; *) not_ok "$1" "$output" ;; esac
  }
  refused 'a wrong option' 'Unknown logical value: maybe' 'import sys, petsc4py; petsc4py.init(["x", "-mat_form_store_at_once", "maybe"]); import petsccsrc'
  refused 'after PETSc has ended' 'before PETSc is finalized' 'import petsc4py; petsc4py.init(); from petsc4py import PETSc; PETSc._finalize(); import petsccsrc'
  refused 'another PETSc' 'and petsc4py has 3.1' 'import sys, types; sys.modules["petsc4py.PETSc"] = types.SimpleNamespace(Sys=types.SimpleNamespace(getVersion=lambda: (3, 1, 0))); import petsccsrc'
  label='without petsc4py'
  run "$label" env PYTHONPATH="$dir/site" "$python" -c 'import sys; sys.modules["petsc4py"] = None; import petsccsrc, numpy; print(petsccsrc.svds(2 * numpy.eye(5), k=2).s, petsccsrc.__version__)' && case $output in '[2. 2.] '[0-9]*) ok "$label" ;; *) not_ok "$label" "$output" ;; esac
fi

# all files of git, and no built ones
if run 'source distribution' env -C "$root" "$python" -c 'import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))' "$dir"; then
  tar -tzf "$dir/${output##*$'\n'}" | sed 's,^[^/]*/,,; /\/$/d; /^$/d' | sort >"$dir/has"
  # setuptools adds these
  grep -vE '^(PKG-INFO|setup.cfg|petsccsrc.egg-info/.*)$' "$dir/has" >"$dir/added"
  if [ -e "$root/.git" ]; then
    (cd "$root" && git ls-files) | sort >"$dir/should"
    if diff "$dir/should" "$dir/added" >"$dir/difference"; then ok 'source distribution'; else not_ok 'source distribution' "$(cat "$dir/difference")"; fi
  elif grep -qx include/petsccsrc.h "$dir/has" && ! grep -q '^build/' "$dir/has"; then ok 'source distribution'
  else not_ok 'source distribution' "$(head "$dir/has")"; fi
fi

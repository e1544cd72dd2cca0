# shellcheck shell=bash
# Sourced by setup.sh for `make python`: petsc4py and slepc4py, built against the PETSc and SLEPc in use, in external/python.

# A separate interpreter, so that nothing is written into the system's
ensure_python() {
  local python=$external/python log=$logs/python.log package source stamp
  if [ ! -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; then
    fail "Python's headers are missing; install them once, then make python again:" "apt-get install -y python3-dev"
  fi
  if ! "$python/bin/python" -c 'import Cython, numpy, scipy, matplotlib, setuptools, wheel' 2>/dev/null; then
    rm -rf "$python" "$stamps"/python-*
    run_with_progress "Python packages" "$log" : sh -c "python3 -m venv '$python' && '$python/bin/pip' install --retries 2 --timeout 30 --disable-pip-version-check -r scripts/python-requirements.txt" ||
      fail "Python packages could not be installed into external/python: $(reason_in "$log")" "$(tail_of "$log")"
  fi
  for package in petsc4py ${SLEPC_DIR:+slepc4py}; do
    # the build is reused if it was made against the same PETSc and SLEPc
    stamp=$(printf '%s\n' "$PETSC4PY_VERSION, errors mended" "$PETSC_DIR" "$PETSC_ARCH" "$SLEPC_DIR" "$(stat -L -c %s "$PETSC_DIR/$PETSC_ARCH/lib/libpetsc.so")")
    if [ "$(cat "$stamps/python-$package" 2>/dev/null)" = "$stamp" ]; then continue; fi
    download "$package" "$PETSC4PY_VERSION" --no-build-isolation
    source=$external/$package-$PETSC4PY_VERSION.tar.gz
    if [ "$package" = slepc4py ]; then # its errors would be SystemError: contrib/slepc
      unpack "$package" "$PETSC4PY_VERSION"
      source=${source%.tar.gz}
      sed -i 's/^#if !PetscDefined(ERR_PYTHON)/#if 0/' "$source/src/lib-slepc/custom.h"
    fi
    rm -f "$stamps/python-$package"
    log=$logs/$package.log
    # a wrapper in one huge source file, for which -O3 takes ten minutes
    run_with_progress "$package $PETSC4PY_VERSION: compile" "$log" : env CFLAGS=-O1 PETSC_DIR="$PETSC_DIR" PETSC_ARCH="$PETSC_ARCH" SLEPC_DIR="$SLEPC_DIR" \
      "$python/bin/pip" install --disable-pip-version-check --no-build-isolation --no-deps --no-cache-dir --no-index --force-reinstall "$source" ||
      fail "$package could not be compiled" "$(tail_of "$log")"
    echo "$stamp" >"$stamps/python-$package"
  done
  say "Python with petsc4py${SLEPC_DIR:+ and slepc4py}: external/python/bin/python"
}

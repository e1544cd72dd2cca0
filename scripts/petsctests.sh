#!/usr/bin/env bash
#
# Runs PETSc's tests that use aijcusparse with csrccuda in its place: type names are replaced in a copy of the programs.
#
#   scripts/petsctests.sh [--type csrccuda] [PATTERN ...]       PATTERN: names such as 'mat_tests-ex2*'; without one all of them
#
# Needs PETSc's sources (PETSC_DIR as `make env` prints it) and `eval "$(make -s env)"`. Without a GPU, vectors of type cuda are replaced by
# host vectors. Tests whose output differs are listed with their logs, which have to be read: some differ only in what a viewer prints.
set -euo pipefail
cd "$(dirname "$0")/.."
type=csrccuda
if [ "${1:-}" = --type ]; then type=$2; shift 2; fi
: "${PETSCCSRC_LIB:?is not set: eval \"\$(make -s env)\"}" "${PETSC_DIR:?}"
[ -d "$PETSC_DIR/src/mat/tests" ] || { echo "petsctests: no sources in $PETSC_DIR" >&2; exit 2; }
gpu=$(if ls /dev/nvidia[0-9]* >/dev/null 2>&1; then echo 1; else echo 0; fi)
work=$(dirname "$PETSCCSRC_LIB")/petsctests
rm -rf "$work"
mkdir -p "$work/src" "$work/results"

rename() { sed "s/\(seq\|mpi\|\)aijcusparse/\1@@/g; s/seq@@/seqaij$type/g; s/mpi@@/mpiaij$type/g; s/@@/$type/g; s/MATSEQAIJCUSPARSE/\"seqaij$type\"/g; s/MATMPIAIJCUSPARSE/\"mpiaij$type\"/g; s/MATAIJCUSPARSE/\"$type\"/g"; }

# the folders of programs that name the type, with the files that these include and the expected output
while read -r file; do
  folder=$(dirname "${file#"$PETSC_DIR/src/"}")
  mkdir -p "$work/src/$folder/output"
  cp "$PETSC_DIR/src/$folder"/*.h "$work/src/$folder" 2>/dev/null || true
  cp "$PETSC_DIR/src/$folder/output/empty.out" "$work/src/$folder/output" 2>/dev/null || true
  base=$(basename "$file" .c)
  # a test's suffix names its output, which may name the type
  for output in "$PETSC_DIR/src/$folder/output/${base}"_*; do
    if [ -e "$output" ]; then rename <"$output" >"$work/src/$folder/output/$(basename "$output" | rename)"; fi
  done
  rename <"$file" >"$work/src/$folder/$base.c"
  if [ $gpu = 0 ]; then sed -i '/args:/s/\(vec_type\) cuda/\1 standard/g; /args:/s/\(seq\|mpi\|\)densecuda/\1dense/g' "$work/src/$folder/$base.c"; fi
done < <(grep -rl --include='*.c' aijcusparse "$PETSC_DIR"/src/*/tests "$PETSC_DIR"/src/*/tutorials "$PETSC_DIR"/src/*/*/tests "$PETSC_DIR"/src/*/*/tutorials 2>/dev/null)

# PETSc's harness makes the scripts
python3 "$PETSC_DIR/config/gmakegentest.py" --petsc-dir="$PETSC_DIR" --petsc-arch="$PETSC_ARCH" --srcdir="$work/src" --testdir="$work/tests" --pkg-name=petsccsrc --pkg-dir="$work" --pkg-arch=petsccsrc --pkg-pkgs="vec mat dm ksp snes ts tao" >"$work/generate.log" 2>&1 || { tail -n 3 "$work/generate.log" >&2; exit 2; }

export PETSC_OPTIONS="-dll_append $PETSCCSRC_LIB -mat_form_store_at_once true" PETSCMPIEXEC=$MPIEXEC OMP_NUM_THREADS=1
passed=0 failed=0 skipped=0
while read -r script; do
  # only tests that run with the type that replaces aijcusparse
  grep -q -e "^args=.*$type" -e "^ *for .*$type" -e "eval args=.*$type" "$script" || continue
  folder=$(dirname "${script#"$work/tests/"}") name=$(basename "$script" .sh)
  name=${name#run}
  label=${folder//\//_}-$name
  if [ $# -gt 0 ]; then
    match=
    # shellcheck disable=SC2254 # these are patterns
    for p; do case $label in $p) match=1 ;; esac; done
    [ -n "$match" ] || continue
  fi
  base=$(sed 's/_.*//; s/-.*//' <<<"$name")
  program=$work/tests/$folder/$base
  if [ ! -x "$program" ] && [ -e "$work/src/$folder/$base.c" ]; then
    # shellcheck disable=SC2046 # flags are words
    mpicc -O1 -w $(PKG_CONFIG_PATH=$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig pkg-config --cflags PETSc) -I"$PETSC_DIR/src/$folder" "$work/src/$folder/$base.c" -o "$program" -L"$PETSC_DIR/$PETSC_ARCH/lib" -Wl,-rpath,"$PETSC_DIR/$PETSC_ARCH/lib" -lpetsc -lm >"$work/results/$label.log" 2>&1 || true
  fi
  if [ ! -x "$program" ]; then skipped=$((skipped + 1)); continue; fi
  bash "$script" -j -t 120 >"$work/results/$label.log" 2>&1 </dev/null || true
  bad=$(grep -c '^ *not ok' "$work/results/$label.log" || true) good=$(grep -c '^ *ok' "$work/results/$label.log" || true)
  if [ "$bad" -gt 0 ]; then failed=$((failed + 1)); echo "not ok $label: $work/results/$label.log"; elif [ "$good" -gt 0 ]; then passed=$((passed + 1)); else skipped=$((skipped + 1)); fi
done < <(find "$work/tests" -name 'run*.sh' | sort)
echo "$passed passed, $failed failed, $skipped skipped"

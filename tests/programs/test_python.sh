#!/usr/bin/env bash
#
# The package petsccsrc: svds() and Matrix, and the code of docs/python.md; and examples/svd.py, the library used from petsc4py and slepc4py: every singular
# value agrees with numpy's dense SVD.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
python=${PETSCCSRC_PYTHON:-python3}
[ -e "$SLEPCCSRC_LIB" ] || { skip python 'no SLEPc'; exit; }
export PYTHONPATH=$SRCDIR/../python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
if "$python" -c 'import numpy, scipy' 2>/dev/null; then
  if run svds.py timeout 300 "$python" "$SRCDIR/programs/svds.py"; then echo "$output"; fi
  run docs/python.md "$python" "$SRCDIR/programs/mdcode.py" "$SRCDIR/../docs/python.md" && ok docs/python.md
  label=components.py
  counts=$TESTDIR/counts.mtx
  "$python" -c 'import sys, numpy, scipy.io; r = numpy.random.default_rng(3); x = r.poisson(0.2, (90, 40)); x[:50, 7] += 9; scipy.io.mmwrite(sys.argv[1], scipy.sparse.csr_matrix(x))' "$counts"
  plot=
  if "$python" -c 'import matplotlib' 2>/dev/null; then plot=$TESTDIR/components.png; rm -f "$plot"; fi
  if run "$label" "$python" "$SRCDIR/../examples/components.py" "$counts" $plot; then
    case $output in *'component 1:'*'largest features [7,'*'component 2:'*'was missed'*) if [ -z "$plot" ] || [ -s "$plot" ]; then ok "$label"; else not_ok "$label" "no $plot"; fi ;; *) not_ok "$label" "$output" ;; esac
  fi
else skip svds.py 'no numpy, scipy: make python'; fi
"$python" -c 'import petsc4py, slepc4py, matplotlib' 2>/dev/null || { skip python 'no petsc4py, slepc4py, matplotlib: make python'; exit; }
for n in 1 2; do
  label="svds.py, $n processes"
  if run "$label" mpi $n "$python" "$SRCDIR/programs/svds.py" parallel; then echo "$output"; fi
done
label='errors of SLEPc'
run "$label" "$python" "$SRCDIR/../contrib/slepc/errors.py" && case $output in 'PETSc.Error: 86') ok "$label" ;; *) not_ok "$label" "$output" ;; esac
for n in 1 2; do
  for type; do
    label="svd.py $type, $n processes"
    plot=$TESTDIR/svd-$type-$n.png
    if run "$label" mpi $n "$python" "$SRCDIR/../examples/svd.py" -mat_type "$type" -plot "$plot"; then
      case $output in
        *"$type"*blocklanczos*30*Right:*) if [ -s "$plot" ]; then ok "$label"; else not_ok "$label" "no $plot"; fi ;;
        *) not_ok "$label" "$output" ;;
      esac
    fi
  done
done

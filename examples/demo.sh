#!/bin/bash
# The demonstration of `make demo`: the 16 largest singular values of ch7-9-b4, a real matrix of 317520 x 105840 with 1.6 million
# nonzeros whose exact singular values are known. Two solvers run: SLEPc's trlanczos, unchanged, with the type csrccuda from a
# library that is loaded at run time; then blocklanczos, from the second library. A and A^T are applied from one stored matrix, on
# the GPU if there is one. At the end the copies that both found are listed beside the exact multiplicities.
#
# Needs PETSCCSRC_LIB and SLEPCCSRC_LIB (absolute paths of the libraries, from `make env`) and, if it is not in bin/ beside them,
# BINDIR (the folder with the program svd). Tables go to DEMODIR, by default build/demo. Further arguments go to
# both runs, for example -mat_type bccoo or -svd_nsv 32. The exit status is 0 if blocklanczos found every value and every
# multiplicity, and trlanczos singular values only.
set -u
if [ -z "${PETSCCSRC_LIB:-}" ]; then
  echo "examples/demo.sh: PETSCCSRC_LIB is not set; type 'make demo', or first: eval \"\$(make -s env)\"" >&2
  exit 2
fi
BINDIR=${BINDIR:-$(dirname "$PETSCCSRC_LIB")/bin}
if [ ! -x "$BINDIR/svd" ] || [ ! -e "${SLEPCCSRC_LIB:-}" ]; then
  echo "examples/demo.sh: no program $BINDIR/svd or no SLEPCCSRC_LIB; they are built when SLEPc is there" >&2
  exit 2
fi
demodir=${DEMODIR:-build/demo}
mkdir -p "$demodir"

status=0
# solve NAME OPTION...
solve() {
  local name=$1
  shift
  rm -f "$demodir/$name.csv"
  "$BINDIR/svd" -chessboard 7,9,4 -mat_type csrccuda -svd_nsv 16 -svd_tol 1e-8 -csv "$demodir/$name.csv" "$@" || status=1
  echo
}
echo "The 16 largest singular values of ch7-9-b4, by SLEPc's own trlanczos"
echo
solve trlanczos -dll_append "$PETSCCSRC_LIB" -svd_type trlanczos "$@"
echo "The same by blocklanczos"
echo
solve blocklanczos -dll_append "$SLEPCCSRC_LIB" -svd_type blocklanczos -all_copies "$@"

if [ -s "$demodir/trlanczos.csv" ] && [ -s "$demodir/blocklanczos.csv" ]; then
  awk -F, '
    FNR == 1 { file++; next }
    { level = sprintf("%.4f", $3); sub(/\.0000$/, "", level); found[file, level]++; levels[level] }
    file == 2 && $5 != "" { exact[$5]++; levels[$5] }
    END {
      print "Copies found:\n\n  sigma^2   exact   trlanczos   blocklanczos"
      for (l in levels) printf "  %7s   %5d   %9d   %12d\n", l, exact[l], found[1, l], found[2, l] | "sort -k1,1gr"
      close("sort -k1,1gr")
    }' "$demodir/trlanczos.csv" "$demodir/blocklanczos.csv"
  echo
fi
if [ $status -eq 0 ]; then
  echo "Tables: $demodir/trlanczos.csv and $demodir/blocklanczos.csv"
else
  echo "The demonstration FAILED"
fi
exit $status

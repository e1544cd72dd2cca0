#!/bin/bash
# The demonstration of `make demo`: SLEPc, unchanged, computes the 16 largest singular values of ch7-9-b4, a real matrix of
# 317520 x 105840 with 1.6 million nonzeros whose exact singular values are known. The type csrccuda comes from a library
# that is loaded at run time; A and A^T are applied from one stored matrix, on the GPU if there is one.
#
# Needs PETSCCSRC_LIB (absolute path of libpetsccsrc.so, from `make env`) and, if it is not in bin/ beside that library, BINDIR
# (the folder with the program svd). The table and the picture go to DEMODIR, by default build/demo. Further arguments go to
# the program and override what is set here, for example -mat_type bccoo or -svd_type randomized.
set -u
if [ -z "${PETSCCSRC_LIB:-}" ]; then
  echo "examples/demo.sh: PETSCCSRC_LIB is not set; type 'make demo', or first: eval \"\$(make -s env)\"" >&2
  exit 2
fi
BINDIR=${BINDIR:-$(dirname "$PETSCCSRC_LIB")/bin}
if [ ! -x "$BINDIR/svd" ]; then
  echo "examples/demo.sh: no program $BINDIR/svd; it is built when SLEPc is there" >&2
  exit 2
fi
demodir=${DEMODIR:-build/demo}
mkdir -p "$demodir"

echo "The 16 largest singular values of ch7-9-b4, with $(basename "$PETSCCSRC_LIB") loaded into SLEPc at run time"
echo
"$BINDIR/svd" -chessboard 7,9,4 -dll_append "$PETSCCSRC_LIB" -mat_type csrccuda -svd_type trlanczos -svd_nsv 16 -svd_tol 1e-8 \
  -csv "$demodir/ch7-9-b4.csv" -plot "$demodir/ch7-9-b4.svg" "$@"
status=$?
echo
if [ $status -eq 0 ]; then
  echo "Table and picture: $demodir/ch7-9-b4.csv, $demodir/ch7-9-b4.svg"
else
  echo "The demonstration FAILED (exit status $status)"; fi
exit $status

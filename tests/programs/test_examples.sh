#!/usr/bin/env bash
#
# Every example runs, on one process and on two or three, and reports that its result is right. Its tables are complete. PageRank is
# compared with an independent program.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
bin=${BINDIR:-$BUILDDIR/bin}
[ -x "$bin/convert" ] || { skip examples 'they are not built'; exit; }
dir=$TESTDIR/examples
rm -rf "$dir"
mkdir -p "$dir" && cd "$dir" || exit
mkdir -p "$dir/spectra"
python=${PETSCCSRC_PYTHON:-python3}
# tolerances depend on the precision; in single precision QMR breaks down before the adjoint is accurate enough
agreement=1e-8 rtol=1e-8 adjointsolvers="bcgs qmr"
if grep -qs 'PETSC_PRECISION *= *single' "$PETSC_DIR/$PETSC_ARCH/lib/petsc/conf/petscvariables"; then agreement=1e-4 rtol=1e-3 adjointsolvers=bcgs; fi

# says LABEL WORDS: the output contains the words
says() {
  case $output in
    *"$2"*) ok "$1" ;;
    *) not_ok "$1" "no '$2' in the output" "$output" ;;
  esac
}
# lines LABEL FILE COUNT: a table has its header and COUNT lines
lines() { if [ "$(wc -l <"$2")" = $(($3 + 1)) ]; then ok "$1"; else not_ok "$1" "$2 has $(wc -l <"$2") lines, not $(($3 + 1))" "$(head -3 "$2")"; fi; }

# refuses LABEL WORDS PROGRAM ARGUMENTS: the program fails, and the words are in its error; in a subshell without core files; two processes, if PETSc has more than one
refusers=2
[[ $(mpi 2 "$bin/convert" 2>&1) != 'Uniprocessor version of MPI can only use one processor'* ]] || refusers=1
refuses() {
  local label=$1 words=$2
  shift 2
  if output=$(ulimit -c 0; PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" mpi "$refusers" "$bin/$@" 2>&1); then not_ok "$label" 'it did not fail' "$output"; else says "$label" "$words"; fi
}

# A small network: 1 and 2 link to each other and to 3, which links to 4; 4 links to nobody, nobody links to 5
cat >small.mtx <<'END'
%%MatrixMarket matrix coordinate pattern general
5 5 6
1 2
2 1
1 3
2 3
3 4
5 1
END
networks=small.mtx
if [ -e "$MATRICES/large/wiki-Vote.mtx.gz" ]; then networks="$networks $MATRICES/large/wiki-Vote.mtx.gz"; else skip 'pagerank wiki-Vote' 'no real matrices: MATRICES is not set'; fi

for n in 1 2; do
  for type; do
    for network in $networks; do
      label="pagerank $(basename "$network" .mtx.gz) $type, $n processes"
      run "$label" mpi $n "$bin/pagerank" -file "$network" -mat_type "$type" -csv pagerank.csv || continue
      run "$label" "$python" "$SRCDIR/programs/pagerank.py" "$network" pagerank.csv $agreement && says "$label" 'agree'
    done
    for solver in $adjointsolvers; do
      label="adjoint $solver $type, $n processes"
      run "$label" mpi $n "$bin/adjoint" -n 40 -mat_type "$type" -ksp_type $solver && says "$label" 'Right: they agree.'
    done
    for solver in lsqr cgls; do
      for matrix in small/illc1850.mtx large/rail582.mtx.gz; do
        label="leastsquares $solver $(basename "${matrix%%.*}") $type, $n processes"
        if [ ! -e "$MATRICES/$matrix" ]; then skip "$label" 'no real matrices: MATRICES is not set'; continue; fi
        run "$label" mpi $n "$bin/leastsquares" -file "$MATRICES/$matrix" -scale -mat_type "$type" -ksp_type $solver -ksp_rtol $rtol && says "$label" CONVERGED
      done
    done
    run "convert $type" mpi $n "$bin/convert" && says "convert, $n processes" 'All products and nonzeros agree.'
    if [ -n "$SLEPCCSRC_LIB" ] && [ -x "$bin/svd" ]; then
      label="svd $type, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "ulimit -c 0; $MPIEXEC -n $n $bin/svd -chessboard 5,5,2 -mat_type $type -svd_type blocklanczos -svd_nsv 20 -all_copies -csv spectra/blocklanczos.csv" &&
        says "$label" 'Right: each comes as often as it should.' && lines "$label, table" spectra/blocklanczos.csv 20
    else
      skip "svd $type, $n processes" 'no SLEPc'
    fi
  done
done

# The result is compared with an independent computation; with three processes, each has two neighbours
if [ -n "$SLEPCCSRC_LIB" ] && [ -x "$bin/pca" ]; then
  for n in 1 3; do
    for type in aij "$@"; do
      label="pca $type, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n $n $bin/pca -samples 600 -features 200 -mat_type $type" &&
        says "$label" 'Right:' && says "$label, compared" "LAPACK's values"
      label="pca $type, more features than samples, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n $n $bin/pca -samples 100 -features 300 -components 4 -mat_type $type" && says "$label" 'Right:'
    done
  done
  if [ -e "$MATRICES/small/illc1850.mtx" ]; then
    run 'pca illc1850' env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n 2 $bin/pca -file $MATRICES/small/illc1850.mtx -mat_type csrccuda" && says 'pca illc1850' 'Right:'
  else
    skip 'pca illc1850' 'no real matrices: MATRICES is not set'
  fi
else
  skip pca 'no SLEPc'
fi

# A wrong multiplicity is an error if the check is enabled: one vector and few steps cannot find the copies
if [ -x "$bin/svd" ]; then
  label='svd, missing copies are an error with -all_copies'
  if output=$(mpi 1 "$bin/svd" -chessboard 5,5,2 -svd_type trlanczos -svd_nsv 20 -all_copies 2>&1); then not_ok "$label" "$output"; else says "$label" 'Multiplicities are NOT right'; fi
  mpi 1 "$bin/svd" -chessboard 5,5,2 -svd_type trlanczos -svd_nsv 20 -csv spectra/trlanczos.csv >/dev/null 2>&1
fi

# Wrong input is refused by name
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 3' '1 2 1' '2 1 1' '3 1 -2' >directed.mtx
refuses 'pagerank, negative links' 'Page 3 has negative numbers of links' pagerank -file directed.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '2 1 1' '1 1 1' >column.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '2 1' 0 1 >orthogonal.mtx
run 'leastsquares, A^T b = 0' mpi 1 "$bin/leastsquares" -file column.mtx -rhs orthogonal.mtx -ksp_type lsqr && says 'leastsquares, A^T b = 0' 'and no solver runs
|b| = 1'
for bad in nan inf; do
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 2 3' '1 1 1' "2 2 $bad" '3 1 2' >bad.mtx
  printf '%s\n' '%%MatrixMarket matrix array real general' '2 1' 1 $bad >badrhs.mtx
  refuses "leastsquares, a matrix with $bad" "The norm of the matrix is $bad" leastsquares -file bad.mtx
  refuses "leastsquares, a right-hand side with $bad" "that of the right-hand side is $bad" leastsquares -file column.mtx -rhs badrhs.mtx
  if [ -x "$bin/svd" ]; then refuses "svd, a matrix with $bad" "bad.mtx has entries that are " svd -file bad.mtx; fi
  if [ -x "$bin/pca" ]; then refuses "pca, a matrix with $bad" "the entries of the matrix is $bad" pca -file bad.mtx -components 1; fi
done
printf '%s\n' '%%MatrixMarket matrix coordinate pattern general' '0 0 0' >empty.mtx
refuses 'pagerank, no pages' 'empty.mtx is 0 x 0' pagerank -file empty.mtx
refuses 'adjoint, a solve that fails' 'WRONG: ' adjoint -n 20 -ksp_max_it 1
# single precision has no such values
if [ $rtol != 1e-3 ]; then
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '2 1 1' '1 1 1e-200' >tiny.mtx
  refuses 'leastsquares, an A^T b whose square underflows' 'DIVERGED_NANORINF' leastsquares -file tiny.mtx -ksp_type lsqr
fi
if [ -n "$SLEPCCSRC_LIB" ] && [ -x "$bin/svd" ] && [ $rtol != 1e-3 ]; then
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 3' '1 1 1e308' '2 2 1e308' '3 3 1e307' >huge.mtx
  run 'svd, residuals that overflow' env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n 1 $bin/svd -file huge.mtx -svd_type blocklanczos" && says 'svd, residuals that overflow' 'Warning: residuals of up to'
  label='svd, zeros among the smallest values'
  run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n 1 $bin/svd -file small.mtx -svd_type blocklanczos -svd_smallest -svd_nsv 3" &&
    case $output in *Warning*) not_ok "$label" "$output" ;; *) ok "$label" ;; esac
fi

if "$python" -c 'import matplotlib' 2>/dev/null; then
  if run 'plots' "$python" "$SRCDIR/../examples/plot.py" --out figures pagerank.csv $(ls spectra/*.csv 2>/dev/null); then
    for figure in $output; do [ -s "$figure" ] && ok "plot $(basename "$figure")"; done
  fi
else
  skip plots 'no matplotlib: make python'
fi

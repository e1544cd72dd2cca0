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
      run "$label" mpi $n "$bin/pagerank" -file "$network" -mat_type "$type" -csv pagerank.csv -changes changes.csv || continue
      run "$label" "$python" "$SRCDIR/programs/pagerank.py" "$network" pagerank.csv $agreement && says "$label" 'agree'
    done
    # checked with the program's own tolerances: gap, both kinds of constraints, and the known optimal value
    label="linearprogram $type, $n processes"
    run "$label" mpi $n "$bin/linearprogram" -mat_type "$type" -errors errors.csv && says "$label" Right && lines "$label, errors" errors.csv $((($(echo "$output" | sed -n 's/^\([0-9]*\) iterations.*/\1/p') + 39) / 40))
    if [ -e "$MATRICES/small/lp_afiro.mtx" ]; then
      run "$label, afiro" mpi $n "$bin/linearprogram" -file "$MATRICES/small/lp_afiro.mtx" -mat_type "$type" && says "$label, afiro" Right
    else
      skip "$label, afiro" 'no real matrices: MATRICES is not set'
    fi
    label="convection $type, $n processes"
    vectors=standard
    if [ "$type" = csrccuda ] && [ "$PETSCCSRC_TEST_GPU" = 1 ]; then vectors=cuda; fi
    # exit status 0: converged, and no negative smoke
    run "$label" mpi $n "$bin/convection" -da_grid_x 16 -da_grid_y 16 -da_grid_z 16 -dm_mat_type "$type" -dm_vec_type $vectors -residuals residuals.csv -slice slice.csv && says "$label" CONVERGED_RTOL && lines "$label, slice" slice.csv 256
    for solver in $adjointsolvers; do
      label="adjoint $solver $type, $n processes"
      run "$label" mpi $n "$bin/adjoint" -n 40 -mat_type "$type" -ksp_type $solver -csv adjoint.csv && says "$label" 'Right: they agree.' && lines "$label, table" adjoint.csv 1600
    done
    for solver in lsqr cgls; do
      for matrix in small/illc1850.mtx large/rail582.mtx.gz; do
        label="leastsquares $solver $(basename "${matrix%%.*}") $type, $n processes"
        if [ ! -e "$MATRICES/$matrix" ]; then skip "$label" 'no real matrices: MATRICES is not set'; continue; fi
        run "$label" mpi $n "$bin/leastsquares" -file "$MATRICES/$matrix" -scale -mat_type "$type" -ksp_type $solver -ksp_rtol $rtol -residuals residuals.csv && says "$label" CONVERGED &&
          lines "$label, history" residuals.csv $(($(echo "$output" | sed -n 's/^Solver.*: \([0-9]*\) iterations.*/\1/p') + 1))
      done
    done
    run "convert $type" mpi $n "$bin/convert" && says "convert, $n processes" 'All products and nonzeros agree.'
    if [ -n "$SLEPCCSRC_LIB" ] && [ -x "$bin/svd" ]; then
      label="svd $type, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "ulimit -c 0; $MPIEXEC -n $n $bin/svd -chessboard 5,5,2 -mat_type $type -svd_type blocklanczos -svd_nsv 20 -all_copies -csv spectra/blocklanczos.csv -plot svd.svg" &&
        says "$label" 'Right: each comes as often as it should.' && lines "$label, table" spectra/blocklanczos.csv 20
      label="lowrank $type, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n $n $bin/lowrank -documents 2000 -terms 500 -rank 20 -mat_type $type -csv lowrank.csv" && says "$label" 'Right:' && lines "$label, table" lowrank.csv 21
    else
      skip "svd and lowrank $type, $n processes" 'no SLEPc'
    fi
  done
done

# The whole linear program, solved by another solver
label='linearprogram, compared with HiGHS'
if "$python" -c 'import highspy, numpy' 2>/dev/null; then
  run "$label" mpi 2 "$bin/linearprogram" -problem problem.csv &&
    run "$label" "$python" "$SRCDIR/programs/highs.py" problem.csv "$(echo "$output" | sed -n 's/^Value \([^,]*\),.*/\1/p')" 1e-4 && says "$label" 'which agrees'
else
  skip "$label" 'no highspy'
fi

# The cut is not better than the second singular value allows, and as good as the one from which the graph was made
if [ -n "$SLEPCCSRC_LIB" ] && [ -x "$bin/bisection" ]; then
  for n in 1 3; do
    for type; do
      for graph in "" "$MATRICES/small/PGPgiantcompo.mtx"; do
        label="bisection $(basename "$graph" .mtx) $type, $n processes"
        if [ -n "$graph" ] && [ ! -e "$graph" ]; then skip "$label" 'no real matrices: MATRICES is not set'; continue; fi
        run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n $n $bin/bisection ${graph:+-file $graph} -mat_type $type -svd_type blocklanczos -csv bisection.csv" && says "$label" 'Right:'
      done
    done
  done
else
  skip bisection 'no SLEPc'
fi

# Both compare their results with an independent computation; with three processes, each has two neighbours
if [ -n "$SLEPCCSRC_LIB" ] && [ -x "$bin/pca" ]; then
  for n in 1 3; do
    for type in aij "$@"; do
      label="pca $type, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n $n $bin/pca -samples 600 -features 200 -mat_type $type -csv scores.csv" &&
        says "$label" 'Right:' && says "$label, compared" "LAPACK's values" && says "$label, blocks" ', 0 with single vectors' && lines "$label, table" scores.csv 600
      label="pca $type, more features than samples, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n $n $bin/pca -samples 100 -features 300 -components 4 -mat_type $type" && says "$label" 'Right:'
      label="ridge $type, $n processes"
      run "$label" env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n $n $bin/ridge -size 24 -blur 6 -rank 100 -points 9 -mat_type $type -csv ridge.csv" && says "$label" 'Right:' && lines "$label, table" ridge.csv 9
    done
  done
  if [ -e "$MATRICES/small/illc1850.mtx" ]; then
    run 'pca illc1850' env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n 2 $bin/pca -file $MATRICES/small/illc1850.mtx -mat_type csrccuda" && says 'pca illc1850' 'Right:'
    run 'ridge illc1850' env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n 2 $bin/ridge -file $MATRICES/small/illc1850.mtx -rank 40 -mat_type csrccuda" && says 'ridge illc1850' 'Right:'
  else
    skip 'pca and ridge illc1850' 'no real matrices: MATRICES is not set'
  fi
else
  skip 'pca and ridge' 'no SLEPc'
fi

# A wrong multiplicity is an error if the check is enabled: one vector and few steps cannot find the copies
if [ -x "$bin/svd" ]; then
  label='svd, missing copies are an error with -all_copies'
  if output=$(mpi 1 "$bin/svd" -chessboard 5,5,2 -svd_type trlanczos -svd_nsv 20 -all_copies 2>&1); then not_ok "$label" "$output"; else says "$label" 'Multiplicities are NOT right'; fi
  mpi 1 "$bin/svd" -chessboard 5,5,2 -svd_type trlanczos -svd_nsv 20 -csv spectra/trlanczos.csv >/dev/null 2>&1
fi

# Wrong input is refused by name. Where the error is zero but for rounding, ratios say nothing
cat >rank1.mtx <<'END'
%%MatrixMarket matrix array integer general
5 4
1
2
3
4
5
1
2
3
4
5
1
2
3
4
5
2
4
6
8
10
END
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 4 2' '1 2 1' '2 1 1' >wide.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 3' '1 2 1' '2 1 1' '3 1 -2' >directed.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '3 3 2' '2 1 1' '3 1 0' >edge.mtx
refuses 'pagerank, negative links' 'Page 3 has negative numbers of links' pagerank -file directed.mtx
refuses 'linearprogram, no iterations' '-max_it 0 and' linearprogram -max_it 0
# the point of zeros keeps all constraints
[ ! -e "$MATRICES/small/lp_afiro.mtx" ] || refuses 'linearprogram, only the gap is large' 'its size, and the gap is large.' linearprogram -file "$MATRICES/small/lp_afiro.mtx" -seed 3 -max_it 320
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '2 1 1' '1 1 1' >column.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '2 1' 0 1 >orthogonal.mtx
run 'leastsquares, A^T b = 0' mpi 1 "$bin/leastsquares" -file column.mtx -rhs orthogonal.mtx -ksp_type lsqr && says 'leastsquares, A^T b = 0' 'and no solver runs
|b| = 1'
printf '%s\n' '%%MatrixMarket matrix coordinate pattern general' '0 0 0' >empty.mtx
refuses 'pagerank, no pages' 'empty.mtx is 0 x 0' pagerank -file empty.mtx
refuses 'adjoint, a solve that fails' 'WRONG: ' adjoint -n 20 -ksp_max_it 1
refuses 'convection, a step that fails' '1 of 20 steps' convection -da_grid_x 8 -da_grid_y 8 -da_grid_z 8 -ksp_max_it 1
if [ -n "$SLEPCCSRC_LIB" ] && [ -x "$bin/bisection" ]; then
  refuses 'bisection, a wide matrix' 'wide.mtx is 3 x 4, it must be square' bisection -file wide.mtx
  refuses 'bisection, directed edges' 'directed.mtx is not symmetric, by 2. in a row' bisection -file directed.mtx
  refuses 'bisection, one edge, one stored zero' '3 vertices has 1 edges' bisection -file edge.mtx
  # 64-bit integers count them
  grep -qs 'PETSC_INDEX_SIZE *= *64' "$PETSC_DIR/$PETSC_ARCH/lib/petsc/conf/petscvariables" || refuses 'lowrank, too many documents' 'Product of two integers 100 ' lowrank -documents 2000000000
  printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 3' '1 1 1e308' '2 2 1e308' '3 3 1e307' >huge.mtx
  # single precision has no such values
  if [ $rtol != 1e-3 ]; then run 'svd, residuals that overflow' env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n 1 $bin/svd -file huge.mtx -svd_type blocklanczos" && says 'svd, residuals that overflow' 'Warning: residuals of up to'; fi
  run 'lowrank, rank 1' env PETSC_OPTIONS="$PETSC_OPTIONS -dll_append $SLEPCCSRC_LIB" bash -c "$MPIEXEC -n 2 $bin/lowrank -file rank1.mtx -rank 3" && says 'lowrank, rank 1' 'Right:' && says 'lowrank, rank 1, said' 'From rank 1 on'
fi

if "$python" -c 'import matplotlib' 2>/dev/null; then
  if run 'plots' "$python" "$SRCDIR/../examples/plot.py" --out figures pagerank.csv changes.csv residuals.csv slice.csv adjoint.csv errors.csv $(ls bisection.csv lowrank.csv scores.csv ridge.csv spectra/*.csv 2>/dev/null); then
    for figure in $output; do [ -s "$figure" ] && ok "plot $(basename "$figure")"; done
  fi
else
  skip plots 'no matplotlib: make python'
fi

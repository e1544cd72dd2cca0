#!/usr/bin/env bash
#
# Runs whole programs, unchanged tutorials of PETSc and SLEPc, with several matrix types: time of the run, and of its phases.
#
#   benchmarks/programs.sh DIR [CASE ...]
#
# Writes DIR/programs.csv: case, type, run, exit status, seconds of the whole run and of KSPSolve, PCSetUp, SNESSolve, MatMult,
# MatMultTranspose, MatFormBuild, EPSSolve, SVDSolve, and megabytes and calls of copies between host and device, from -log_view; then
# how the solvers ended, the outermost first, each reason with the number of solves; their iterations, summed over the solves; and the
# result: eigenvalues or singular values, or the last error of a solution that was printed, or else the last norm of a residual. Prints a
# line for each run. measurements/programstable.py compares the types. Needs the programs (`make tutorials`) in the PATH, PETSCCSRC_LIB,
# and SLEPCCSRC_LIB for those of SLEPc.
# Environment variables:
#   TYPES   matrix types; the others are compared with the first (default: aijcusparse aijcsrccuda)
#   RUNS    number of runs of each case and type, which take turns (default 3)
#   RANKS   number of processes (default 1), started by MPIEXEC (default mpiexec); cases that cannot run on several fail
#   LIMIT   maximum number of seconds for a run (default 100)
#   EXTRA   options for every run
#   CASES   a file with other cases, such as benchmarks/morecases.txt
set -u
dir=${1:?names no directory}
shift
types=${TYPES:-aijcusparse aijcsrccuda}
launch=()
[ "${RANKS:-1}" = 1 ] || launch=("${MPIEXEC:-mpiexec}" -n "$RANKS")
mkdir -p "$dir"
csv=$dir/programs.csv
events='KSPSolve PCSetUp SNESSolve MatMult MatMultTranspose MatFormBuild EPSSolve SVDSolve'
[ -e "$csv" ] || echo "case,type,run,status,total,${events// /,},tohost_mb,tohost_calls,todevice_mb,todevice_calls,reasons,iterations,result" >"$csv"
# What shows the result. It costs lines of output only: all of these numbers are known. The programs with EPS print its reason themselves.
says=(-ksp_converged_reason -snes_converged_reason -snes_monitor -svd_converged_reason -eps_view_values -svd_view_values)

# @T@ stands for the type; the first word is the program
dm='-dm_mat_type @T@ -dm_vec_type cuda'
mat='-mat_type @T@ -vec_type cuda'
norm=-ksp_view_final_residual # for a program that prints no norm: one more product, after KSPSolve's time has been taken
cases=(
  "ex45-bicg-jacobi     petsc-ksp-ex45 -da_grid_x 128 -da_grid_y 128 -da_grid_z 128 $dm -ksp_type bicg -pc_type jacobi -ksp_rtol 1e-8"
  "ex45-cg-gamg         petsc-ksp-ex45 -da_grid_x 97 -da_grid_y 97 -da_grid_z 97 $dm -ksp_type cg -pc_type gamg -ksp_rtol 1e-8"
  "ex45-cg-mg           petsc-ksp-ex45 -da_grid_x 17 -da_grid_y 17 -da_grid_z 17 -da_refine 3 $dm -pc_type mg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi -ksp_rtol 1e-8"
  "bench27-cg-jacobi    petsc-ksp-bench_kspsolve -n 128 -mat_type @T@ -ksp_type cg -pc_type jacobi"
  "bench27-cg-gamg      petsc-ksp-bench_kspsolve -n 96 -mat_type @T@ -ksp_type cg -pc_type gamg"
  "ex19-newton-jacobi   petsc-snes-ex19 -da_grid_x 257 -da_grid_y 257 $dm -ksp_type bcgs -pc_type jacobi -snes_max_it 6 -ksp_max_it 400 -lidvelocity 10 -grashof 1"
  "ex19-newton-gamg     petsc-snes-ex19 -da_grid_x 129 -da_grid_y 129 $dm -ksp_type fgmres -pc_type gamg -snes_max_it 6 -ksp_max_it 200 -lidvelocity 10 -grashof 1"
  "ex19-newton-mg       petsc-snes-ex19 -da_grid_x 17 -da_grid_y 17 -da_refine 5 $dm -ksp_type fgmres -pc_type mg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi -lidvelocity 10 -grashof 1"
  "ex19-newton-galerkin petsc-snes-ex19 -da_grid_x 17 -da_grid_y 17 -da_refine 4 $dm -ksp_type fgmres -pc_type mg -pc_mg_galerkin -mg_levels_ksp_type gmres -mg_levels_pc_type jacobi -lidvelocity 10 -grashof 1"
  "ex2-bcgs-ilu         petsc-ksp-ex2 -m 700 -n 700 $mat -pc_type ilu -ksp_type bcgs -ksp_rtol 1e-6"
  "ex2-bicg-jacobi      petsc-ksp-ex2 -m 1000 -n 1000 $mat -pc_type jacobi -ksp_type bicg -ksp_max_it 1000"
  "ex34-neumann-mg      petsc-ksp-ex34 -da_grid_x 128 -da_grid_y 128 -da_grid_z 128 $dm -pc_type mg -pc_mg_levels 4 -mg_levels_pc_type jacobi"
  "ex46-cg-jacobi       petsc-ksp-ex46 -da_grid_x 1000 -da_grid_y 1000 $dm -ksp_type cg -pc_type jacobi -ksp_max_it 600"
  "ex50-mg              petsc-ksp-ex50 -da_grid_x 33 -da_grid_y 33 -da_refine 5 $dm -pc_type mg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi $norm"
  "ex56-elasticity-gamg petsc-ksp-ex56 -ne 29 -mat_type @T@ -vec_type cuda -ksp_type cg -pc_type gamg -use_mat_nearnullspace -ksp_rtol 1e-6 $norm"
  "ex5-bratu-newton     petsc-snes-ex5 -da_grid_x 513 -da_grid_y 513 $dm -ksp_type cg -pc_type jacobi -ksp_max_it 400"
  "ts-reaction          petsc-ts-ex5 -da_grid_x 512 -da_grid_y 512 $dm -ts_max_steps 5 -ts_type beuler -pc_type jacobi"
  "plex-poisson-gamg    petsc-snes-ex13 -dm_plex_dim 3 -dm_plex_simplex 0 -dm_plex_box_faces 16,16,16 -potential_petscspace_degree 2 $dm -ksp_type cg -pc_type gamg -ksp_rtol 1e-8"
  "plex-elasticity-gamg petsc-snes-ex56 -dm_plex_dim 3 -dm_plex_simplex 0 -dm_plex_box_lower 0,0,0 -dm_plex_box_upper 1,1,1 -dm_plex_box_faces 5,5,5 -run_type 1 -max_conv_its 2 -petscspace_degree 2 -snes_max_it 2 $dm -ksp_type cg -ksp_rtol 1e-8 -pc_type gamg -use_mat_nearnullspace true"
  "eps-laplace          slepc-eps-ex2 -n 700 $mat -eps_nev 4 -eps_max_it 40"
  "eps-markov           slepc-eps-ex5 -m 700 $mat -eps_nev 4 -eps_max_it 40"
  "svd-grcar            slepc-svd-ex8 -n 200000 $mat -svd_nsv 6 -svd_max_it 40"
  "svd-grcar-lanczos    slepc-svd-ex8 -n 200000 $mat -svd_nsv 6 -svd_type lanczos -svd_max_it 40"
)

if [ -n "${CASES:-}" ]; then
  mapfile -t cases < <(grep -v '^#' "$CASES" | sed -e "s/@DM@/$dm/" -e "s/@MAT@/$mat/")
fi

run() { # NAME TYPE RUN PROGRAM OPTION ...
  local name=$1 type=$2 r=$3 program=$4 out=$dir/$1-$2-$3.txt lib=$PETSCCSRC_LIB status line
  shift 4
  [[ $program != slepc-* ]] || lib=${SLEPCCSRC_LIB:-$lib}
  timeout "${LIMIT:-100}" ${launch[@]+"${launch[@]}"} "$program" "${@//@T@/$type}" -dll_append "$lib" -use_gpu_aware_mpi 0 -log_view "${says[@]}" ${EXTRA:-} >"$out" 2>&1
  status=$?
  line=$(awk -v events="$events" -v name="$name" -v type="$type" -v r="$r" -v status=$status '
    function number(text) { sub(/^[ :=]+/, "", text); sub(/[ ,].*/, "", text); return text }
    BEGIN { n = split(events, e, " "); for (k = 1; k <= n; k++) known[e[k]] = k }
    /^Time \(sec\):/ { total = $3 }
    ($1 in known) && NF > 10 && !($1 in time) {
      time[$1] = $4
      # with a device the last six columns are: GPU Mflop/s, copies to the device (count, size), to the host (count, size), GPU %F
      if ($1 == "KSPSolve" || $1 == "SNESSolve" || $1 == "EPSSolve" || $1 == "SVDSolve") { todevice = $(NF - 4) "," $(NF - 3); tohost = $(NF - 2) "," $(NF - 1) }
    }
    /^ *(Linear|Nonlinear|SVD) .*solve (converged|did not converge)/ && / due to / {
      solver = /eigensolve/ ? "EPS" : $1 == "SVD" ? "SVD" : $1 == "Nonlinear" ? "SNES" : "KSP"
      reason = $0
      sub(/.* due to /, "", reason)
      sub(/[; ].*/, "", reason)
      if (!solves[solver, reason]++) reasons[solver] = reasons[solver] " " reason
      iterations[solver] += $NF
    }
    # of several norms the last one; the table of -log_view has stages with such names
    /PETSc Performance Summary/ { logged = 1 }
    !logged && match($0, /SNES Function norm|[Rr]esidual norm|norm of residual/) { residual = number(substr($0, RSTART + RLENGTH)) }
    !logged && match($0, /Norm of error|Error norm|L2 error|, error=/) { error = number(substr($0, RSTART + RLENGTH)) }
    /^(Eigenvalues|Singular values) =/ { listing = 1; next }
    listing && !/^ +[-+0-9.]/ { listing = 0 }
    listing { values = values " " $1 }
    END {
      printf "%s,%s,%s,%s,%s", name, type, r, status, total
      for (k = 1; k <= n; k++) printf ",%s", time[e[k]]
      split(todevice, d, ","); split(tohost, h, ",")
      printf ",%s,%s,%s,%s,", h[2], h[1], d[2], d[1]
      m = split("EPS SVD SNES KSP", order, " ")
      for (k = 1; k <= m; k++) {
        solver = order[k]
        if (!(solver in iterations)) continue
        count = split(reasons[solver], reason_of, " ")
        for (l = 1; l <= count; l++) {
          printf "%s%s %s x%d", ended, solver, reason_of[l], solves[solver, reason_of[l]]
          ended = "; "
        }
        its = its (its == "" ? "" : "; ") solver " " iterations[solver]
      }
      printf ",%s,%s\n", its, values != "" ? "values" values : error != "" ? "error " error : residual != "" ? "residual " residual : ""
    }' "$out")
  echo "$line" >>"$csv"
  echo "$line"
  [ $status = 0 ] || grep -m3 -E 'ERROR|error' "$out"
}

for r in $(seq "${RUNS:-3}"); do
  for c in "${cases[@]}"; do
    read -r -a words <<<"$c"
    if [ $# -gt 0 ] && [[ " $* " != *" ${words[0]} "* ]]; then continue; fi
    command -v "${words[1]}" >/dev/null || { echo "benchmarks/programs.sh: no ${words[1]} in the PATH: ${words[0]} is left out" >&2; continue; }
    for t in $types; do run "${words[0]}" "$t" "$r" "${words[@]:1}"; done
  done
done

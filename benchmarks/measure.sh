#!/usr/bin/env bash
#
# The measurements of measurements/performance.md: writes CSV files for tables.py, plot.py and svdtable.py, and the output of the programs.
#
#   benchmarks/measure.sh DIR [PIECE ...]
#
# Pieces for one GPU, some ten minutes in all, without many:
#   large        products with one vector and with several, generated matrices
#   small        products with one vector, the real matrices of $MATRICES/large
#   many         products with 64 to 512 vectors, generated matrices; only by its name, since it takes some ten minutes by itself
#   wide         products with one vector, transposes of eight of the generated matrices
#   csrc         products with one vector and -mat_csrc_layout csrc, to be compared with large
#   copies       -mat_form_copies 2, with one vector and with several
#   setup        set-up and new values
#   svd          all pieces of svd.sh, in DIR/svd
# Pieces for CPUs, some five minutes in all:
#   cpu          products with one vector, hot and cold caches: generated matrices, real ones, and others that were not used for tuning
#   cpuone       products on one core, generated matrices of a twentieth of their size
#   ranks        PETSc's AIJ and AIJSELL and bccoo with one process for each core, and bccoo with as many threads
#   cpudense     products with several vectors, six real matrices and generated ones of an eighth of their size
#
# Needs the programs in the PATH, PETSCCSRC_LIB, and for some pieces SLEPCCSRC_LIB and MATRICES. Environment variables:
#   SCALE   size of generated matrices relative to the originals (default 1)
#   LIMIT   maximum number of seconds for a piece (default 600)
set -u
dir=${1:?names no directory}
shift
here=$(cd "$(dirname "$0")" && pwd)
scale=${SCALE:-1}
mkdir -p "$dir"
options=(-dll_append "${PETSCCSRC_LIB:?is not set}")
names=ch7-9-b4,ch8-8-b4,12month1,connectus,ESOC,GL7d16,IMDB,rail4284,spal_004,specular,Rucci1,stormG2,tp-6,pds-100,Delor338K,atmosmodd
export OMP_PROC_BIND=${OMP_PROC_BIND:-close}

piece() { # NAME PROGRAM OPTION ...
  local name=$1 program=$2
  shift 2
  timeout "${LIMIT:-600}" "$program" "$@" "${options[@]}" -csv "$dir/$name.csv" >"$dir/$name.txt" 2>&1 || { echo "benchmarks/measure.sh: $name failed, see $dir/$name.txt" >&2; status=1; }
}
# Products on the host, without BLAS: beside threads of OpenBLAS, those of the products would sleep between them
onhost() { OPENBLAS_NUM_THREADS=1 piece "$@"; }
real() { # prints the folder of real matrices; fails if there is none
  [ -d "${MATRICES:-}/large" ] && echo "$MATRICES/large" && return
  echo "benchmarks/measure.sh: MATRICES has no folder large: real matrices are left out" >&2
  return 1
}

status=0
[ $# -gt 0 ] || set -- large small wide csrc copies setup svd cpu cpuone cpudense ranks
for p in "$@"; do
  case $p in
    large) piece large products -layouts auto -spmm -K 2,4,8,16,32 -matrices $names -scale "$scale" ;;
    small) if r=$(real); then piece small products -layouts auto -dir "$r"; fi ;;
    many) piece many products -layouts auto -spmm -K 64,128,256,512 -matrices $names -scale "$scale" ;;
    wide) piece wide products -layouts auto -transposed -matrices 12month1,rail4284,connectus,specular,pds-100,ESOC,Delor338K,GL7d16 -scale "$scale" ;;
    csrc) piece csrc products -layouts csrc -matrices $names -scale "$scale" ;;
    copies) piece copies products -layouts auto,two -spmm -K 8,32 -matrices $names -scale "$scale" ;;
    setup) piece setup setup -matrices ch7-9-b4,12month1,connectus,ESOC,GL7d16,IMDB,rail4284,stormG2,tp-6,pds-100,atmosmodd -scale "$scale" ;;
    svd) "$here/svd.sh" "$dir/svd" || status=1 ;;
    cpu)
      onhost cpu-generated cpu -matrices generated -scale "$scale" -cold
      if r=$(real); then onhost cpu-real cpu -dir "$r" -transposes -cold; fi
      onhost cpu-others cpu -matrices ch7-9-b4,connectus,ESOC,IMDB,specular,Rucci1,stormG2,tp-6,Delor338K -scale "$scale" -cold
      ;;
    cpuone) onhost cpu-one cpu -matrices generated -scale "$(awk "BEGIN { print 0.05 * $scale }")" -threads 1 ;;
    ranks)
      matrices=(-matrices generated -scale "$scale")
      if r=$(real); then matrices+=(-dir "$r"); fi
      OMP_NUM_THREADS=1 onhost ranks "${MPIEXEC:-mpiexec}" -n "$(env -u OMP_NUM_THREADS nproc)" --bind-to core ranks "${matrices[@]}"
      onhost ranks-one ranks "${matrices[@]}" -types bccoo
      ;;
    cpudense)
      onhost cpu-dense-generated cpu -matrices generated -scale "$(awk "BEGIN { print 0.12 * $scale }")" -K 8,32
      if r=$(real); then
        mkdir -p "$dir/six"
        for m in cage11 lp_osa_30 nw14 pds-50 rail507 rmine15; do ln -sf "$r/$m".mtx* "$dir/six"; done
        onhost cpu-dense-real cpu -K 8,32 -dir "$dir/six"
      fi
      ;;
    *) echo "benchmarks/measure.sh: there is no piece $p" >&2; exit 2 ;;
  esac
done
exit $status

#!/usr/bin/env bash
#
# Without options, SLEPc uses the one copy of the matrix for A^T: the log shows products with A^T and no transpose.
# With -mat_form_explicit_transpose it shows a transpose.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
[ -d "$TESTDIR/slepc" ] || { skip svdlog 'no SLEPc'; exit; }
cd "$TESTDIR/slepc/svd/tests" || exit

count() { echo "$output" | awk -v event="$1" '$1 == event { n = $2 } END { print n + 0 }'; }

for n in 1 2; do
  for type; do
    for solver in lanczos trlanczos cross cyclic randomized; do
      label="svdlog $solver $type, $n processes"
      run "$label" mpi $n ./test3 -svd_nsv 4 -svd_type $solver -mat_type "$type" -log_view || continue
      # randomized uses products with blocks of vectors
      if [ $solver = randomized ]; then products=$(count MatFormMatMult); else products=$(($(count MatMultTranspose) + $(count MatMultHermitian))); fi
      if [ "$(count MatTranspose)" != 0 ]; then not_ok "$label" 'a transpose was formed' "$(echo "$output" | grep ^Mat)"
      elif [ "$products" -lt 10 ]; then not_ok "$label" "$products products only" "$(echo "$output" | grep ^Mat)"
      else ok "$label"; fi
    done
    label="svdlog explicit $type, $n processes"
    run "$label" mpi $n ./test3 -svd_nsv 4 -svd_type trlanczos -mat_type "$type" -mat_form_explicit_transpose -log_view || continue
    if [ "$(count MatTranspose)" = 0 ]; then not_ok "$label" 'no transpose was formed' "$(echo "$output" | grep ^Mat)"; else ok "$label"; fi
  done
done

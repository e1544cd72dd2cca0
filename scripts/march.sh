#!/bin/sh
# Prints the architecture flag for a C compiler ($1): x86-64-v3 (AVX2, FMA) where both the compiler and this machine have it, otherwise nothing:
# neither aarch64 nor a compiler for another machine needs one. The build runs on every server of the last ten years; no code may need more.
cc=${1:-cc}
grep -qsw avx2 /proc/cpuinfo && grep -qsw fma /proc/cpuinfo && grep -qsw bmi2 /proc/cpuinfo || exit 0
for flag in -march=x86-64-v3 -march=haswell; do
  if $cc $flag -E -x c /dev/null >/dev/null 2>&1; then echo $flag; exit 0; fi
done

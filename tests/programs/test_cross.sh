#!/usr/bin/env bash
#
# Another kind of processor: the C sources compile for it and, once scripts/cross.sh has built a PETSc for it, some tests run there, emulated.
# shellcheck source=tests/programs/tap.sh
. "$SRCDIR/programs/tap.sh"
machine=aarch64
compiler=$machine-linux-gnu-gcc
root=$SRCDIR/..
command -v "$compiler" >/dev/null && command -v "qemu-$machine-static" >/dev/null || { skip cross "no $compiler, or no qemu-$machine-static"; exit; }
[ -n "$PETSC_DIR" ] && [ -e "$root/gmakefile" ] || { skip cross 'no sources and no PETSc to compile with'; exit; }

# with the headers of this machine's PETSc and MPI, whose wrapper calls the compiler that these variables name
export OMPI_CC=$compiler MPICH_CC=$compiler
dir=$TESTDIR/cross
variable() { make -s -C "$root" -f gmakefile BUILDDIR="$dir" NVCC= "print-$1"; }
[[ $($(variable CC) -dumpmachine) = $machine* ]] || { skip cross "PETSc's compiler is no wrapper"; exit; }
read -ra sources < <(variable srcs.all)
sources=("${sources[@]/%/.o}")
if run "compiling for $machine" make -s -C "$root" -f gmakefile -j2 BUILDDIR="$dir" NVCC= OPTFLAGS='-O0 -fsyntax-only -Werror' "${sources[@]/#/$dir/obj/}"; then ok "compiling for $machine"; fi
rm -rf "$dir"

label="tests on $machine, emulated"
if [ ! -e "$root/external/$machine/logs/build-slepc.done" ]; then skip "$label" "scripts/cross.sh $machine has not been run here"; exit; fi
# without the variables of this machine's tests
if output=$(env -i PATH="$PATH" HOME="${HOME:-/}" "$root/scripts/cross.sh" "$machine" mat-products_1thread mat-threads_1 mat-binaryfile_1 svd-smalldense_1 sys-segments_1 2>&1); then ok "$label"
else not_ok "$label" "$(tail -n 12 <<<"$output")"; fi

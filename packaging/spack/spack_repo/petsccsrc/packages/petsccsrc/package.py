from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Petsccsrc(Package, CudaPackage):
    """PETSc matrix types with fast products with A and with its transpose from one stored copy: csrccuda on GPUs, bccoo on CPUs."""

    license("BSD-2-Clause")

    version("0.1.0")

    variant("slepc", default=True, description="The SVD type blocklanczos for SLEPc")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")
    depends_on("petsc@3.22:+shared")
    depends_on("slepc", when="+slepc")
    depends_on("petsc@3.26:+cuda", when="+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"petsc cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
    # the parts for GPUs are always compiled if PETSc has CUDA
    conflicts("^petsc+cuda", when="~cuda")

    def install(self, spec, prefix):
        slepc = spec["slepc"].prefix if spec.satisfies("+slepc") else ""
        make(
            "-f",
            "gmakefile",
            f"PETSC_DIR={spec['petsc'].prefix}",
            "PETSC_ARCH=",
            f"SLEPC_DIR={slepc}",
            f"BUILDDIR={join_path(self.stage.source_path, 'build', 'spack')}",
            f"PREFIX={prefix}",
            "MARCHFLAGS=",  # the compiler wrapper sets the target
            "V=1",
            "install",
        )

    def setup_run_environment(self, env):
        env.set("PETSCCSRC_LIB", join_path(self.prefix.lib, "libpetsccsrc.so"))
        if self.spec.satisfies("+slepc"):
            env.set("SLEPCCSRC_LIB", join_path(self.prefix.lib, "libslepccsrc.so"))

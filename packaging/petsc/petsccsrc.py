"""For PETSc's configure: --download-petsccsrc=ARCHIVE builds the library after PETSc, and after SLEPc if that is downloaded too.

Copy this file into config/BuildSystem/config/packages of PETSc's sources. ARCHIVE is the source distribution (petsccsrc-0.1.0.tar.gz).
"""
import os

import config.package


class Configure(config.package.Package):
    def __init__(self, framework):
        config.package.Package.__init__(self, framework)
        self.download = ["petsccsrc-0.1.0.tar.gz"]
        self.downloaddirnames = ["petsccsrc"]
        self.functions = []
        self.includes = []
        self.skippackagewithoptions = 1
        self.linkedbypetsc = 0
        self.useddirectly = 0
        self.builtafterpetsc = 1

    def setupDependencies(self, framework):
        config.package.Package.setupDependencies(self, framework)
        self.sharedLibraries = framework.require("PETSc.options.sharedLibraries", self)
        self.cuda = framework.require("config.packages.CUDA", self)
        self.slepc = framework.require("config.packages.SLEPc", self)
        self.odeps = [self.cuda, self.slepc]

    def Install(self):
        if not self.sharedLibraries.useShared:
            raise RuntimeError("petsccsrc is loaded at run time: it needs --with-shared-libraries=1")
        if self.argDB["prefix"] and "package-prefix-hash" not in self.argDB:
            prefix = petsc = os.path.abspath(os.path.expanduser(self.argDB["prefix"]))
            arch = ""
        else:
            prefix, petsc, arch = os.path.join(self.petscdir.dir, self.arch), self.petscdir.dir, self.arch
        # SLEPc, if it is downloaded too, is installed into the same place
        slepc = prefix if self.argDB.get("download-slepc") else ""
        build = os.path.join(self.packageDir, "build", "petsc")
        make = "${OMAKE} -f gmakefile PETSC_DIR=%s PETSC_ARCH=%s SLEPC_DIR=%s BUILDDIR=%s PREFIX=%s" % (petsc, arch, slepc, build, prefix)
        self.addPost(self.packageDir, [make + " install"])
        self.include = [os.path.join(prefix, "include")]
        self.lib = [os.path.join(prefix, "lib", "libpetsccsrc.so")]
        return self.installDir

"""What setuptools does not know for pip install .: the libraries are compiled by gmakefile and put into the package.

The PETSc to build against is PETSC_DIR (and PETSC_ARCH), if set; otherwise the one that petsc4py in this Python was built with; otherwise
the one of the package petsc. The same holds for SLEPc, which may be missing; if only PETSC_DIR is set, SLEPc is taken from the same place,
or from this Python if that PETSc is this Python's.

scripts/wheel.sh sets PETSCCSRC_WHEEL, the name of the distribution, and SCIPY_OPENBLAS: then all of PETSc and SLEPc goes into the one library.
"""
import configparser
import os
import pathlib
import re
import shutil
import site
import subprocess
import sysconfig

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent
WHEEL = os.environ.get("PETSCCSRC_WHEEL", "")
CUDA = [] if not WHEEL.endswith("cu13") else ["nvidia-cuda-runtime>=13,<14", "nvidia-cublas>=13,<14", "nvidia-cusparse>=12.6,<13", "nvidia-cusolver>=12,<13", "nvidia-curand>=10.4,<11"]


def header_version(header, prefix):
    numbers = dict(re.findall(rf"#define\s+{prefix}_VERSION_(MAJOR|MINOR|SUBMINOR)\s+(\d+)", header.read_text(encoding="utf-8")))
    return tuple(int(numbers[part]) for part in ("MAJOR", "MINOR", "SUBMINOR"))


def find_in_python(package):
    """The folder and the architecture of petsc or slepc that belongs to this Python, or None"""
    variable = package.upper()
    # in a build pip hides installed packages, but not their folders
    folders = [sysconfig.get_path("platlib"), sysconfig.get_path("purelib"), site.getusersitepackages(), *site.getsitepackages()]
    for folder in dict.fromkeys(map(pathlib.Path, folders)):
        config = folder / f"{package}4py/lib/{package}.cfg"
        if config.exists():
            parser = configparser.ConfigParser(interpolation=None)
            parser.read_string("[it]\n" + config.read_text(encoding="utf-8"))
            directory = parser["it"].get(f"{variable}_DIR", "")
            # in a wheel of petsc4py this is a folder of the machine where it was built
            if os.path.isdir(directory):
                return directory, parser["it"].get("PETSC_ARCH", "")
        if (folder / package / f"include/{package}.h").exists():
            return str(folder / package), ""
    return None


def find_arch():
    """PETSC_ARCH or, for a PETSc in PETSC_DIR that is not installed, the architecture that it was last configured for"""
    arch = os.environ.get("PETSC_ARCH", "")
    variables = pathlib.Path(os.environ.get("PETSC_DIR", ""), "lib/petsc/conf/petscvariables")
    if not arch and variables.is_file():
        arch = "".join(re.findall(r"^PETSC_ARCH *= *(\S+)", variables.read_text(encoding="utf-8"), re.MULTILINE)[:1])
    return arch


def find(package):
    """The folder and the architecture of petsc or slepc, or None"""
    directory = os.environ.get(f"{package.upper()}_DIR")
    if directory:
        return directory, find_arch()
    petsc = os.environ.get("PETSC_DIR")
    if package == "slepc" and petsc:  # another SLEPc would bring another PETSc
        same = pathlib.Path(petsc, find_arch())
        if (same / "include/slepc.h").exists():
            return str(same), ""
        own = find_in_python("petsc")
        if not own or not os.path.samefile(own[0], petsc):
            return None
    return find_in_python(package)


def compile_libraries():
    petsc, slepc = find("petsc"), find("slepc")
    if not petsc:
        raise SystemExit("petsccsrc: there is no PETSc to build against: set PETSC_DIR (and PETSC_ARCH), or install petsc4py before and give --no-build-isolation")
    directory, arch = petsc
    if not pathlib.Path(directory, "include/petscversion.h").is_file():
        raise SystemExit(f"petsccsrc: PETSC_DIR={directory} is not a PETSc: it has no include/petscversion.h")
    version = header_version(pathlib.Path(directory, "include/petscversion.h"), "PETSC")
    if version < (3, 22):
        raise SystemExit(f"petsccsrc: PETSc in {directory} is {version[0]}.{version[1]}; 3.22 or newer is needed, for GPUs 3.26")
    # kept between builds of a working copy, so that only changed sources are compiled
    build = os.environ.get("PETSCCSRC_BUILDDIR", ROOT / "build/pip")
    variables = {"PETSC_DIR": directory, "PETSC_ARCH": arch, "SLEPC_DIR": slepc[0] if slepc else "", "BUILDDIR": build}
    # these variables of the environment are passed to make, such as NVCC= or CUDA_ARCH=
    variables |= {name: os.environ[name] for name in ("NVCC", "CUDA_ARCH", "OPTFLAGS", "MARCHFLAGS", "SCIPY_OPENBLAS") if name in os.environ}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(["make", "-f", "gmakefile", f"-j{os.environ.get('JOBS') or os.cpu_count()}", *(f"{name}={value}" for name, value in variables.items()), "libs"], cwd=ROOT, env=environment, check=True)
    # others in this folder are left from earlier builds, for another PETSc
    return [pathlib.Path(build, f"lib{name}.so") for name in (["petsccsrc-wheel"] if WHEEL else ["petsccsrc", "slepccsrc"] if slepc else ["petsccsrc"])]


class Build(build_py):
    def run(self):
        if self.editable_mode:
            raise SystemExit("petsccsrc: it cannot be installed as editable; docs/python.md says how to use it without installing")
        shutil.rmtree(pathlib.Path(self.build_lib, "petsccsrc"), ignore_errors=True)
        super().run()
        for library in compile_libraries():
            shutil.copy(library, pathlib.Path(self.build_lib, "petsccsrc"))


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]  # the libraries do not use Python's


class WithLibraries(Distribution):
    def parse_config_files(self, *arguments, **more):
        super().parse_config_files(*arguments, **more)
        if WHEEL:
            self.metadata.name = WHEEL
            self.metadata.license_expression = "BSD-2-Clause AND BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1"
            self.metadata.license_files = ["LICENSE", *(str(file.relative_to(ROOT)) for file in sorted(ROOT.glob("build/wheel/licenses/*")))]

    def has_ext_modules(self):
        return True


version = ".".join(map(str, header_version(ROOT / "include/petsccsrc.h", "PETSCCSRC")))
setup(version=version, install_requires=["numpy", *CUDA], cmdclass={"build_py": Build, "bdist_wheel": Wheel}, distclass=WithLibraries)

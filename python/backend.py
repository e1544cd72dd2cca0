"""The build backend for pip (PEP 517): compiles the libraries into a wheel, and makes the source distribution.

The PETSc to build against is PETSC_DIR (and PETSC_ARCH), if set; otherwise the one that petsc4py in this Python was built with; otherwise
the one of the package petsc. The same holds for SLEPc, which may be missing; if only PETSC_DIR is set, SLEPc is taken from the same place,
or from this Python if that PETSc is this Python's. Nothing is downloaded.
"""
import base64
import configparser
import hashlib
import io
import os
import pathlib
import re
import site
import subprocess
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "petsccsrc"
TAG = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def header_version(header, prefix):
    numbers = dict(re.findall(rf"#define\s+{prefix}_VERSION_(MAJOR|MINOR|SUBMINOR)\s+(\d+)", header.read_text(encoding="utf-8")))
    return tuple(int(numbers[part]) for part in ("MAJOR", "MINOR", "SUBMINOR"))


VERSION = ".".join(map(str, header_version(ROOT / "include/petsccsrc.h", "PETSCCSRC")))


def is_release(directory):
    """Whether a PETSc is a release; between releases petsc4py counts versions in another way"""
    return "#define PETSC_VERSION_RELEASE    1" in pathlib.Path(directory, "include/petscversion.h").read_text(encoding="utf-8")


def metadata(directory=None):
    """The metadata of a wheel for the PETSc in a folder, or of the source distribution"""
    petsc = header_version(pathlib.Path(directory, "include/petscversion.h"), "PETSC") if directory and is_release(directory) else None
    return f"""\
Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: PETSc matrix types with fast products with A and with its transpose from one stored copy
License: {(ROOT / "LICENSE").read_text(encoding="utf-8").split(chr(10), 1)[0].strip()}
Requires-Python: >=3.9
Requires-Dist: petsc4py{f" =={petsc[0]}.{petsc[1]}.*" if petsc else ""}
Description-Content-Type: text/markdown

{(ROOT / "README.md").read_text(encoding="utf-8")}"""


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


def find_petsc():
    """The folder, the architecture and the version of PETSc"""
    petsc = find("petsc")
    if not petsc:
        raise SystemExit("petsccsrc: there is no PETSc to build against: set PETSC_DIR (and PETSC_ARCH), or install petsc4py before and give --no-build-isolation")
    directory, arch = petsc
    if not pathlib.Path(directory, "include/petscversion.h").is_file():
        raise SystemExit(f"petsccsrc: PETSC_DIR={directory} is not a PETSc: it has no include/petscversion.h")
    version = header_version(pathlib.Path(directory, "include/petscversion.h"), "PETSC")
    if version < (3, 22):
        raise SystemExit(f"petsccsrc: PETSc in {directory} is {version[0]}.{version[1]}; 3.22 or newer is needed, for GPUs 3.26")
    return directory, arch, version


def compile_libraries(build, directory, arch):
    slepc = find("slepc")
    print(f"petsccsrc: PETSC_DIR={directory} PETSC_ARCH={arch} SLEPC_DIR={slepc[0] if slepc else ''}", flush=True)
    command = ["make", "-f", "gmakefile", f"-j{os.cpu_count()}", f"PETSC_DIR={directory}", f"PETSC_ARCH={arch}", f"SLEPC_DIR={slepc[0] if slepc else ''}", f"BUILDDIR={build}", "libs"]
    # these variables of the environment are passed to make, such as NVCC= or CUDA_ARCH=
    command += [f"{name}={os.environ[name]}" for name in ("NVCC", "CUDA_ARCH", "OPTFLAGS") if name in os.environ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    # others in this folder are left from earlier builds, for another PETSc
    return [pathlib.Path(build, f"lib{name}csrc.so") for name in (["petsc", "slepc"] if slepc else ["petsc"])]


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    info = pathlib.Path(metadata_directory, f"{NAME}-{VERSION}.dist-info")
    info.mkdir()
    (info / "METADATA").write_text(metadata(find_petsc()[0]), encoding="utf-8")
    return info.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"{NAME}-{VERSION}-{TAG}.whl"
    info = f"{NAME}-{VERSION}.dist-info"
    # kept between builds of a working copy, so that only changed sources are compiled
    build = os.environ.get("PETSCCSRC_BUILDDIR", ROOT / "build/pip")
    directory, arch, petsc = find_petsc()
    files = {f"{NAME}/{library.name}": library.read_bytes() for library in compile_libraries(build, directory, arch)}
    files[f"{NAME}/__init__.py"] = (ROOT / "python/petsccsrc/__init__.py").read_bytes()
    files[f"{NAME}/_version.py"] = f'version = "{VERSION}"\npetsc = {petsc[:2]}\n'.encode()
    files[f"{info}/METADATA"] = metadata(directory).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = "".join(f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n" for file, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for file, data in files.items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = (0o755 if file.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    top = f"{NAME}-{VERSION}"
    if (ROOT / ".git").exists():
        files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]
    else:  # an unpacked source distribution, which may contain builds
        inside = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*")) if path.is_file())
        files = [str(path) for path in inside if path.parts[0] not in ("build", "dist", "external", "PKG-INFO", ".venv", "venv") and "__pycache__" not in path.parts]
    name = f"{top}.tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory, name), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            if (ROOT / file).exists():
                archive.add(ROOT / file, f"{top}/{file}")
        data = metadata().encode()
        info = tarfile.TarInfo(f"{top}/PKG-INFO")
        info.size, info.mode = len(data), 0o644
        archive.addfile(info, io.BytesIO(data))
    return name

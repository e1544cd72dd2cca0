#!/usr/bin/env python3
"""Runs PETSc's own tests, or SLEPc's, with a matrix type that is set from outside, as users do.

    scripts/upstreamtests.py [--slepc] [--type aijbccoo] [--seqaij | --renamed] [--options 'OPTION ...'] [--jobs 2] [FOLDER ...]

Those tests are run whose programs take the type from the options and that do not choose one themselves; with --seqaij, those whose programs make AIJ
matrices in any way, by -mat_seqaij_type; with --renamed, those that choose aijcusparse, of which there are copies in which the type replaces it (csrccuda, if
none is given). A test that fails is run again with AIJ, but for renamed ones. Tests that fail with the type alone are listed with their logs, which
have to be read: most print the type, or what its viewer says. FOLDER, such as ts or mat/tests, restricts the tests; without one it takes an hour on two cores.

Needs the sources of PETSc, and SLEPc's, and `eval "$(make -s env)"`. On a GPU: --type aijcsrccuda --options '-vec_type cuda -dm_vec_type cuda'; --renamed
puts host vectors in place of those of type cuda where there is no GPU.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('--slepc', action='store_true', help="SLEPc's tests in place of PETSc's")
parser.add_argument('--type', help='the type (default: aijbccoo; csrccuda with --renamed)')
way = parser.add_mutually_exclusive_group()
way.add_argument('--seqaij', action='store_true', help='every sequential AIJ matrix becomes one of this type')
way.add_argument('--renamed', action='store_true', help='the type replaces aijcusparse in copies of the programs')
parser.add_argument('--options', default='', help='more options, for all runs with the type')
parser.add_argument('--jobs', type=int, default=2, help='tests at a time (default: 2)')
parser.add_argument('folders', nargs='*', metavar='FOLDER')
arguments = parser.parse_args()
kind = arguments.type or ('csrccuda' if arguments.renamed else 'aijbccoo')

missing = [name for name in ['PETSC_DIR', 'PETSC_ARCH', 'PETSCCSRC_LIB', 'MPIEXEC'] + ['SLEPC_DIR', 'SLEPCCSRC_LIB'] * arguments.slepc if not os.environ.get(name)]
if missing:
    sys.exit(f'upstreamtests: {missing[0]} is not set: eval "$(make -s env)"')
petsc, arch, library = os.environ['PETSC_DIR'], os.environ['PETSC_ARCH'], os.environ['SLEPCCSRC_LIB' if arguments.slepc else 'PETSCCSRC_LIB']
root = pathlib.Path(os.environ['SLEPC_DIR'] if arguments.slepc else petsc)
sources = root / 'src'
if not sources.is_dir():
    sys.exit(f'upstreamtests: no sources in {root}')
work = pathlib.Path(library).parent / 'upstream' / ('slepc' if arguments.slepc else 'petsc')
logs = work / f'logs-{kind}'
logs.mkdir(parents=True, exist_ok=True)
packages = 'sys eps svd pep nep mfn lme' if arguments.slepc else 'mat dm ksp snes ts tao ml'

# What a program has to contain, and what a test must not say; what the options of a renamed test have to say, or the loops that set them
takes = re.compile('AIJ|MatSetFromOptions|DMCreateMatrix' if arguments.seqaij else 'MatSetFromOptions|DMCreateMatrix|DMSetFromOptions|SNESSetDM|KSPSetDM')
chooses = re.compile('cusparse|kokkos|hip|viennacl|seqaij_type' + ('' if arguments.seqaij else '|-(dm_)?mat_type'))
says = re.compile(rf"^(args='| *for |.*eval args=).*{kind}", re.M)
# Lines in which outputs may differ
names = re.compile('type[:=]|Mat Object|MatType|bccoo|csrccuda|seqaij|mpiaij|I-node|threads|exchange of vectors|row blocks|blocks of rows|values[: ]|bytes per nonzero|memory: |package used to perform')


def rename(text):
    """The type in place of aijcusparse: in options, in names of outputs, which tests choose by the type, and in programs"""
    text = re.sub('(seq|mpi)aijcusparse', rf'\1aij{kind}', text).replace('aijcusparse', kind)
    return re.sub('MAT(SEQ|MPI)AIJCUSPARSE', lambda name: f'"{name[1].lower()}aij{kind}"', text).replace('MATAIJCUSPARSE', f'"{kind}"')


def copy_renamed():
    """A folder with copies of the programs that name aijcusparse, and of what they include and print"""
    to = work / f'renamed-{kind}'
    gpu = list(pathlib.Path('/dev').glob('nvidia[0-9]*'))
    shutil.rmtree(to, ignore_errors=True)
    for source in [*sources.rglob('tests/*.c'), *sources.rglob('tutorials/*.c')]:
        text = source.read_text(errors='replace')
        if 'aijcusparse' not in text:
            continue
        folder = to / source.parent.relative_to(sources)
        (folder / 'output').mkdir(parents=True, exist_ok=True)
        text = rename(text)
        if not gpu:
            text = re.sub('args:.*', lambda line: re.sub('(seq|mpi|)densecuda', r'\1dense', line[0].replace('vec_type cuda', 'vec_type standard')), text)
        (folder / source.name).write_text(text)
        for header in source.parent.glob('*.h'):
            shutil.copy(header, folder)
        for output in [*source.parent.glob(f'output/{source.stem}_*'), *source.parent.glob('output/empty.out')]:
            (folder / 'output' / rename(output.name)).write_text(rename(output.read_text(errors='replace')))
    return to


if arguments.renamed:
    sources = copy_renamed()
tests = work / (f'tests-{kind}' if arguments.renamed else 'tests')
generate = [sys.executable, f'{petsc}/config/gmakegentest.py', f'--petsc-dir={petsc}', f'--petsc-arch={arch}', f'--testdir={tests}', f'--srcdir={sources}', '--pkg-name=upstream', f'--pkg-dir={root}', f'--pkg-arch={arch}', f'--pkg-pkgs={packages}']
subprocess.run(generate, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

libraries = [f'-L{petsc}/{arch}/lib', f'-Wl,-rpath,{petsc}/{arch}/lib', '-lpetsc', '-lm']
includes = [f'-I{petsc}/include', f'-I{petsc}/{arch}/include']
if arguments.slepc:
    libraries = [f'-L{root}/{arch}/lib', f'-Wl,-rpath,{root}/{arch}/lib', '-lslepc'] + libraries
    includes = [f'-I{root}/include', f'-I{root}/{arch}/include'] + includes
cuda = re.search(r'^CUDA_INCLUDE *= *(.*)$', pathlib.Path(f'{petsc}/{arch}/lib/petsc/conf/petscvariables').read_text(), re.M)
if cuda:
    includes += cuda.group(1).split()


def program(script):
    """The program of a test, its source, and the script's text after the options"""
    text = script.read_text()
    found = re.search(r"^executable='\.\./(\S+)'", text, re.M)
    if not found:
        return None, None, ''
    folder = script.parent.relative_to(tests)
    return script.parent / found.group(1), sources / folder / (found.group(1) + '.c'), text[text.find("args='"):]


def compiled(target):
    """Whether a program could be compiled; it may need several files, or other libraries"""
    path, source = target
    if not path.exists():
        subprocess.run(['mpicc', '-O1', '-w', *includes, f'-I{source.parent}', str(source), '-o', str(path), *libraries], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path.exists()


def run(script, options):
    """The output of a test, and what failed in it"""
    environment = dict(os.environ, PETSC_OPTIONS=f'-options_left no {options}', PETSCMPIEXEC=os.environ['MPIEXEC'], OMP_NUM_THREADS='2', OPENBLAS_NUM_THREADS='1')
    try:
        result = subprocess.run(['bash', str(script), '-j', '-t', '120'], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace', timeout=1200)
        output = result.stdout + result.stderr
    except subprocess.TimeoutExpired:
        output = f'not ok {script.stem} # did not end'
    return output, set(re.findall(r'^ *not ok +(\S+)', output, re.M))


def test(script):
    """What fails with the type and not with AIJ, and the log"""
    option = '' if arguments.renamed else '-mat_seqaij_type {0}' if arguments.seqaij else '-mat_type {0} -dm_mat_type {0}'
    output, failed = run(script, f'-dll_append {library} {option.format(kind)} -mat_form_store_at_once {arguments.options}')
    if failed and not arguments.renamed:
        failed -= run(script, option.format('seqaij' if arguments.seqaij else 'aij'))[1]
    return script, failed, output


for folder in arguments.folders:
    if not (tests / folder).is_dir():
        sys.exit(f'upstreamtests: there are no tests in {folder}')
scripts = []
for script in sorted({script for folder in arguments.folders or ['.'] for script in (tests / folder).rglob('run*.sh')}):
    path, source, rest = program(script)
    if path and source.exists() and (says.search(rest) if arguments.renamed else takes.search(source.read_text(errors='replace')) and not chooses.search(rest)):
        scripts.append((script, (path, source)))
with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
    targets = sorted({target for _, target in scripts})
    ready = dict(zip(targets, pool.map(compiled, targets)))
    scripts = [script for script, target in scripts if ready[target]]
    good = 'as with aijcusparse' if arguments.renamed else 'as with AIJ'
    count = {good: 0, 'differ in names only': 0, 'differ': 0}
    for script, failed, output in pool.map(test, scripts):
        different = [line for line in output.split('\n') if re.match('#\t[<>]', line) and line[3:].strip() and not names.search(line)]
        if not failed:
            count[good] += 1
        elif not different and 'PETSC ERROR' not in output and all(name.startswith('diff-') for name in failed):
            count['differ in names only'] += 1
        else:
            count['differ'] += 1
            log = logs / (str(script.relative_to(tests)).replace('/', '_') + '.log')
            log.write_text(output)
            print(f'differs: {log}', flush=True)
print(f'{len(scripts)} tests of {sum(ready.values())} programs:', ', '.join(f'{n} {what}' for what, n in count.items()))

#!/usr/bin/env python3
"""Counts what the sources have: lines, functions, parameters, circles of files by calls, options, words, files in a folder.

  scripts/house.py [--circles | --functions]

With --circles it also prints which functions close each circle, with --functions the longest functions and parameter lists. It needs Python only. It
reads sources as .clang-format lays them out: the body of a function stands between two lines with one brace each, without indentation.
"""
import collections, pathlib, re, statistics, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONG, WIDE, FULL = 100, 8, 16  # lines of a function, parameters, files in a folder


def clean(text):
    """Without comments and the insides of strings, line by line as before"""
    keep = lambda m: re.sub(r'[^\n]', ' ', m.group(0)) if m.group(0)[0] == '/' else m.group(0)[0] * 2
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', keep, text, flags=re.S)


def words(text):
    return set(re.findall(r'[A-Za-z_]\w+', text))


def parameters(text):
    """The number of parameters in the parameter list with which text ends"""
    depth, commas, inside = 0, 0, ''
    for c in reversed(text[:text.rindex(')')]):
        depth += (c in ')]>') - (c in '([<')
        if depth < 0: break
        commas += c == ',' and depth == 0
        inside += c
    return 0 if inside.strip() in ('', 'diov') else commas + 1


class Definition:
    """A function, macro or table: its file, name, lines, number of parameters, and the words in it"""
    def __init__(self, path, name, static, lines, text, wide=0):
        self.path, self.name, self.static, self.lines, self.words, self.parameters = path, name, static, lines, words(text) - {name}, wide
        self.isfunction = False


def definitions(path):
    lines, found, start = clean(path.read_text()).split('\n'), [], 0
    k = 0
    while k < len(lines):
        line = lines[k]
        end = k
        if line == '{':  # a function: its head is all unindented or continued lines before
            head = k - 1
            while head > 0 and lines[head - 1].strip() and not re.search(r'[;{}]\s*$', lines[head - 1]) and not lines[head - 1].startswith('#'): head -= 1
            while lines[end] != '}': end += 1
            text = ' '.join(lines[head:k])
            name = re.search(r'(~?\w+)\s*\((?!.*__launch_bounds__\s*\()', re.sub(r'__launch_bounds__\(.*?\)\)?|__attribute__\(\(.*?\)\)', '', text))
            if name and 'struct' not in text.split('(')[0].split():
                d = Definition(path, name.group(1), 'static' in text.split('(')[0], end - head + 1, '\n'.join(lines[head:end]), parameters(text.strip()))
                d.isfunction = True
                found.append(d)
        elif re.match(r'\s*#\s*define\s', line):
            while lines[end].endswith('\\'): end += 1
            found.append(Definition(path, re.match(r'\s*#\s*define\s+(\w+)', line).group(1), path.suffix in ('.c', '.cu'), end - k + 1, '\n'.join(lines[k:end + 1])))
        elif re.match(r'[A-Za-z].*=\s*\{?', line) and not line.rstrip().endswith(';') or re.match(r'[A-Za-z][^()]*=.*;', line):  # a table, or another variable
            while not lines[end].rstrip().endswith(';'): end += 1
            name = re.search(r'(\w+)\s*(\[[^=]*\])*\s*=', line) or re.search(r'\(\*(?:const )?(\w+)', line)
            if name: found.append(Definition(path, name.group(1), line.startswith('static'), end - k + 1, '\n'.join(lines[k:end + 1])))
        elif re.match(r'(?!typedef|struct|using|PETSC_)[A-Za-z][\w *]*\s\**\w+(\[.*\])?(, \**\w+(\[.*\])?)*;$', line):  # variables without a value
            found += [Definition(path, name, line.startswith('static'), 1, '') for name in re.findall(r'(\w+)(?:\[.*?\])?[,;]', line)]
        k = end + 1
    return found


def calls(files, defined):
    """For each source its edges to other sources, and by which names. What macros, inline functions and templates of headers name counts for who uses them."""
    sources = {d.path for d in defined if d.path.suffix in ('.c', '.cu')}
    exported = {d.name: d for d in defined if d.path in sources and not d.static}
    headers = collections.defaultdict(list)
    for d in defined:
        if d.path not in sources: headers[d.name].append(d)
    local = collections.defaultdict(set)
    for d in defined: local[d.path].add(d.name)
    edges = collections.defaultdict(lambda: collections.defaultdict(set))
    for d in defined:
        if d.path not in sources: continue
        todo, seen = list(d.words), set(d.words)
        while todo:
            word = todo.pop()
            if word in local[d.path]: continue
            for h in headers.get(word, ()):
                todo += h.words - seen
                seen |= h.words
            e = exported.get(word)
            if e and e.path != d.path: edges[d.path][e.path].add('%s -> %s' % (d.name, word))
    return edges


def circles(nodes, edges):
    """Strongly connected components with more than one node (Tarjan)"""
    index, low, stack, result = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges.get(v, ()):
            if w not in index: visit(w)
            if w in stack: low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1: result.append(stack[at:])
            del stack[at:]

    sys.setrecursionlimit(10000)
    for v in nodes:
        if v not in index: visit(v)
    return result


def room(path):
    parts = path.relative_to(ROOT).parts
    depth = 4 if parts[1] in ('mat', 'svd', 'ksp') and len(parts) > 4 else 2
    return '/'.join(parts[:min(depth, len(parts) - 1)])


def main():
    files = sorted(p for d in ('src', 'include') for p in (ROOT / d).rglob('*') if p.suffix in ('.c', '.h', '.cu', '.cuh'))
    defined = [d for f in files for d in definitions(f)]
    functions = [d for d in defined if d.isfunction]
    text = {f: f.read_text() for f in files}
    short = lambda p: str(p.relative_to(ROOT))

    print('%-34s %6s %6s %10s %7s %6s %6s' % ('room', 'files', 'lines', 'functions', 'median', 'most', '> %d' % LONG))
    rooms = collections.defaultdict(list)
    for f in files: rooms[room(f)].append(f)

    def row(name, some):
        lengths = [d.lines for d in functions if d.path in some] or [0]
        print('%-34s %6d %6d %10d %7g %6d %6d' % (name, len(some), sum(text[f].count('\n') for f in some), len(lengths), statistics.median(lengths), max(lengths), sum(n > LONG for n in lengths)))

    for name in sorted(rooms): row(name, set(rooms[name]))
    row('all', set(files))

    wide = [d for d in functions if d.parameters > WIDE]
    print('\nparameter lists over %d: %d' % (WIDE, len(wide)))
    if '--functions' in sys.argv:
        for d in sorted(wide, key=lambda d: -d.parameters): print('  %3d %s  %s' % (d.parameters, d.name, short(d.path)))
        for d in sorted(functions, key=lambda d: -d.lines)[:12]: print('  %3d lines %s  %s' % (d.lines, d.name, short(d.path)))

    edges = calls(files, defined)
    found = circles(files, edges)
    print('circles of sources by calls: %d' % len(found))
    for c in found:
        print('  %d: %s' % (len(c), ', '.join(sorted(short(p) for p in c))))
        if '--circles' in sys.argv:
            for a in sorted(c):
                for b in sorted(set(c) & set(edges[a])): print('    %s calls %s: %s' % (short(a), short(b), ', '.join(sorted(edges[a][b]))))

    everything = '\n'.join(text[f] for f in files if short(f).startswith('src'))
    for what, pattern in (('options', r'"(-(?:mat|svd)_\w+)"'), ('environment variables', r'"((?:PETSC|SLEPC)CSRC_\w+(?<!_))"')):
        names = sorted(set(re.findall(pattern, everything)))
        print('%s: %d%s' % (what, len(names), ': ' + ' '.join(names) if names else ''))

    folders = collections.Counter(short(f.parent) for f in files)
    full = ['%s (%d)' % (d, n) for d, n in sorted(folders.items()) if n > FULL]
    print('folders above %d files: %d%s' % (FULL, len(full), ': ' + ', '.join(full) if full else ''))

    pages = sorted([ROOT / 'README.md', ROOT / 'CONTRIBUTING.md'] + list((ROOT / 'docs').glob('*.md')))
    counts = [(len(p.read_text().split()), short(p)) for p in pages]
    print('words: %d in docs, README and CONTRIBUTING: %s' % (sum(n for n, _ in counts), ', '.join('%s %d' % (p.replace('docs/', ''), n) for n, p in counts)))
    print('lines of tests: %d' % sum(p.read_text(errors='replace').count('\n') for p in (ROOT / 'tests').rglob('*') if p.suffix in ('.c', '.h', '.cu', '.cuh', '.py', '.sh', '.test')))


if __name__ == '__main__':
    main()

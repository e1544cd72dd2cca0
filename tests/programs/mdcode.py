"""Runs the Python code of a page, its blocks one after the other: mdcode.py page.md"""
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
names = {}
for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
    line = text.count("\n", 0, block.start()) + 1
    exec(compile("\n" * line + block[1], sys.argv[1], "exec"), names)

# Prints the functions and classes of the Python files named on stdin: file, name, line of the name's statement, last line.
import ast, sys

for path in sys.stdin.read().splitlines():
    if not path.endswith(".py"):
        continue
    try:
        tree = ast.parse(open(path, encoding="utf-8").read())
    except (SyntaxError, UnicodeDecodeError, ValueError):
        continue
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            print(path, node.name, node.lineno, node.end_lineno, sep="\t")

// Prints the functions, methods and classes of the JavaScript and TypeScript files named on stdin: file, name, line, last line.
import { readFileSync } from "node:fs";
import ts from "typescript";

for (const path of readFileSync(0, "utf8").split("\n").filter((it) => /\.[cm]?[jt]sx?$/.test(it))) {
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  if (source.parseDiagnostics.length > 0) continue;
  const line = (at) => source.getLineAndCharacterOfPosition(at).line + 1;
  const visit = (node) => {
    const is = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isClassDeclaration(node)
      || ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node) || ts.isTypeAliasDeclaration(node);
    if (is && node.name && ts.isIdentifier(node.name)) {
      console.log([path, node.name.text, line(node.name.getStart()), line(node.end - 1)].join("\t"));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}

// Prints the functions and types of the Go files named on stdin: file, name, line of the name, last line.
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
)

func main() {
	paths := bufio.NewScanner(os.Stdin)
	for paths.Scan() {
		path := paths.Text()
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			continue
		}
		note := func(name *ast.Ident, node ast.Node) {
			fmt.Printf("%s\t%s\t%d\t%d\n", path, name.Name, set.Position(name.Pos()).Line, set.Position(node.End()).Line)
		}
		for _, declaration := range file.Decls {
			switch it := declaration.(type) {
			case *ast.FuncDecl:
				note(it.Name, it)
			case *ast.GenDecl:
				for _, spec := range it.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						note(spec.Name, spec)
					}
				}
			}
		}
	}
}

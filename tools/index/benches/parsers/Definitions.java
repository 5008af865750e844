// Prints the methods and types of the Java files named on stdin: file, name, first line, last line.

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.LineMap;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;
import java.io.File;
import java.util.List;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;

public class Definitions {
    public static void main(String[] none) throws Exception {
        var compiler = ToolProvider.getSystemJavaCompiler();
        var files = compiler.getStandardFileManager(null, null, null);
        var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        List<File> paths = input.lines().filter(path -> path.endsWith(".java")).map(File::new).collect(Collectors.toList());
        for (File path : paths) {
            var units = files.getJavaFileObjects(path);
            var task = (JavacTask) compiler.getTask(null, files, problem -> {}, null, null, units);
            var positions = Trees.instance(task).getSourcePositions();
            for (CompilationUnitTree unit : task.parse()) {
                LineMap lines = unit.getLineMap();
                new TreeScanner<Void, Void>() {
                    void note(String name, Tree tree) {
                        long start = positions.getStartPosition(unit, tree), end = positions.getEndPosition(unit, tree);
                        if (start >= 0 && end >= 0 && !name.isEmpty()) {
                            System.out.println(String.join("\t", path.getPath(), name, "" + lines.getLineNumber(start), "" + lines.getLineNumber(end - 1)));
                        }
                    }

                    @Override
                    public Void visitClass(ClassTree it, Void none) {
                        note(it.getSimpleName().toString(), it);
                        String name = it.getSimpleName().toString();
                        for (Tree member : it.getMembers()) {
                            if (member instanceof MethodTree method && method.getName().contentEquals("<init>")) {
                                note(name, method);
                            }
                        }
                        return super.visitClass(it, none);
                    }

                    @Override
                    public Void visitMethod(MethodTree it, Void none) {
                        if (!it.getName().contentEquals("<init>")) {
                            note(it.getName().toString(), it);
                        }
                        return super.visitMethod(it, none);
                    }
                }.scan(unit, null);
            }
        }
    }
}

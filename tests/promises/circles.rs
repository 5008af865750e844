//! Import cycles between files of a crate are small enough to be read as one unit.

use std::collections::{BTreeMap, BTreeSet};

use super::tidy::sources::{crate_dirs, sources, without_comments};

/// The maximum number of files in a cycle.
const MAX_FILES: usize = 3;

/// The module path of a file in its crate, or of a name in it: `["orchestrator", "run"]`.
type Place = Vec<String>;

/// The files of a crate, with their code without comments.
struct Files(BTreeMap<Place, String>);

impl Files {
    /// Selects the files of the crate at `krate` from all sources.
    fn of(krate: &str, sources: &[(String, String)]) -> Self {
        let file = |(path, code): &(String, String)| {
            let inside = path.strip_prefix(krate)?.strip_prefix("/src/")?.strip_suffix(".rs")?;
            let mut place: Place = inside.split('/').map(str::to_owned).collect();
            place.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
            Some((place, without_comments(code).collect::<Vec<_>>().join("\n")))
        };
        Self(sources.iter().filter_map(file).collect())
    }

    /// Returns the file that contains `place`.
    fn holding<'p>(&self, place: &'p [String]) -> &'p [String] {
        let mut above = (0..=place.len()).rev().map(|end| &place[..end]);
        above.find(|file| self.0.contains_key(*file)).unwrap_or_default()
    }

    /// Resolves a path that appears in `file`; `None` if it leads out of the crate.
    fn place(&self, file: &[String], path: &[&str]) -> Option<Place> {
        let (mut base, mut rest) = (file.to_vec(), path);
        match rest.split_first()? {
            (&"crate", tail) => (base, rest) = (Vec::new(), tail),
            (&"self", tail) => rest = tail,
            (&"super", _) => {
                while let [first, tail @ ..] = rest
                    && *first == "super"
                {
                    base.pop();
                    rest = tail;
                }
            }
            (child, _) => {
                base.push((*child).to_owned());
                self.0.contains_key(&base).then(|| base.pop())?;
            }
        }
        base.extend(rest.iter().map(|&name| name.to_owned()));
        Some(base)
    }

    /// Returns the names that each file imports, and where they come from.
    fn imports(&self) -> BTreeMap<(Place, String), Place> {
        let mut imports = BTreeMap::new();
        for (file, code) in &self.0 {
            for (_, path) in uses(code).0 {
                let path: Vec<&str> = path.split("::").map(str::trim).collect();
                if let (Some(place), Some(name)) = (self.place(file, &path), path.last()) {
                    imports.insert((file.clone(), (*name).to_owned()), place);
                }
            }
        }
        imports
    }

    /// Returns the files that each file depends on. For a re-exported name that is the file that defines it, not the one that
    /// re-exports it.
    fn needs(&self) -> BTreeMap<&Place, BTreeSet<Place>> {
        let imports = self.imports();
        let defining = |mut place: Place| {
            // A name is re-exported a few times at most.
            for _ in 0..8 {
                let file = self.holding(&place).to_vec();
                let Some(name) = place.get(file.len()) else { break };
                let Some(from) = imports.get(&(file.clone(), name.clone())) else { break };
                place = [from, &place[file.len() + 1..]].concat();
            }
            self.holding(&place).to_vec()
        };
        let needed = |file: &Place, code: &str| {
            let (used, rest_of_code) = uses(code);
            let own = used.into_iter().filter(|(re_exported, _)| !re_exported);
            let inline = rest_of_code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            let paths = own.map(|(_, path)| path);
            let paths = paths.chain(inline.filter(|it| it.contains("::")).map(str::to_owned));
            let places = paths.filter_map(|path| {
                let path: Vec<&str> = path.split("::").map(str::trim).collect();
                self.place(file, &path)
            });
            places.map(defining).filter(|needed| needed != file).collect()
        };
        self.0.iter().map(|(file, code)| (file, needed(file, code))).collect()
    }

    /// Returns the largest cycle.
    fn largest(&self) -> BTreeSet<Place> {
        let needs = self.needs();
        let reached = |from: &Place| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(file) = open.pop() {
                for next in &needs[&file] {
                    if reached.insert(next.clone()) {
                        open.push(next.clone());
                    }
                }
            }
            reached
        };
        let reached: BTreeMap<&Place, BTreeSet<Place>> =
            needs.keys().map(|file| (*file, reached(file))).collect();
        let cycle = |(file, there): (&&Place, &BTreeSet<Place>)| {
            let back = there.iter().filter(|other| reached[other].contains(*file));
            back.cloned().collect::<BTreeSet<_>>()
        };
        reached.iter().map(cycle).max_by_key(BTreeSet::len).unwrap_or_default()
    }
}

/// Returns the paths in `use` declarations, each with whether it is re-exported, and the remaining code.
fn uses(code: &str) -> (Vec<(bool, String)>, String) {
    let (mut found, mut rest_of_code) = (Vec::new(), String::new());
    for statement in code.split(';') {
        let begins = |line: &&str| line.starts_with("use ") || line.starts_with("pub");
        let lines: Vec<&str> = statement.lines().map(str::trim).collect();
        let at = lines.iter().rposition(|line| begins(line) && line.contains("use "));
        let (above, text) = lines.split_at(at.unwrap_or(lines.len()));
        rest_of_code.extend([&above.join("\n"), "\n"]);
        if let Some((visible, tree)) = text.concat().split_once("use ") {
            found.extend(expanded(tree).into_iter().map(|path| (!visible.is_empty(), path)));
        }
    }
    (found, rest_of_code)
}

/// Expands `a::{b, c::{d, e}}` to `a::b`, `a::c::d`, `a::c::e`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return if path.is_empty() { Vec::new() } else { vec![path.to_owned()] };
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let mut depth = 0_usize;
    let parts = inside.split(|c| {
        depth = depth + usize::from(c == '{') - usize::from(c == '}');
        c == ',' && depth == 0
    });
    parts.flat_map(expanded).map(|path| format!("{}{path}", before.trim())).collect()
}

#[test]
fn import_cycles_are_small() {
    let sources = sources();
    let cycles =
        crate_dirs().into_iter().map(|krate| (Files::of(&krate, &sources).largest(), krate));
    let large: Vec<_> = cycles.filter(|(cycle, _)| cycle.len() > MAX_FILES).collect();
    assert!(large.is_empty(), "{large:#?}");
}

/// A parent module that only re-exports is not part of the cycle, and a path in the code counts like a `use`.
#[test]
fn an_import_cycle_is_found() {
    let file = |name: &str, code: &str| (format!("krate/src/{name}.rs"), code.to_owned());
    let sources = [
        file("lib", "mod a;\nmod b;\nmod c;\npub use a::{\n    A,\n    Other as B,\n};\n"),
        file("a", "use crate::b::{One, two::{Three}};\nmod deep;\n"),
        file("a/deep", "use super::super::c::C;\n"),
        file("b", "fn f() { crate::c::g(); }\n"),
        file("c", "use crate::A;\nuse std::fs;\n"),
    ];
    let cycle = Files::of("krate", &sources).largest();
    let names: Vec<String> = cycle.iter().map(|place| place.join("/")).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

//! Merges small modules of the divided program. The division makes one for every set of parts that share something, and most
//! hold a function or two: such a module takes less room than its request and its digest. A module is merged into one that
//! all of its parts load as well, so that everything is still there when a part begins; other parts load a few bytes that
//! they do not need.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    CodeSection, DataCountSection, DataSection, ElementSection, EntityType, FunctionSection, ImportSection, Module,
    NameMap, NameSection, TypeSection,
};
use wasmparser::{KnownCustom, Name, Parser, Payload};

use super::{Result, read_bytes, write};

/// Modules with fewer bytes of code and data than this, before Binaryen makes them smaller, are merged. Of the powers of two
/// from 128 to 4,096 it is the one with which the page that loads most, /workshop/, loads least: 239.8 kB beside a first
/// look, 254 without merging. Other pages load 1 kB less with 1,024. Of 300 shared modules 75 are left.
const SMALL: u64 = 2048;

/// The modules of each part, by their names without an ending.
pub type Parts = BTreeMap<String, Vec<String>>;

/// Which module holds what was another one's.
type Takers = BTreeMap<String, String>;

type Merging<T> = std::result::Result<T, reencode::Error<String>>;

/// Merges the small modules in `folder`: the files, the lists of the parts, and the script that fetches them.
pub fn merge_small(folder: &Path, parts: &mut Parts, script: &str) -> Result<String> {
    let path = |name: &str| folder.join(format!("{name}.wasm"));
    let mut modules = BTreeMap::new();
    let shared = shared(parts);
    for name in shared.keys() {
        modules.insert((*name).to_owned(), read_bytes(&path(name))?);
    }
    let mut sizes = BTreeMap::new();
    for (name, module) in &modules {
        sizes.insert(name.clone(), size(module).map_err(|error| format!("{name}: {error}"))?);
    }
    let takers = takers(shared, sizes);
    for taker in takers.values().collect::<BTreeSet<_>>() {
        let taken = takers.iter().filter(|(_, by)| *by == taker).map(|(name, _)| name);
        let all: Vec<&[u8]> = [taker].into_iter().chain(taken).map(|name| modules[name].as_slice()).collect();
        write(&path(taker), merged(&all).map_err(|error| format!("{taker}: {error}"))?)?;
    }
    for name in takers.keys() {
        fs::remove_file(path(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    for files in parts.values_mut() {
        *files = taken_in(files.iter().map(String::as_str), &takers);
    }
    fetching(script, &takers)
}

/// The modules that several parts load, each with these parts. Every other module is a part’s own and stays as it is.
fn shared(parts: &Parts) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut loaded_by: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (part, files) in parts {
        for file in files {
            loaded_by.entry(file).or_default().insert(part);
        }
    }
    loaded_by.retain(|_, by| by.len() > 1);
    loaded_by
}

/// Chooses which of the small modules is merged into which: the smallest first, each into the one that the fewest further
/// parts load, among those that all of its own parts load.
fn takers(mut loaded_by: BTreeMap<&str, BTreeSet<&str>>, mut sizes: BTreeMap<String, u64>) -> Takers {
    let mut smallest_first: Vec<&str> = loaded_by.keys().copied().collect();
    smallest_first.sort_by_key(|name| sizes[*name]);
    let mut takers = Takers::new();
    for name in smallest_first {
        if sizes[name] >= SMALL {
            continue;
        }
        let own = &loaded_by[name];
        let wider = loaded_by.iter().filter(|(other, by)| **other != name && by.is_superset(own));
        let Some((taker, _)) = wider.min_by_key(|(_, by)| by.len()) else { continue };
        let taker = (*taker).to_owned();
        let more = sizes[name];
        sizes.entry(taker.clone()).and_modify(|size| *size += more);
        takers.values_mut().filter(|by| *by == name).for_each(|by| by.clone_from(&taker));
        takers.insert(name.to_owned(), taker);
        loaded_by.remove(name);
    }
    takers
}

/// The names in a list with those of the takers in place of what they took, each once and in its order.
fn taken_in<'a>(names: impl Iterator<Item = &'a str>, takers: &'a Takers) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let holders = names.map(|name| takers.get(name).map_or(name, String::as_str));
    holders.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

/// The script of the division without the modules that were merged into others. It has a statement for each shared module,
/// and with each part a list of the modules that the part needs (`write_loaders` in src/js.rs of `wasm_split_cli_support`
/// 0.2.4); a script that is written in another way stops the build.
fn fetching(script: &str, takers: &Takers) -> Result<String> {
    const LIST: &str = "\n, [";
    let mut script = script.to_owned();
    for name in takers.keys() {
        let fetched = script.split_once(&format!("const __{name} = makeLoad("));
        let around = fetched.and_then(|(before, after)| Some((before, after.split_once(", []);\n")?.1)));
        let (before, after) = around.ok_or_else(|| format!("the script of the division does not fetch {name}"))?;
        script = [before, after].concat();
    }
    let mut pieces = script.split(LIST);
    let mut written = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (list, after) = piece.split_once(']').ok_or("the script of the division has a list without an end")?;
        let names = list.split(", ").filter_map(|name| name.strip_prefix("__"));
        let kept: Vec<_> = taken_in(names, takers).iter().map(|name| format!("__{name}")).collect();
        written.extend([LIST, &kept.join(", "), "]", after]);
    }
    let mut words = written.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    match words.find(|word| takers.contains_key(word.trim_start_matches('_'))) {
        Some(word) => {
            Err(format!("the script of the division still names {word}, which was merged into another module"))
        }
        None => Ok(written),
    }
}

/// How many bytes of code and data a module has.
fn size(module: &[u8]) -> Merging<u64> {
    let mut size = 0;
    for payload in Parser::new(0).parse_all(module) {
        let range = match payload? {
            Payload::CodeSectionStart { range, .. } => range,
            Payload::DataSection(section) => section.range(),
            _ => continue,
        };
        size += range.end - range.start;
    }
    Ok(size)
}

/// One module that does what several do. All they may import are memories, tables and globals; what they import by the
/// same name is one thing. They export nothing: functions are reached by their place in the table.
fn merged(modules: &[&[u8]]) -> Merging<Vec<u8>> {
    let mut sections = Sections::default();
    for module in modules {
        sections.add(module)?;
    }
    Ok(sections.finish())
}

/// The sections of the merged module.
#[derive(Default)]
struct Sections {
    types: TypeSection,
    /// Module, name and kind of what is imported.
    imports: Vec<(String, String, EntityType)>,
    functions: FunctionSection,
    elements: ElementSection,
    code: CodeSection,
    data: DataSection,
    /// The names of functions, by which Binaryen puts functions with like names beside each other.
    names: NameMap,
}

/// The numbers of one module’s things in the merged module, where they follow those of the modules before it.
#[derive(Default)]
struct Numbers {
    types: u32,
    functions: u32,
    elements: u32,
    data: u32,
    memories: Vec<u32>,
    tables: Vec<u32>,
    globals: Vec<u32>,
}

impl Reencode for Numbers {
    type Error = String;

    fn type_index(&mut self, index: u32) -> Merging<u32> {
        Ok(self.types + index)
    }

    fn function_index(&mut self, index: u32) -> Merging<u32> {
        Ok(self.functions + index)
    }

    fn element_index(&mut self, index: u32) -> Merging<u32> {
        Ok(self.elements + index)
    }

    fn data_index(&mut self, index: u32) -> Merging<u32> {
        Ok(self.data + index)
    }

    fn memory_index(&mut self, index: u32) -> Merging<u32> {
        imported(&self.memories, index)
    }

    fn table_index(&mut self, index: u32) -> Merging<u32> {
        imported(&self.tables, index)
    }

    fn global_index(&mut self, index: u32) -> Merging<u32> {
        imported(&self.globals, index)
    }
}

fn imported(all: &[u32], index: u32) -> Merging<u32> {
    let found = usize::try_from(index).ok().and_then(|index| all.get(index));
    found.copied().ok_or_else(|| reencode::Error::UserError(format!("nothing with number {index} is imported")))
}

impl Sections {
    fn add(&mut self, module: &[u8]) -> Merging<()> {
        let mut numbers = Numbers {
            types: self.types.len(),
            functions: self.functions.len(),
            elements: self.elements.len(),
            data: self.data.len(),
            ..Numbers::default()
        };
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => numbers.parse_type_section(&mut self.types, section)?,
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        let import = import?;
                        let kind = numbers.entity_type(import.ty)?;
                        self.import(&mut numbers, import.module, import.name, kind)?;
                    }
                }
                Payload::FunctionSection(section) => numbers.parse_function_section(&mut self.functions, section)?,
                Payload::ElementSection(section) => numbers.parse_element_section(&mut self.elements, section)?,
                Payload::CodeSectionEntry(body) => numbers.parse_function_body(&mut self.code, body)?,
                Payload::DataSection(section) => numbers.parse_data_section(&mut self.data, section)?,
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(names) = section.as_known() {
                        self.name(numbers.functions, names)?;
                    }
                }
                Payload::TableSection(section) if section.count() == 0 => {}
                Payload::MemorySection(section) if section.count() == 0 => {}
                Payload::GlobalSection(section) if section.count() == 0 => {}
                Payload::ExportSection(section) if section.count() == 0 => {}
                Payload::Version { .. }
                | Payload::CodeSectionStart { .. }
                | Payload::DataCountSection { .. }
                | Payload::End(_) => {}
                other => return Err(reencode::Error::UserError(format!("{other:?} is not merged"))),
            }
        }
        Ok(())
    }

    fn import(&mut self, numbers: &mut Numbers, module: &str, name: &str, kind: EntityType) -> Merging<()> {
        let (of_kind, is_kind): (_, fn(&EntityType) -> bool) = match kind {
            EntityType::Memory(_) => (&mut numbers.memories, |kind| matches!(kind, EntityType::Memory(_))),
            EntityType::Table(_) => (&mut numbers.tables, |kind| matches!(kind, EntityType::Table(_))),
            EntityType::Global(_) => (&mut numbers.globals, |kind| matches!(kind, EntityType::Global(_))),
            _ => return Err(reencode::Error::UserError(format!("{name} is neither memory, table nor global"))),
        };
        let mut same_kind = (0..).zip(self.imports.iter().filter(|(_, _, kind)| is_kind(kind)));
        let known = same_kind.find(|(_, (from, known, _))| from == module && known == name);
        let number = match known {
            Some((number, _)) => number,
            None => {
                self.imports.push((module.to_owned(), name.to_owned(), kind));
                of_kind.iter().max().map_or(0, |last| last + 1)
            }
        };
        of_kind.push(number);
        Ok(())
    }

    fn name(&mut self, functions_before: u32, names: wasmparser::NameSectionReader<'_>) -> Merging<()> {
        for names in names {
            if let Name::Function(names) = names? {
                for naming in names {
                    let naming = naming?;
                    self.names.append(functions_before + naming.index, naming.name);
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Vec<u8> {
        let mut imports = ImportSection::new();
        for (from, name, kind) in &self.imports {
            imports.import(from, name, *kind);
        }
        let mut names = NameSection::new();
        names.functions(&self.names);
        let mut module = Module::new();
        module.section(&self.types).section(&imports).section(&self.functions).section(&self.elements);
        module.section(&DataCountSection { count: self.data.len() });
        module.section(&self.code).section(&self.data).section(&names);
        module.finish()
    }
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{
        CodeSection, ConstExpr, Elements, Function, GlobalType, MemoryType, RefType, TableType, ValType,
    };
    use wasmparser::Validator;

    use super::*;

    fn named<const N: usize>(names: [&str; N]) -> Vec<String> {
        names.map(str::to_owned).to_vec()
    }

    fn parts<const N: usize>(all: [(&str, &[&str]); N]) -> Parts {
        all.map(|(part, files)| (part.to_owned(), files.iter().map(|&file| file.to_owned()).collect())).into()
    }

    /// A module that imports the table and the memory, and the stack's global where `has_stack`. Its one function
    /// `name` stands at `place` in the table, reads what it imports, and calls itself; its data lies at `place`.
    fn module(name: &str, place: i32, has_stack: bool) -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([], []);
        let mut imports = ImportSection::new();
        if has_stack {
            let stack = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
            imports.import("main", "stack", EntityType::Global(stack));
        }
        let memory = MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
        imports.import("main", "memory", EntityType::Memory(memory));
        let table =
            TableType { element_type: RefType::FUNCREF, minimum: 9, maximum: None, table64: false, shared: false };
        imports.import("main", "table", EntityType::Table(table));
        let mut functions = FunctionSection::new();
        functions.function(0);
        let mut elements = ElementSection::new();
        elements.active(Some(0), &ConstExpr::i32_const(place), Elements::Functions([0].as_slice().into()));
        let mut code = CodeSection::new();
        let mut body = Function::new([]);
        if has_stack {
            body.instructions().global_get(0).drop();
        }
        body.instructions().memory_size(0).drop().call(0).i32_const(place).call_indirect(0, 0).end();
        code.function(&body);
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(place), name.bytes());
        let mut names = NameSection::new();
        let mut map = NameMap::new();
        map.append(0, name);
        names.functions(&map);
        module.section(&types).section(&imports).section(&functions).section(&elements);
        module.section(&code).section(&data).section(&names);
        module.finish()
    }

    #[test]
    fn a_small_module_goes_to_the_one_with_the_fewest_further_parts_among_those_all_its_parts_load() {
        let parts = parts([
            ("a", &["chunk_1", "chunk_2", "chunk_3", "split_a"]),
            ("b", &["chunk_1", "chunk_2", "chunk_3", "chunk_4"]),
            ("c", &["chunk_1", "chunk_2", "chunk_4"]),
            ("d", &["chunk_1"]),
        ]);
        let sizes = |small: [u64; 4]| -> BTreeMap<_, _> {
            ["chunk_1", "chunk_2", "chunk_3", "chunk_4"].map(str::to_owned).into_iter().zip(small).collect()
        };
        let to = |pairs: &[(&str, &str)]| -> Takers {
            pairs.iter().map(|&(from, to)| (from.to_owned(), to.to_owned())).collect()
        };
        // Both small ones are needed by two parts of the three that load chunk_2; four load chunk_1.
        assert_eq!(
            takers(shared(&parts), sizes([SMALL, SMALL, 1, 2])),
            to(&[("chunk_3", "chunk_2"), ("chunk_4", "chunk_2")])
        );
        // One that took others and is still small is merged with them.
        assert_eq!(
            takers(shared(&parts), sizes([SMALL, 3, 1, 2])),
            to(&[("chunk_2", "chunk_1"), ("chunk_3", "chunk_1"), ("chunk_4", "chunk_1")])
        );
        // No other module is loaded by all four.
        assert_eq!(takers(shared(&parts), sizes([1, SMALL, SMALL, SMALL])), Takers::new());
    }

    #[test]
    fn no_part_is_without_a_module_that_it_had() {
        let before = parts([("a", &["chunk_1", "chunk_2", "split_a"]), ("b", &["chunk_2", "chunk_3"])]);
        let takers: Takers = [("chunk_1".to_owned(), "chunk_2".to_owned())].into();
        let after: Vec<_> = before.values().map(|files| taken_in(files.iter().map(String::as_str), &takers)).collect();
        assert_eq!(after, [named(["chunk_2", "split_a"]), named(["chunk_2", "chunk_3"])]);
    }

    #[test]
    fn the_script_fetches_what_is_left_and_another_kind_of_script_stops_the_build() {
        let one = |name: &str| format!("const __{name} = makeLoad(() => {{\n  \"./{name}.wasm\"\n}}\n, []);\n");
        let part = |list: &str| format!("export const a = wrapAsyncCb(makeLoad(() => {{\n}}\n, [{list}]));\n");
        let script = one("chunk_1") + &one("chunk_12") + &part("__chunk_1, __chunk_12") + &part("");
        let takers: Takers = [("chunk_1".to_owned(), "chunk_12".to_owned())].into();
        assert_eq!(fetching(&script, &takers), Ok(one("chunk_12") + &part("__chunk_12") + &part("")));
        for other in [part("__chunk_1"), one("chunk_1") + "[\n__chunk_1,\n__chunk_12];"] {
            assert!(fetching(&other, &takers).is_err_and(|said| said.contains("chunk_1")), "{other}");
        }
    }

    #[test]
    fn a_merged_module_is_valid_imports_each_thing_once_and_holds_what_each_one_held() {
        let all = [module("first", 1, false), module("second", 2, true), module("third", 3, true)];
        let merged = merged(&all.each_ref().map(Vec::as_slice)).expect("they can be merged");
        Validator::new().validate_all(&merged).expect("it is valid");
        let (mut imports, mut placed, mut data, mut names) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(&merged) {
            match payload.expect("it can be read") {
                Payload::ImportSection(section) => {
                    imports.extend(section.into_imports().map(|import| import.expect("an import").name));
                }
                Payload::ElementSection(section) => placed.extend(section.into_iter().map(|element| {
                    let wasmparser::ElementItems::Functions(functions) = element.expect("an element").items else {
                        panic!("a function")
                    };
                    functions.into_iter().next().expect("one function").expect("its number")
                })),
                Payload::DataSection(section) => data.extend(section.into_iter().map(|one| one.expect("data").data)),
                Payload::CustomSection(section) => {
                    let KnownCustom::Name(section) = section.as_known() else { continue };
                    for subsection in section {
                        let Name::Function(map) = subsection.expect("names") else { continue };
                        names.extend(map.into_iter().map(|one| one.map(|one| (one.index, one.name)).expect("a name")));
                    }
                }
                _ => {}
            }
        }
        assert_eq!(imports, ["memory", "table", "stack"]);
        assert_eq!(placed, [0, 1, 2]);
        assert_eq!(data, [b"first".as_slice(), b"second", b"third"]);
        assert_eq!(names, [(0, "first"), (1, "second"), (2, "third")]);
    }

    #[test]
    fn a_module_that_imports_or_exports_a_function_stops_the_build() {
        let mut imports = ImportSection::new();
        imports.import("main", "draw", EntityType::Function(0));
        let mut types = TypeSection::new();
        types.ty().function([], []);
        let mut importing = Module::new();
        importing.section(&types).section(&imports);
        assert!(merged(&[&importing.finish()]).is_err());
        let mut exports = wasm_encoder::ExportSection::new();
        exports.export("draw", wasm_encoder::ExportKind::Func, 0);
        let mut exporting = Module::new();
        exporting.section(&exports);
        assert!(merged(&[&exporting.finish()]).is_err());
    }
}

//! Merges modules of the divided program. The division makes one for every set of parts that share something, and most
//! hold a function or two: such a module takes less room than its request and its digest. Modules are merged where all pages
//! and parts together then load less. Each part loads the merged module in place of those that it had, so that everything is
//! still there when it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    CodeSection, DataCountSection, DataSection, ElementSection, EntityType, FunctionSection, ImportSection, Module,
    NameMap, NameSection, TypeSection,
};
use wasmparser::{ElementItems, ElementKind, FunctionBody, KnownCustom, Name, Operator, Parser, Payload};

use super::{Result, read_bytes, write};

/// What a module takes beside what it holds, in bytes of code and data before Binaryen and Brotli make them smaller. Of 390
/// shared modules 44 are left. It is the power of two with which readers load least: with 1,024 the page that loads most,
/// /workshop/, loads 3 kB more; with 4,096 it loads 1 kB less, and what is fetched by a press up to 7 kB more.
const MODULE: u64 = 2048;

/// The modules of each part, by their names without an ending.
pub type Parts = BTreeMap<String, Vec<String>>;

/// Which module holds what was another one's.
type Takers = BTreeMap<String, String>;

type Merging<T> = std::result::Result<T, reencode::Error<String>>;

/// Merges modules in `folder`: the files, the lists of the parts, and the script that fetches them. Each of the `pages`
/// has these parts.
pub fn merge(folder: &Path, parts: &mut Parts, pages: &[BTreeSet<String>], script: &str) -> Result<String> {
    let path = |name: &str| folder.join(format!("{name}.wasm"));
    let mut modules = BTreeMap::new();
    let shared = shared(parts);
    for name in shared.keys() {
        modules.insert((*name).to_owned(), read_bytes(&path(name))?);
    }
    let mut sizes = BTreeMap::new();
    for (name, module) in &modules {
        sizes.insert(name.as_str(), size(module).map_err(|error| format!("{name}: {error}"))?);
    }
    let takers = takers(&shared, &sizes, &visits(parts, pages));
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

/// What is loaded together, over and over: what each page needs as it is read, and each part alone, as a frame with one
/// figure and a press that asks for something do. Each has the parts that it needs.
fn visits<'a>(parts: &'a Parts, pages: &'a [BTreeSet<String>]) -> Vec<BTreeSet<&'a str>> {
    let of_pages = pages.iter().map(|page| page.iter().map(String::as_str).collect());
    of_pages.chain(parts.keys().map(|part| BTreeSet::from([part.as_str()]))).collect()
}

/// A module with all that is merged into it.
struct Group<'a> {
    name: &'a str,
    taken: Vec<&'a str>,
    /// Which of the visits load it, a bit each; those behind the 128th do not count.
    visits: u128,
    size: u64,
}

impl Group<'_> {
    /// How many bytes less all visits together load where this and another module are one; none where they load more.
    fn saved(&self, other: &Self) -> Option<u64> {
        let count = |visits: u128| u64::from(visits.count_ones());
        let more = self.size * count(other.visits & !self.visits) + other.size * count(self.visits & !other.visits);
        (MODULE * count(self.visits & other.visits)).checked_sub(more).filter(|saved| *saved > 0)
    }
}

/// Chooses which of the modules are merged: those two of which visits save most, again and again.
fn takers<'a>(
    loaded_by: &BTreeMap<&'a str, BTreeSet<&str>>,
    sizes: &BTreeMap<&str, u64>,
    visits: &[BTreeSet<&str>],
) -> Takers {
    let loading = |by: &BTreeSet<&str>| {
        let loads = (0..).zip(visits).filter(|(_, parts)| !by.is_disjoint(parts));
        loads.filter_map(|(number, _)| 1u128.checked_shl(number)).sum()
    };
    let one = |(name, by): (&&'a str, &BTreeSet<&str>)| Group {
        name,
        taken: Vec::new(),
        visits: loading(by),
        size: sizes[name],
    };
    let mut groups: Vec<Group> = loaded_by.iter().map(one).collect();
    loop {
        let pairs = (0..groups.len()).flat_map(|late| (0..late).map(move |early| (early, late)));
        let saving = pairs.filter_map(|(early, late)| Some((groups[early].saved(&groups[late])?, early, late)));
        let Some((_, early, late)) = saving.max() else { break };
        let Group { name, taken, visits, size } = groups.swap_remove(late);
        let group = &mut groups[early];
        group.taken.push(name);
        group.taken.extend(taken);
        group.visits |= visits;
        group.size += size;
    }
    let taken = groups.iter().flat_map(|group| group.taken.iter().map(|taken| (taken, group.name)));
    taken.map(|(name, taker)| ((*name).to_owned(), taker.to_owned())).collect()
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
/// same name is one thing. They export nothing: functions are reached by their place in the table. What one of them
/// reaches in another is called without this detour.
fn merged(modules: &[&[u8]]) -> Merging<Vec<u8>> {
    let (mut outlines, mut functions, mut placed) = (Vec::new(), 0, BTreeMap::new());
    for module in modules {
        let outline = Outline::of(module)?;
        placed.extend(outline.placed.iter().map(|(place, function)| (*place, functions + function)));
        functions += outline.functions;
        outlines.push(outline);
    }
    let mut sections = Sections::default();
    for (module, outline) in modules.iter().zip(&outlines) {
        let here = |(function, place): (&u32, &i32)| Some((*function, *placed.get(place)?));
        sections.add(module, outline.detours.iter().filter_map(here).collect())?;
    }
    Ok(sections.finish())
}

/// What a module says of its functions, each by its number there.
#[derive(Default)]
struct Outline {
    functions: u32,
    /// The functions that stand in the table, by their places.
    placed: BTreeMap<i32, u32>,
    /// The functions that do nothing but call what stands at a place of the table: by one the division reaches a function of
    /// another module (`generate_indirect_shim` in src/emit.rs of `wasm_split_cli_support` 0.2.4).
    detours: BTreeMap<u32, i32>,
}

impl Outline {
    fn of(module: &[u8]) -> Merging<Self> {
        let mut outline = Self::default();
        let (mut types, mut bodies) = (Vec::new(), 0);
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::FunctionSection(section) => {
                    outline.functions = section.count();
                    types = section.into_iter().collect::<std::result::Result<_, _>>()?;
                }
                Payload::ElementSection(section) => {
                    for element in section {
                        let element = element?;
                        let (ElementKind::Active { offset_expr, .. }, ElementItems::Functions(functions)) =
                            (element.kind, element.items)
                        else {
                            continue;
                        };
                        let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else { continue };
                        for (place, function) in (value..).zip(functions) {
                            outline.placed.insert(place, function?);
                        }
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let of_type = types.get(bodies as usize).copied();
                    outline.detours.extend(detour(&body, of_type)?.map(|place| (bodies, place)));
                    bodies += 1;
                }
                _ => {}
            }
        }
        Ok(outline)
    }
}

/// The place in the table that a function of this type calls with all that it is given, where it does nothing else.
fn detour(body: &FunctionBody, of_type: Option<u32>) -> Merging<Option<i32>> {
    if body.get_locals_reader()?.get_count() != 0 {
        return Ok(None);
    }
    let mut operators = body.get_operators_reader()?;
    let (mut given, mut place) = (0, None);
    while !operators.eof() {
        match (operators.read()?, place) {
            (Operator::LocalGet { local_index }, None) if local_index == given => given += 1,
            (Operator::I32Const { value }, None) => place = Some(value),
            (Operator::CallIndirect { type_index, table_index: 0 }, Some(_)) if Some(type_index) == of_type => {
                let is_all = matches!(operators.read()?, Operator::End) && operators.eof();
                return Ok(place.filter(|_| is_all));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
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
    /// The functions of the merged module that stand in the place of some of this one’s.
    direct: BTreeMap<u32, u32>,
}

impl Reencode for Numbers {
    type Error = String;

    fn type_index(&mut self, index: u32) -> Merging<u32> {
        Ok(self.types + index)
    }

    fn function_index(&mut self, index: u32) -> Merging<u32> {
        Ok(self.direct.get(&index).copied().unwrap_or(self.functions + index))
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
    fn add(&mut self, module: &[u8], direct: BTreeMap<u32, u32>) -> Merging<()> {
        let mut numbers = Numbers {
            types: self.types.len(),
            functions: self.functions.len(),
            elements: self.elements.len(),
            data: self.data.len(),
            direct,
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

    fn chosen<const N: usize>(parts: &Parts, pages: &[BTreeSet<String>], sizes: [(&str, u64); N]) -> Takers {
        takers(&shared(parts), &sizes.into(), &visits(parts, pages))
    }

    fn to(pairs: &[(&str, &str)]) -> Takers {
        pairs.iter().map(|&(from, to)| (from.to_owned(), to.to_owned())).collect()
    }

    #[test]
    fn modules_are_merged_where_no_visit_loads_more_for_it_or_little() {
        let parts = parts([
            ("a", &["chunk_1", "chunk_2", "chunk_3", "split_a"]),
            ("b", &["chunk_1", "chunk_2", "split_b"]),
            ("c", &["chunk_3", "split_c"]),
        ]);
        // The same parts load the first two. The third would bring them to c, and itself to b.
        let large = [("chunk_1", 9 * MODULE), ("chunk_2", MODULE), ("chunk_3", MODULE)];
        assert_eq!(chosen(&parts, &[], large), to(&[("chunk_2", "chunk_1")]));
        let small = [("chunk_1", MODULE / 4), ("chunk_2", MODULE / 8), ("chunk_3", MODULE / 4)];
        assert_eq!(chosen(&parts, &[], small), to(&[("chunk_2", "chunk_1"), ("chunk_3", "chunk_1")]));
    }

    #[test]
    fn what_pages_load_together_counts_as_often_as_there_are_such_pages() {
        let parts = parts([("a", &["chunk_1"]), ("b", &["chunk_1", "chunk_2"]), ("c", &["chunk_2"])]);
        let sizes = [("chunk_1", MODULE), ("chunk_2", MODULE)];
        let page: BTreeSet<String> = named(["a", "c"]).into_iter().collect();
        assert_eq!(chosen(&parts, &[], sizes), Takers::new());
        assert_eq!(chosen(&parts, std::slice::from_ref(&page), sizes), Takers::new());
        assert_eq!(chosen(&parts, &[page.clone(), page], sizes), to(&[("chunk_2", "chunk_1")]));
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

    /// A module with two functions of one parameter. The first calls the second, and the second what stands at `place`.
    fn reaching(place: i32) -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([ValType::I32], []);
        let mut imports = ImportSection::new();
        let table =
            TableType { element_type: RefType::FUNCREF, minimum: 9, maximum: None, table64: false, shared: false };
        imports.import("main", "table", EntityType::Table(table));
        let mut functions = FunctionSection::new();
        functions.function(0).function(0);
        let mut elements = ElementSection::new();
        elements.active(Some(0), &ConstExpr::i32_const(1), Elements::Functions([0].as_slice().into()));
        let mut code = CodeSection::new();
        let (mut caller, mut detour) = (Function::new([]), Function::new([]));
        caller.instructions().i32_const(7).call(1).end();
        detour.instructions().local_get(0).i32_const(place).call_indirect(0, 0).end();
        code.function(&caller).function(&detour);
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions).section(&elements).section(&code);
        module.finish()
    }

    #[test]
    fn what_is_merged_with_its_caller_is_called_without_the_table() {
        for (place, called) in [(1, 0), (2, 1)] {
            let merged = merged(&[&reaching(place)]).expect("it can be merged");
            Validator::new().validate_all(&merged).expect("it is valid");
            let bodies =
                Parser::new(0).parse_all(&merged).filter_map(|payload| match payload.expect("it can be read") {
                    Payload::CodeSectionEntry(body) => Some(body),
                    _ => None,
                });
            let operators = bodies.flat_map(|body| body.get_operators_reader().expect("operators"));
            let calls: Vec<u32> = operators
                .filter_map(|operator| match operator.expect("an operator") {
                    Operator::Call { function_index } => Some(function_index),
                    _ => None,
                })
                .collect();
            assert_eq!(calls, [called], "what stands at {place}");
        }
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

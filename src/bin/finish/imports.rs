//! Shortens the names by which a module calls its script. wasm-bindgen ends each with sixteen digits of a digest, which no
//! compression makes smaller, and both files have all of them.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{ImportSection, Module};
use wasmparser::{ImportSectionReader, Parser};

use super::Result;

/// A module and its script with short names for what the module imports `from` the script.
pub fn shortened(module: &[u8], script: &str, from: &str) -> Result<(Vec<u8>, String)> {
    let mut shortening = Shortening { from, long: Vec::new() };
    let mut written = Module::new();
    shortening
        .parse_core_module(&mut written, Parser::new(0), module)
        .map_err(|error| format!("what is imported from {from}: {error}"))?;
    let mut script = script.to_owned();
    for (number, long) in shortening.long.iter().enumerate() {
        let definition = format!(" {long}: function");
        if script.matches(&definition).count() != 1 {
            return Err(format!("the script does not define {long} once, in the way in which it did"));
        }
        script = script.replace(&definition, &format!(" {}: function", short(number)));
    }
    Ok((written.finish(), script))
}

/// What the import of a number is called.
fn short(number: usize) -> String {
    format!("i{number}")
}

struct Shortening<'a> {
    from: &'a str,
    /// The names as they were, in the order of their numbers.
    long: Vec<String>,
}

impl Reencode for Shortening<'_> {
    type Error = Infallible;

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> std::result::Result<(), Error<Infallible>> {
        for import in section.into_imports() {
            let import = import?;
            let kind = self.entity_type(import.ty)?;
            if import.module == self.from {
                imports.import(import.module, &short(self.long.len()), kind);
                self.long.push(import.name.to_owned());
            } else {
                imports.import(import.module, import.name, kind);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{EntityType, MemoryType};
    use wasmparser::Payload;

    use super::*;

    fn importing(imports: &[(&str, &str)]) -> Vec<u8> {
        let memory = MemoryType { minimum: 1, maximum: None, memory64: false, shared: false, page_size_log2: None };
        let mut section = ImportSection::new();
        for (from, name) in imports {
            section.import(from, name, EntityType::Memory(memory));
        }
        let mut module = Module::new();
        module.section(&section);
        module.finish()
    }

    fn imports(module: &[u8]) -> Vec<(String, String)> {
        let section = Parser::new(0).parse_all(module).find_map(|part| match part {
            Ok(Payload::ImportSection(section)) => Some(section),
            _ => None,
        });
        let all = section.expect("it has imports").into_imports().flatten();
        all.map(|import| (import.module.to_owned(), import.name.to_owned())).collect()
    }

    #[test]
    fn module_and_script_agree_on_the_short_names_and_other_imports_keep_theirs() {
        let module = importing(&[("./a.js", "__wbg_add_0f"), ("./b.js", "load"), ("./a.js", "__wbg_remove_1e")]);
        let script = "{\n __wbg_remove_1e: function() {},\n __wbg_add_0f: function() {},\n}";
        let (module, script) = shortened(&module, script, "./a.js").expect("it is in order");
        let named = |from: &str, name: &str| (from.to_owned(), name.to_owned());
        assert_eq!(imports(&module), [named("./a.js", "i0"), named("./b.js", "load"), named("./a.js", "i1")]);
        assert_eq!(script, "{\n i1: function() {},\n i0: function() {},\n}");
    }

    #[test]
    fn an_import_that_the_script_does_not_define_once_stops_the_build() {
        let module = importing(&[("./a.js", "__wbg_add_0f")]);
        for script in ["{}", "{ __wbg_add_0f: function() {}, __wbg_add_0f: function() {} }"] {
            assert!(shortened(&module, script, "./a.js").is_err_and(|said| said.contains("__wbg_add_0f")));
        }
    }
}

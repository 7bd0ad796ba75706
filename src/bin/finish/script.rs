//! JavaScript and CSS without what only their readers need.

/// A script or a style sheet without comments and indentation. Comments stand on lines of their own.
pub fn tidied(source: &str) -> String {
    let mut tidy = String::with_capacity(source.len());
    let mut is_comment = false;
    for line in source.lines().map(str::trim_start) {
        is_comment |= line.starts_with("/*");
        if is_comment {
            is_comment = !line.trim_end().ends_with("*/");
        } else if !line.is_empty() && !line.starts_with("//") {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy
}

/// A style sheet that stands in a page itself: tidied, and without what nothing needs between the signs of a rule.
pub fn sheet(source: &str) -> String {
    let mut sheet = String::with_capacity(source.len());
    for line in tidied(source).lines() {
        match line.split_once(": ").filter(|_| line.ends_with(';')) {
            Some((name, value)) => sheet.extend([name, ":", value]),
            None => match line.strip_suffix(" {") {
                Some(selector) => sheet.extend([selector, "{"]),
                None if line == "}" => sheet.push('}'),
                None => sheet.extend([line, "\n"]),
            },
        }
    }
    sheet.replace(";}", "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_indentation_go_and_nothing_else() {
        let sheet = "/* Why.\n   More. */\n.a {\n  /* One line. */\n  color: red; /* stays */\n\n  top: 0;\n}\n";
        assert_eq!(tidied(sheet), ".a {\ncolor: red; /* stays */\ntop: 0;\n}\n");
        let script = "/**\n * A comment.\n */\n  // Another.\nfunction call(a) {\n    b(a, 'http://c');\n}\n";
        assert_eq!(tidied(script), "function call(a) {\nb(a, 'http://c');\n}\n");
    }

    #[test]
    fn a_sheet_in_a_page_keeps_what_parts_its_words() {
        assert_eq!(
            sheet(".a,\n.b {\n  color: red;\n}\n\n.c :hover {\n  top: 0;\n}\n"),
            ".a,\n.b{color:red}.c :hover{top:0}"
        );
    }
}

//! Tables. A paragraph `Table: …` in front is the caption.
//!
//! A column that is aligned to the right holds numbers. A table with such a column may be wider than a phone, and is
//! scrolled there; any other is one of sentences, which becomes a list of rows. A last row whose first cell is bold
//! is the sum.

use pulldown_cmark::{Alignment, Tag};

use super::super::Result;
use super::super::markup::escaped;
use super::inline::inline;
use super::tree::Node;
use super::words::plain;

/// The table with its caption, which may be none only where a fold names the table.
pub fn table(columns: &[Alignment], rows: &[Node], caption: &[Node]) -> Result<String> {
    let number = |column: usize| columns.get(column) == Some(&Alignment::Right);
    let class = |column: usize| if number(column) { " class=\"num\"" } else { "" };
    let is_numbers = columns.contains(&Alignment::Right);
    let caption = inline(caption)?;
    let label = escaped(plain(&caption).trim());
    // More columns than these are wider than a line of text.
    let wide = if columns.len() > 5 { " wide" } else { "" };
    let mut html = if is_numbers {
        format!(
            "<div class=\"table-scroll{wide}\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n<table class=\"data-table\">\n"
        )
    } else {
        "<div class=\"table-scroll wide\">\n<table class=\"data-table data-table-rows\">\n".to_owned()
    };
    html += &format!("<caption>{caption}</caption>\n");
    let mut heads = Vec::new();
    let (mut body, mut foot) = (String::new(), String::new());
    for row in rows {
        let Node::Element(kind, cells) = row else { continue };
        let cells: Vec<&[Node]> = cells.iter().map(inside).collect();
        let is_sum = matches!(cells.first(), Some([Node::Element(Tag::Strong, _)]));
        let line = cells.iter().map(|cell| inline(cell)).collect::<Result<Vec<String>>>()?;
        if *kind == Tag::TableHead {
            heads = line;
            continue;
        }
        let mut written = String::from("<tr>");
        for (column, cell) in line.iter().enumerate() {
            let class = class(column);
            if column == 0 {
                let cell = if is_sum { cell.replace("<strong>", "").replace("</strong>", "") } else { cell.clone() };
                written += &format!("<th scope=\"row\"{class}>{cell}</th>");
            } else if is_numbers {
                written += &format!("<td{class}>{cell}</td>");
            } else {
                let head = heads.get(column).map(|head| plain(head)).unwrap_or_default();
                written += &format!("<td data-label=\"{}\">{cell}</td>", escaped(&head));
            }
        }
        *(if is_sum { &mut foot } else { &mut body }) += &(written + "</tr>\n");
    }
    html += "<thead><tr>";
    for (column, head) in heads.iter().enumerate() {
        html += &match head.as_str() {
            "" => "<td></td>".to_owned(),
            head => format!("<th scope=\"col\"{}>{head}</th>", class(column)),
        };
    }
    html += &format!("</tr></thead>\n<tbody>\n{body}</tbody>\n");
    if !foot.is_empty() {
        html += &format!("<tfoot>\n{foot}</tfoot>\n");
    }
    Ok(html + "</table>\n</div>")
}

fn inside<'a, 'b>(cell: &'a Node<'b>) -> &'a [Node<'b>] {
    match cell {
        Node::Element(_, inner) => inner,
        Node::Leaf(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::tests::html;

    #[test]
    fn a_table_of_numbers_is_scrolled_and_has_a_sum() {
        let source = "Table: Sizes of $N$\n\n| Part | Size |\n| --- | ---: |\n| one | 64 |\n| **Together** | 256 |\n";
        assert_eq!(
            html(source).expect("it is right"),
            "<div class=\"table-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sizes of N\">\n\
             <table class=\"data-table\">\n<caption>Sizes of <var>N</var></caption>\n\
             <thead><tr><th scope=\"col\">Part</th><th scope=\"col\" class=\"num\">Size</th></tr></thead>\n\
             <tbody>\n<tr><th scope=\"row\">one</th><td class=\"num\">64</td></tr>\n</tbody>\n\
             <tfoot>\n<tr><th scope=\"row\">Together</th><td class=\"num\">256</td></tr>\n</tfoot>\n</table>\n</div>\n"
        );
    }

    #[test]
    fn a_table_of_sentences_says_its_columns_beside_each_cell() {
        let found = html("Table: Ways\n\n| | Search |\n| --- | --- |\n| Cost | steps |\n").expect("it is right");
        assert!(found.contains("class=\"data-table data-table-rows\""), "{found}");
        assert!(found.contains("<thead><tr><td></td><th scope=\"col\">Search</th></tr>"), "{found}");
        assert!(found.contains("<th scope=\"row\">Cost</th><td data-label=\"Search\">steps</td>"), "{found}");
    }

    #[test]
    fn a_table_without_a_caption_and_a_caption_without_a_table_are_refused() {
        assert!(html("| a |\n| --- |\n| b |\n").expect_err("no caption").contains("a table needs a caption"));
        assert!(html("Table: alone\n\ntext\n").expect_err("no table").contains("“Table: alone”"));
    }
}

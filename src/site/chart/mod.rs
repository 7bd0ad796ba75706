//! Where the library's chart meets the page. Labels are no part of its drawing: they are text of the
//! page, laid over it by the same scales, so that they follow the reader's font size and nothing has
//! to be measured.

pub mod canvas;

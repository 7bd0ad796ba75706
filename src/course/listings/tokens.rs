//! A program in pieces that have a colour each.

/// What a piece of a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Names, signs, spaces and the ends of lines.
    Plain,
    /// A word of the language.
    Keyword,
    /// A text in quotes.
    Text,
    /// A number.
    Number,
    /// From `#` to the end of the line.
    Comment,
}

/// A piece of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// What is written; never empty.
    pub text: String,
}

/// The words of Python that programs of this course have.
const KEYWORDS: [&str; 18] = [
    "False", "None", "True", "and", "as", "class", "def", "else", "for", "from", "if", "import", "in", "not", "or",
    "return", "while", "with",
];

/// A Python program in pieces that joined are the program. Two pieces of the same kind never follow each other, but for
/// comments of a whole line and texts.
///
/// ```
/// use bmax::course::listings::{Kind, tokens};
/// let pieces: Vec<_> = tokens("K = 16  # steps\n").into_iter().map(|token| (token.kind, token.text)).collect();
/// let wanted = [(Kind::Plain, "K = "), (Kind::Number, "16"), (Kind::Plain, "  "), (Kind::Comment, "# steps")];
/// assert_eq!(pieces[..4], wanted.map(|(kind, text)| (kind, text.to_owned())));
/// ```
pub fn tokens(source: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            '#' => (Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
            // No text of these programs goes beyond its line or has a quote inside.
            '"' => (Kind::Text, rest[1..].find(['"', '\n']).map_or(rest.len(), |end| end + 2)),
            first if is_of_word(first) => {
                let is_number = first.is_ascii_digit();
                let ends = |letter| !(is_of_word(letter) || is_number && letter == '.');
                let length = rest.find(ends).unwrap_or(rest.len());
                (kind_of_word(&rest[..length]), length)
            }
            first => (Kind::Plain, first.len_utf8()),
        };
        let (text, behind) = rest.split_at(length);
        rest = behind;
        match tokens.last_mut().filter(|last| last.kind == kind && kind == Kind::Plain) {
            Some(last) => last.text.push_str(text),
            None => tokens.push(Token { kind, text: text.to_owned() }),
        }
    }
    tokens
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// What a word or a number is.
fn kind_of_word(word: &str) -> Kind {
    if word.starts_with(|first: char| first.is_ascii_digit()) {
        Kind::Number
    } else if KEYWORDS.contains(&word) {
        Kind::Keyword
    } else {
        Kind::Plain
    }
}

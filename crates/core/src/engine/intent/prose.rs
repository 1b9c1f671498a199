//! Splits Markdown into sentences. Code, quotations and links are removed: Claude does not say them to the user.

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub kind: Kind,
    pub sentences: Vec<Sentence>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Heading,
    Paragraph,
    List,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    /// As written, on one line.
    pub text: String,
    /// In lower case, without marks of emphasis: phrases are looked up in this.
    pub folded: String,
    /// Ends with a question mark that is not part of a link.
    pub asks: bool,
}

impl Sentence {
    /// Asks for more than a yes or no: such a question is often answered by the writer.
    pub fn asks_what(&self) -> bool {
        const OPENERS: &[&str] = &["what", "what's", "how", "why", "who", "who's", "where", "when"];
        OPENERS.contains(&first_word(&self.folded))
    }

    /// In parentheses.
    pub fn is_aside(&self) -> bool {
        self.text.trim_start_matches(['*', '_']).starts_with('(')
    }

    pub fn clauses(&self) -> impl Iterator<Item = &str> {
        self.folded.split([',', ';', ':', '—', '–']).map(str::trim)
    }
}

fn first_word(folded: &str) -> &str {
    folded.split(' ').next().unwrap_or_default()
}

/// Replaces what was removed, so that a sentence keeps its shape.
const PLACEHOLDER: char = '\u{FFFC}';

pub fn read(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut paragraph = String::new();
    let mut fence: Option<(char, usize)> = None;
    let mut after_blank = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let mark = fence_mark(trimmed);
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                end_paragraph(&mut blocks, &mut paragraph, Kind::Paragraph);
                continue;
            }
            (Some(open), Some(mark)) if mark.0 == open.0 && mark.1 >= open.1 => {
                fence = None;
                continue;
            }
            (Some(_), _) => continue,
            (None, None) => {}
        }
        let follows_blank = std::mem::replace(&mut after_blank, trimmed.is_empty());
        let indented = line.starts_with("    ") || line.starts_with('\t');
        if indented && follows_blank && !ends_with_list(&blocks) {
            // Code. It stays so until a line that is not indented.
            after_blank = true;
        } else if trimmed.is_empty()
            || is_rule(trimmed)
            || trimmed.starts_with(['|', '>'])
            || is_footnote(trimmed)
        {
            end_paragraph(&mut blocks, &mut paragraph, Kind::Paragraph);
        } else if let Some(item) = list_item(trimmed) {
            end_paragraph(&mut blocks, &mut paragraph, Kind::Paragraph);
            add_item(&mut blocks, item);
        } else if line.starts_with([' ', '\t']) && paragraph.is_empty() && ends_with_list(&blocks) {
            add_item(&mut blocks, trimmed);
        } else if trimmed.starts_with('#') {
            end_paragraph(&mut blocks, &mut paragraph, Kind::Paragraph);
            paragraph.push_str(trimmed.trim_start_matches('#').trim());
            end_paragraph(&mut blocks, &mut paragraph, Kind::Heading);
        } else {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(trimmed);
        }
    }
    end_paragraph(&mut blocks, &mut paragraph, Kind::Paragraph);
    blocks
}

fn fence_mark(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    (count >= 3 && !line[count..].contains('`')).then_some((mark, count))
}

/// `[^1]: what is said at the foot`
fn is_footnote(line: &str) -> bool {
    line.starts_with("[^") && line.contains("]:")
}

fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '=' | ' '))
}

/// `- x`, `* x`, `1. x`, `2) x`, `A) x`, `(b) x`, `C. x`, `Option 2: x`, `1️⃣ x`.
fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ ", "• "].iter().find_map(|bullet| line.strip_prefix(bullet));
    bullet.or_else(|| {
        let line = line.trim_start_matches("**");
        if is_option(line) {
            return Some(line);
        }
        let open = line.strip_prefix('(').unwrap_or(line);
        let digits = open.chars().take_while(char::is_ascii_digit).count();
        let letter = open.chars().next().filter(char::is_ascii_alphabetic);
        let (label, marks): (usize, &[char]) = match letter {
            _ if digits > 0 => (digits, &['.', ')', KEYCAP]),
            Some('A'..='H') => (1, &['.', ')']),
            Some(_) => (1, &[')']),
            None => return None,
        };
        let rest = open[label..].trim_start_matches(EMOJI_STYLE);
        rest.strip_prefix(marks)?.strip_prefix(' ')
    })
}

/// `Option 2: x`, `Option A — x`
fn is_option(line: &str) -> bool {
    let Some(label) = line.strip_prefix("Option ") else { return false };
    let after = label.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    after.len() < label.len()
        && after.trim_start_matches(['*', ' ']).starts_with([':', '—', '–', '-', '(', ')', '.'])
}

/// The two characters that make "1" the emoji "1️⃣".
const EMOJI_STYLE: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

fn ends_with_list(blocks: &[Block]) -> bool {
    blocks.last().is_some_and(|block| block.kind == Kind::List)
}

fn add_item(blocks: &mut Vec<Block>, item: &str) {
    if !ends_with_list(blocks) {
        blocks.push(Block { kind: Kind::List, sentences: Vec::new() });
    }
    let Some(list) = blocks.last_mut() else { return };
    // "[x] Are the docs updated?" is an entry to tick off, not a question.
    let ticked = ["[x] ", "[X] ", "[ ] "].iter().find_map(|mark| item.strip_prefix(mark));
    let mut sentences = sentences(ticked.unwrap_or(item));
    if ticked.is_some() {
        sentences.iter_mut().for_each(|sentence| sentence.asks = false);
    }
    list.sentences.extend(sentences);
}

fn end_paragraph(blocks: &mut Vec<Block>, paragraph: &mut String, kind: Kind) {
    let sentences = sentences(paragraph);
    paragraph.clear();
    if !sentences.is_empty() {
        blocks.push(Block { kind, sentences });
    }
}

fn sentences(text: &str) -> Vec<Sentence> {
    let bare = without_quotations(&without_urls(&without_footnote_marks(&without_code(text))));
    let chars: Vec<(usize, char)> = bare.char_indices().collect();
    let mut found = Vec::new();
    let mut start = 0;
    for (n, (i, c)) in chars.iter().enumerate() {
        let full = matches!(c, '。' | '？' | '！');
        if !full && !matches!(c, '.' | '!' | '?' | '…' | '؟') {
            continue;
        }
        let end = i + c.len_utf8();
        let rest = &bare[end..];
        let after = rest.trim_start_matches(is_trailing);
        let breaks = full
            || after.is_empty()
            || after.starts_with(' ') && begins_sentence(after.trim_start())
            || after.starts_with(is_written_without_blanks);
        let run = chars.get(n + 1).is_some_and(|(_, next)| matches!(next, '.' | '!' | '?'));
        if breaks && !run && !(*c == '.' && is_abbreviation(&bare[start..*i])) {
            let end = end + (rest.len() - after.len());
            found.extend(sentence(&bare[start..end]));
            start = end;
        }
    }
    found.extend(sentence(&bare[start..]));
    found
}

/// Chinese, Japanese and Korean put no blank after a sentence, or none between a word and what modifies it.
pub fn is_written_without_blanks(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

fn begins_sentence(rest: &str) -> bool {
    rest.trim_start_matches(['*', '_', '(', '[', '"', '“'])
        .chars()
        .next()
        .is_none_or(|c| !c.is_lowercase() || c == 'i' && rest.starts_with("i "))
}

fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit([' ', '(']).next().unwrap_or_default().to_lowercase();
    matches!(word.as_str(), "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "no" | "fig")
}

/// Closing marks, emphasis and emoji after the final punctuation belong to the sentence.
fn is_trailing(c: char) -> bool {
    matches!(c, '*' | '_' | ')' | ']' | '"' | '”' | '\'' | '’' | '»' | '~' | PLACEHOLDER)
}

fn sentence(text: &str) -> Option<Sentence> {
    let text = text.trim().trim_end_matches(is_emoji).trim();
    if !text.contains(char::is_alphanumeric) && !text.contains(PLACEHOLDER) {
        return None;
    }
    let bare = text.trim_end_matches(|c| is_trailing(c) || is_emoji(c));
    // "Push to origin? (yes/no)", "Push to origin? [y/N]"
    let parenthesis = [(" (", ')'), (" [", ']')]
        .iter()
        .find_map(|(open, close)| text.rfind(open).filter(|_| text.ends_with(*close)));
    let bare = parenthesis
        .map(|open| &text[..open])
        .map(|before| before.trim_end_matches(is_trailing))
        .filter(|before| before.ends_with('?'))
        .unwrap_or(bare);
    let question = bare.ends_with(['?', '？', '؟']) || ends_in_question_particle(bare);
    // A link that ends in a question mark is a link, unless the sentence is built as a question.
    let before_mark = bare.trim_end_matches(['?', '？', '؟', '!']);
    let linked = before_mark.ends_with(URL_PLACEHOLDER);
    let folded: String = text
        .to_lowercase()
        .replace(['*', '_', '`'], "")
        .replace(PLACEHOLDER, "…")
        .replace(['’', '‘'], "'")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let folded = folded.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '…').to_string();
    let shown = text.replace([PLACEHOLDER, URL_PLACEHOLDER], "…");
    let asks = question && (is_built_as_question(&folded) || !linked && !ends_in_a_label(text));
    Some(Sentence { asks, text: shown, folded })
}

/// "The buttons are **Save** and **Not sure?**": the words in emphasis are a label or a title, not a question.
fn ends_in_a_label(text: &str) -> bool {
    let inner = text.trim_end_matches(['*', '_']);
    let marks = &text[inner.len()..];
    let before =
        if marks.is_empty() { None } else { inner.rfind(marks).map(|open| inner[..open].trim_end()) };
    const NAMING: &[&str] =
        &["is", "are", "now", "to", "and", "or", "as", "called", "named", "titled", "says", "reads", "with"];
    let word = before.and_then(|before| before.rsplit(' ').next()).unwrap_or_default();
    NAMING.contains(&word)
}

/// Japanese and Chinese ask with a particle, and may leave the question mark out.
fn ends_in_question_particle(text: &str) -> bool {
    let words = text.trim_end_matches('。');
    ["ですか", "ますか", "ませんか", "でしょうか", "吗"].iter().any(|particle| words.ends_with(particle))
}

fn is_emoji(c: char) -> bool {
    matches!(u32::from(c), 0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0xFE0F | 0x200D) || c == ' '
}

const URL_PLACEHOLDER: char = '\u{FFFB}';

fn is_built_as_question(folded: &str) -> bool {
    const OPENERS: &[&str] = &[
        "is", "are", "do", "does", "did", "should", "shall", "can", "could", "would", "will", "may", "which",
        "what", "where", "who", "how", "why", "when", "have", "has", "want",
    ];
    OPENERS.contains(&first_word(folded))
}

/// Removes inline code; an unclosed backtick stays.
fn without_code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].chars().take_while(|c| *c == '`').count();
        let body = start + ticks;
        let close = "`".repeat(ticks);
        let Some(end) = rest[body..].find(&close) else { break };
        out.push_str(&rest[..start]);
        out.push(PLACEHOLDER);
        rest = &rest[body + end + ticks..];
    }
    out.push_str(rest);
    out
}

/// Removes `[^1]`.
fn without_footnote_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, mark)) = rest.split_once("[^") {
        let Some((_, after)) = mark.split_once(']') else { break };
        out.push_str(before);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn without_urls(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let Some(at) = word
            .find("://")
            .map(|at| word[..at].rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |i| i + 1))
            .or_else(|| word.find("www."))
            // Split only at a character boundary: the text may be in any language.
            .filter(|at| word.is_char_boundary(*at))
        else {
            return word.to_string();
        };
        let (before, url) = word.split_at(at);
        let bare = url.trim_end_matches(is_after_url);
        format!("{before}{URL_PLACEHOLDER}{}", &url[bare.len()..])
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_after_url(c: char) -> bool {
    matches!(c, '.' | ',' | ')' | ']' | '>' | '?' | '!' | ';' | ':' | '*' | '"')
}

/// Removes quotations: a question in a dialog, an error or another person's text is not Claude's question.
fn without_quotations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((start, open)) = rest.char_indices().find(|(_, c)| matches!(c, '"' | '“' | '«' | '「'))
    {
        let close = match open {
            '“' => '”',
            '«' => '»',
            '「' => '」',
            _ => '"',
        };
        let body = start + open.len_utf8();
        let Some(length) = rest[body..].find(close) else { break };
        out.push_str(&rest[..start]);
        out.push(PLACEHOLDER);
        rest = &rest[body + length + close.len_utf8()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<String> {
        read(markdown).into_iter().flat_map(|block| block.sentences).map(|sentence| sentence.text).collect()
    }

    #[test]
    fn sentences_are_split_at_their_ends() {
        assert_eq!(
            texts("One, e.g. this. Two v1.2.3 in main.rs. Three?!"),
            ["One, e.g. this.", "Two v1.2.3 in main.rs.", "Three?!"]
        );
        assert_eq!(
            texts("A wrapped\nline. **Bold?**\n\n# Head\ntail"),
            ["A wrapped line.", "**Bold?**", "Head", "tail"]
        );
        assert_eq!(texts("続けますか？はい。"), ["続けますか？", "はい。"]);
    }

    #[test]
    fn code_quotations_and_links_are_removed() {
        let asks =
            |text: &str| read(text).iter().flat_map(|block| &block.sentences).any(|sentence| sentence.asks);
        for quiet in [
            "It prints `Continue?`",
            "```\nproceed?\n```",
            "~~~sh\nread -p 'ok?'\n~~~",
            "> are you sure?",
            "The dialog says \"Are you sure?\"",
            "See https://example.com/?",
            "See https://example.com/a?b=c",
            "| a? | b? |",
            "- [x] Are the docs updated?",
            "The buttons are **Save** and **Not sure?**",
        ] {
            assert!(!asks(quiet), "{quiet}");
        }
        for loud in [
            "Is it https://example.com/?",
            "Rename it to `x`?",
            "Did it print \"done\"?",
            "Push now? 🚀",
            "**Go on?**",
        ] {
            assert!(asks(loud), "{loud}");
        }
    }

    #[test]
    fn lists_headings_and_footnotes_are_told_apart() {
        let kinds = |markdown: &str| read(markdown).into_iter().map(|block| block.kind).collect::<Vec<_>>();
        assert_eq!(kinds("# Why?\n\nText\n\n- item"), [Kind::Heading, Kind::Paragraph, Kind::List]);
        for item in ["1. x", "2) x", "(b) x", "C. x", "1️⃣ x", "Option 2: x", "**Option A** — x"] {
            assert_eq!(kinds(item), [Kind::List], "{item}");
        }
        assert_eq!(kinds("Option 1 is the right one."), [Kind::Paragraph]);
        assert_eq!(texts("Go on?[^1]\n\n[^1]: It takes a minute."), ["Go on?"]);
        assert_eq!(texts("It says\n\n    Are you sure?\n\nand stops."), ["It says", "and stops."]);
    }

    #[test]
    fn odd_marks_are_handled() {
        for text in [
            "",
            "`",
            "```",
            "\"",
            "“",
            "ß?",
            "://",
            "é://x?",
            "a`b",
            "(",
            "1.",
            "-",
            "* ",
            "www.",
            "日本www.é?",
        ] {
            read(text);
        }
    }
}

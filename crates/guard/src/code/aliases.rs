//! Names that a program gives to imported modules and functions.

use crate::code::tokens::Token;
use std::collections::HashMap;

/// `f = require("fs")`, `import f from "node:fs"`, `import * as f from "fs/promises"`: the name and the module.
fn module_name(tokens: &[Token]) -> Option<(&str, &'static str)> {
    let (name, from) = match tokens {
        [
            Token::Name(name),
            Token::Punct('='),
            Token::Name(call),
            Token::Punct('('),
            Token::Text(from, _),
            ..,
        ] if call == "require" => (name, from),
        [Token::Name(word), Token::Name(name), Token::Name(of), Token::Text(from, _), ..]
            if of == "from" && (word == "import" || word == "as") =>
        {
            (name, from)
        }
        _ => return None,
    };
    let module = match from.trim_start_matches("node:") {
        "fs" | "fs-extra" | "graceful-fs" => "fs",
        "fs/promises" => "promises",
        "child_process" => "child_process",
        "os" => "os",
        "path" => "path",
        _ => return None,
    };
    Some((name, module))
}

/// `from shutil import rmtree as r`: every `r` becomes `rmtree` again.
pub(super) fn undo(tokens: &mut [Token]) {
    let mut renamed: HashMap<String, String> = HashMap::new();
    for window in tokens.windows(3) {
        if let [Token::Name(from), Token::Name(word), Token::Name(to)] = window
            && word == "as"
        {
            renamed.insert(to.clone(), from.clone());
        }
    }
    for at in 0..tokens.len() {
        if let Some((name, module)) = module_name(&tokens[at..]) {
            renamed.insert(name.to_owned(), module.to_owned());
        }
    }
    if renamed.is_empty() {
        return;
    }
    for token in tokens {
        if let Token::Name(name) = token
            && let Some(from) = renamed.get(name)
        {
            name.clone_from(from);
        }
    }
}

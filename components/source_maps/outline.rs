/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions of a source and their names, by its text.
//!
//! Many maps have names only for variables. The function that a place is in, and its name, then follow from the text of the
//! source: from brackets and the words before them. No grammar is used. So TypeScript, JSX and sources with errors are
//! read as well. What is not plain from the text has no name.
//!
//! A parser would be the usual way. But sources come from pages, and the known parsers end the process with a stack
//! overflow if a source nests deeply enough: Sentry's js-source-scopes 0.7 at 100,000 times `!`, and oxc, too
//! (<https://github.com/oxc-project/oxc/issues/24375>). The former is built on swc, and reads no TypeScript.
//!
//! Names are those that the engine itself gives: of a declaration, method, variable or property (NamedEvaluation of
//! ECMA-262), or the path that a function is assigned to, as in `Shape.prototype.draw`.

use crate::bounds::MAX_FUNCTION_DEPTH;
use crate::tokens::{Kind, Token, Tokens, is_line_end};

/// Words before a method's name.
const MODIFIERS: [&str; 12] = [
    "abstract",
    "accessor",
    "async",
    "declare",
    "export",
    "get",
    "override",
    "private",
    "protected",
    "public",
    "set",
    "static",
];

/// Words before round brackets that begin a statement or an expression; elsewhere they may name a method.
const CONTROL: [&str; 12] = [
    "await", "catch", "do", "else", "for", "if", "new", "return", "super", "switch", "while",
    "with",
];

/// Words that begin a statement, and end the one on the line before.
const STATEMENTS: [&str; 17] = [
    "async", "break", "class", "const", "continue", "export", "for", "function", "if", "import",
    "let", "return", "switch", "throw", "try", "var", "while",
];

/// Tokens of a type before which its variable is looked for.
const MAX_TYPE_LENGTH: usize = 64;

/// Bytes of a name.
const MAX_NAME_LENGTH: u32 = 256;

/// Bytes of a line that are searched for its end.
const MAX_LINE_LENGTH: usize = 500;

/// Brackets within brackets. Behind a deeper one the rest of the text is not searched.
const MAX_NESTING: usize = 1_000;

/// Brackets between a closing round or square bracket and the one that it closes, if they were left open.
const MAX_LEFT_OPEN: usize = 16;

/// The functions of a source, in the order of their beginnings.
#[derive(Debug, Default)]
pub struct Outline {
    functions: Vec<Function>,
}

/// A function, or a class, which stands for its constructor. Offsets are in bytes.
#[derive(Debug)]
struct Function {
    /// Of its first word or bracket.
    start: u32,
    /// Of its body. The text before is the head; a map refers to a place in it as the definition.
    body: u32,
    end: u32,
    /// Beginning and end of its name in the text.
    name: Option<(u32, u32)>,
    prefix: Prefix,
    parent: Option<u32>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Prefix {
    None,
    Get,
    Set,
}

/// What a function is called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Name {
    Of(String),
    /// It has no name, and is within a function of this name.
    AnonymousIn(String),
    Unknown,
}

impl Outline {
    /// Finds at most `max` functions.
    pub fn of(text: &str, max: usize) -> Self {
        let mut scan = Scan::of(text, max);
        for token in Tokens::of(text) {
            scan.read(token);
        }
        scan.finish()
    }

    /// The function whose head is at `offset`.
    pub fn defined_at(&self, text: &str, offset: usize) -> Option<Name> {
        Some(self.name(text, self.index_defined_at(offset)?))
    }

    /// The index of the function whose head is at `offset`.
    pub fn index_defined_at(&self, offset: usize) -> Option<usize> {
        self.innermost(offset, |function| function.body)
    }

    /// The same, if `offset` may also be that of the body, to which some builders map the bracket of a getter.
    pub fn index_headed_at(&self, offset: usize) -> Option<usize> {
        self.innermost(offset, |function| function.body.saturating_add(1))
    }

    /// The index of the function that runs at `offset`.
    pub fn index_running_at(&self, offset: usize) -> Option<usize> {
        self.innermost(offset, |function| function.end)
    }

    /// The function that begins on the rest of the line, if there is only one. It is for maps without columns.
    pub fn defined_on_line(&self, text: &str, offset: usize) -> Option<Name> {
        Some(self.name(text, self.index_defined_on_line(text, offset)?))
    }

    /// The index of that function.
    pub fn index_defined_on_line(&self, text: &str, offset: usize) -> Option<usize> {
        let near = text.floor_char_boundary(offset + MAX_LINE_LENGTH);
        let end = offset + text[offset..near].find(is_line_end)?;
        let first = self
            .functions
            .partition_point(|one| (one.start as usize) < offset);
        let behind = self
            .functions
            .partition_point(|one| (one.start as usize) < end);
        (behind == first + 1).then_some(first)
    }

    /// The function that runs at `offset`.
    pub fn running_at(&self, text: &str, offset: usize) -> Option<Name> {
        Some(self.name(text, self.index_running_at(offset)?))
    }

    /// The innermost function with `offset` between its beginning and `end`.
    fn innermost(&self, offset: usize, end: impl Fn(&Function) -> u32) -> Option<usize> {
        let behind = self
            .functions
            .partition_point(|one| one.start as usize <= offset);
        self.with_parents(behind.checked_sub(1)?)
            .find(|index| offset < end(&self.functions[*index]) as usize)
    }

    fn with_parents(&self, index: usize) -> impl Iterator<Item = usize> {
        let parent = |index: &usize| self.functions[*index].parent.map(|parent| parent as usize);
        std::iter::successors(Some(index), parent).take(MAX_FUNCTION_DEPTH)
    }

    fn name(&self, text: &str, index: usize) -> Name {
        let own = |function: &Function| {
            let (start, end) = function.name?;
            let name = &text[start as usize..end as usize];
            let prefix = match function.prefix {
                Prefix::None => "",
                Prefix::Get => "get ",
                Prefix::Set => "set ",
            };
            let is_quoted = text[..start as usize].ends_with(['"', '\'']);
            let is_shown = |character: &char| is_quoted || !character.is_whitespace();
            Some(
                prefix
                    .chars()
                    .chain(name.chars().filter(is_shown))
                    .collect(),
            )
        };
        if let Some(name) = own(&self.functions[index]) {
            return Name::Of(name);
        }
        let named = self
            .with_parents(index)
            .find_map(|index| own(&self.functions[index]));
        named.map_or(Name::Unknown, Name::AnonymousIn)
    }
}

/// A bracket that is open, or the whole text.
#[derive(Default)]
struct Level {
    /// The index of its token.
    open: usize,
    /// The function whose body it is.
    function: Option<u32>,
    /// The name of the class whose body it is.
    class: Option<Option<(u32, u32)>>,
    /// Whether it is `{` of an object, in which each name with brackets behind it is a method.
    is_object: bool,
    /// Of `(`: the word `function` before it.
    keyword: Option<Keyword>,
    /// A word `function` or `class` whose brackets are yet to come.
    pending_function: Option<Keyword>,
    pending_class: Option<Keyword>,
    /// `(…)`, perhaps with a type behind it, that may be the parameters of a function.
    head: Option<Head>,
    /// Functions of the form `a => b`, which end at the next comma, semicolon or closing bracket.
    arrows: Vec<u32>,
    /// The arrow function whose body begins with the next token.
    pending_arrow: Option<u32>,
}

#[derive(Clone, Copy)]
struct Keyword {
    /// The index of the token, or of `async` before it.
    start: usize,
    name: Option<usize>,
}

struct Head {
    open: usize,
    close: usize,
    keyword: Option<Keyword>,
    /// Whether the type that the function returns follows, behind `:`.
    has_type: bool,
    /// Open `<` in that type.
    depth: u32,
}

struct Scan<'a> {
    text: &'a str,
    max: usize,
    tokens: Vec<Token>,
    /// At least that of the whole text.
    levels: Vec<Level>,
    functions: Vec<Function>,
    /// Functions whose end is yet to come, from the outermost on.
    open: Vec<u32>,
    /// How many braces are open, and how many holes of templates.
    braces: usize,
    holes: usize,
}

impl<'a> Scan<'a> {
    fn of(text: &'a str, max: usize) -> Self {
        Self {
            text,
            max,
            tokens: Vec::new(),
            levels: vec![Level::default()],
            functions: Vec::new(),
            open: Vec::new(),
            braces: 0,
            holes: 0,
        }
    }

    fn level(&mut self) -> &mut Level {
        self.levels
            .last_mut()
            .expect("that of the whole text stays")
    }

    fn word(&self, index: usize) -> &'a str {
        let token = self.tokens[index];
        match token.kind {
            Kind::Word => &self.text[token.start as usize..token.end as usize],
            _ => "",
        }
    }

    fn kind(&self, index: Option<usize>) -> Option<Kind> {
        Some(self.tokens.get(index?)?.kind)
    }

    fn is_sign(&self, index: Option<usize>, signs: &[u8]) -> bool {
        matches!(self.kind(index), Some(Kind::Sign(sign)) if signs.contains(&sign))
    }

    fn read(&mut self, token: Token) {
        if self.levels.len() > MAX_NESTING {
            return;
        }
        let index = self.tokens.len();
        self.tokens.push(token);
        self.begin_arrow_body(index);
        match token.kind {
            Kind::Word => self.read_word(index),
            Kind::Arrow => self.read_arrow(index),
            Kind::Sign(b'{') => self.open_brace(index),
            Kind::Sign(sign @ (b'(' | b'[')) => {
                let keyword = match sign {
                    b'(' => self.level().pending_function.take(),
                    _ => None,
                };
                self.keep_head_within_type(index);
                self.open(Level {
                    open: index,
                    keyword,
                    ..Level::default()
                });
            },
            Kind::Sign(b')' | b']' | b'}') => self.close(index),
            Kind::Literal => self.read_template_part(index),
            _ => {},
        }
        if !matches!(
            token.kind,
            Kind::Sign(b'(' | b'[' | b'{' | b')' | b']' | b'}') | Kind::Arrow
        ) {
            self.keep_head_within_type(index);
        }
        if matches!(token.kind, Kind::Sign(b',' | b';')) {
            self.end_arrows();
        }
    }

    /// A hole of a template is a level, as if it were in braces.
    fn read_template_part(&mut self, index: usize) {
        let Token { start, end, .. } = self.tokens[index];
        let text = &self.text[start as usize..end as usize];
        if text.starts_with('}') {
            self.close(index);
        }
        if text.ends_with("${") {
            self.open(Level {
                open: index,
                ..Level::default()
            });
        }
    }

    fn open(&mut self, level: Level) {
        match self.tokens[level.open].kind {
            Kind::Sign(b'{') => self.braces += 1,
            Kind::Literal => self.holes += 1,
            _ => {},
        }
        self.levels.push(level);
    }

    fn read_word(&mut self, index: usize) {
        let word = self.word(index);
        let before = index.checked_sub(1);
        if self.tokens[index].begins_line && STATEMENTS.contains(&word) {
            self.end_arrows();
        }
        if self.is_sign(before, b".") {
            return;
        }
        // The name of a property is no keyword.
        let behind = self.text[self.tokens[index].end as usize..].trim_start();
        let is_key = behind.starts_with([':', ',', '=', ')', '}', ';', '?']);
        let start = match before {
            Some(before) if self.word(before) == "async" => before,
            _ => index,
        };
        match word {
            "function" if !is_key => {
                self.level().pending_function = Some(Keyword { start, name: None });
                self.level().head = None;
            },
            "class" if !is_key && !behind.starts_with('(') => {
                self.level().pending_class = Some(Keyword {
                    start: index,
                    name: None,
                });
                self.level().head = None;
            },
            _ => {
                let level = self.level();
                if let Some(function) = &mut level.pending_function {
                    function.name.get_or_insert(index);
                } else if let Some(class) = &mut level.pending_class {
                    let is_first = class.start + 1 == index;
                    if is_first && !matches!(word, "extends" | "implements") {
                        class.name = Some(index);
                    }
                }
            },
        }
    }

    fn read_arrow(&mut self, index: usize) {
        let Some(before) = index.checked_sub(1) else {
            return;
        };
        let head = self.level().head.take();
        let open = match head {
            // It is part of the type that the function returns.
            Some(head) if head.has_type && self.is_sign(Some(before), b")") => {
                self.level().head = Some(head);
                return;
            },
            Some(head) => head.open,
            None if !self.word(before).is_empty() => before,
            None => return,
        };
        let mut start = self.before_type_parameters(open);
        if start
            .checked_sub(1)
            .is_some_and(|one| self.word(one) == "async")
        {
            start -= 1;
        }
        let name = self.inferred_name(start);
        let arrow = self.push(
            self.tokens[start].start,
            self.tokens[index].end,
            name,
            Prefix::None,
        );
        self.level().pending_arrow = arrow;
    }

    /// The token behind `=>`: in braces the body ends with them, otherwise with the expression.
    fn begin_arrow_body(&mut self, index: usize) {
        let Some(arrow) = self.level().pending_arrow.take() else {
            return;
        };
        self.functions[arrow as usize].body = self.tokens[index].start;
        match self.tokens[index].kind {
            Kind::Sign(b'{') => self.level().pending_arrow = Some(arrow),
            _ => self.level().arrows.push(arrow),
        }
    }

    fn open_brace(&mut self, index: usize) {
        if let Some(arrow) = self.level().pending_arrow.take() {
            return self.open_body(index, Some(arrow), None);
        }
        let before = index.checked_sub(1);
        let is_type = self.is_sign(before, b":|&<,(?[")
            || matches!(self.kind(before), Some(Kind::Arrow | Kind::Assign));
        let is_class = self.level().pending_class.is_some();
        let head = self.level().head.take();
        if let Some(head) = head.filter(|head| !is_class || head.keyword.is_some()) {
            if head.has_type && is_type {
                self.level().head = Some(head);
                return self.open_body(index, None, None);
            }
            let function = self.function_with_head(&head, index);
            return self.open_body(index, function, None);
        }
        let is_base =
            before.is_some_and(|before| matches!(self.word(before), "extends" | "implements"));
        if !is_type
            && !is_base
            && let Some(class) = self.level().pending_class.take()
        {
            let name = match class.name {
                Some(name) => Some((self.tokens[name].start, self.tokens[name].end)),
                None => self.inferred_name(class.start),
            };
            let start = self.tokens[class.start].start;
            let function = self.push(start, self.tokens[index].start, name, Prefix::None);
            return self.open_body(index, function, Some(name));
        }
        self.open_body(index, None, None);
    }

    fn open_body(
        &mut self,
        index: usize,
        function: Option<u32>,
        class: Option<Option<(u32, u32)>>,
    ) {
        let is_object = function.is_none() && class.is_none() && self.begins_object(index);
        self.open(Level {
            open: index,
            function,
            class,
            is_object,
            ..Level::default()
        });
    }

    /// Whether the brace at `index` begins an object. Behind `:` it does within an expression; elsewhere it may be a block.
    fn begins_object(&self, index: usize) -> bool {
        let before = index.checked_sub(1);
        let is_in_expression = self.levels[1..]
            .last()
            .is_some_and(|level| level.is_object || self.is_sign(Some(level.open), b"(["));
        matches!(self.kind(before), Some(Kind::Assign))
            || self.is_sign(before, b"(,[?d")
            || self.is_sign(before, b":") && is_in_expression
            || before.is_some_and(|before| matches!(self.word(before), "return" | "default"))
    }

    /// The function with these parameters and the body at `brace`. None if it is a statement, such as a loop.
    fn function_with_head(&mut self, head: &Head, brace: usize) -> Option<u32> {
        let body = self.tokens[brace].start;
        if let Some(keyword) = head.keyword {
            let name = match keyword.name {
                Some(name) => Some((self.tokens[name].start, self.tokens[name].end)),
                None => self.inferred_name(keyword.start),
            };
            return self.push(self.tokens[keyword.start].start, body, name, Prefix::None);
        }
        let key = self.before_type_parameters(head.open).checked_sub(1)?;
        let class = self.level().class;
        let has_statements = class.is_none() && !self.level().is_object;
        let (mut start, name) = match self.tokens[key].kind {
            Kind::Word if has_statements && CONTROL.contains(&self.word(key)) => return None,
            Kind::Word | Kind::String => (key, Some(self.key(key))),
            Kind::Sign(b']') => {
                let open = self.matching(key, b'[', b']')?;
                (open, Some((self.tokens[open].start, self.tokens[key].end)))
            },
            _ => return None,
        };
        if start
            .checked_sub(1)
            .is_some_and(|one| self.is_sign(Some(one), b"."))
        {
            return None;
        }
        let mut prefix = Prefix::None;
        while let Some(before) = start.checked_sub(1) {
            match self.word(before) {
                "get" if !self.is_sign(before.checked_sub(1), b".") => prefix = Prefix::Get,
                "set" if !self.is_sign(before.checked_sub(1), b".") => prefix = Prefix::Set,
                word if MODIFIERS.contains(&word) => {},
                _ if self.is_sign(Some(before), b"*") => {},
                _ => break,
            }
            start = before;
        }
        let name = match class {
            Some(class) if self.word(key) == "constructor" => class,
            _ => name,
        };
        self.push(self.tokens[start].start, body, name, prefix)
    }

    fn close(&mut self, index: usize) {
        let close = self.tokens[index];
        let Some(depth) = self.closed_by(close.kind) else {
            return;
        };
        let mut keyword = None;
        let mut open = 0;
        while self.levels.len() > depth + 1 {
            self.end_arrows();
            let level = self.levels.pop().expect("there are more");
            match self.tokens[level.open].kind {
                Kind::Sign(b'{') => self.braces -= 1,
                Kind::Literal => self.holes -= 1,
                _ => {},
            }
            keyword = level.keyword;
            open = level.open;
            if let Some(function) = level.function {
                self.end(function, close.end);
            }
        }
        match close.kind {
            Kind::Sign(b')') if !self.level().head.as_ref().is_some_and(|head| head.has_type) => {
                self.level().head = Some(Head {
                    open,
                    close: index,
                    keyword,
                    has_type: false,
                    depth: 0,
                });
            },
            Kind::Sign(b'}') if !self.level().head.as_ref().is_some_and(|head| head.has_type) => {
                self.level().head = None;
            },
            _ => {},
        }
    }

    /// The number of brackets that stay open when one of this kind closes; None if it closes nothing, as in the text of
    /// an element of JSX. Brackets within that were left open are closed with it, but a round or square bracket closes
    /// no braces.
    fn closed_by(&self, close: Kind) -> Option<usize> {
        let brackets = &self.levels[1..];
        let open = |level: &Level| self.tokens[level.open].kind;
        match close {
            Kind::Sign(b'}') if self.braces == 0 => None,
            Kind::Literal if self.holes == 0 => None,
            Kind::Sign(b'}') => brackets
                .iter()
                .rposition(|one| open(one) == Kind::Sign(b'{')),
            Kind::Literal => brackets.iter().rposition(|one| open(one) == Kind::Literal),
            _ => {
                let sign = if close == Kind::Sign(b')') {
                    b'('
                } else {
                    b'['
                };
                let nearest = brackets.iter().enumerate().rev().take(MAX_LEFT_OPEN);
                let mut within = nearest
                    .take_while(|(_, one)| !matches!(open(one), Kind::Sign(b'{') | Kind::Literal));
                within
                    .find(|(_, one)| open(one) == Kind::Sign(sign))
                    .map(|(place, _)| place)
            },
        }
    }

    /// Drops round brackets that cannot be the parameters of a function, by the token behind them.
    fn keep_head_within_type(&mut self, index: usize) {
        let token = self.tokens[index];
        let is_type_going_on = self.is_sign(index.checked_sub(1), b":|&");
        let level = self.level();
        let Some(head) = &mut level.head else {
            return;
        };
        let stays = match token.kind {
            Kind::Sign(b':') if head.close + 1 == index => {
                head.has_type = true;
                true
            },
            _ if !head.has_type => false,
            Kind::Sign(b'<') => {
                head.depth += 1;
                true
            },
            Kind::Sign(b'>') => {
                head.depth = head.depth.saturating_sub(1);
                true
            },
            Kind::Sign(b',') => head.depth > 0,
            Kind::Sign(b';' | b'?') | Kind::Assign => false,
            // The next member of a class or an interface.
            Kind::Word => !token.begins_line || is_type_going_on || head.depth > 0,
            _ => true,
        };
        if !stays {
            level.head = None;
        }
    }

    /// The first token of `<T>(…)`, where `open` is that of the round bracket.
    fn before_type_parameters(&self, open: usize) -> usize {
        match open.checked_sub(1) {
            Some(before) if self.is_sign(Some(before), b">") => {
                self.matching(before, b'<', b'>').unwrap_or(open)
            },
            _ => open,
        }
    }

    fn matching(&self, close: usize, open_sign: u8, close_sign: u8) -> Option<usize> {
        let mut depth = 0;
        (close.saturating_sub(MAX_TYPE_LENGTH)..=close)
            .rev()
            .find(|index| {
                if self.is_sign(Some(*index), &[close_sign]) {
                    depth += 1;
                } else if self.is_sign(Some(*index), &[open_sign]) {
                    depth -= 1;
                }
                depth == 0
            })
    }

    /// The name that an expression without a name gets from what is before it. `start` is its first token.
    fn inferred_name(&self, start: usize) -> Option<(u32, u32)> {
        let before = start.checked_sub(1)?;
        match self.tokens[before].kind {
            Kind::Assign => self.assigned(before.checked_sub(1)?),
            Kind::Sign(b':') => {
                let key = before.checked_sub(1)?;
                let is_key = matches!(self.tokens[key].kind, Kind::Word | Kind::String);
                let is_first = self.is_sign(key.checked_sub(1), b"{,");
                (is_key && is_first).then(|| self.key(key))
            },
            Kind::Word if self.word(before) == "default" => Some(self.key(before)),
            _ => None,
        }
    }

    /// What is before `=`: a variable with or without a type, or a path of members.
    fn assigned(&self, last: usize) -> Option<(u32, u32)> {
        if self.word(last).is_empty() {
            return self.typed_variable(last);
        }
        let mut first = last;
        while first >= 2 && self.is_sign(Some(first - 1), b".") && !self.word(first - 2).is_empty()
        {
            first -= 2;
        }
        match first.checked_sub(1) {
            // A member of an expression, as in `f(x).y`.
            Some(before) if self.is_sign(Some(before), b".") => Some(self.key(last)),
            Some(before) if self.is_sign(Some(before), b":|&") => self.typed_variable(last),
            _ => Some((self.tokens[first].start, self.tokens[last].end)),
        }
    }

    /// The variable of a type that ends with the token `last`.
    fn typed_variable(&self, last: usize) -> Option<(u32, u32)> {
        let mut depth = 0;
        for colon in (last.saturating_sub(MAX_TYPE_LENGTH)..=last).rev() {
            if self.is_sign(Some(colon), b")]}") {
                depth += 1;
            } else if self.is_sign(Some(colon), b"([{") {
                depth -= 1;
            }
            if depth < 0 || self.is_sign(Some(colon), b";") {
                return None;
            }
            if depth > 0 || !self.is_sign(Some(colon), b":") {
                continue;
            }
            let is_optional = self.is_sign(colon.checked_sub(1), b"?!");
            let name = colon.checked_sub(1 + usize::from(is_optional))?;
            let before = name.checked_sub(1);
            let is_declared = before.is_none_or(|before| {
                matches!(self.word(before), "const" | "let" | "var" | "readonly")
                    || MODIFIERS.contains(&self.word(before))
                    || self.is_sign(Some(before), b";{},")
            });
            if is_declared && !self.word(name).is_empty() {
                return Some(self.key(name));
            }
        }
        None
    }

    /// A key without its quotes.
    fn key(&self, index: usize) -> (u32, u32) {
        let Token {
            start, end, kind, ..
        } = self.tokens[index];
        match kind {
            Kind::String => (start + 1, end - 1),
            _ => (start, end),
        }
    }

    fn push(
        &mut self,
        start: u32,
        body: u32,
        name: Option<(u32, u32)>,
        prefix: Prefix,
    ) -> Option<u32> {
        if self.functions.len() >= self.max {
            return None;
        }
        let index = self.functions.len() as u32;
        self.functions.push(Function {
            start,
            body,
            end: self.text.len() as u32,
            name: name.filter(|(start, end)| start < end && end - start <= MAX_NAME_LENGTH),
            prefix,
            parent: self.open.last().copied(),
        });
        self.open.push(index);
        Some(index)
    }

    fn end_arrows(&mut self) {
        let end = self.tokens.last().map_or(0, |token| token.start);
        while let Some(arrow) = self.level().arrows.pop() {
            self.end(arrow, end);
        }
    }

    /// Ends a function, and those within it that are still open.
    fn end(&mut self, function: u32, end: u32) {
        while let Some(open) = self.open.pop_if(|open| *open >= function) {
            let open = &mut self.functions[open as usize];
            open.end = end.max(open.body);
        }
    }

    fn finish(self) -> Outline {
        let mut functions = self.functions;
        // A function that is found by a later token may begin before one that was found earlier.
        let mut order: Vec<u32> = (0..functions.len() as u32).collect();
        order.sort_by_key(|index| functions[*index as usize].start);
        let mut place = vec![0; functions.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old as usize] = new as u32;
        }
        for function in &mut functions {
            function.parent = function.parent.map(|parent| place[parent as usize]);
        }
        functions.sort_by_key(|function| function.start);
        Outline { functions }
    }
}

/// Places of a text by lines and columns.
#[derive(Debug)]
pub struct Columns {
    /// Line, column and offset of the beginning of each line, and of places within long ones.
    known: Vec<(u32, u32, u32)>,
}

/// Characters between two places that are remembered.
const DISTANCE: u32 = 256;

impl Columns {
    /// None if there are more than `max` places to remember. `text` is shorter than 4 GB.
    pub fn of(text: &str, max: usize) -> Option<Self> {
        let mut known = vec![(0, 0, 0)];
        let (mut line, mut column, mut since) = (0, 0, 0);
        let mut characters = text.char_indices().peekable();
        while let Some((offset, character)) = characters.next() {
            if known.len() > max {
                return None;
            }
            let next = (offset + character.len_utf8()) as u32;
            let is_within_crlf = character == '\r' && matches!(characters.peek(), Some((_, '\n')));
            if is_line_end(character) && !is_within_crlf {
                (line, column, since) = (line + 1, 0, 0);
                known.push((line, column, next));
                continue;
            }
            column += character.len_utf16() as u32;
            since += 1;
            if since == DISTANCE {
                since = 0;
                known.push((line, column, next));
            }
        }
        Some(Self { known })
    }

    /// The offset of a place, in bytes. `line` and `column` begin with 0; columns are in UTF-16. A column beyond the
    /// line is none.
    pub fn offset(&self, text: &str, line: u32, column: u32) -> Option<usize> {
        let behind = self
            .known
            .partition_point(|(l, c, _)| (*l, *c) <= (line, column));
        let (known_line, mut at, offset) = *self.known.get(behind.checked_sub(1)?)?;
        if known_line != line {
            return None;
        }
        let mut offset = offset as usize;
        for character in text[offset..].chars() {
            if at >= column {
                return Some(offset);
            }
            if is_line_end(character) {
                return None;
            }
            at += character.len_utf16() as u32;
            offset += character.len_utf8();
        }
        (at >= column).then_some(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the function whose definition is at `§`.
    fn defined(text: &str) -> Name {
        let (text, offset) = marked(text);
        Outline::of(&text, usize::MAX)
            .defined_at(&text, offset)
            .unwrap_or(Name::Unknown)
    }

    fn running(text: &str) -> Name {
        let (text, offset) = marked(text);
        Outline::of(&text, usize::MAX)
            .running_at(&text, offset)
            .unwrap_or(Name::Unknown)
    }

    fn marked(text: &str) -> (String, usize) {
        (text.replace('§', ""), text.find('§').unwrap())
    }

    fn of(name: &str) -> Name {
        Name::Of(name.to_owned())
    }

    fn within(name: &str) -> Name {
        Name::AnonymousIn(name.to_owned())
    }

    #[test]
    fn names_are_those_of_the_language() {
        for (text, name) in [
            ("function draw§(a) {}", of("draw")),
            ("§function draw(a) {}", of("draw")),
            ("async function draw§(a) {}", of("draw")),
            ("async function* §draw(a) {}", of("draw")),
            ("const draw = function§(a) {};", of("draw")),
            ("const draw = function inner§(a) {};", of("inner")),
            ("const draw = async function*§(a) {};", of("draw")),
            ("const draw = §a => a;", of("draw")),
            ("const draw = a §=> a;", of("draw")),
            ("const draw = async §(a) => {};", of("draw")),
            ("let a = 1, draw = §() => {};", of("draw")),
            ("draw ||= §() => {};", of("draw")),
            (
                "Shape.prototype.draw = function §(a) {}",
                of("Shape.prototype.draw"),
            ),
            ("this.#draw = §() => {}", of("this.#draw")),
            (
                "Shape\n  .prototype\n  .draw = function §(a) {}",
                of("Shape.prototype.draw"),
            ),
            ("f(x).draw = §() => {}", of("draw")),
            ("a[0] = §() => {}", Name::Unknown),
            ("x = { draw§(a) {} }", of("draw")),
            ("x = { a, draw: §() => {} }", of("draw")),
            ("x = { 'to draw': function §() {} }", of("to draw")),
            ("x = { get size§() {} }", of("get size")),
            ("x = { set size§(a) {} }", of("set size")),
            ("x = { get§() {}, b }", of("get")),
            ("x = { async *draw§() {} }", of("draw")),
            ("x = { async§() {} }", of("async")),
            ("x = { a, if§(a) {} }", of("if")),
            ("x = { get return§() {} }", of("get return")),
            ("f({ a: { return§() {} } })", of("return")),
            ("class Shape { catch§(a) {} }", of("catch")),
            ("class Shape { get await§() {} }", of("get await")),
            ("x = { [a + b]§() {} }", of("[a+b]")),
            ("x = { 1§() {} }", Name::Unknown),
            ("class Shape { draw§(a) {} }", of("draw")),
            ("class Shape { constructor§(a) {} }", of("Shape")),
            (
                "const Shape = class extends f() { constructor§(a) {} }",
                of("Shape"),
            ),
            (
                "const Shape = class Other { constructor§(a) {} }",
                of("Other"),
            ),
            ("§class Shape { a = 1 }", of("Shape")),
            ("class Shape extends Base§ {}", of("Shape")),
            ("class Shape { static #draw§() {} }", of("#draw")),
            ("class Shape { draw = §() => {} }", of("draw")),
            ("class Shape { static draw = async §() => {} }", of("draw")),
            ("class Shape { @bound() draw§() {} }", of("draw")),
            ("export default function §() {}", of("default")),
            ("export default §() => {}", of("default")),
            // No function of its own.
            ("if§ (a) {}", Name::Unknown),
            ("for§ (;;) {}", Name::Unknown),
            ("switch (a) { case b: { if§ (c) {} } }", Name::Unknown),
            ("x = { a() { if§ (b) {} } }", Name::Unknown),
            ("a.function§ (b)", Name::Unknown),
            ("x = { function: §1, class: 2 }", Name::Unknown),
            ("draw§(a);", Name::Unknown),
            ("const a = c ? b : §() => {}", Name::Unknown),
            // A callback of a function that has a name.
            ("function outer() { list.map(§a => a) }", within("outer")),
            ("const outer = a => §b => c => 1", within("outer")),
            (
                "function outer() { return function §() {} }",
                within("outer"),
            ),
            (
                "function outer() { (§() => { (() => {})() })() }",
                within("outer"),
            ),
            ("list.map(§a => a)", Name::Unknown),
        ] {
            assert_eq!(defined(text), name, "{text}");
        }
    }

    #[test]
    fn types_do_not_hide_names() {
        for (text, name) in [
            (
                "function first§<T extends { a: b }>(x: T[], y?: number): T | undefined {}",
                of("first"),
            ),
            ("const draw: Handler = §(a) => {}", of("draw")),
            (
                "const draw: Map<string, (a: b) => void> = §(a) => {}",
                of("draw"),
            ),
            ("const draw: { a: b } | null = §(a) => {}", of("draw")),
            ("const draw = §<T,>(a: T): T => a", of("draw")),
            (
                "const draw = async §(a: T): Promise<Map<a, b>> => a",
                of("draw"),
            ),
            ("const draw = §(a): { b: c } => ({ b: a })", of("draw")),
            (
                "class A { private readonly draw?: Handler = §(a) => {} }",
                of("draw"),
            ),
            (
                "class A { public async draw§(a: b): Promise<{ c: d }> {} }",
                of("draw"),
            ),
            (
                "class A { draw(a): void\n draw§(b: c): void {} }",
                of("draw"),
            ),
            (
                "class A { abstract other(a): void\n draw§(b): void {} }",
                of("draw"),
            ),
            ("class A { draw§(a): () => void { return a } }", of("draw")),
            ("class A { draw§<T>(a: T) {} }", of("draw")),
            (
                "class A { protected get size§(): number { return 1 } }",
                of("get size"),
            ),
            ("function f§(a): asserts a is string {}", of("f")),
            ("interface A { f(a: b): c }\nclass B { g§(a) {} }", of("g")),
            ("type A = (a: b) => c;\nfunction g§(a) {}", of("g")),
        ] {
            assert_eq!(defined(text), name, "{text}");
        }
    }

    #[test]
    fn code_runs_in_the_innermost_function() {
        for (text, name) in [
            ("function a() { § }", of("a")),
            ("function a() {} §", Name::Unknown),
            ("function a() { function b() {} § }", of("a")),
            ("function a() { if (x) { § } }", of("a")),
            ("function a(b = §1) {}", of("a")),
            ("const a = b => §b.c, d = 1", of("a")),
            ("const a = b => b.c, d = §1", Name::Unknown),
            ("f(a => b, §c)", Name::Unknown),
            ("const a = b => c\nconst d = §1", Name::Unknown),
            ("const a = b =>\n  c(d)\n  .e(§f)", of("a")),
            (
                "function a() { return `${b.map(c => `{${c}`)} } ${§d}` }",
                of("a"),
            ),
            ("function a() { return /[}/]}/.test(§b) }", of("a")),
            ("function a() { return b / c / §d } }", of("a")),
            ("function a() { '}'; \"}\"; // }\n /* } */ § }", of("a")),
            ("class A { b = §1 }", of("A")),
            ("class A { b() { § } }", of("b")),
            ("function A() { return <p>it's (bad {§b}</p> }", of("A")),
            (
                "function A() { return <p title='}'>:) {b}</p>; § }",
                of("A"),
            ),
            ("function a() { ( § ", of("a")),
            ("function a() { b.class[c] = 1; if (d) { § } }", of("a")),
            ("function a() { b(c ? (d) : §e, f => g) }", of("a")),
            ("function a() { ([) § ]) § }", of("a")),
        ] {
            let text = text
                .replacen('§', "\0", 1)
                .replace('§', "")
                .replace('\0', "§");
            assert_eq!(running(&text), name, "{text}");
        }
    }

    #[test]
    fn a_line_with_one_function_is_enough() {
        let on_line = |text: &str| {
            let (text, offset) = marked(text);
            Outline::of(&text, usize::MAX).defined_on_line(&text, offset)
        };
        assert_eq!(on_line("a;\n§const b = () => {}\n() => {}"), Some(of("b")));
        assert_eq!(on_line("§const b = () => {}, c = () => {}\n"), None);
        assert_eq!(on_line("§const b = 1\nfunction c() {}\n"), None);
    }

    #[test]
    fn hostile_texts_take_no_stack_and_little_time() {
        const LENGTH: usize = if cfg!(miri) { 1_000 } else { 100_000 };
        for part in [
            "(",
            "[",
            "{",
            "`${",
            ")",
            "}",
            "!",
            "a=>",
            "a=>{",
            "(a)=>(",
            "function a(){",
            "class A{b(){",
            "a.",
            "a<",
            "get ",
            "async ",
            "x:",
            "=",
            "<T>(",
            "{[)",
            "({[[[)",
            "/",
            "'",
            "\\",
            "({[[[[[[[[[[[[[[[[)",
            "a=>b,",
            "static a(){}",
            "(a):b",
            ">(",
            "(a=>b,",
            "/[",
            "'\\",
            "\"\\",
            "`${'",
            "😀=>",
            "function(){",
            "class{",
        ] {
            let text = part.repeat(LENGTH / part.len());
            let outline = Outline::of(&text, LENGTH / 16);
            assert!(outline.functions.len() <= LENGTH / 16, "{part}");
            for offset in (0..text.len()).step_by(997) {
                let offset = text.floor_char_boundary(offset);
                outline.defined_at(&text, offset);
                outline.running_at(&text, offset);
                outline.defined_on_line(&text, offset);
            }
            for (index, function) in outline.functions.iter().enumerate() {
                assert!(function.start <= function.body, "{part}");
                assert!(function.body as usize <= text.len(), "{part}");
                assert!(
                    function
                        .parent
                        .is_none_or(|parent| (parent as usize) < index),
                    "{part}"
                );
            }
        }
    }

    #[test]
    fn lines_end_and_columns_count_as_engines_do_it() {
        let text = format!("a\r\n😀b\rc\u{2028}d\n{}", "ü😀".repeat(1_000));
        let columns = Columns::of(&text, usize::MAX).unwrap();
        for (line, column, rest) in [
            (0, 0, Some("a\r\n")),
            (0, 1, Some("\r\n")),
            (0, 2, None),
            (1, 0, Some("😀b")),
            (1, 2, Some("b\r")),
            (2, 0, Some("c")),
            (3, 0, Some("d")),
            (4, 2_997, Some("ü😀")),
            (4, 3_000, Some("")),
            (4, 3_001, None),
            (5, 0, None),
        ] {
            let offset = columns.offset(&text, line, column);
            let found = offset.map(|offset| &text[offset..]);
            match (found, rest) {
                (Some(found), Some("")) => assert_eq!(found, ""),
                (Some(found), Some(rest)) => assert!(found.starts_with(rest), "{line}:{column}"),
                (found, rest) => assert_eq!(found, rest, "{line}:{column}"),
            }
        }
        assert!(Columns::of(&text, 5).is_none());
    }
}

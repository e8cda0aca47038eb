/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Reads JSON from a stream, of which no more than a block is in memory.
//!
//! What `serde_json` accepts is accepted, and gives the same values, but for one thing: an escape of half a character stands
//! for U+FFFD, as `text.rs` has it. `serde_json` itself reads a stream byte by byte, which takes several times as long.
//!
//! An error has its place: the path of the value, and the number of bytes before the end of what was read.
//!
//! Memory is counted as `counted.rs` says: the size of each element of a list, and the length of each text.

use std::fmt::{self, Write as _};
use std::io::Read;
use std::ops::Range;

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::bounds::tables;
use crate::counted::{GROWTH, TOO_LARGE};
use crate::error::Error;
use crate::json_number::{self, Number};

/// Bytes that are read at once. They stay in the processor's cache.
const BLOCK: usize = 1 << 18;

/// A number may be as long, in bytes.
const MAX_NUMBER: usize = BLOCK / 2;

/// Most numbers are shorter, in bytes.
const USUAL_NUMBER: usize = 64;

/// As deep as `serde_json` reads values in values, unless they are skipped.
const MAX_DEPTH: u32 = 127;

/// Bytes of a key that an error shows.
const MAX_KEY: usize = 200;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Reads a stream that holds one value, as [`crate::json::read`] reads a text.
pub fn read<T: DeserializeOwned>(source: impl Read, memory: &mut u64) -> Result<T, Error> {
    let before = *memory;
    let mut stream = Stream::new(source, before);
    let value = T::deserialize(&mut stream).and_then(|value| {
        stream.end()?;
        Ok(value)
    });
    let value = value.map_err(|failure| failure.into_error(stream.offset()))?;
    *memory = tables(before, stream.left);
    Ok(value)
}

pub struct Stream<R> {
    source: R,
    block: Box<[u8]>,
    /// What is not read yet is between them.
    at: usize,
    end: usize,
    /// Bytes of the stream before the block.
    before: u64,
    is_at_end: bool,
    /// A text that has escapes, or reaches into the next block.
    text: Vec<u8>,
    /// The keys of the objects that are being read, one behind the other.
    keys: Vec<u8>,
    depth: u32,
    /// Bytes of memory that may still be taken.
    left: u64,
}

/// Where the text of a string is.
enum Text {
    Block(Range<usize>),
    Own,
}

impl<R: Read> Stream<R> {
    pub fn new(source: R, memory: u64) -> Self {
        Self {
            source,
            block: vec![0; BLOCK].into_boxed_slice(),
            at: 0,
            end: 0,
            before: 0,
            is_at_end: false,
            text: Vec::new(),
            keys: Vec::new(),
            depth: 0,
            left: memory,
        }
    }

    /// How many bytes have been read.
    fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            },
            None => Err(Failure::of_file(TOO_LARGE)),
        }
    }

    /// Reads more behind what is left of the block. False at the end of the stream.
    #[cold]
    fn more(&mut self) -> Result<bool, Failure> {
        self.block.copy_within(self.at..self.end, 0);
        self.before += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        while !self.is_at_end && self.end < BLOCK {
            match self.source.read(&mut self.block[self.end..]) {
                Ok(0) => self.is_at_end = true,
                Ok(count) => {
                    self.end += count;
                    return Ok(true);
                },
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {},
                Err(error) => return Err(Failure::of_file(error)),
            }
        }
        Ok(false)
    }

    /// The next byte that is no white space. `None` at the end of the stream.
    #[inline]
    fn peek(&mut self) -> Result<Option<u8>, Failure> {
        loop {
            while self.at < self.end {
                match self.block[self.at] {
                    b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                    byte => return Ok(Some(byte)),
                }
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// The next byte, which may be within a string.
    fn next(&mut self) -> Result<Option<u8>, Failure> {
        if self.at == self.end && !self.more()? {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(self.block[self.at - 1]))
    }

    fn fail<T>(&self, problem: impl fmt::Display) -> Result<T, Failure> {
        Err(Failure::new(problem).at(self.offset()))
    }

    /// Nothing but white space may follow.
    pub fn end(&mut self) -> Result<(), Failure> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => self.fail("trailing characters"),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Failure> {
        if self.block[self.at..self.end].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        for expected in word.bytes() {
            match self.next()? {
                Some(byte) if byte == expected => {},
                Some(_) => return self.fail("expected ident"),
                None => return self.fail("EOF while parsing a value"),
            }
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<Number, Failure> {
        let mut wanted = USUAL_NUMBER;
        loop {
            while self.end - self.at < wanted && !self.is_at_end {
                self.more()?;
            }
            match json_number::read(&self.block[self.at..self.end]) {
                // More digits may follow.
                Ok((_, length)) if length == self.end - self.at && !self.is_at_end => {},
                Err(_) if self.end - self.at < MAX_NUMBER && !self.is_at_end => {},
                Ok((number, length)) => {
                    self.at += length;
                    return Ok(number);
                },
                Err(problem) => return self.fail(problem),
            }
            if self.end - self.at >= MAX_NUMBER {
                return self.fail(format_args!("a number of more than {MAX_NUMBER} bytes"));
            }
            wanted = (2 * wanted).max(self.end - self.at + 1).min(MAX_NUMBER);
        }
    }

    /// The number behind a comma, if it is as most numbers are, and its length.
    #[inline]
    fn usual_number(&self) -> Option<(Number, usize)> {
        let (comma, rest) = self.block[self.at..self.end].split_first()?;
        match comma {
            b',' => json_number::read_usual(rest.first_chunk()?),
            _ => None,
        }
    }

    /// The string that begins here. Only its contents are taken out of the stream by this; see [`Self::str`].
    #[inline]
    fn string(&mut self) -> Result<Text, Failure> {
        self.at += 1;
        let length = plain_length(&self.block[self.at..self.end]);
        let end = self.at + length;
        if end < self.end && self.block[end] == b'"' {
            let start = self.at;
            self.at = end + 1;
            return Ok(Text::Block(start..end));
        }
        self.long_string()
    }

    /// One that has escapes, or reaches into the next block.
    fn long_string(&mut self) -> Result<Text, Failure> {
        self.text.clear();
        loop {
            let length = plain_length(&self.block[self.at..self.end]);
            if (self.text.len() + length) as u64 > self.left {
                return Err(Failure::of_file(TOO_LARGE));
            }
            self.text
                .extend_from_slice(&self.block[self.at..self.at + length]);
            self.at += length;
            match self.next()? {
                Some(b'"') => return Ok(Text::Own),
                Some(b'\\') => self.escape()?,
                Some(byte) if byte < 0x20 => {
                    return self
                        .fail("control character (\\u0000-\\u001F) found while parsing a string");
                },
                // The first one of the next block.
                Some(byte) => self.text.push(byte),
                None => return self.fail("EOF while parsing a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Failure> {
        let byte = match self.next()? {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let mut unit = self.unit()?;
                // A half that is followed by another first half stands for itself.
                while (0xd800..0xdc00).contains(&unit) {
                    if !self.is_unit_next()? {
                        self.push(REPLACEMENT);
                        return Ok(());
                    }
                    self.at += 2;
                    let second = self.unit()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let code = 0x1_0000 + (((unit - 0xd800) << 10) | (second - 0xdc00));
                        self.push(char::from_u32(code).unwrap_or(REPLACEMENT));
                        return Ok(());
                    }
                    self.push(REPLACEMENT);
                    unit = second;
                }
                self.push(char::from_u32(unit).unwrap_or(REPLACEMENT));
                return Ok(());
            },
            Some(_) => return self.fail("invalid escape"),
            None => return self.fail("EOF while parsing a string"),
        };
        self.text.push(byte);
        Ok(())
    }

    fn push(&mut self, character: char) {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).as_bytes();
        self.text.extend_from_slice(bytes);
    }

    /// Whether `\u` follows.
    fn is_unit_next(&mut self) -> Result<bool, Failure> {
        while self.end - self.at < 2 && !self.is_at_end {
            self.more()?;
        }
        Ok(self.block[self.at..self.end].starts_with(br"\u"))
    }

    /// The four digits of an escape.
    fn unit(&mut self) -> Result<u32, Failure> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.next()? else {
                return self.fail("EOF while parsing a string");
            };
            match char::from(byte).to_digit(16) {
                Some(digit) => unit = 16 * unit + digit,
                None => return self.fail("invalid escape"),
            }
        }
        Ok(unit)
    }

    fn bytes(&self, text: &Text) -> &[u8] {
        match text {
            Text::Block(range) => &self.block[range.clone()],
            Text::Own => &self.text,
        }
    }

    fn str(&self, text: &Text) -> Result<&str, Failure> {
        str::from_utf8(self.bytes(text)).or_else(|_| self.fail("invalid unicode code point"))
    }

    /// Reads the value that comes next and keeps nothing of it.
    fn skip(&mut self) -> Result<(), Failure> {
        // For each list or object that it is in, whether that is a list.
        let mut within = Bits::default();
        loop {
            let mut byte = self.wanted("EOF while parsing a value")?;
            match byte {
                b'[' | b'{' => {
                    let is_list = byte == b'[';
                    self.at += 1;
                    let end = if is_list { b']' } else { b'}' };
                    byte = self.wanted(of_end(is_list))?;
                    if byte == end {
                        self.at += 1;
                    } else {
                        if within.push(is_list) {
                            self.take(size_of::<u64>())?;
                        }
                        if !is_list {
                            self.skip_key()?;
                        }
                        continue;
                    }
                },
                b'"' => self.skip_string()?,
                _ => self.skip_word()?,
            }
            // Behind a value.
            loop {
                let Some(is_list) = within.last() else {
                    return Ok(());
                };
                let byte = self.wanted(of_end(is_list))?;
                self.at += 1;
                match byte {
                    b',' => {
                        if !is_list {
                            self.wanted(of_end(is_list))?;
                            self.skip_key()?;
                        } else {
                            self.skip_whole_numbers();
                        }
                        if is_list && self.wanted(of_end(is_list))? == b']' {
                            return self.fail("trailing comma");
                        }
                        break;
                    },
                    b']' if is_list => within.pop(),
                    b'}' if !is_list => within.pop(),
                    _ => {
                        let end = if is_list { ']' } else { '}' };
                        return self.fail(format_args!("expected `,` or `{end}`"));
                    },
                }
            }
        }
    }

    /// Skips the numbers that come next in a list with the comma behind each, as far as they are in the block.
    fn skip_whole_numbers(&mut self) {
        let block = &self.block[self.at..self.end];
        let mut at = 0;
        while at + size_of::<u64>() < block.len() {
            let length = json_number::count_digits(&block[at..]);
            let is_number = length == 1 || length > 1 && block[at] != b'0';
            if !is_number || block[at + length] != b',' {
                break;
            }
            at += length + 1;
        }
        self.at += at;
    }

    fn wanted(&mut self, problem: &str) -> Result<u8, Failure> {
        match self.peek()? {
            Some(byte) => Ok(byte),
            None => self.fail(problem),
        }
    }

    fn skip_key(&mut self) -> Result<(), Failure> {
        match self.peek()? {
            Some(b'"') => self.skip_string()?,
            Some(b'}') => return self.fail("trailing comma"),
            _ => return self.fail("key must be a string"),
        }
        self.colon()
    }

    fn colon(&mut self) -> Result<(), Failure> {
        match self.wanted("EOF while parsing an object")? {
            b':' => {
                self.at += 1;
                Ok(())
            },
            _ => self.fail("expected `:`"),
        }
    }

    fn skip_string(&mut self) -> Result<(), Failure> {
        self.at += 1;
        loop {
            self.at += plain_length(&self.block[self.at..self.end]);
            match self.next()? {
                Some(b'"') => return Ok(()),
                Some(b'\\') => {
                    self.text.clear();
                    self.escape()?;
                },
                Some(byte) if byte < 0x20 => {
                    return self
                        .fail("control character (\\u0000-\\u001F) found while parsing a string");
                },
                Some(_) => {},
                None => return self.fail("EOF while parsing a string"),
            }
        }
    }

    fn skip_word(&mut self) -> Result<(), Failure> {
        match self.block[self.at] {
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'-' | b'0'..=b'9' => self.number().map(drop),
            _ => self.fail("expected value"),
        }
    }

    fn deeper(&mut self) -> Result<(), Failure> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => self.fail("recursion limit exceeded"),
            false => Ok(()),
        }
    }

    fn list<'de, V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Failure> {
        self.at += 1;
        self.deeper()?;
        let mut list = List {
            stream: self,
            index: 0,
            is_done: false,
        };
        let value = visitor.visit_seq(&mut list)?;
        if !list.is_done && list.stream.wanted("EOF while parsing a list")? != b']' {
            return list.stream.fail("trailing characters");
        }
        if !list.is_done {
            self.at += 1;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn object<'de, V: Visitor<'de>>(
        &mut self,
        visitor: V,
        is_structure: bool,
    ) -> Result<V::Value, Failure> {
        self.at += 1;
        self.deeper()?;
        let keys = self.keys.len();
        let mut object = Object {
            stream: self,
            keys,
            key_end: keys,
            is_first: true,
            is_done: false,
            is_structure,
        };
        let value = visitor.visit_map(&mut object)?;
        if !object.is_done && object.stream.wanted("EOF while parsing an object")? != b'}' {
            return object.stream.fail("trailing characters");
        }
        if !object.is_done {
            self.at += 1;
        }
        self.keys.truncate(keys);
        self.depth -= 1;
        Ok(value)
    }

    #[inline]
    fn any<'de, V: Visitor<'de>>(
        &mut self,
        visitor: V,
        is_structure: bool,
    ) -> Result<V::Value, Failure> {
        match self.wanted("EOF while parsing a value")? {
            b'-' | b'0'..=b'9' => visit(self.number()?, visitor),
            b'"' => {
                let text = self.string()?;
                self.take(self.bytes(&text).len())?;
                visitor.visit_str(self.str(&text)?)
            },
            b'[' => self.list(visitor),
            b'{' => self.object(visitor, is_structure),
            b'n' => {
                self.word("null")?;
                visitor.visit_unit()
            },
            b't' => {
                self.word("true")?;
                visitor.visit_bool(true)
            },
            b'f' => {
                self.word("false")?;
                visitor.visit_bool(false)
            },
            _ => self.fail("expected value"),
        }
    }
}

fn of_end(is_list: bool) -> &'static str {
    match is_list {
        true => "EOF while parsing a list",
        false => "EOF while parsing an object",
    }
}

/// How many bytes of a string there are before the next quote, backslash or control character.
#[inline]
fn plain_length(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    for eight in text.chunks_exact(size_of::<u64>()) {
        let Ok(eight) = eight.try_into() else { break };
        let eight = u64::from_le_bytes(eight);
        let has_less = |than: u64, of: u64| of.wrapping_sub(ONES * than) & !of & HIGH;
        let quotes = has_less(1, eight ^ (ONES * u64::from(b'"')));
        let backslashes = has_less(1, eight ^ (ONES * u64::from(b'\\')));
        let found = quotes | backslashes | has_less(0x20, eight);
        if found != 0 {
            // The lowest one is exact.
            return at + found.trailing_zeros() as usize / 8;
        }
        at += size_of::<u64>();
    }
    let rest = text[at..].iter();
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    at + rest.take_while(|byte| !is_special(byte)).count()
}

/// A stack of flags.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    count: usize,
}

impl Bits {
    /// Whether a word was added.
    fn push(&mut self, flag: bool) -> bool {
        let (word, bit) = (self.count / 64, self.count % 64);
        let is_new = word == self.words.len();
        if is_new {
            self.words.push(0);
        }
        self.words[word] &= !(1 << bit);
        self.words[word] |= u64::from(flag) << bit;
        self.count += 1;
        is_new
    }

    fn pop(&mut self) {
        self.count -= 1;
    }

    fn last(&self) -> Option<bool> {
        let last = self.count.checked_sub(1)?;
        Some(self.words[last / 64] >> (last % 64) & 1 == 1)
    }
}

impl<'de, R: Read> Deserializer<'de> for &mut Stream<R> {
    type Error = Failure;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let value = self.any(visitor, false);
        value.map_err(|failure| failure.at(self.offset()))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let value = self.any(visitor, true);
        value.map_err(|failure| failure.at(self.offset()))
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.peek()? {
            Some(b'n') => {
                self.word("null")?;
                visitor.visit_none()
            },
            _ => visitor.visit_some(self),
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map enum identifier
    }
}

struct List<'s, R> {
    stream: &'s mut Stream<R>,
    /// Of the next element.
    index: u64,
    is_done: bool,
}

impl<R: Read> List<'_, R> {
    /// The next element, which takes memory.
    #[inline]
    fn counted<T>(&mut self, value: Result<T, Failure>) -> Result<T, Failure> {
        let index = self.index;
        self.index += 1;
        match value {
            Ok(value) => {
                self.stream.take(GROWTH * size_of::<T>())?;
                Ok(value)
            },
            Err(failure) => Err(failure.at(self.stream.offset()).within_element(index)),
        }
    }
}

impl<'de, R: Read> SeqAccess<'de> for &mut List<'_, R> {
    type Error = Failure;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let stream = &mut *self.stream;
        if self.index > 0
            && let Some((number, length)) = stream.usual_number()
        {
            stream.at += 1 + length;
            let value = seed.deserialize(UsualNumber(number));
            return self.counted(value).map(Some);
        }
        match stream.wanted("EOF while parsing a list")? {
            b']' => {
                stream.at += 1;
                self.is_done = true;
                return Ok(None);
            },
            b',' if self.index > 0 => {
                stream.at += 1;
                if stream.wanted("EOF while parsing a list")? == b']' {
                    return stream.fail("trailing comma");
                }
            },
            _ if self.index == 0 => {},
            _ => return stream.fail("expected `,` or `]`"),
        }
        let value = seed.deserialize(&mut *stream);
        self.counted(value).map(Some)
    }
}

/// A number of a list, which has been read.
struct UsualNumber(Number);

impl<'de> Deserializer<'de> for UsualNumber {
    type Error = Failure;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visit(self.0, visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_some(self)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[inline]
fn visit<'de, V: Visitor<'de>>(number: Number, visitor: V) -> Result<V::Value, Failure> {
    match number {
        Number::Unsigned(number) => visitor.visit_u64(number),
        Number::Signed(number) => visitor.visit_i64(number),
        Number::Float(number) => visitor.visit_f64(number),
    }
}

struct Object<'s, R> {
    stream: &'s mut Stream<R>,
    /// Where its key is among the keys.
    keys: usize,
    key_end: usize,
    is_first: bool,
    is_done: bool,
    is_structure: bool,
}

impl<'de, R: Read> MapAccess<'de> for &mut Object<'_, R> {
    type Error = Failure;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Failure> {
        let stream = &mut *self.stream;
        match stream.wanted("EOF while parsing an object")? {
            b'}' => {
                stream.at += 1;
                self.is_done = true;
                return Ok(None);
            },
            b',' if !self.is_first => {
                stream.at += 1;
                if stream.wanted("EOF while parsing an object")? == b'}' {
                    return stream.fail("trailing comma");
                }
            },
            _ if self.is_first => {},
            _ => return stream.fail("expected `,` or `}`"),
        }
        self.is_first = false;
        if stream.wanted("EOF while parsing a value")? != b'"' {
            return stream.fail("key must be a string");
        }
        let text = stream.string()?;
        let length = stream.bytes(&text).len();
        if !self.is_structure {
            stream.take(length + GROWTH * size_of::<S::Value>())?;
        }
        stream.keys.truncate(self.keys);
        let bytes = match &text {
            Text::Block(range) => &stream.block[range.clone()],
            Text::Own => &stream.text,
        };
        stream.keys.extend(&bytes[..length.min(MAX_KEY)]);
        self.key_end = stream.keys.len();
        seed.deserialize(Key(stream.str(&text)?)).map(Some)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        let stream = &mut *self.stream;
        stream.colon()?;
        match seed.deserialize(&mut *stream) {
            Ok(value) => {
                if !self.is_structure {
                    stream.take(GROWTH * size_of::<S::Value>())?;
                }
                Ok(value)
            },
            Err(failure) => {
                // Keys of values within are behind it.
                let key = stream.keys.get(self.keys..self.key_end);
                let key = String::from_utf8_lossy(key.unwrap_or_default()).into_owned();
                Err(failure.at(stream.offset()).within_member(&key))
            },
        }
    }
}

/// The name of a member.
struct Key<'a>(&'a str);

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Failure;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Why a stream could not be read.
#[derive(Debug)]
pub struct Failure(Box<FailureParts>);

#[derive(Debug)]
struct FailureParts {
    problem: String,
    /// The parts of the path, the innermost one first.
    path: Vec<String>,
    /// Bytes up to where it was found. `None` until that is known.
    offset: Option<u64>,
    /// It has no place.
    is_of_file: bool,
}

impl Failure {
    #[cold]
    fn new(problem: impl fmt::Display) -> Self {
        Self(Box::new(FailureParts {
            problem: problem.to_string(),
            path: Vec::new(),
            offset: None,
            is_of_file: false,
        }))
    }

    #[cold]
    fn of_file(problem: impl fmt::Display) -> Self {
        let mut failure = Self::new(problem);
        failure.0.is_of_file = true;
        failure
    }

    #[cold]
    fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    #[cold]
    fn within_element(mut self, index: u64) -> Self {
        self.0.path.push(format!("[{index}]"));
        self
    }

    #[cold]
    fn within_member(mut self, key: &str) -> Self {
        self.0.path.push(format!(".{key}"));
        self
    }

    pub fn into_error(self, offset: u64) -> Error {
        let FailureParts {
            mut problem,
            path,
            offset: at,
            is_of_file,
        } = *self.0;
        if is_of_file {
            return Error::of_file(problem);
        }
        let _ = write!(problem, " at byte {}", at.unwrap_or(offset));
        let path: String = path.into_iter().rev().collect();
        Error::new(path.strip_prefix('.').unwrap_or(&path), problem)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.problem)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Self::new(problem)
    }
}

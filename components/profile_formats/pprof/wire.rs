/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The encoding of Protocol Buffers, <https://protobuf.dev/programming-guides/encoding/>, as far as profiles need it.
//!
//! A message is read field by field from the text itself. A crate that makes structures of messages would take eight bytes
//! of memory for each byte of a list of numbers, before anybody could say that the list is too long.

/// How a field is encoded.
mod wire_type {
    pub const VARINT: u64 = 0;
    pub const FIXED_64: u64 = 1;
    pub const BYTES: u64 = 2;
    pub const FIXED_32: u64 = 5;
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Number(u64),
    /// A text, a message, or a list of numbers.
    Bytes(&'a [u8]),
    /// Of a kind that profiles do not have.
    Other,
}

/// The fields of a message, each with its number. Ends at the first one that is not sound: [`Self::is_sound`].
#[derive(Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
    is_sound: bool,
}

impl<'a> Fields<'a> {
    pub fn of(message: &'a [u8]) -> Self {
        Self {
            rest: message,
            is_sound: true,
        }
    }

    /// Whether all fields up to here are sound.
    pub fn is_sound(&self) -> bool {
        self.is_sound
    }

    fn read(&mut self) -> Option<(u64, Value<'a>)> {
        let key = varint(&mut self.rest)?;
        let field = key >> 3;
        if field == 0 {
            return None;
        }
        let value = match key & 7 {
            wire_type::VARINT => Value::Number(varint(&mut self.rest)?),
            wire_type::FIXED_64 => self.skip(8)?,
            wire_type::FIXED_32 => self.skip(4)?,
            wire_type::BYTES => {
                let length = usize::try_from(varint(&mut self.rest)?).ok()?;
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Value::Bytes(bytes)
            },
            _ => return None,
        };
        Some((field, value))
    }

    fn skip(&mut self, bytes: usize) -> Option<Value<'a>> {
        self.rest = self.rest.get(bytes..)?;
        Some(Value::Other)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || !self.is_sound {
            return None;
        }
        let field = self.read();
        self.is_sound = field.is_some();
        field
    }
}

/// A number at the beginning of a text, which is left without it.
pub fn varint(text: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (index, byte) in text.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has the last bit.
        if index == 9 && bits > 1 {
            return None;
        }
        number |= bits << (7 * index);
        if byte & 0x80 == 0 {
            *text = &text[index + 1..];
            return Some(number);
        }
    }
    None
}

/// A message that is written.
#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A field with a number. 0 is what an absent one means.
    pub fn number(&mut self, field: u64, number: u64) {
        if number != 0 {
            push_varint(&mut self.0, field << 3 | wire_type::VARINT);
            push_varint(&mut self.0, number);
        }
    }

    /// A field with a text or a message. An empty one is written, too.
    pub fn bytes_of(&mut self, field: u64, bytes: &[u8]) {
        push_varint(&mut self.0, field << 3 | wire_type::BYTES);
        push_varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A field with a list of numbers.
    pub fn list(&mut self, field: u64, numbers: impl Iterator<Item = u64> + Clone) {
        let length: usize = numbers.clone().map(length_of_varint).sum();
        if length == 0 {
            return;
        }
        push_varint(&mut self.0, field << 3 | wire_type::BYTES);
        push_varint(&mut self.0, length as u64);
        for number in numbers {
            push_varint(&mut self.0, number);
        }
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn length_of_varint(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        let mut message = Message::default();
        for number in numbers {
            message.number(1, number);
        }
        message.bytes_of(2, b"text");
        message.list(16, numbers.into_iter());
        let mut read = Vec::new();
        let mut list = Vec::new();
        let mut fields = Fields::of(message.bytes());
        for field in &mut fields {
            match field {
                (1, Value::Number(number)) => read.push(number),
                (2, Value::Bytes(text)) => assert_eq!(text, b"text"),
                (16, Value::Bytes(mut bytes)) => {
                    while !bytes.is_empty() {
                        list.push(varint(&mut bytes).unwrap());
                    }
                },
                other => panic!("{other:?}"),
            }
        }
        assert!(fields.is_sound());
        // 0 is not written.
        assert_eq!(read, numbers[1..]);
        assert_eq!(list, numbers);
    }

    #[test]
    fn a_message_that_ends_too_early_is_not_sound() {
        let mut message = Message::default();
        message.number(1, 300);
        message.bytes_of(2, b"text");
        let whole = message.bytes();
        let is_sound = |text: &[u8]| {
            let mut fields = Fields::of(text);
            fields.by_ref().for_each(drop);
            fields.is_sound()
        };
        for end in 0..=whole.len() {
            // Between two fields it is a shorter message.
            assert_eq!(is_sound(&whole[..end]), [0, 3, whole.len()].contains(&end));
        }
        assert!(!is_sound(&[0, 0]), "the number 0 is that of no field");
        assert!(!is_sound(&[0x0b]), "a group");
        assert!(!is_sound(&[
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2
        ]));
        assert!(is_sound(&[
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1
        ]));
        assert!(is_sound(&[0x09, 0, 0, 0, 0, 0, 0, 0, 0, 0x0d, 0, 0, 0, 0]));
        assert!(!is_sound(&[0x09, 0, 0, 0]));
    }
}

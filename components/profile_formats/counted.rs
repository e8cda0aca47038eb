/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A deserializer that counts how much memory its values take: the size of each element of a list, and the length
//! of each text. It stops reading when the values take more than they may.
//!
//! Members of a structure are a part of it, and members that are skipped take nothing.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// How many bytes may still be taken. `None` once more than that were needed.
pub struct Left(Cell<Option<u64>>);

impl Left {
    pub fn new(bytes: u64) -> Self {
        Self(Cell::new(Some(bytes)))
    }

    pub fn bytes(&self) -> Option<u64> {
        self.0.get()
    }

    fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.0.get();
        self.0
            .set(left.and_then(|left| left.checked_sub(bytes as u64)));
        match self.0.get() {
            Some(_) => Ok(()),
            None => Err(E::custom(TOO_LARGE)),
        }
    }
}

/// A list or map that grows has room for twice its entries.
pub const GROWTH: usize = 2;

pub const TOO_LARGE: &str = "what is in it takes more memory than a profile may take";

/// Wraps a deserializer, and all values that come from it.
pub struct Counted<'l, T> {
    inner: T,
    left: &'l Left,
    /// Whether what it reads is a structure, whose size has been counted.
    is_structure: bool,
}

impl<'l, T> Counted<'l, T> {
    pub fn new(inner: T, left: &'l Left) -> Self {
        Self {
            inner,
            left,
            is_structure: false,
        }
    }

    fn structure(inner: T, left: &'l Left) -> Self {
        Self {
            is_structure: true,
            ..Self::new(inner, left)
        }
    }
}

/// Methods that pass a value on unchanged.
macro_rules! deserialize {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(Counted::new(visitor, self.left))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Counted<'_, D> {
    type Error = D::Error;

    deserialize! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_option deserialize_unit deserialize_seq deserialize_map
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Counted::new(visitor, self.left);
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Counted::new(visitor, self.left);
        self.inner.deserialize_tuple(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Counted::new(visitor, self.left);
        self.inner.deserialize_tuple_struct(name, length, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Counted::structure(visitor, self.left);
        self.inner.deserialize_struct(name, fields, visitor)
    }

    /// The variants that are read have no values in them.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_identifier(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }
}

/// Methods for values that take no memory beside themselves.
macro_rules! visit {
    ($($method:ident $type:ty,)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counted<'_, V> {
    type Value = V::Value;

    visit! {
        visit_bool bool, visit_i8 i8, visit_i16 i16, visit_i32 i32, visit_i64 i64,
        visit_u8 u8, visit_u16 u16, visit_u32 u32, visit_u64 u64, visit_f32 f32, visit_f64 f64,
        visit_char char,
    }

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(formatter)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.left.take(text.len())?;
        self.inner.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.left.take(text.len())?;
        self.inner.visit_borrowed_str(text)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<V::Value, E> {
        self.left.take(text.len())?;
        self.inner.visit_string(text)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Counted::new(deserializer, self.left))
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<V::Value, D::Error> {
        self.inner
            .visit_newtype_struct(Counted::new(deserializer, self.left))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Counted {
            inner: sequence,
            left: self.left,
            is_structure: self.is_structure,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Counted {
            inner: map,
            left: self.left,
            is_structure: self.is_structure,
        })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let element = self
            .inner
            .next_element_seed(Counted::new(seed, self.left))?;
        if element.is_some() && !self.is_structure {
            self.left.take(GROWTH * size_of::<S::Value>())?;
        }
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        if self.is_structure {
            return self.inner.next_key_seed(seed);
        }
        let key = self.inner.next_key_seed(Counted::new(seed, self.left))?;
        if key.is_some() {
            self.left.take(GROWTH * size_of::<S::Value>())?;
        }
        Ok(key)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.inner.next_value_seed(Counted::new(seed, self.left))?;
        if !self.is_structure {
            self.left.take(GROWTH * size_of::<S::Value>())?;
        }
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Counted<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner
            .deserialize(Counted::new(deserializer, self.left))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    /// The memory that reading takes.
    fn taken<'de, T: Deserialize<'de>>(text: &'de str, bytes: u64) -> Option<u64> {
        let left = Left::new(bytes);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let result = T::deserialize(Counted::new(&mut deserializer, &left));
        assert_eq!(result.is_ok(), left.bytes().is_some(), "{text}");
        left.bytes().map(|left| bytes - left)
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Some,
    }

    #[derive(Deserialize)]
    struct Entry {
        _name: String,
        _list: Option<Vec<u32>>,
        _kind: Option<Kind>,
    }

    #[test]
    fn elements_and_texts_are_counted_and_members_are_a_part() {
        let entry = (GROWTH * size_of::<Entry>()) as u64;
        let numbers = (2 * GROWTH * size_of::<u32>()) as u64;
        let text = r#"[{"_name":"abc","_list":[1,2],"_kind":"some","other":[[],"abc"]},{"_name":"","_list":null}]"#;
        assert_eq!(
            taken::<Vec<Entry>>(text, 1_000),
            Some(2 * entry + 3 + numbers)
        );
        assert_eq!(
            taken::<Vec<Entry>>(text, 2 * entry + 3 + numbers),
            Some(2 * entry + 3 + numbers)
        );
        assert_eq!(taken::<Vec<Entry>>(text, 2 * entry + 2 + numbers), None);
        let value = (GROWTH * size_of::<Value>()) as u64;
        let key = (GROWTH * size_of::<String>()) as u64;
        assert_eq!(
            taken::<Value>(r#"[[],{"ab":"c"}]"#, 1_000),
            Some(3 * value + key + 3)
        );
    }
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the readers and writers of JSON have in common.

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

use crate::bounds::tables;
use crate::counted::{Counted, Left, TOO_LARGE};
use crate::error::Error;

/// A text of JSON, which may be read again.
pub trait Source {
    /// As [`read`] does.
    fn read<T: DeserializeOwned>(&mut self, memory: &mut u64) -> Result<T, Error>;
}

impl Source for &[u8] {
    fn read<T: DeserializeOwned>(&mut self, memory: &mut u64) -> Result<T, Error> {
        read(self, memory)
    }
}

/// Reads a text that holds one value. An error's place is its path in the text.
///
/// `memory` is how many bytes may be taken for it, and afterwards how many are left for tables.
pub fn read<T: DeserializeOwned>(text: &[u8], memory: &mut u64) -> Result<T, Error> {
    let left = Left::new(*memory);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = T::deserialize(Counted::new(&mut deserializer, &left));
    let Some(bytes) = left.bytes() else {
        return Err(Error::of_file(TOO_LARGE));
    };
    if let Ok(value) = value
        && deserializer.end().is_ok()
    {
        *memory = tables(*memory, bytes);
        return Ok(value);
    }
    // To keep track of where each value is takes longer than to read the values. So it is done only for a text with an
    // error.
    let left = Left::new(*memory);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let counted = Counted::new(&mut deserializer, &left);
    let value = serde_path_to_error::deserialize(counted).map_err(|error| {
        let place = match error.path().to_string() {
            path if path == "." => String::new(),
            path => path,
        };
        Error::new(place, error.into_inner())
    })?;
    deserializer.end().map_err(Error::of_file)?;
    Ok(value)
}

/// All columns of a table must have the same length. `place` is where the one is that may not.
pub fn check_length(length: usize, of: usize, place: impl FnOnce() -> String) -> Result<(), Error> {
    match length == of {
        true => Ok(()),
        false => Err(Error::new(place(), format!("{length} entries for {of}"))),
    }
}

/// An array that is made while it is written.
pub struct Array<F>(pub F);

impl<F, I> Serialize for Array<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Whole numbers without a fraction, as JavaScript writes them.
pub fn number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0. && number.abs() < 1e15 {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// [`number`] as an element of an array.
#[derive(Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct Number(#[serde(serialize_with = "number")] pub f64);

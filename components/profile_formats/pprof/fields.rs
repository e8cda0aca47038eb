/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The numbers of fields: those of `profile.proto`.

macro_rules! messages {
    ($($message:ident { $($field:ident = $number:literal,)* })*) => {
        $(pub mod $message {
            $(pub const $field: u64 = $number;)*
        })*

        /// The names of all messages and fields, each with its number.
        #[cfg(test)]
        const ALL: &[(&str, &str, u64)] = &[
            $($((stringify!($message), stringify!($field), $number),)*)*
        ];
    };
}

messages! {
    profile {
        SAMPLE_TYPE = 1,
        SAMPLE = 2,
        MAPPING = 3,
        LOCATION = 4,
        FUNCTION = 5,
        STRING_TABLE = 6,
        TIME_NANOS = 9,
        DURATION_NANOS = 10,
        PERIOD_TYPE = 11,
        PERIOD = 12,
        DEFAULT_SAMPLE_TYPE = 14,
        IS_TIMED = 1000,
    }
    value_type {
        TYPE = 1,
        UNIT = 2,
    }
    sample {
        LOCATION_ID = 1,
        VALUE = 2,
        LABEL = 3,
    }
    label {
        KEY = 1,
        STR = 2,
        NUM = 3,
        NUM_UNIT = 4,
    }
    mapping {
        ID = 1,
        FILENAME = 5,
        HAS_FUNCTIONS = 7,
        HAS_FILENAMES = 8,
        HAS_LINE_NUMBERS = 9,
    }
    location {
        ID = 1,
        MAPPING_ID = 2,
        ADDRESS = 3,
        LINE = 4,
        WASM_OFFSET = 1000,
        LAST_LINE = 1001,
    }
    line {
        FUNCTION_ID = 1,
        LINE = 2,
        COLUMN = 3,
    }
    function {
        ID = 1,
        NAME = 2,
        SYSTEM_NAME = 3,
        FILENAME = 4,
        START_LINE = 5,
        START_COLUMN = 1000,
        KIND = 1001,
        GENERATED_NAME = 1002,
        GENERATED_FILENAME = 1003,
        GENERATED_LINE = 1004,
        GENERATED_COLUMN = 1005,
    }
}

/// The greatest number of a field in the published definition of the outermost message, whose last one is the link to the
/// profile's documentation.
pub const LAST_OF_PROFILE: u64 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_definition() {
        let mut defined = Vec::new();
        let mut message = String::new();
        for line in include_str!("profile.proto").lines() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix("message ") {
                let name = rest.trim_end_matches(" {");
                message = match name {
                    "ValueType" => "value_type".to_owned(),
                    name => name.to_lowercase(),
                };
            } else if let Some((field, number)) = line.trim_end_matches(';').split_once(" = ")
                && !message.is_empty()
            {
                let name = field.rsplit(' ').next().unwrap().to_uppercase();
                defined.push((message.clone(), name, number.parse().unwrap()));
            }
        }
        let here = ALL
            .iter()
            .map(|(message, field, number)| ((*message).to_owned(), (*field).to_owned(), *number));
        assert_eq!(here.collect::<Vec<_>>(), defined);
    }
}

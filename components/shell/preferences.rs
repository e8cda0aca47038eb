/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Preferences by name: Servo's, and Strobe's own, whose names begin with `js_profiling_`.

use std::str::FromStr;

use servo::{PrefValue, Preferences};

/// Names with this prefix are Strobe's.
const OWN_PREFIX: &str = "js_profiling_";

/// Names that are at least this similar to an unknown one (Jaro–Winkler, 0 to 1) are suggested.
const SUGGESTION_SIMILARITY: f64 = 0.85;
const SUGGESTION_COUNT: usize = 3;

/// Servo's preferences for this run: its defaults, then each assignment in turn, then the user
/// agent. Strobe's own preferences are set for the process.
///
/// The error names the assignment and what is wrong with it.
pub fn resolve(
    assignments: &[(String, String)],
    user_agent: Option<&str>,
) -> Result<Preferences, String> {
    let mut preferences = Preferences::default();
    for (name, value) in assignments {
        if name.starts_with(OWN_PREFIX) {
            js_profiler_traits::preferences::set(name, value)
        } else {
            set(&mut preferences, name, value)
        }
        .map_err(|message| format!("--pref {name}={value}: {message}"))?;
    }
    if let Some(user_agent) = user_agent {
        preferences.user_agent = user_agent.to_owned();
    }
    Ok(preferences)
}

fn set(preferences: &mut Preferences, name: &str, value: &str) -> Result<(), String> {
    if !Preferences::exists(name) {
        return Err(unknown(name));
    }
    // The value must have the type of the default: Servo panics for any other type.
    let value = match preferences.get_value(name) {
        PrefValue::Bool(_) => PrefValue::Bool(parse(value, "true or false")?),
        PrefValue::Int(_) => PrefValue::Int(parse(value, "a whole number")?),
        PrefValue::UInt(_) => PrefValue::UInt(parse(value, "a whole number from 0")?),
        PrefValue::Float(_) => PrefValue::Float(parse(value, "a number")?),
        PrefValue::Str(_) if name == "user_agent" => PrefValue::Str(user_agent(value)?),
        PrefValue::Str(_) => PrefValue::Str(value.to_owned()),
        PrefValue::Array(defaults) => PrefValue::Array(numbers(value, defaults.len())?),
    };
    preferences.set_value(name, value);
    Ok(())
}

/// Returns `value` if it can be the user agent. Servo panics for a value that cannot be in a header.
pub fn user_agent(value: &str) -> Result<String, String> {
    if value.is_empty() {
        Err("it must not be empty".to_owned())
    } else if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Err("it must be printable ASCII".to_owned())
    } else {
        Ok(value.to_owned())
    }
}

fn parse<T: FromStr>(value: &str, expected: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("the value must be {expected}"))
}

fn numbers(value: &str, count: usize) -> Result<Vec<PrefValue>, String> {
    let expected = format!("{count} numbers with commas between them");
    let numbers: Vec<PrefValue> = value
        .split(',')
        .map(|number| parse(number.trim(), &expected).map(PrefValue::Float))
        .collect::<Result<_, _>>()?;
    if numbers.len() == count {
        Ok(numbers)
    } else {
        Err(format!("the value must be {expected}"))
    }
}

fn unknown(name: &str) -> String {
    let mut similar: Vec<(f64, &str)> = Preferences::all_fields()
        .into_iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| *similarity >= SUGGESTION_SIMILARITY)
        .collect();
    similar.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    similar.truncate(SUGGESTION_COUNT);
    let names: Vec<&str> = similar.into_iter().map(|(_, name)| name).collect();
    if names.is_empty() {
        "there is no such preference".to_owned()
    } else {
        format!(
            "there is no such preference; similar ones are {}",
            names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve_one(name: &str, value: &str) -> Result<Preferences, String> {
        resolve(&[(name.to_owned(), value.to_owned())], None)
    }

    fn value_of(name: &str, value: &str) -> PrefValue {
        resolve_one(name, value).unwrap().get_value(name)
    }

    #[test]
    fn a_value_is_read_by_the_type_of_its_preference() {
        assert_eq!(value_of("js_ion_enabled", "false"), PrefValue::Bool(false));
        assert_eq!(value_of("js_mem_max", "-1"), PrefValue::Int(-1));
        assert_eq!(value_of("network_http_cache_size", "7"), PrefValue::UInt(7));
        // A string preference takes any text, even one that looks like another type.
        assert_eq!(
            value_of("fonts_default", "true"),
            PrefValue::Str("true".to_owned())
        );
        assert_eq!(
            value_of("shell_background_color_rgba", "0, 0.5,1,1"),
            PrefValue::Array([0., 0.5, 1., 1.].map(PrefValue::Float).to_vec())
        );
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for (name, value, expected) in [
            ("js_ion_enabled", "1", "true or false"),
            ("js_mem_max", "many", "a whole number"),
            ("network_http_cache_size", "-1", "a whole number from 0"),
            ("shell_background_color_rgba", "1,1,1", "4 numbers"),
            ("shell_background_color_rgba", "1,1,1,red", "4 numbers"),
            ("user_agent", "a\nb", "printable ASCII"),
        ] {
            let message = resolve_one(name, value).err().unwrap();
            assert!(
                message.starts_with(&format!("--pref {name}={value}: ")),
                "{message}"
            );
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_similar_ones() {
        let message = resolve_one("js_ion_enable", "true").err().unwrap();
        assert!(message.contains("js_ion_enabled"), "{message}");
        let message = resolve_one("xyzzy", "1").err().unwrap();
        assert!(
            message.ends_with("there is no such preference"),
            "{message}"
        );
    }

    #[test]
    fn names_of_ours_go_to_the_profiler() {
        let message = resolve_one("js_profiling_xyzzy", "true").err().unwrap();
        assert!(message.contains("js_profiling_xyzzy"), "{message}");
        assert!(resolve_one("js_profiling_allow", "maybe").is_err());
    }

    #[test]
    fn the_last_assignment_wins_and_the_user_agent_option_wins_over_all() {
        let assignments = [
            ("fonts_default_size".to_owned(), "10".to_owned()),
            ("fonts_default_size".to_owned(), "11".to_owned()),
            ("user_agent".to_owned(), "first".to_owned()),
        ];
        let preferences = resolve(&assignments, Some("second")).unwrap();
        assert_eq!(preferences.fonts_default_size, 11);
        assert_eq!(preferences.user_agent, "second");
    }
}

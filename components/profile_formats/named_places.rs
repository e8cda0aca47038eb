/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Names that tell functions apart, for tools that add up those of one name.

use std::collections::HashMap;

use crate::recording::{EventLoop, Function, Invalid, Recording};
use crate::totals::FunctionKey;

/// What stands for no name.
const ANONYMOUS: &str = "(anonymous)";

/// Adds the file and the place of its definition to the name of each function that another one has, too: `work app.js:12:3`. If
/// two files have one name, the whole URL is added.
pub fn add_places_to_names(recording: &mut Recording) -> Result<(), Invalid> {
    let mut names: HashMap<String, Vec<OwnKey>> = HashMap::new();
    let mut files: HashMap<String, String> = HashMap::new();
    let mut has_several = HashMap::new();
    for event_loop in recording.event_loops() {
        for function in event_loop.functions() {
            let key = OwnKey::of(event_loop, function);
            let file = file_name(&key.url);
            let known = files
                .entry(file.to_owned())
                .or_insert_with(|| key.url.clone());
            if *known != key.url {
                has_several.insert(file.to_owned(), ());
            }
            let keys = names.entry(function.name.clone()).or_default();
            if !keys.contains(&key) && keys.len() < 2 {
                keys.push(key);
            }
        }
    }
    let event_loops = recording.processes.iter_mut();
    for event_loop in event_loops.flat_map(|process| &mut process.event_loops) {
        let functions = event_loop.functions().map(|function| {
            let key = OwnKey::of(event_loop, function);
            let is_shared = names.get(&function.name).is_some_and(|keys| keys.len() > 1);
            if !is_shared || key.url.is_empty() {
                return function.clone();
            }
            let file = match has_several.contains_key(file_name(&key.url)) {
                true => &*key.url,
                false => file_name(&key.url),
            };
            let name = match &*function.name {
                "" => ANONYMOUS,
                name => name,
            };
            let numbers = [function.line, function.column].into_iter().flatten();
            let numbers: String = numbers.map(|number| format!(":{number}")).collect();
            Function {
                name: format!("{name} {file}{numbers}"),
                ..function.clone()
            }
        });
        let functions = functions.collect();
        event_loop.set_functions(functions)?;
    }
    Ok(())
}

#[derive(PartialEq)]
struct OwnKey {
    url: String,
    line: u32,
    column: u32,
}

impl OwnKey {
    fn of(event_loop: &EventLoop, function: &Function) -> Self {
        let key = FunctionKey::of(event_loop, function);
        Self {
            url: key.resource.unwrap_or_default().to_owned(),
            line: key.line.map_or(0, |line| line.get()),
            column: key.column.map_or(0, |column| column.get()),
        }
    }
}

/// The last part of the path, without the query.
fn file_name(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let name = url.rsplit('/').next().unwrap_or_default();
    if name.is_empty() { url } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;

    #[test]
    fn functions_of_one_name_get_their_places() {
        let text = "f (https://a.test/a.js:1:2);g (https://a.test/a.js:3:4) 1\n\
                    f (https://a.test/b.js:1:2) 1\n\
                    h (https://a.test/x/b.js?1:5) 1\n\
                    h (https://a.test/b.js:6:1);sort 1\n";
        let (mut recording, _) =
            crate::read(text.as_bytes(), None, Some(Format::Collapsed)).unwrap();
        add_places_to_names(&mut recording).unwrap();
        let event_loop = recording.event_loops().next().unwrap();
        let names: Vec<_> = event_loop
            .functions()
            .map(|function| &*function.name)
            .collect();
        assert_eq!(
            names,
            [
                "f a.js:1:2",
                "g",
                "f https://a.test/b.js:1:2",
                "h https://a.test/x/b.js?1:5",
                "h https://a.test/b.js:6:1",
                "sort"
            ]
        );
    }
}

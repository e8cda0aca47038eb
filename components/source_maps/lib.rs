/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Where the code of a script was written and which names it had there, as the script's source map says: ECMA-426.
//!
//! The crate fetches nothing. It says where the map of a script is ([`Link`]) or finds it in a folder ([`MapFolder`]),
//! reads it ([`SourceMap`]), and answers for places of the script. Whatever is in a map, there is an answer or a [`Notice`]
//! that names it and says why it is not used. How large a map may be is in `bounds.rs`, and how long it may take is up to
//! the caller ([`Deadline`]).
//!
//! ```
//! use std::time::Duration;
//!
//! use source_maps::{Deadline, GeneratedFunction, Link, Place, SourceMap};
//! use url::Url;
//!
//! // What a page runs.
//! let script_url = "https://a.test/app.min.js";
//! let script = "(()=>{function u(r){return r*r}globalThis.square=u;})();\n\
//!     //# sourceMappingURL=app.min.js.map";
//!
//! // Its map, which somebody fetches.
//! let Some(Link::Url(map_url)) = Link::of_script(script_url, None, Some(script))? else {
//!     panic!("the map is not in the script");
//! };
//! assert_eq!(map_url.as_str(), "https://a.test/app.min.js.map");
//! let content = br#"{
//!     "version": 3,
//!     "sources": ["src/square.ts"],
//!     "sourcesContent": [
//!         "export function square(side: number) {\n  return side * side;\n}\nglobalThis.square = square;"
//!     ],
//!     "names": ["square", "side"],
//!     "mappings": "MAAO,SAASA,EAAOC,EAAc,CACnC,OAAOA,EAAOA,CAChB,CACA,WAAW,OAASD"
//! }"#;
//! let deadline = Deadline::within(Duration::from_secs(10));
//! let map = SourceMap::read(content, map_url.as_str(), Some(&map_url), &deadline)?;
//!
//! // A function as the engine describes it, and a place in it that ran.
//! let definition = Place { line: 1, column: 17 };
//! let running = Place { line: 1, column: 28 };
//! let function = GeneratedFunction {
//!     name: "u",
//!     definition: Some(definition),
//!     running: &[running],
//! };
//! assert_eq!(map.function_name(&function).as_deref(), Some("square"));
//!
//! let original = map.original(running).expect("it is mapped");
//! assert_eq!(original.source.url, "https://a.test/src/square.ts");
//! assert_eq!((original.line, original.column), (2, 10));
//! assert_eq!(original.name, Some("side"));
//! assert!(original.source.text.is_some_and(|text| text.starts_with("export function")));
//! # Ok::<(), source_maps::Notice>(())
//! ```
//!
//! Sentry's crate `sourcemap` decodes the mappings and finds places in them. It reads some errors of a map as numbers,
//! and makes large tables of little text. So `map.rs` and `mappings.rs` check a map first, and pass on only what is
//! known and sound. The sections of an index map are kept apart, as they are in the map.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod beside;
mod bounds;
mod deadline;
mod folder;
mod lines;
mod link;
mod map;
mod mappings;
mod names;
mod notice;
mod outline;
mod scopes;
mod tokens;

pub use crate::beside::map_beside;
pub use crate::bounds::MAX_MAP_BYTES;
pub use crate::deadline::Deadline;
pub use crate::folder::{FoundMap, MapFolder};
pub use crate::lines::{CodeOf, MappedLines, OriginalLines};
pub use crate::link::Link;
pub use crate::map::{Original, Place, Source, SourceMap};
pub use crate::names::GeneratedFunction;
pub use crate::notice::Notice;

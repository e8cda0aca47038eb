/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a [policy container](https://html.spec.whatwg.org/multipage/#policy-containers) holds about
//! profiling: the declarations of the environment's response, those of the documents that embed it, and the
//! decision that was made from them.
//!
//! It is plain data that goes from process to process with a navigation. The crate `profiling_policy` reads
//! it from headers and attributes, and makes the decision.

#![deny(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};
use servo_url::ImmutableOrigin;

/// When the engine is made ready for profiling.
/// <https://wicg.github.io/js-self-profiling/#js-profiling-mode>
#[derive(Clone, Copy, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum ProfilingMode {
    /// While the document loads.
    Eager,
    /// When the document starts its first profiler.
    Lazy,
}

/// An allowlist of origins: <https://w3c.github.io/webappsec-permissions-policy/#allowlists>
#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum Allowlist {
    /// The special value `*`.
    EveryOrigin,
    /// These origins. `'self'` and `'src'` have been replaced by the origins that they stand for.
    Origins(Vec<ImmutableOrigin>),
}

/// What one header or attribute declares about `js-profiling`.
#[derive(Clone, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum Declaration {
    /// It does not name `js-profiling`.
    #[default]
    Absent,
    /// The document itself may profile.
    Enabled(ProfilingMode),
    /// Nobody may profile, by an explicit denial.
    Disabled,
    /// Documents of some origins may profile.
    For(Allowlist),
    /// The header, or its `js-profiling` member, is ignored, for the reason given.
    Malformed(String),
}

/// A policy header of a response, or the `allow` attribute, kept so that people can be told how the decision
/// came about.
#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct Declared {
    /// The name as the specification spells it, e.g. `Document-Policy`.
    pub name: String,
    /// The values of all its field lines, joined with `, `. Bytes that are not UTF-8 are replaced with
    /// U+FFFD.
    pub value: String,
    /// What it declares.
    pub declaration: Declaration,
}

/// A document that embeds another one.
#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct Embedder {
    /// The origin of the document that embeds.
    pub origin: ImmutableOrigin,
    /// The policy headers of its response.
    pub headers: Vec<Declared>,
    /// The `allow` attribute of the embedding element, as it was at the navigation; `None` if the element has
    /// none.
    pub allow: Option<Declared>,
}

/// The profiling policy of an environment. The default is a refusal without any headers.
#[derive(Clone, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct ProfilingPolicy {
    /// The policy headers of its response, whatever they declare: `Document-Policy`, `Permissions-Policy`,
    /// `Feature-Policy`, in this order. A response without headers of its own (`about:`, `blob:`, `data:`)
    /// has the headers of the environment that made it.
    pub headers: Vec<Declared>,
    /// The documents that embed it, the nearest first; empty for a top-level document.
    pub embedders: Vec<Embedder>,
    /// The decision: `None` is a refusal.
    pub mode: Option<ProfilingMode>,
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a [policy container](https://html.spec.whatwg.org/multipage/#policy-containers) holds of
//! profiling: the declarations of the environment's response, those of the documents that embed it,
//! and what was decided by them.
//!
//! Plain data, which goes from process to process with a navigation. How it is read from headers and
//! attributes, and how the decision is made, is the crate `profiling_policy`.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
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

/// <https://w3c.github.io/webappsec-permissions-policy/#allowlists>
#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum Allowlist {
    /// The special value `*`.
    EveryOrigin,
    /// `'self'` and `'src'` have been replaced by what they stand for.
    Origins(Vec<ImmutableOrigin>),
}

/// What one header or attribute says of `js-profiling`.
#[derive(Clone, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub enum Declaration {
    /// It does not name `js-profiling`.
    #[default]
    Absent,
    /// The document itself may profile.
    Enabled(ProfilingMode),
    /// Nobody may profile, by those words.
    Disabled,
    /// Documents of some origins may profile.
    For(Allowlist),
    /// The header, or its `js-profiling` member, is ignored, for the reason given.
    Malformed(String),
}

/// A policy header of a response, or the `allow` attribute, for telling a person what was decided by
/// it.
#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct Declared {
    /// As the specification spells it, e.g. `Document-Policy`.
    pub name: String,
    /// All its field lines, joined with `, `. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub value: String,
    /// What it says.
    pub declaration: Declaration,
}

/// A document that embeds another one.
#[derive(Clone, Debug, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct Embedder {
    pub origin: ImmutableOrigin,
    /// The policy headers of its response.
    pub headers: Vec<Declared>,
    /// The `allow` attribute of the element that embeds, as it was at the navigation; `None` if the
    /// element has none.
    pub allow: Option<Declared>,
}

/// The profiling policy of an environment. The default is a refusal without headers.
#[derive(Clone, Debug, Default, Deserialize, Eq, MallocSizeOf, PartialEq, Serialize)]
pub struct ProfilingPolicy {
    /// The policy headers of its response, whatever they say: `Document-Policy`,
    /// `Permissions-Policy`, `Feature-Policy`, in this order. A response without headers of its own
    /// (`about:`, `blob:`, `data:`) has those of the environment it was made by.
    pub headers: Vec<Declared>,
    /// The documents that embed it, the nearest first; none for a top-level document.
    pub embedders: Vec<Embedder>,
    /// What was decided: `None` is a refusal.
    pub mode: Option<ProfilingMode>,
}

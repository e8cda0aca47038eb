/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The decision, from what was declared.

use std::mem;

use profiling_policy_traits::{Declaration, Declared, Embedder, ProfilingMode};
use servo_url::ImmutableOrigin;

use crate::allowlist::matches;

/// The kinds of environments that a decision is made for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Environment {
    /// A document.
    Document,
    /// A worker whose script came with a response of its own. Permissions Policy is for documents, so only
    /// Document Policy can allow a worker to profile.
    Worker,
}

/// Whether an environment may profile, and when the engine is made ready for it; `None` if it may not. The
/// default allowlist of `js-profiling` is 'none', so without a declaration nobody may profile. Each of the
/// environment's own headers can enable profiling; a denial in any of them overrules the others.
///
/// Document Policy is a document's own decision. If it enables the document, an embedder's list that leaves
/// the document out denies nothing: the document sees only its own code, so the embedder has nothing to
/// protect. An explicit denial of the embedder still counts. The two allowlist headers need the consent of
/// every embedder.
pub(crate) fn decide(
    headers: &[Declared],
    embedders: &[Embedder],
    origin: &ImmutableOrigin,
    environment: Environment,
) -> Option<ProfilingMode> {
    if own_denials(headers, origin).next().is_some() || denials(embedders).next().is_some() {
        return None;
    }
    let declared_mode = headers.iter().find_map(|header| match header.declaration {
        Declaration::Enabled(mode) => Some(mode),
        _ => None,
    });
    declared_mode.or_else(|| {
        let enabled = environment == Environment::Document
            && omissions(embedders, origin).next().is_none()
            && is_feature_enabled(headers, embedders, origin);
        // The two allowlist headers name no mode.
        enabled.then_some(ProfilingMode::Lazy)
    })
}

/// The headers of an environment of `origin` that forbid it to profile, whatever the others say: denials, and
/// lists that `origin` is not on.
pub(crate) fn own_denials<'a>(
    headers: &'a [Declared],
    origin: &ImmutableOrigin,
) -> impl Iterator<Item = &'a Declared> {
    headers
        .iter()
        .filter(move |header| denies(header) || omits(header, origin))
}

/// The declarations that forbid everybody in the frames of `embedders` to profile.
pub(crate) fn denials(embedders: &[Embedder]) -> impl Iterator<Item = (&Declared, &Embedder)> {
    embedders.iter().flat_map(|embedder| {
        let declared = embedder.headers.iter().chain(&embedder.allow);
        declared
            .filter(|declared| denies(declared))
            .map(move |declared| (declared, embedder))
    })
}

/// The lists of the embedders that `origin` is not on. They forbid a document of this origin to profile,
/// unless its own Document Policy enables it.
///
/// `allow` attributes are not included. Such an attribute is only for the document in its element, and
/// [`inherited_policy`] checks it.
pub(crate) fn omissions<'a>(
    embedders: &'a [Embedder],
    origin: &ImmutableOrigin,
) -> impl Iterator<Item = (&'a Declared, &'a Embedder)> {
    embedders.iter().flat_map(move |embedder| {
        let headers = embedder.headers.iter();
        headers
            .filter(move |header| omits(header, origin))
            .map(move |header| (header, embedder))
    })
}

fn denies(declared: &Declared) -> bool {
    declared.declaration == Declaration::Disabled
}

fn omits(declared: &Declared, origin: &ImmutableOrigin) -> bool {
    matches!(&declared.declaration, Declaration::For(allowlist) if !matches(allowlist, origin))
}

/// Whether `js-profiling` is enabled in a document for its own origin:
/// <https://w3c.github.io/webappsec-permissions-policy/#algo-is-feature-enabled>
fn is_feature_enabled(
    headers: &[Declared],
    embedders: &[Embedder],
    origin: &ImmutableOrigin,
) -> bool {
    // Step 2. If policy's inherited policy for feature is "Disabled", return "Disabled".
    inherited_policy(embedders, origin) && is_declared_for(headers, origin)
}

/// The steps of "Is feature enabled in document for origin?" after the one about the inherited policy.
pub(crate) fn is_declared_for(headers: &[Declared], origin: &ImmutableOrigin) -> bool {
    // Step 3. If feature is present in policy's declared policy: if the allowlist for feature in
    // policy's declared policy matches origin, then return "Enabled". Otherwise return "Disabled".
    // Permissions-Policy and Feature-Policy must agree.
    let mut allowlists = headers
        .iter()
        .filter_map(|header| match &header.declaration {
            Declaration::For(allowlist) => Some(matches(allowlist, origin)),
            // The empty allowlist matches no origin.
            Declaration::Disabled => Some(false),
            Declaration::Absent | Declaration::Enabled(_) | Declaration::Malformed(_) => None,
        });
    // Steps 4–6. The default allowlist matches no origin.
    allowlists
        .next()
        .is_some_and(|first| first && allowlists.all(|matches| matches))
}

/// Whether the inherited policy of a document is "Enabled":
/// <https://w3c.github.io/webappsec-permissions-policy/#algo-define-inherited-policy-in-container>
///
/// Steps 2 and 3 both ask for the inherited policy of the container's document, which runs these steps again.
/// One loop from the inside outwards asks for everything; asking twice per document would take 2ⁿ steps in n
/// frames.
fn inherited_policy(embedders: &[Embedder], origin: &ImmutableOrigin) -> bool {
    let mut origin = origin;
    // Step 1. If container is null, return "Enabled".
    embedders.iter().all(|parent| {
        let child_origin = mem::replace(&mut origin, &parent.origin);
        // Step 2. If the result of executing Get feature value for origin on feature, container's
        // node document, and container's node document's origin is "Disabled", return "Disabled".
        // Step 3. If feature is inherited disabled for origin there, return "Disabled".
        is_declared_for(&parent.headers, &parent.origin)
            && is_declared_for(&parent.headers, child_origin)
            // Step 4. Let container policy be the result of running Process permissions policy
            // attributes on container. Step 5. If feature is a key in container policy: if the
            // allowlist for feature in container policy matches origin, return "Enabled". Otherwise
            // return "Disabled". Steps 6–8. The default allowlist matches no origin.
            && matches!(
                &parent.allow,
                Some(Declared { declaration: Declaration::For(allowlist), .. })
                    if matches(allowlist, child_origin)
            )
    })
}

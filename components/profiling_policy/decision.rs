/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The decision, from what was declared.

use std::mem;

use profiling_policy_traits::{Declaration, Declared, Embedder, ProfilingMode};
use servo_url::ImmutableOrigin;

use crate::allowlist::matches;

/// What may or may not profile.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Environment {
    Document,
    /// A worker whose script came with a response of its own. Permissions Policy is for documents, so
    /// that only Document Policy can allow it.
    Worker,
}

/// The default allowlist of `js-profiling` is 'none', so without a declaration nobody profiles. Any
/// header of the environment's own may enable it; one that disables it overrules the others.
pub(crate) fn decide(
    headers: &[Declared],
    embedders: &[Embedder],
    origin: &ImmutableOrigin,
    environment: Environment,
) -> Option<ProfilingMode> {
    if denials(headers, embedders, origin).next().is_some() {
        return None;
    }
    let declared_mode = headers.iter().find_map(|header| match header.declaration {
        Declaration::Enabled(mode) => Some(mode),
        _ => None,
    });
    declared_mode.or_else(|| {
        let enabled =
            environment == Environment::Document && is_feature_enabled(headers, embedders, origin);
        // The two allowlist headers name no mode.
        enabled.then_some(ProfilingMode::Lazy)
    })
}

/// A declaration that forbids, and the document that embeds and made it; `None` for the
/// environment's own.
pub(crate) type Denial<'a> = (&'a Declared, Option<&'a Embedder>);

/// The declarations by which an environment of `origin` may not profile: an explicit denial, or an
/// allowlist that it is not on. Those of its embedders count too, but for an `allow` attribute that
/// does not match: that grants nothing, and is silent about other ways.
pub(crate) fn denials<'a>(
    headers: &'a [Declared],
    embedders: &'a [Embedder],
    origin: &ImmutableOrigin,
) -> impl Iterator<Item = Denial<'a>> {
    let forbids = move |header: &Declared| match &header.declaration {
        Declaration::Disabled => true,
        Declaration::For(allowlist) => !matches(allowlist, origin),
        Declaration::Absent | Declaration::Enabled(_) | Declaration::Malformed(_) => false,
    };
    let of_embedder = move |embedder: &'a Embedder| {
        let headers = embedder
            .headers
            .iter()
            .filter(move |header| forbids(header));
        let allow = embedder.allow.iter();
        headers
            .chain(allow.filter(|allow| allow.declaration == Declaration::Disabled))
            .map(move |declared| (declared, Some(embedder)))
    };
    let own = headers.iter().filter(move |header| forbids(header));
    own.map(|header| (header, None))
        .chain(embedders.iter().flat_map(of_embedder))
}

/// <https://w3c.github.io/webappsec-permissions-policy/#algo-is-feature-enabled>
///
/// Whether `js-profiling` is enabled in a document for its own origin.
fn is_feature_enabled(
    headers: &[Declared],
    embedders: &[Embedder],
    origin: &ImmutableOrigin,
) -> bool {
    // Step 2. If policy's inherited policy for feature is "Disabled", return "Disabled".
    inherited_policy(embedders, origin) && is_declared_for(headers, origin)
}

/// The steps of "Is feature enabled in document for origin?" that follow the inherited policy.
fn is_declared_for(headers: &[Declared], origin: &ImmutableOrigin) -> bool {
    // Step 3. If feature is present in policy's declared policy: if the allowlist for feature in
    // policy's declared policy matches origin, then return "Enabled". Otherwise return "Disabled".
    // Permissions-Policy and Feature-Policy must agree.
    let mut allowlists = headers
        .iter()
        .filter_map(|header| match &header.declaration {
            Declaration::For(allowlist) => Some(matches(allowlist, origin)),
            _ => None,
        });
    // Steps 4–6. The default allowlist matches no origin.
    allowlists
        .next()
        .is_some_and(|first| first && allowlists.all(|matches| matches))
}

/// <https://w3c.github.io/webappsec-permissions-policy/#algo-define-inherited-policy-in-container>
///
/// Steps 2 and 3 both ask for the inherited policy of the container's document, which runs these steps
/// again. Going outwards once asks all of it: twice per document would take 2ⁿ steps in n frames.
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

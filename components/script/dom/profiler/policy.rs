/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How a profiling policy gets from one environment to the next: with a navigation into a frame, with a
//! response into a document or a worker, and on from there in its policy container.

use content_security_policy::sandboxing_directive::SandboxingFlagSet;
use html5ever::{LocalName, local_name};
use net_traits::Metadata;
use net_traits::policy_container::PolicyContainer;
use profiling_policy_traits::ProfilingPolicy;
use servo_constellation_traits::LoadData;
use servo_url::ImmutableOrigin;

use super::{description, http_error};
use crate::dom::bindings::inheritance::Castable;
use crate::dom::document::Document;
use crate::dom::element::Element;
use crate::dom::globalscope::GlobalScope;
use crate::dom::html::htmliframeelement::HTMLIFrameElement;
use crate::dom::node::NodeTraits;

/// Called when the element's frame is navigated, no matter from where. Adds what the new document inherits
/// from the element and its document to the navigation.
pub(crate) fn embed(element: &HTMLIFrameElement, load_data: &mut LoadData) {
    let document = element.owner_document();
    let parent = element.owner_global().profiling().policy();
    let allow = attribute(element, &local_name!("allow"));
    let declared_origin = declared_origin(element, &document);
    let policy_container = load_data.policy_container.get_or_insert_default();
    policy_container.profiling_policy = profiling_policy::for_frame(
        &policy_container.profiling_policy,
        &parent,
        document.origin().immutable(),
        allow.as_deref().map(|allow| (allow, &declared_origin)),
    );
}

fn attribute(element: &HTMLIFrameElement, name: &LocalName) -> Option<String> {
    let element = element.upcast::<Element>();
    element
        .has_attribute(name)
        .then(|| String::from(element.get_string_attribute(name)))
}

/// <https://w3c.github.io/webappsec-permissions-policy/#declared-origin>
fn declared_origin(element: &HTMLIFrameElement, document: &Document) -> ImmutableOrigin {
    let sandboxes = |flags: SandboxingFlagSet| {
        flags.contains(SandboxingFlagSet::SANDBOXED_ORIGIN_BROWSING_CONTEXT_FLAG)
    };
    // Step 1. If node's node document's sandboxed origin browsing context flag is set, then return a
    // unique opaque origin.
    // Step 2. If node's sandbox attribute is set, and does not contain the allow-same-origin keyword,
    // then return a unique opaque origin.
    if sandboxes(document.active_sandboxing_flag_set()) || sandboxes(element.sandboxing_flag_set())
    {
        return ImmutableOrigin::new_opaque();
    }
    let own_origin = || document.origin().immutable().clone();
    // Step 3. If node's srcdoc attribute is set, then return node's node document's origin.
    if attribute(element, &local_name!("srcdoc")).is_some() {
        return own_origin();
    }
    // Step 4. If node's src attribute is set: let url be the result of parsing node's src attribute,
    // relative to node's node document. If url is not failure, return url's origin.
    attribute(element, &local_name!("src"))
        .and_then(|src| document.encoding_parse_a_url(&src).ok())
        .filter(|url| !url.matches_about_blank())
        // Step 5. Return node's node document's origin.
        .map_or_else(own_origin, |url| url.origin())
}

/// Called when a document has been made for a response.
pub(crate) fn enter_document(
    document: &Document,
    metadata: &Metadata,
    navigation: Option<&PolicyContainer>,
    is_top_level: bool,
) {
    // The document that a javascript: URL makes has the URL of the document before it, but no headers.
    let headers = metadata
        .headers
        .as_deref()
        .filter(|_| !metadata.final_url.is_local_scheme());
    let nothing = ProfilingPolicy::default();
    let policy = profiling_policy::for_document(
        headers,
        document.origin().immutable(),
        navigation.map_or(&nothing, |container| &container.profiling_policy),
        is_top_level,
    );
    document.owner_global().profiling().set_policy(policy);
    let realm = description::enter_document(document, is_top_level);
    document.owner_global().profiling().set_realm(realm);
    if is_top_level {
        http_error::tell(document, metadata);
    }
    let policy_container = document.policy_container().clone();
    document.set_policy_container(policy_container);
}

/// Called when the response with a worker's script has arrived. `creator` is the policy container of the
/// environment that made the worker. Returns the policy for the worker's own container.
pub(crate) fn enter_worker(
    global: &GlobalScope,
    metadata: &Metadata,
    creator: Option<&PolicyContainer>,
) -> ProfilingPolicy {
    let policy = match (&metadata.headers, creator) {
        (_, Some(creator)) if metadata.final_url.is_local_scheme() => {
            creator.profiling_policy.clone()
        },
        (Some(headers), _) => profiling_policy::for_worker(headers, global.origin().immutable()),
        (None, _) => ProfilingPolicy::default(),
    };
    global.profiling().set_policy(policy.clone());
    description::enter_worker(global, &metadata.final_url);
    policy
}

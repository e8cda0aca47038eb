/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Which requests get about:profiling, and which may ask its server.

use net_traits::request::{Destination, Origin, RequestMode};
use servo::protocol_handler::Request;
use servo_url::ImmutableOrigin;
use url::Url;

use super::address::{SCHEME, is_profiling_page};

/// Whether a page may navigate itself, a page that it opened or one of its frames from `current` to `target`.
///
/// Navigations that the person began, in the address bar or on the command line, do not come here. Only
/// about:profiling itself may navigate to about:profiling, for example to reload it.
pub fn may_navigate(current: Option<&Url>, target: &Url) -> bool {
    let is_ours = is_profiling_page(target) || target.scheme() == SCHEME;
    !is_ours || current.is_some_and(is_profiling_page)
}

/// Whether the page may be given in answer to this request.
///
/// [`may_navigate`] has already refused the navigations that pages begin. The person's own navigations remain:
/// Servo gives each of them a new opaque origin. A page's frames, requests and redirects are refused here.
pub fn may_have_page(request: &Request) -> Result<(), &'static str> {
    if request.mode != RequestMode::Navigate || request.destination != Destination::Document {
        return Err("about:profiling can only be opened as a page");
    }
    let is_framed = request
        .client
        .as_ref()
        .is_none_or(|client| client.is_nested_browsing_context);
    if is_framed {
        return Err("about:profiling cannot be in a frame");
    }
    if request.url_list.len() != 1 || request.redirect_count != 0 {
        return Err("a redirect cannot lead to about:profiling");
    }
    if !has_origin_of_its_own(request) {
        return Err("only a person can open about:profiling");
    }
    Ok(())
}

/// Whether a request to the server looks like one of about:profiling, which uses `fetch()`. The token says which
/// document sent it.
pub fn may_have_data(request: &Request) -> bool {
    matches!(
        request.mode,
        RequestMode::CorsMode | RequestMode::SameOrigin
    ) && request.destination == Destination::None
        && request.url_list.len() == 1
        && has_origin_of_its_own(request)
}

/// Whether the request does not come from a web site. Documents of about: pages have an opaque origin, and so
/// do navigations that no document began.
fn has_origin_of_its_own(request: &Request) -> bool {
    matches!(request.origin, Origin::Origin(ImmutableOrigin::Opaque(_)))
}

/// The origin of a request, which tells one document of about:profiling from another.
pub fn origin_of(request: &Request) -> Option<&ImmutableOrigin> {
    match &request.origin {
        Origin::Origin(origin) => Some(origin),
        Origin::Client => None,
    }
}

#[cfg(test)]
mod tests {
    use net_traits::blob_url_store::UrlWithBlobClaim;
    use net_traits::request::{Referrer, RequestBuilder, RequestClient};
    use servo::ServoUrl;

    use super::*;

    fn request(origin: Origin, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Request {
        let url = ServoUrl::parse("about:profiling").unwrap();
        let url = UrlWithBlobClaim::from_url_without_having_claimed_blob(url);
        let client = RequestClient {
            preloaded_resources: Default::default(),
            policy_container: Default::default(),
            origin,
            is_nested_browsing_context: false,
            insecure_requests_policy: net_traits::request::InsecureRequestsPolicy::DoNotUpgrade,
            has_trustworthy_ancestor_origin: false,
        };
        let builder = RequestBuilder::new(None, url, Referrer::NoReferrer)
            .mode(RequestMode::Navigate)
            .destination(Destination::Document)
            .client(client);
        let mut request = change(builder).build();
        request.populate_request_from_client();
        request
    }

    fn opaque() -> Origin {
        Origin::Origin(ImmutableOrigin::new_opaque())
    }

    fn site() -> Origin {
        let url = ServoUrl::parse("https://example.test/").unwrap();
        Origin::Origin(url.origin())
    }

    #[test]
    fn only_a_persons_navigation_gets_the_page() {
        assert_eq!(may_have_page(&request(opaque(), |builder| builder)), Ok(()));
        assert!(may_have_page(&request(site(), |builder| builder)).is_err());
        for destination in [
            Destination::None,
            Destination::IFrame,
            Destination::Frame,
            Destination::Embed,
            Destination::Object,
            Destination::Script,
            Destination::Worker,
        ] {
            let request = request(opaque(), |builder| builder.destination(destination));
            assert!(may_have_page(&request).is_err(), "{destination:?}");
        }
        for mode in [
            RequestMode::NoCors,
            RequestMode::CorsMode,
            RequestMode::SameOrigin,
        ] {
            let request = request(opaque(), |builder| builder.mode(mode.clone()));
            assert!(may_have_page(&request).is_err(), "{mode:?}");
        }
        let mut framed = request(opaque(), |builder| builder);
        framed.client.as_mut().unwrap().is_nested_browsing_context = true;
        assert!(may_have_page(&framed).is_err());
        let mut redirected = request(opaque(), |builder| builder);
        redirected.url_list.push(redirected.url_list[0].clone());
        assert!(may_have_page(&redirected).is_err());
    }

    #[test]
    fn only_a_fetch_that_is_not_of_a_site_gets_data() {
        let fetch = |origin, mode, destination| {
            let request = request(origin, |builder| {
                builder.mode(mode).destination(destination)
            });
            may_have_data(&request)
        };
        assert!(fetch(opaque(), RequestMode::CorsMode, Destination::None));
        assert!(!fetch(site(), RequestMode::CorsMode, Destination::None));
        assert!(!fetch(opaque(), RequestMode::NoCors, Destination::None));
        assert!(!fetch(
            opaque(),
            RequestMode::Navigate,
            Destination::Document
        ));
        assert!(!fetch(opaque(), RequestMode::CorsMode, Destination::Script));
    }

    #[test]
    fn only_the_page_itself_may_navigate_to_the_page() {
        let url = |text| Url::parse(text).unwrap();
        for target in [
            "about:profiling",
            "about:profiling#recorder",
            "about:profiling?x",
            "profiling:status",
        ] {
            let target = url(target);
            assert!(!may_navigate(None, &target), "{target}");
            for current in ["https://example.test/", "about:blank", "data:text/html,x"] {
                assert!(!may_navigate(Some(&url(current)), &target), "{target}");
            }
            assert!(may_navigate(Some(&url("about:profiling#a")), &target));
        }
        for target in ["https://profiling/", "about:memory", "about:profiling2"] {
            assert!(may_navigate(Some(&url("about:blank")), &url(target)));
        }
    }
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Fetches the source maps that scripts link to, for recordings. A map is fetched as the script's own document or worker
//! could fetch it. The answer goes only to the recording. No script can notice the fetch: it bypasses service workers,
//! the cache, preloads and the performance timeline, runs no task, and reports no violation.

use js::jsapi::{GetRealmGlobalOrNull, Realm};
use js_profiler::{CancelFetch, MapAnswer};
use js_profiler_traits::RealmId;
use net_traits::blob_url_store::UrlWithBlobClaim;
use net_traits::request::{
    CacheMode, CredentialsMode, Referrer, RequestBuilder, RequestClient, RequestId, RequestMode,
    ServiceWorkersMode,
};
use net_traits::{
    CoreResourceThread, FetchResponseMsg, NetworkError, ReferrerPolicy, cancel_async_fetch,
    fetch_async,
};
use servo_url::ServoUrl;

use crate::dom::bindings::root::DomRoot;
use crate::dom::globalscope::GlobalScope;

/// What a page can fetch from elsewhere, and what contains the map itself.
const SCHEMES: [&str; 3] = ["http", "https", "data"];

/// Begins to fetch a map: [`js_profiler::FetchMap`].
pub(super) fn fetch(
    realm: RealmId,
    script: &str,
    link: &str,
    answer: MapAnswer,
) -> Option<CancelFetch> {
    let base = ServoUrl::parse(script).ok();
    let url = match ServoUrl::parse_with_base(base.as_ref(), link) {
        Ok(url) => url,
        Err(error) => {
            answer.fail(format!("this link is not a valid URL: {error}"));
            return None;
        },
    };
    answer.set_url(url.as_str());
    if !SCHEMES.contains(&url.scheme()) {
        answer.fail(format!("maps are not fetched from {}: URLs", url.scheme()));
        return None;
    }
    let global = global_of(realm)?;
    let client = RequestClient {
        // What the page has preloaded is for the page's own request.
        preloaded_resources: Default::default(),
        ..global.request_client(None)
    };
    let url = UrlWithBlobClaim::from_url_without_having_claimed_blob(url);
    let request = RequestBuilder::new(None, url, Referrer::NoReferrer)
        .client(client)
        .mode(RequestMode::CorsMode)
        .credentials_mode(CredentialsMode::CredentialsSameOrigin)
        .referrer_policy(ReferrerPolicy::NoReferrer)
        .service_workers_mode(ServiceWorkersMode::None)
        .cache_mode(CacheMode::NoStore);
    let id = request.id;
    let core_resource_thread = global.core_resource_thread();
    let mut receiving = Receiving {
        answer: Some(answer),
        id,
        core_resource_thread: core_resource_thread.clone(),
    };
    // Not by a listener of the global, which would run tasks on its event loop.
    fetch_async(
        &core_resource_thread,
        request,
        None,
        Box::new(move |message| receiving.take(message)),
    );
    Some(Box::new(move || {
        cancel_async_fetch(vec![id], &core_resource_thread);
    }))
}

/// An answer as it comes, on the thread that serves all fetches of the process.
struct Receiving {
    /// `None` once nothing more is wanted.
    answer: Option<MapAnswer>,
    id: RequestId,
    core_resource_thread: CoreResourceThread,
}

impl Receiving {
    fn take(&mut self, message: FetchResponseMsg) {
        let Some(answer) = &mut self.answer else {
            return;
        };
        match message {
            FetchResponseMsg::ProcessResponse(_, Ok(metadata)) => {
                answer.set_url(metadata.metadata().final_url.as_str());
                let status = metadata.metadata().status.raw_code();
                if !(200..300).contains(&status) {
                    self.refuse(format!("the answer has the HTTP status {status}"));
                } else if metadata.is_cors_cross_origin() {
                    self.refuse(why_not(&NetworkError::CorsGeneral));
                }
            },
            FetchResponseMsg::ProcessResponseChunk(_, bytes) => {
                if !answer.add(&bytes) {
                    self.answer = None;
                    self.cancel();
                }
            },
            FetchResponseMsg::ProcessResponse(_, Err(error))
            | FetchResponseMsg::ProcessResponseEOF(_, Err(error), _) => self.fail(why_not(&error)),
            FetchResponseMsg::ProcessResponseEOF(_, Ok(()), _) => {
                if let Some(answer) = self.answer.take() {
                    answer.end();
                }
            },
            // The page does not make this request, so its policy reports no violation.
            FetchResponseMsg::ProcessCspViolations(..)
            | FetchResponseMsg::ProcessRequestBody(_)
            | FetchResponseMsg::ProcessContentLength(..) => {},
        }
    }

    fn refuse(&mut self, why: String) {
        self.fail(why);
        self.cancel();
    }

    fn fail(&mut self, why: String) {
        if let Some(answer) = self.answer.take() {
            answer.fail(why);
        }
    }

    fn cancel(&self) {
        cancel_async_fetch(vec![self.id], &self.core_resource_thread);
    }
}

/// A part of a sentence for people.
fn why_not(error: &NetworkError) -> String {
    match error {
        NetworkError::CorsGeneral
        | NetworkError::CrossOriginResponse
        | NetworkError::CorsCredentials
        | NetworkError::CorsAuthorization => {
            "its server does not let the script's page read it (CORS)".to_owned()
        },
        NetworkError::ContentSecurityPolicy => {
            "the Content-Security-Policy of the script's page does not allow it".to_owned()
        },
        NetworkError::MixedContent => "the script's page must not read it over http:".to_owned(),
        error => format!("it cannot be fetched: {error:?}"),
    }
}

/// The global of a realm of this thread.
#[expect(unsafe_code)]
fn global_of(realm: RealmId) -> Option<DomRoot<GlobalScope>> {
    // SAFETY: the realm is alive, as `FetchMap` says, and belongs to a document or worker of this thread.
    unsafe {
        let global = GetRealmGlobalOrNull(realm.0 as usize as *mut Realm);
        (!global.is_null()).then(|| GlobalScope::from_object(global))
    }
}

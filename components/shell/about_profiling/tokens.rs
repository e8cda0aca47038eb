/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The tokens that identify documents of about:profiling.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use servo::WebViewId;
use servo_base::id::PipelineId;
use servo_url::ImmutableOrigin;
use uuid::Uuid;

/// How many documents of about:profiling can be used at once. The history of a page keeps its documents, and
/// Servo does not say when it drops one. A document whose token was forgotten has to be reloaded.
const MAX_TOKENS: usize = 32;

/// Tokens of documents, the most recently used last.
#[derive(Default)]
pub struct Tokens(Mutex<VecDeque<Token>>);

struct Token {
    /// Contains 244 random bits.
    text: String,
    page: WebViewId,
    document: PipelineId,
    /// The document's origin. It is created with the document, so it is unknown until the first request.
    origin: Option<ImmutableOrigin>,
}

impl Tokens {
    /// A new token for a document.
    pub fn issue(&self, page: WebViewId, document: PipelineId) -> String {
        let text = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        let mut tokens = self.lock();
        // The document is being reloaded.
        tokens.retain(|token| token.document != document);
        if tokens.len() == MAX_TOKENS {
            tokens.pop_front();
        }
        tokens.push_back(Token {
            text: text.clone(),
            page,
            document,
            origin: None,
        });
        text
    }

    /// Whether this is the token of this document.
    pub fn is_of(&self, text: &str, document: PipelineId, origin: &ImmutableOrigin) -> bool {
        let mut tokens = self.lock();
        let found = tokens
            .iter()
            .position(|token| token.document == document && is_equal(&token.text, text));
        let Some(mut token) = found.and_then(|index| tokens.remove(index)) else {
            return false;
        };
        let is_its_origin = token.origin.get_or_insert_with(|| origin.clone()) == origin;
        tokens.push_back(token);
        is_its_origin
    }

    /// Forgets the tokens of a page's documents.
    pub fn forget_page(&self, page: WebViewId) {
        self.lock().retain(|token| token.page != page);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Token>> {
        // No update can be interrupted halfway by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time it takes does not depend on where the two differ.
fn is_equal(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .fold(0, |difference, (a, b)| difference | (a ^ b))
            == 0
}

#[cfg(test)]
mod tests {
    use servo_base::id::{BrowsingContextId, Index, PipelineNamespaceId};

    use super::*;

    fn document(number: u32) -> PipelineId {
        PipelineId {
            namespace_id: PipelineNamespaceId(7),
            index: Index::new(number).unwrap(),
        }
    }

    fn page(number: u32) -> WebViewId {
        WebViewId::mock_for_testing(BrowsingContextId {
            namespace_id: PipelineNamespaceId(7),
            index: Index::new(number).unwrap(),
        })
    }

    #[test]
    fn a_token_is_of_one_document() {
        let tokens = Tokens::default();
        let origins = [(); 2].map(|()| ImmutableOrigin::new_opaque());
        let token = tokens.issue(page(1), document(1));
        assert_eq!(token.len(), 64);
        assert!(!tokens.is_of(&token, document(2), &origins[0]));
        assert!(!tokens.is_of("", document(1), &origins[0]));
        assert!(!tokens.is_of(&token[1..], document(1), &origins[0]));
        assert!(tokens.is_of(&token, document(1), &origins[0]));
        assert!(tokens.is_of(&token, document(1), &origins[0]));
        assert!(!tokens.is_of(&token, document(1), &origins[1]));
        let other = tokens.issue(page(1), document(2));
        assert_ne!(token, other);
        assert!(!tokens.is_of(&other, document(1), &origins[0]));
    }

    #[test]
    fn a_token_ends_with_its_page() {
        let tokens = Tokens::default();
        let origin = ImmutableOrigin::new_opaque();
        let kept = tokens.issue(page(1), document(1));
        let ended = tokens.issue(page(2), document(2));
        tokens.forget_page(page(2));
        assert!(tokens.is_of(&kept, document(1), &origin));
        assert!(!tokens.is_of(&ended, document(2), &origin));
    }

    #[test]
    fn the_most_recently_used_tokens_are_kept() {
        let tokens = Tokens::default();
        let origin = ImmutableOrigin::new_opaque();
        let number = u32::try_from(MAX_TOKENS).unwrap();
        let issued: Vec<_> = (1..=number)
            .map(|index| tokens.issue(page(1), document(index)))
            .collect();
        assert!(tokens.is_of(&issued[0], document(1), &origin));
        tokens.issue(page(1), document(number + 1));
        assert!(tokens.is_of(&issued[0], document(1), &origin));
        assert!(!tokens.is_of(&issued[1], document(2), &origin));
    }
}

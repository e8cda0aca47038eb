/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Pages that could not be loaded.
//!
//! Servo 0.7.0 does not tell the embedder that a load failed. Instead it loads its own error page at
//! the page's URL. That page is recognised by its title and then by its content.

use std::cell::RefCell;
use std::rc::Rc;

use servo::{JSValue, WebView};

/// The answer to "what went wrong?". The outer option is `None` until the answer has come; the inner
/// one is `None` if nothing went wrong.
pub type Answer = Rc<RefCell<Option<Option<String>>>>;

/// The titles of Servo's `neterror.html` and `badcert.html`.
const ERROR_TITLE: &str = "Error loading page";
const CERTIFICATE_TITLE: &str = "Certificate error";

/// The text before the reason in `neterror.html`.
const ERROR_TEXT: &str = "Could not load the requested page: ";

/// Whether a page with this title may be one of Servo's error pages. No other page is asked.
pub fn is_possible(title: Option<&str>) -> bool {
    matches!(title, Some(ERROR_TITLE | CERTIFICATE_TITLE))
}

/// Asks the page in `webview` whether it is one of Servo's error pages, and for what reason.
pub fn ask(webview: &WebView) -> Answer {
    let answer = Answer::default();
    let reply = answer.clone();
    webview.evaluate_javascript(question(), move |result| {
        *reply.borrow_mut() = Some(match result {
            Ok(JSValue::String(reason)) => Some(reason),
            _ => None,
        });
    });
    answer
}

/// A script whose value is the reason, or null.
fn question() -> String {
    format!(
        "(() => {{
            const body = document.body;
            const text = body?.querySelector(':scope > p:first-child')?.textContent;
            if (typeof text !== 'string') {{
                return null;
            }}
            if (document.title === '{ERROR_TITLE}') {{
                return body.childElementCount === 1 && text.startsWith('{ERROR_TEXT}')
                    ? text.slice('{ERROR_TEXT}'.length)
                    : null;
            }}
            return body.querySelector(':scope > #allow') && body.querySelector(':scope > #bytes')
                ? text
                : null;
        }})()"
    )
}

#[cfg(test)]
mod tests {
    use servo::resources::{self, Resource};

    use super::*;

    #[test]
    fn servos_error_pages_still_look_like_this() {
        let page = resources::read_string(Resource::NetErrorHTML);
        assert!(
            page.contains(&format!("<title>{ERROR_TITLE}</title>")),
            "{page}"
        );
        assert!(
            page.contains(&format!("<p>{ERROR_TEXT}${{reason}}</p>")),
            "{page}"
        );

        let page = resources::read_string(Resource::BadCertHTML);
        assert!(
            page.contains(&format!("<title>{CERTIFICATE_TITLE}</title>")),
            "{page}"
        );
        for part in ["<p>${reason}</p>", "id=\"allow\"", "id=\"bytes\""] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }

    #[test]
    fn other_titles_are_not_of_error_pages() {
        assert!(is_possible(Some("Error loading page")));
        assert!(is_possible(Some("Certificate error")));
        assert!(!is_possible(Some("Error loading page 2")));
        assert!(!is_possible(None));
    }
}

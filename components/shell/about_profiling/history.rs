/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Only the person can go back to about:profiling.
//!
//! Script can traverse the session history of its page without asking the browser (`history.back()`). The browser
//! learns of it afterwards. So it remembers what the person asked for. When about:profiling is shown but the
//! person asked for something else, the page returns to where it was.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

use url::Url;

use super::address::is_profiling_page;

/// The session history of a page, as Servo reported it last.
#[derive(Default)]
pub struct SessionHistory {
    entries: RefCell<Vec<Url>>,
    /// The entry that is shown.
    current: Cell<usize>,
    /// Whether the person has asked for about:profiling and it has not been shown since.
    is_wanted: Cell<bool>,
}

/// Where to send a page that must not show about:profiling.
#[derive(Debug, PartialEq)]
pub enum Return {
    Back(usize),
    Forward(usize),
    /// The entry no longer exists, so its URL is loaded.
    Load(Url),
}

impl SessionHistory {
    /// The person asks for a page.
    pub fn load(&self, url: &Url) {
        self.is_wanted.set(is_profiling_page(url));
    }

    /// The person goes back by one entry.
    pub fn go_back(&self) {
        self.go_to(self.current.get().checked_sub(1));
    }

    /// The person goes forward by one entry.
    pub fn go_forward(&self) {
        self.go_to(self.current.get().checked_add(1));
    }

    fn go_to(&self, entry: Option<usize>) {
        let entries = self.entries.borrow();
        let url = entry.and_then(|entry| entries.get(entry));
        self.is_wanted.set(url.is_some_and(is_profiling_page));
    }

    /// Records the new history. If a page's script led to about:profiling, returns where to go instead.
    pub fn changed(&self, entries: Vec<Url>, current: usize) -> Option<Return> {
        let is_shown = entries.get(current).is_some_and(is_profiling_page);
        let entries_before = self.entries.replace(entries);
        let before = self.current.replace(current);
        if !is_shown || self.is_wanted.take() {
            return None;
        }
        // A page without an entry was just opened by the person. about:profiling may navigate to itself.
        let left = entries_before.get(before)?;
        if is_profiling_page(left) {
            return None;
        }
        let entries = self.entries.borrow();
        Some(match before.cmp(&current) {
            Ordering::Less if entries.get(before) == Some(left) => Return::Back(current - before),
            Ordering::Greater if entries.get(before) == Some(left) => {
                Return::Forward(before - current)
            },
            _ => Return::Load(left.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "https://example.test/";
    const PROFILING: &str = "about:profiling#recorder";

    fn urls(urls: &[&str]) -> Vec<Url> {
        urls.iter().map(|url| Url::parse(url).unwrap()).collect()
    }

    /// A history in which about:profiling was shown, and then `PAGE`.
    fn visited() -> SessionHistory {
        let history = SessionHistory::default();
        assert_eq!(history.changed(urls(&[PROFILING]), 0), None);
        history.load(&Url::parse(PAGE).unwrap());
        assert_eq!(history.changed(urls(&[PROFILING, PAGE]), 1), None);
        history
    }

    #[test]
    fn script_does_not_go_back_to_it() {
        let history = visited();
        let entries = urls(&[PROFILING, PAGE]);
        assert_eq!(
            history.changed(entries.clone(), 0),
            Some(Return::Forward(1))
        );
        assert_eq!(history.changed(entries, 1), None);
        let entries = urls(&[PROFILING, PAGE, PAGE, PAGE]);
        assert_eq!(history.changed(entries.clone(), 3), None);
        assert_eq!(history.changed(entries, 0), Some(Return::Forward(3)));
    }

    #[test]
    fn script_does_not_go_forward_to_it() {
        let history = SessionHistory::default();
        assert_eq!(history.changed(urls(&[PAGE]), 0), None);
        history.load(&Url::parse(PROFILING).unwrap());
        assert_eq!(history.changed(urls(&[PAGE, PROFILING]), 1), None);
        history.go_back();
        assert_eq!(history.changed(urls(&[PAGE, PROFILING]), 0), None);
        assert_eq!(
            history.changed(urls(&[PAGE, PROFILING]), 1),
            Some(Return::Back(1))
        );
    }

    #[test]
    fn an_entry_that_has_gone_is_loaded_again() {
        let history = visited();
        let before = Url::parse(PAGE).unwrap();
        assert_eq!(
            history.changed(urls(&[PROFILING]), 0),
            Some(Return::Load(before))
        );
    }

    #[test]
    fn the_person_goes_back_and_forward_to_it() {
        let history = visited();
        history.go_back();
        let entries = urls(&[PROFILING, PAGE]);
        assert_eq!(history.changed(entries.clone(), 0), None);
        history.go_forward();
        assert_eq!(history.changed(entries.clone(), 1), None);
        // One request of the person permits one visit.
        assert_eq!(history.changed(entries, 0), Some(Return::Forward(1)));
    }

    #[test]
    fn asking_for_another_page_is_not_asking_for_it() {
        let history = visited();
        history.go_back();
        history.load(&Url::parse(PAGE).unwrap());
        let entries = urls(&[PROFILING, PAGE]);
        assert_eq!(history.changed(entries, 0), Some(Return::Forward(1)));
    }

    #[test]
    fn it_may_navigate_to_itself() {
        let history = SessionHistory::default();
        assert_eq!(history.changed(urls(&[PROFILING]), 0), None);
        assert_eq!(
            history.changed(urls(&[PROFILING, "about:profiling#flame"]), 1),
            None
        );
    }
}

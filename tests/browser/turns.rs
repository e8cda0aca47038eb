/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How many browsers run at once. The test runner runs tests on several threads.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The browsers of all tests.
struct Running {
    browsers: usize,
    /// A test is alone, with any number of browsers.
    is_alone: bool,
    /// How many tests wait to be alone. No other browser starts meanwhile.
    waiting: usize,
}

static RUNNING: Mutex<Running> = Mutex::new(Running {
    browsers: 0,
    is_alone: false,
    waiting: 0,
});

/// Notified when one of them ends.
static ENDED: Condvar = Condvar::new();

/// What the test on this thread has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Has {
    Nothing,
    ABrowser,
    All,
}

thread_local! {
    static HAS: Cell<Has> = const { Cell::new(Has::Nothing) };
}

/// Two processors for each browser, but two browsers everywhere.
fn most_browsers() -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).max(2)
}

fn wait_while(mut must_wait: impl FnMut(&Running) -> bool) -> MutexGuard<'static, Running> {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let running = ENDED.wait_while(running, |running| must_wait(running));
    running.unwrap_or_else(PoisonError::into_inner)
}

fn change(change: impl FnOnce(&mut Running)) {
    change(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner));
    ENDED.notify_all();
}

/// Held while a browser runs.
pub(crate) struct Turn {
    /// False in a test that is alone.
    is_counted: bool,
    /// It stays on the thread of its test.
    _of_thread: PhantomData<*const ()>,
}

impl Turn {
    /// Waits until one more browser may run.
    ///
    /// Panics if the test has a browser already, and is not alone. It could wait forever: a test that waits to be alone
    /// waits for the first browser.
    pub(crate) fn wait() -> Self {
        let has = HAS.get();
        assert_ne!(has, Has::ABrowser, "a test with two browsers must be alone");
        let is_counted = has == Has::Nothing;
        if is_counted {
            let most = most_browsers();
            wait_while(|running| {
                running.is_alone || running.waiting > 0 || running.browsers >= most
            })
            .browsers += 1;
            HAS.set(Has::ABrowser);
        }
        Self {
            is_counted,
            _of_thread: PhantomData,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_counted {
            HAS.set(Has::Nothing);
            change(|running| running.browsers -= 1);
        }
    }
}

/// While a test holds this, only its own browsers run.
#[must_use]
pub struct Alone {
    /// It stays on the thread of its test.
    _of_thread: PhantomData<*const ()>,
}

/// Waits until no browser runs. A test calls this first if it measures something: shares or numbers of samples, times,
/// memory. Another browser would compete with its browser for the processors.
pub fn alone() -> Alone {
    assert_eq!(HAS.get(), Has::Nothing, "the test has begun");
    change(|running| running.waiting += 1);
    let mut running = wait_while(|running| running.is_alone || running.browsers > 0);
    running.waiting -= 1;
    running.is_alone = true;
    HAS.set(Has::All);
    Alone {
        _of_thread: PhantomData,
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        HAS.set(Has::Nothing);
        change(|running| running.is_alone = false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_test_that_is_alone_has_the_only_browsers() {
        let browsers = AtomicUsize::new(0);
        let most_seen = AtomicUsize::new(0);
        let run_browser = |most: usize| {
            let _turn = Turn::wait();
            let running = browsers.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(running <= most, "{running} browsers, not {most}");
            most_seen.fetch_max(running, Ordering::SeqCst);
            thread::sleep(Duration::from_micros(100));
            browsers.fetch_sub(1, Ordering::SeqCst);
        };
        thread::scope(|scope| {
            for test in 0..2 * most_browsers() {
                let run_browser = &run_browser;
                scope.spawn(move || {
                    for browser in 0..100 {
                        if (test + browser) % 3 == 0 {
                            let _alone = alone();
                            let _another = Turn::wait();
                            run_browser(1);
                        } else {
                            run_browser(most_browsers());
                        }
                    }
                });
            }
        });
        assert!(most_seen.into_inner() > 1);
    }

    #[test]
    #[should_panic(expected = "a test with two browsers must be alone")]
    fn a_second_browser_does_not_wait_for_the_first() {
        let _first = Turn::wait();
        let _second = Turn::wait();
    }
}

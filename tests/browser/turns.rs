/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How many browsers run at once. The test runner runs tests on more threads than that, so that there is a choice of tests
//! that may run next.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The browsers of all tests, and the tests that wait.
#[derive(Default)]
struct Running {
    browsers: usize,
    /// A test is alone, with any number of browsers.
    is_alone: bool,
    /// The test that began last is or was alone.
    last_was_alone: bool,
    /// How many tests wait for one browser.
    waiting_for_one: usize,
    /// How many tests wait to be alone.
    waiting_to_be_alone: usize,
}

/// While a test waits to be alone until the last browser of another test ends, processors have nothing to do. So tests of
/// the same kind as the last one go first.
impl Running {
    fn may_have_one(&self) -> bool {
        !self.is_alone
            && self.browsers < most_browsers()
            && (!self.last_was_alone || self.waiting_to_be_alone == 0)
    }

    fn may_be_alone(&self) -> bool {
        !self.is_alone && self.browsers == 0 && (self.last_was_alone || self.waiting_for_one == 0)
    }
}

static RUNNING: LazyLock<Mutex<Running>> = LazyLock::new(Mutex::default);

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

/// Waits until a test may run. `waiting` is where it is counted until then.
fn wait_until(
    may_run: impl Fn(&Running) -> bool,
    waiting: impl Fn(&mut Running) -> &mut usize,
) -> MutexGuard<'static, Running> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    *waiting(&mut running) += 1;
    let running = ENDED.wait_while(running, |running| !may_run(running));
    let mut running = running.unwrap_or_else(PoisonError::into_inner);
    *waiting(&mut running) -= 1;
    running
}

fn end(change: impl FnOnce(&mut Running)) {
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
            let mut running = wait_until(Running::may_have_one, |running| {
                &mut running.waiting_for_one
            });
            running.browsers += 1;
            running.last_was_alone = false;
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
            end(|running| running.browsers -= 1);
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
    let mut running = wait_until(Running::may_be_alone, |running| {
        &mut running.waiting_to_be_alone
    });
    running.is_alone = true;
    running.last_was_alone = true;
    HAS.set(Has::All);
    Alone {
        _of_thread: PhantomData,
    }
}

/// Whether the test on this thread measures something.
pub(crate) fn is_alone() -> bool {
    HAS.get() == Has::All
}

impl Drop for Alone {
    fn drop(&mut self) {
        HAS.set(Has::Nothing);
        end(|running| running.is_alone = false);
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
    fn tests_of_the_same_kind_as_the_last_one_go_first() {
        let mut running = Running {
            browsers: 1,
            waiting_for_one: 1,
            waiting_to_be_alone: 1,
            ..Running::default()
        };
        assert!(running.may_have_one());
        running.browsers = 0;
        assert!(!running.may_be_alone());
        running.waiting_for_one = 0;
        assert!(running.may_be_alone());

        running.last_was_alone = true;
        running.waiting_for_one = 1;
        assert!(running.may_be_alone() && !running.may_have_one());
        running.waiting_to_be_alone = 0;
        assert!(running.may_have_one());
        running.is_alone = true;
        assert!(!running.may_have_one() && !running.may_be_alone());
    }

    #[test]
    #[should_panic(expected = "a test with two browsers must be alone")]
    fn a_second_browser_does_not_wait_for_the_first() {
        let _first = Turn::wait();
        let _second = Turn::wait();
    }
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The handshake between ordinary threads, many times.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::handshake::{Handshake, NotDone, Waiting};

const ROUNDS: usize = if cfg!(miri) { 60 } else { 20_000 };
const TIMEOUT: Duration = Duration::from_millis(50);

/// Waits by looking again.
struct Spinning;

impl Waiting for Spinning {
    fn wait(&self, word: &AtomicU32, value: u32, _: Duration) {
        if word.load(Ordering::Relaxed) == value {
            thread::yield_now();
        }
    }

    fn wake(&self, _: &AtomicU32) {}
}

/// Two threads are asked in turn, and every third request is given up after a while. Each request is answered
/// once or not at all, by the thread that it is for, and not after it was given up.
#[test]
fn each_request_is_answered_once_by_the_thread_it_is_for() {
    let handshake = Arc::new(Handshake::new());
    let pending: Arc<[AtomicBool; 2]> = Arc::default();
    let end = Arc::new(AtomicBool::new(false));
    // Which target answered each request, plus one; 0 for none.
    let answers: Arc<Vec<AtomicUsize>> =
        Arc::new((0..ROUNDS).map(|_| AtomicUsize::new(0)).collect());
    let targets: Vec<_> = (0..2)
        .map(|target| {
            let (handshake, pending) = (handshake.clone(), pending.clone());
            let (end, answers) = (end.clone(), answers.clone());
            thread::spawn(move || {
                while !end.load(Ordering::Relaxed) {
                    if pending[target].swap(false, Ordering::Acquire) {
                        handshake.answer(target as i32 + 1, &Spinning, |task| {
                            answers[task.addr()].fetch_add(target + 1, Ordering::Relaxed);
                        });
                    }
                    thread::yield_now();
                }
            })
        })
        .collect();
    let mut given_up = 0;
    for round in 0..ROUNDS {
        let target = round % 2;
        let looks = AtomicUsize::new(0);
        let result = handshake.request(
            target as i32 + 1,
            ptr::without_provenance_mut(round),
            &Spinning,
            || {
                // This orders memory as a signal does: see orders.rs.
                pending[target].store(true, Ordering::Release);
                Ok::<_, ()>(())
            },
            TIMEOUT,
            || match round % 3 == 0 && looks.fetch_add(1, Ordering::Relaxed) > round % 7 {
                true => Duration::ZERO,
                false => TIMEOUT,
            },
        );
        let expected = match result {
            Ok(()) => target + 1,
            Err(NotDone::TimedOut) => {
                given_up += 1;
                0
            },
            Err(NotDone::NotSent(())) => unreachable!("it is always sent"),
        };
        assert_eq!(answers[round].load(Ordering::Relaxed), expected);
    }
    end.store(true, Ordering::Relaxed);
    for target in targets {
        target.join().unwrap();
    }
    assert!(given_up < ROUNDS, "no thread ever answered");
}

#[test]
fn a_request_that_cannot_be_sent_is_withdrawn() {
    let handshake = Handshake::new();
    let task = ptr::null_mut();
    let result = handshake.request(1, task, &Spinning, || Err("gone"), TIMEOUT, || TIMEOUT);
    assert!(matches!(result, Err(NotDone::NotSent("gone"))));
    handshake.answer(1, &Spinning, |_| panic!("the request was withdrawn"));
}

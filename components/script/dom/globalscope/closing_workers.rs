/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Ending a global that has many workers.

use std::sync::atomic::Ordering;

use crate::dom::globalscope::auto_close_worker::AutoCloseWorker;

/// Tells every worker to end before the first one is waited for.
///
/// Servo tells a worker to end only when it waits for that worker. The workers that are still busy then
/// compete with it for the processor, so the time until all have ended grows with the square of their number.
pub(super) fn close_all(workers: &[AutoCloseWorker]) {
    // "terminate a worker": <https://html.spec.whatwg.org/multipage/#terminate-a-worker>
    for worker in workers {
        // Step 1. Set the worker's `WorkerGlobalScope` object's closing flag to true.
        worker.closing.store(true, Ordering::SeqCst);
        // Step 3. Abort the script currently running in the worker.
        worker.context.request_interrupt_callback();
    }
}

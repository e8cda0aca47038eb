/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A content process' side: one thread does what the browser asks, another one sends the reports. So neither
//! event loops nor the sampling thread ever wait for the browser.

use std::{io, thread};

use log::debug;

use crate::connection;

/// Connects to the browser, which can record this content process from then on, and applies the browser's
/// preferences for the profiler. Must be called before the first event loop begins, and before the process
/// enters a sandbox.
///
/// # Errors
///
/// If the browser cannot be reached or does not send its preferences, or if a thread cannot be started.
pub fn report_to_browser() -> io::Result<()> {
    let connected = connection::connect()?;
    let (reports, to_send) = crossbeam_channel::unbounded();
    let first = connected.first_request()?;
    js_profiler::serve(first, &reports);
    let sender = connected.reports;
    thread::Builder::new()
        .name("ProfileReports".to_owned())
        .spawn(move || {
            while let Ok(report) = to_send.recv() {
                if let Err(error) = sender.send(&report) {
                    // Usually the browser has ended.
                    debug!("The browser accepts no more reports: {error}");
                    return;
                }
            }
        })?;
    let requests = connected.requests;
    thread::Builder::new()
        .name("ProfileRequests".to_owned())
        .spawn(move || {
            while let Ok(request) = requests.receive() {
                js_profiler::serve(request, &reports);
            }
            js_profiler::end_recording();
        })?;
    Ok(())
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The Force Sample command: <https://wicg.github.io/js-self-profiling/#force-sample>.

// The crate allows upstream's warnings. This file is ours.
#![warn(warnings)]

use webdriver::error::{ErrorStatus, WebDriverError, WebDriverResult};
use webdriver::response::WebDriverResponse;

use crate::Handler;

/// Clients send a POST request with an empty object.
pub(crate) const ROUTE: &str = "/session/{sessionId}/forcesample";

impl Handler {
    /// Takes a sample for every running profiling session of the current browsing context.
    ///
    /// The command goes to the sampling thread. Other commands go to the script thread, but by the time
    /// that thread answered, the page's script would no longer be doing what it does now. So user prompts
    /// are not handled either: the sample shows the script that waits for one.
    pub(crate) fn handle_force_sample(&self) -> WebDriverResult<WebDriverResponse> {
        // If the current browsing context is no longer open, return error with error code no such window.
        let browsing_context = self.browsing_context_id()?;
        self.verify_browsing_context_is_open(browsing_context)?;
        // For each profiling session of it that is started, take a sample.
        js_profiler::force_sample(browsing_context).map_err(|failed| {
            WebDriverError::new(
                ErrorStatus::UnknownError,
                format!(
                    "{failed} profiling sessions have no sample: their thread could not be sampled"
                ),
            )
        })?;
        // Return success with data null.
        Ok(WebDriverResponse::Void)
    }
}

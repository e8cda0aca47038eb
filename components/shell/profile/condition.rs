/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An expression that a page evaluates again and again until it is true.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use servo::{JSValue, JavaScriptEvaluationError, WebView};

/// The time from an answer to the next evaluation.
const INTERVAL: Duration = Duration::from_millis(100);

/// A question that has no answer after so long is asked again. A page that is busy answers it later. Of a page that has lost its
/// process meanwhile, no answer ever comes.
const AGAIN_AFTER: Duration = Duration::from_secs(3);

/// A page that could not be asked for so long has lost its process: Servo reports that of no process that the system has ended.
/// While a page is replaced by another, it may be so for a moment.
const GONE_AFTER: Duration = Duration::from_secs(3);

type Answer = Rc<RefCell<Option<Result<JSValue, JavaScriptEvaluationError>>>>;

pub struct Condition {
    expression: String,
    state: State,
    /// The last exception that was reported.
    told: Option<String>,
    /// Since when the page could not be asked.
    unreachable_since: Option<Instant>,
}

enum State {
    Waiting(Instant),
    Asked {
        answer: Answer,
        /// When the page is asked again.
        again: Instant,
    },
}

/// What is known of a condition.
#[derive(Debug, PartialEq)]
pub enum Finding {
    No,
    Yes,
    /// It threw this message, and may be true later. The same message is not reported twice in a row.
    Thrown(String),
    /// It cannot be compiled.
    Invalid,
    /// There is no page any more that could be asked.
    Gone,
}

impl Condition {
    pub fn new(expression: String, now: Instant) -> Self {
        Self {
            expression,
            state: State::Waiting(now),
            told: None,
            unreachable_since: None,
        }
    }

    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Asks the page when it is time to, and handles its answer. While the page loads, things that the expression
    /// uses may not exist yet. So exceptions are reported only after the load.
    pub fn check(&mut self, page: &WebView, is_loaded: bool, now: Instant) -> Finding {
        let ask = |answer: &Answer| {
            let reply = answer.clone();
            page.evaluate_javascript(question(&self.expression), move |result| {
                *reply.borrow_mut() = Some(result);
            });
        };
        let answer = match &mut self.state {
            State::Waiting(time) if *time <= now => {
                let answer = Answer::default();
                ask(&answer);
                self.state = State::Asked {
                    answer,
                    again: now + AGAIN_AFTER,
                };
                return Finding::No;
            },
            State::Waiting(_) => return Finding::No,
            State::Asked { answer, again } => match answer.take() {
                Some(answer) => answer,
                // Servo wakes the browser when the answer comes.
                None => {
                    if *again <= now {
                        ask(answer);
                        *again = now + AGAIN_AFTER;
                    }
                    return Finding::No;
                },
            },
        };
        self.state = State::Waiting(now + INTERVAL);
        if answer == Err(JavaScriptEvaluationError::InternalError) {
            let since = *self.unreachable_since.get_or_insert(now);
            return match now.duration_since(since) < GONE_AFTER {
                true => Finding::No,
                false => Finding::Gone,
            };
        }
        self.unreachable_since = None;
        match answer {
            Ok(JSValue::Boolean(true)) => Finding::Yes,
            Err(JavaScriptEvaluationError::CompilationFailure) => Finding::Invalid,
            Ok(JSValue::String(message)) => {
                if !is_loaded || self.told.as_ref() == Some(&message) {
                    return Finding::No;
                }
                self.told = Some(message.clone());
                Finding::Thrown(message)
            },
            // It is false, or the page is being loaded or left.
            _ => Finding::No,
        }
    }

    /// When to check again even if nothing wakes the browser.
    pub fn next_time(&self) -> Option<Instant> {
        match self.state {
            State::Waiting(time) => Some(time),
            State::Asked { again, .. } => Some(again),
        }
    }
}

/// A script whose value is true or false, or the text of what the expression has thrown. Otherwise the page's `error`
/// listeners would get that. The expression may end in a comment.
fn question(expression: &str) -> String {
    format!(
        "(() => {{ try {{ return !!(\n{expression}\n); }} catch (thrown) {{ \
         try {{ return `${{thrown}}`; }} catch {{ return 'something'; }} }} }})()"
    )
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! pprof's profiles, of Go and others: <https://github.com/google/pprof/blob/main/doc/README.md>.
//! `profile.proto` has the messages in our words.
//!
//! A sample of a file is the number of all samples with one stack and the same labels, and the time that they are worth. So
//! it has no times at which samples were taken, and none that were missed. When a file is read, its stacks follow each other
//! on a clock. A sample without a stack is a function at the root, or has no function if its activity is not known.
//!
//! What an event loop was doing is the label `marker`, and its name is `event_loop`. `page` is the URL of its document, and
//! `origin` that of the realm of the function that was executing. The last two and all other labels stay labels.
//!
//! What Go's pprof does with a file decides how it is written: the name by which a function ran is there only if it is
//! another one, because names that are equal are taken for mangled ones of C++ and lose what is in angle brackets; no id is
//! 0; times are in nanoseconds, which it scales; and `default_sample_type` says that they are shown.

mod fields;
mod names;
mod reader;
mod wire;
mod writer;

pub use self::reader::{is_pprof, read};
pub use self::writer::prepare;

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How much of what strangers send is kept.

/// Different values of a label. Those that come later are [`OTHER`].
pub const MAX_VALUES: usize = 1_000;

/// Values of a label that become processes of one recording. Those that come later are left out.
pub const MAX_MERGED_VALUES: usize = 20;

/// What stands for the value of a label that has too many.
pub const OTHER: &str = "other";

/// Different labels. Those that come later are left out.
pub const MAX_LABELS: usize = 32;

/// Bytes of a label's name, and of its value. The rest is cut off.
pub const MAX_LABEL_BYTES: usize = 1_024;

/// Sets of labels that samples of a merged profile have. In those that come later, every value is [`OTHER`].
pub const MAX_LABEL_SETS: usize = 100_000;

/// Bytes of the tables of a merged profile, as `profile_formats` counts them.
pub const MAX_MERGED_BYTES: u64 = 450_000_000;

/// Bytes of content that are read before profiles are made of it, unless one input has more.
pub const BATCH_BYTES: usize = 8_000_000;

/// Profiles that are made at a time.
pub const BATCH_PROFILES: usize = 64;

/// Different notices about inputs that are told. Those that come later are counted.
pub const MAX_NOTICES: usize = 100;

/// Folders in folders.
pub const MAX_FOLDER_DEPTH: usize = 64;

/// Times of functions in sessions that are kept to be compared: 24 bytes each.
pub const MAX_TIMES: usize = 20_000_000;

/// Functions that are compared: those with the most time.
pub const MAX_COMPARED: usize = 1_000;

/// Sessions that are kept to be compared.
pub const MAX_SESSIONS: usize = 1_000_000;

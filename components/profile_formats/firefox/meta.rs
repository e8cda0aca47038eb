/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a file says about itself. Processed and raw profiles have most of it in common.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// Absent in what Firefox itself writes.
    pub preprocessed_profile_version: Option<u32>,
    /// That of what Firefox itself writes.
    #[serde(default)]
    pub version: Value,
    #[serde(default)]
    pub interval: f64,
    #[serde(default)]
    pub start_time: f64,
    /// Whether Firefox walked stacks of machine code: 1, or 0.
    #[serde(default)]
    pub stackwalk: Value,
    #[serde(default)]
    pub categories: Vec<Category>,
    pub product: Option<String>,
    pub misc: Option<String>,
    pub imported_from: Option<String>,
    /// Sections of other programs may have values of any type.
    #[serde(default)]
    pub extra: Value,
}

#[derive(Deserialize)]
pub struct Category {
    pub name: String,
    #[serde(default)]
    pub subcategories: Vec<String>,
}

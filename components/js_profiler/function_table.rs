/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions that were seen on the stacks of a group, each once.

use js_profiler_traits::RealmId;
use rustc_hash::FxHashMap;

use crate::spidermonkey::{FunctionKey, WalkedFrame};

/// Index of a function in its group's table.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FunctionId(pub u32);

impl FunctionId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function or top-level script that was on a stack, and what may be told of it.
pub struct Function {
    pub realm: RealmId,
    pub muted: bool,
    pub self_hosted: bool,
    /// Empty if it has none.
    pub name: String,
    /// URL of the script; empty if it came from none.
    pub resource: String,
    /// 1-based.
    pub line: u32,
    /// 1-based.
    pub column: u32,
}

impl From<WalkedFrame<'_>> for Function {
    fn from(frame: WalkedFrame<'_>) -> Self {
        Self {
            realm: frame.key().realm,
            muted: frame.muted(),
            self_hosted: frame.self_hosted(),
            name: frame.name(),
            resource: frame.resource(),
            line: frame.line(),
            column: frame.column(),
        }
    }
}

/// Get-or-insert of functions: their text is copied out of the engine's memory once.
#[derive(Default)]
pub struct FunctionTable {
    ids: FxHashMap<FunctionKey, FunctionId>,
    functions: Vec<Function>,
}

impl FunctionTable {
    /// None if the function is new and its text did not fit into the buffer.
    pub fn get_or_insert(&mut self, frame: WalkedFrame<'_>) -> Option<FunctionId> {
        let key = frame.key();
        if let Some(&id) = self.ids.get(&key) {
            return Some(id);
        }
        if !frame.has_text() {
            return None;
        }
        let id = FunctionId(self.functions.len() as u32);
        self.functions.push(frame.into());
        self.ids.insert(key, id);
        Some(id)
    }

    /// All functions, to be indexed by [`FunctionId::index`].
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}

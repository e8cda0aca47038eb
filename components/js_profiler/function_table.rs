/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions that were seen on the stacks of a group, each once.

use std::sync::Arc;

use js_profiler_traits::RealmId;
use malloc_size_of_derive::MallocSizeOf;

use crate::spidermonkey::{FrameKind, KnownFunctions, WalkedFrame};

/// Index of a function in its group's table.
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct FunctionId(pub u32);

impl FunctionId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function or top-level script that was on a stack, and what may be told of it.
#[derive(MallocSizeOf)]
pub struct Function {
    pub realm: RealmId,
    pub kind: FrameKind,
    pub muted: bool,
    /// Empty if it has none.
    pub name: String,
    /// URL of the script; empty if it came from none.
    pub resource: String,
    /// 1-based line and column of the definition; none for what is in no script.
    pub position: Option<(u32, u32)>,
}

impl From<&WalkedFrame<'_>> for Function {
    fn from(frame: &WalkedFrame<'_>) -> Self {
        Self {
            realm: frame.realm(),
            kind: frame.kind(),
            muted: frame.muted(),
            name: frame.name(),
            resource: frame.resource(),
            position: frame.position(),
        }
    }
}

impl Function {
    /// Whether this is a function of the engine or the browser that scripts can call.
    ///
    /// The engine's own functions that are written in JavaScript have helpers among them, by its
    /// custom with names that begin with an upper-case letter or `$`; no function that scripts can
    /// call is named so, since constructors are not written in JavaScript.
    pub fn is_built_in(&self) -> bool {
        match self.kind {
            FrameKind::Native => true,
            FrameKind::SelfHosted => self
                .name
                .starts_with(|first: char| first == '[' || first.is_ascii_lowercase()),
            FrameKind::Script | FrameKind::Wasm => false,
        }
    }
}

/// Get-or-insert of functions: their text is copied out of the engine's memory once.
#[derive(Default, MallocSizeOf)]
pub struct FunctionTable {
    /// In the order of `functions`. Others have it only while nothing is inserted.
    #[conditional_malloc_size_of]
    known: Arc<KnownFunctions>,
    functions: Vec<Function>,
}

impl FunctionTable {
    /// None if the function is new and its text did not fit into the buffer.
    ///
    /// `made_by_muted` says of a function of WebAssembly whether a script whose errors are muted has made it.
    pub fn get_or_insert(
        &mut self,
        frame: &WalkedFrame<'_>,
        made_by_muted: impl FnOnce(&Function) -> bool,
    ) -> Option<FunctionId> {
        let key = frame.key();
        if let Some(place) = frame.known().or_else(|| self.known.find(&key)) {
            return Some(FunctionId(place as u32));
        }
        if !frame.has_text() {
            return None;
        }
        let mut function = Function::from(frame);
        if function.kind == FrameKind::Wasm {
            function.muted = made_by_muted(&function);
        }
        self.functions.push(function);
        Some(FunctionId(Arc::make_mut(&mut self.known).insert(key) as u32))
    }

    /// For a walk whose frames are for [`get_or_insert`](Self::get_or_insert) alone.
    pub fn known(&self) -> &Arc<KnownFunctions> {
        &self.known
    }

    /// All functions, to be indexed by [`FunctionId::index`].
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}

/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions that have been seen on the stacks of an event loop, each of them once.

use std::sync::Arc;

use js_profiler_traits::RealmId;
use malloc_size_of_derive::MallocSizeOf;

use crate::spidermonkey::{FrameKind, KnownFunctions, NewFunction, WalkedFrame, WalkedFunction};

/// Index of a function in the table of its event loop.
#[derive(Clone, Copy, Debug, Eq, Hash, MallocSizeOf, PartialEq)]
pub struct FunctionId(pub u32);

impl FunctionId {
    /// The index, to be used with [`FunctionTable::functions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function or top-level script that was on a stack, as it can be shown.
#[derive(MallocSizeOf)]
pub struct Function {
    /// The realm that it belongs to; 0 if that is not known, which happens for native functions.
    pub realm: RealmId,
    /// What kind of code it is.
    pub kind: FrameKind,
    /// Whether a script whose errors are muted defines it, so that no page may see it.
    pub muted: bool,
    /// The function's name; empty if it has none.
    pub name: String,
    /// Whether the engine made the name up from where the function stands, such as `object.method`. A page's
    /// trace has only a function's own name.
    pub has_guessed_name: bool,
    /// URL of the script; empty if it did not come from one.
    pub resource: String,
    /// 1-based line and column (in UTF-16 code units) of the definition; `None` if it is in no script.
    pub position: Option<(u32, u32)>,
    /// The engine's number of the script that defines it; `None` if it is in no script.
    pub source: Option<u32>,
}

impl From<&NewFunction<'_>> for Function {
    fn from(new: &NewFunction<'_>) -> Self {
        Self {
            realm: new.realm(),
            kind: new.kind(),
            muted: new.muted(),
            name: new.name(),
            has_guessed_name: new.has_guessed_name(),
            resource: new.resource(),
            position: new.position(),
            source: (new.kind() == FrameKind::Script).then(|| new.key().source_id),
        }
    }
}

impl Function {
    /// The function's own name; empty if it has none.
    pub fn own_name(&self) -> &str {
        match self.has_guessed_name {
            true => "",
            false => &self.name,
        }
    }

    /// Whether this is a function of the engine or the browser that scripts can call.
    ///
    /// Some of the engine's functions that are written in JavaScript are helpers, which scripts cannot call.
    /// By the engine's convention the names of helpers begin with an upper-case letter or `$`. No function
    /// that scripts can call has such a name, because constructors are not written in JavaScript.
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

/// The table of functions: looks a function up, or adds it. The text of a function is copied out of the
/// engine's memory only once.
#[derive(Default, MallocSizeOf)]
pub struct FunctionTable {
    /// The keys of `functions`, in the same order. Others share them only while nothing is inserted.
    #[conditional_malloc_size_of]
    known: Arc<KnownFunctions>,
    functions: Vec<Function>,
    /// The last change of the muted scripts that the functions show: see [`follow_muted`](Self::follow_muted).
    muted_changes: u64,
}

impl FunctionTable {
    /// The id of the function of a frame, which is added if it is new. `None` if it is new and its text did
    /// not fit into the buffer.
    ///
    /// `made_by_muted` says whether a WebAssembly function was made by a script whose errors are muted.
    pub fn get_or_insert(
        &mut self,
        frame: &WalkedFrame<'_>,
        made_by_muted: impl FnOnce(&Function) -> bool,
    ) -> Option<FunctionId> {
        let id = match frame.function() {
            WalkedFunction::Known(index) => FunctionId(index as u32),
            WalkedFunction::New(new) => match self.known.find(&new.key()) {
                // An earlier walk that did not know it either has added it.
                Some(index) => FunctionId(index as u32),
                None => self.insert(&new, made_by_muted)?,
            },
        };
        self.note_position(id, frame);
        Some(id)
    }

    /// Determines anew which WebAssembly functions were made by muted scripts, if the muted scripts have changed since the
    /// last call. `changes` is the number of their changes.
    pub fn follow_muted(&mut self, changes: u64, made_by_muted: impl Fn(&Function) -> bool) {
        if self.muted_changes == changes {
            return;
        }
        self.muted_changes = changes;
        let functions = self.functions.iter_mut();
        for function in functions.filter(|function| function.kind == FrameKind::Wasm) {
            function.muted = made_by_muted(function);
        }
    }

    /// The number of the last change of the muted scripts that the functions show.
    pub fn muted_changes(&self) -> u64 {
        self.muted_changes
    }

    /// Adds a new function. `None` if its text did not fit into the buffer.
    fn insert(
        &mut self,
        new: &NewFunction<'_>,
        made_by_muted: impl FnOnce(&Function) -> bool,
    ) -> Option<FunctionId> {
        if !new.has_text() {
            return None;
        }
        let mut function = Function::from(new);
        if function.kind == FrameKind::Wasm {
            function.muted = made_by_muted(&function);
        }
        self.functions.push(function);
        Some(FunctionId(
            Arc::make_mut(&mut self.known).insert(new.key()) as u32
        ))
    }

    /// Notes the position of a frame, so that the next walk need not find it in the source again.
    fn note_position(&mut self, id: FunctionId, frame: &WalkedFrame<'_>) {
        let (position, offset) = (frame.executing(), frame.code_offset());
        if position.line != 0 && !self.known.has_position(id.index(), offset) {
            Arc::make_mut(&mut self.known).insert_position(id.index(), offset, position);
        }
    }

    /// The functions whose text a walk need not write. The frames of such a walk are only for
    /// [`get_or_insert`](Self::get_or_insert).
    pub fn known(&self) -> &Arc<KnownFunctions> {
        &self.known
    }

    /// All functions, to be indexed by [`FunctionId::index`].
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}

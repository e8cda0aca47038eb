/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions that have been seen on the stacks of an event loop, each of them once.

use std::sync::Arc;

use js_profiler_traits::{OTHER_FUNCTIONS, RealmId};
use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::FxHashMap;

use crate::budget::Budget;
use crate::spidermonkey::{
    FrameKind, FunctionKey, KnownFunctions, NewFunction, Position, Resource, Resources,
    SourceNumber, WalkedFrame, WalkedFunction,
};

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
    /// Whether a script whose errors are muted defines it or has made it, so that no page may see it.
    pub muted: bool,
    /// The function's name; empty if it has none.
    pub name: String,
    /// Whether the engine made the name up from where the function stands, such as `object.method`. A page's
    /// trace has only a function's own name.
    pub has_guessed_name: bool,
    /// URL of the script or the module; `None` for functions of the engine and the browser.
    pub resource: Option<Resource>,
    /// 1-based line and column (in UTF-16 code units) of the definition; `None` if it is in no script.
    pub position: Option<(u32, u32)>,
    /// The engine's number of the script that defines it; `None` if it is in no script.
    pub source: Option<u32>,
}

impl Function {
    fn of(new: &NewFunction<'_>, resource: Option<Resource>) -> Self {
        Self {
            realm: new.realm(),
            kind: new.kind(),
            muted: new.muted(),
            name: new.name(),
            has_guessed_name: new.has_guessed_name(),
            resource,
            position: new.position(),
            source: (new.kind() == FrameKind::Script).then(|| new.key().source_id),
        }
    }

    /// What stands for functions for which there is no room: for those of a realm, or for those that no page may see.
    pub fn other(realm: Option<RealmId>) -> Self {
        Self {
            realm: realm.unwrap_or(RealmId(0)),
            kind: FrameKind::Script,
            muted: realm.is_none(),
            name: OTHER_FUNCTIONS.to_owned(),
            has_guessed_name: false,
            resource: None,
            position: None,
            source: None,
        }
    }

    /// Whether it stands for functions for which there is no room.
    pub fn is_other(&self) -> bool {
        self.kind == FrameKind::Script && self.source.is_none()
    }

    /// URL of the script or the module; empty if it did not come from one.
    pub fn url(&self) -> &str {
        self.resource.as_ref().map_or("", |resource| &resource.url)
    }

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
    resources: Resources,
    /// For what is above.
    budget: Budget,
    /// Whether there was no room for a function. No other one is added then, so that a walk with many of them reads no URLs.
    is_full: bool,
    /// What stands for functions for which there is no room: for each realm whose pages may see them, and `None` for those
    /// that no page may see. There are only as many as realms with sessions, so these are not counted.
    others: FxHashMap<Option<RealmId>, FunctionId>,
}

impl FunctionTable {
    /// The function of a frame, which is added if it is new, and the position that was executing there. `None` if it is
    /// new and its text did not fit into the buffer. If there is no room for it in the table, the function is one that stands
    /// for such ones. `realms` are those of the pages that have sessions.
    pub fn get_or_insert(
        &mut self,
        frame: &WalkedFrame<'_>,
        realms: &[RealmId],
    ) -> Option<(FunctionId, Position)> {
        let id = match frame.function() {
            WalkedFunction::Known(index) => FunctionId(index as u32),
            WalkedFunction::New(new) => match self.known.find(&new.key()) {
                // An earlier walk that did not know it either has added it.
                Some(index) => FunctionId(index as u32),
                None if !new.has_text() => return None,
                None => match self.insert(&new) {
                    Some(id) => id,
                    None => {
                        let other = self.other(new.realm(), new.muted(), realms);
                        return Some((other, Position::UNKNOWN));
                    },
                },
            },
        };
        self.note_position(id, frame);
        Some((id, frame.executing()))
    }

    /// Adds a new function. `None` if there is no room for it.
    fn insert(&mut self, new: &NewFunction<'_>) -> Option<FunctionId> {
        if self.is_full {
            return None;
        }
        let inserted = self.insert_within_budget(new);
        self.is_full = inserted.is_none();
        inserted
    }

    fn insert_within_budget(&mut self, new: &NewFunction<'_>) -> Option<FunctionId> {
        let source = SourceNumber::of(&new.key());
        let resource = match source {
            Some(source) => Some(self.resources.of(source, &mut self.budget)?),
            None => None,
        };
        let function = Function::of(new, resource);
        // Vectors double their size, and a slot of the hash table is half used at most.
        let bytes = 2 * (size_of::<Function>() + size_of::<FunctionKey>()) + 16;
        if !self.budget.take(bytes + function.name.len()) {
            return None;
        }
        Some(self.push(new.key(), function))
    }

    fn push(&mut self, key: FunctionKey, function: Function) -> FunctionId {
        self.functions.push(function);
        FunctionId(Arc::make_mut(&mut self.known).insert(key) as u32)
    }

    /// What stands for the functions of a realm for which there is no room: those that the pages of `realms` may see are
    /// apart from those that no page may see.
    fn other(&mut self, realm: RealmId, muted: bool, realms: &[RealmId]) -> FunctionId {
        let realm = Some(realm).filter(|realm| !muted && realms.contains(realm));
        if let Some(&other) = self.others.get(&realm) {
            return other;
        }
        // No function of the engine has such a key.
        let key = FunctionKey {
            realm: u64::MAX,
            source_id: u32::MAX,
            source_start: self.others.len() as u32,
            source_end: u32::MAX,
            line: 0,
            column: 0,
            kind: FrameKind::Native,
        };
        let other = self.push(key, Function::other(realm));
        self.others.insert(realm, other);
        other
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_room_are_one_for_each_realm_with_a_session_and_one_that_is_hidden() {
        let mut table = FunctionTable::default();
        let (ours, theirs, without_session) = (RealmId(1), RealmId(2), RealmId(3));
        let realms = [ours, theirs];
        let mut other = |realm, muted| table.other(realm, muted, &realms);
        let of_ours = other(ours, false);
        let of_theirs = other(theirs, false);
        let hidden = other(ours, true);
        assert_eq!(other(ours, false), of_ours);
        assert_eq!(other(theirs, false), of_theirs);
        for (realm, muted) in [
            (theirs, true),
            (without_session, false),
            (without_session, true),
        ] {
            assert_eq!(other(realm, muted), hidden);
        }
        let functions = table.functions();
        assert_eq!(functions.len(), 3);
        assert!(functions.iter().all(Function::is_other));
        let of = |id: FunctionId| (functions[id.index()].realm, functions[id.index()].muted);
        assert_eq!(of(of_ours), (ours, false));
        assert_eq!(of(of_theirs), (theirs, false));
        assert_eq!(of(hidden), (RealmId(0), true));
    }
}

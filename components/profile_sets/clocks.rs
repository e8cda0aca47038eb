/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Which pieces of sessions count, and how much.

use sha2::{Digest, Sha256};

use crate::hash_tables::{HashMap, HashSet};
use crate::profile::{Kind, Profile, Samples};

/// The first half of a digest.
pub type Hash = [u8; 16];

/// The pieces and the clocks of the sessions that have come.
#[derive(Debug, Default)]
pub struct Clocks {
    pieces: HashSet<Hash>,
    clocks: HashMap<(Hash, Kind), Clock>,
    /// Nanoseconds that sessions claimed beyond the span of their own clocks.
    pub beyond: u64,
}

/// The span of a session's clock, and what its samples up to here are worth, in nanoseconds.
#[derive(Debug)]
struct Clock {
    start: u64,
    end: u64,
    worth: u64,
}

pub fn hash(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut hash = Hash::default();
    hash.copy_from_slice(&digest.finalize()[..16]);
    hash
}

impl Clocks {
    /// Whether a profile is a piece of a session that has come before.
    pub fn is_repeated(&mut self, profile: &Profile) -> bool {
        let session = profile.session.as_ref();
        let piece = session.map(|session| hash(&[session.as_bytes(), &profile.digest]));
        piece.is_some_and(|piece| !self.pieces.insert(piece))
    }

    /// How many nanoseconds of these samples count, the first ones first.
    pub fn room(&mut self, session: Hash, samples: &Samples) -> u64 {
        let clock = self.clocks.entry((session, samples.kind));
        let clock = clock.or_insert(Clock {
            start: u64::MAX,
            end: 0,
            worth: 0,
        });
        clock.start = clock.start.min(samples.start);
        clock.end = clock.end.max(samples.end);
        let span = clock.end.saturating_sub(clock.start);
        let room = span.saturating_sub(clock.worth);
        let claimed = samples.worth();
        clock.worth += claimed.min(room);
        self.beyond = self.beyond.saturating_add(claimed.saturating_sub(room));
        room
    }
}

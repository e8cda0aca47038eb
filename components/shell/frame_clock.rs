/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! When a page is drawn.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The frame interval where no display gives one: 60 frames per second.
pub const DEFAULT_FRAME_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// Paces the frames of one page.
///
/// Servo ticks `requestAnimationFrame` and animations whenever a frame is drawn. Without the
/// display's own signal it offers frames at 120 Hz. The clock limits a page to the rate of a
/// display, so that it does not use more processor time than it would there.
pub struct FrameClock {
    interval: Duration,
    wanted: Cell<bool>,
    last: Cell<Option<Instant>>,
}

impl FrameClock {
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            wanted: Cell::new(false),
            last: Cell::new(None),
        }
    }

    /// The minimum time from one frame to the next.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Notes that there is something new to draw.
    pub fn want_frame(&self) {
        self.wanted.set(true);
    }

    /// When the wanted frame is to be drawn (maybe in the past), or `None` if none is wanted.
    pub fn next_frame(&self, now: Instant) -> Option<Instant> {
        self.wanted
            .get()
            .then(|| self.last.get().map_or(now, |last| last + self.interval))
    }

    /// Notes that the wanted frame is being drawn.
    pub fn frame_drawn(&self, now: Instant) {
        // A frame that is a little late does not delay the frames after it.
        let on_time = self
            .next_frame(now)
            .filter(|due| *due <= now && now - *due < self.interval);
        self.last.set(Some(on_time.unwrap_or(now)));
        self.wanted.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(16);

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn the_first_frame_is_due_at_once_and_no_frame_unless_wanted() {
        let clock = FrameClock::new(INTERVAL);
        let start = Instant::now();
        assert_eq!(clock.next_frame(start), None);
        clock.want_frame();
        assert_eq!(clock.next_frame(start), Some(start));
        clock.frame_drawn(start);
        assert_eq!(clock.next_frame(start), None);
    }

    #[test]
    fn frames_keep_their_rate_when_each_is_a_little_late() {
        let clock = FrameClock::new(INTERVAL);
        let start = Instant::now();
        clock.want_frame();
        clock.frame_drawn(start);
        for frame in 1..10_u32 {
            clock.want_frame();
            let due = start + INTERVAL * frame;
            assert_eq!(clock.next_frame(start), Some(due));
            clock.frame_drawn(due + milliseconds(3));
        }
    }

    #[test]
    fn missed_frames_are_not_made_up_for() {
        let clock = FrameClock::new(INTERVAL);
        let start = Instant::now();
        clock.want_frame();
        clock.frame_drawn(start);
        clock.want_frame();
        let late = start + milliseconds(1000);
        clock.frame_drawn(late);
        clock.want_frame();
        assert_eq!(clock.next_frame(late), Some(late + INTERVAL));
    }
}

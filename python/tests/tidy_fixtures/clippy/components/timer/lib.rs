/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

pub fn is_due(now: u32, due: u32) -> bool {
    return now >= due;
}

#[cfg(test)]
mod tests {
    #[test]
    fn late() {
        assert_eq!(super::is_due(2, 1), true);
    }
}

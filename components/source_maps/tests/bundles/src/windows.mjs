/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// It is built with the ends of lines of Windows.
const face = "😀𝒳"; export function afterFace(smile = 1201) { return trace(face + smile); }
export async function waits(
  delay = 1202,
) {
  await trace(delay);
  // 😀 function notThis(a = 1) {}
  return /[{(]function no\(/.test(delay) ? `${trace(delay)} {` : "}";
}

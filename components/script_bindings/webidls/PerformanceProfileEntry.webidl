/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A finished profiling session in the performance timeline.
[Exposed=(Window,Worker)]
interface PerformanceProfileEntry : PerformanceEntry {
  readonly attribute DOMHighResTimeStamp sampleInterval;
  readonly attribute unsigned long sampleCount;
  readonly attribute boolean bufferFull;
  // What stop() resolves with: a ProfilerTrace or an ArrayBuffer.
  [Throws] readonly attribute object trace;
  // All attributes except the trace, which is large.
  [Throws] object toJSON();
};

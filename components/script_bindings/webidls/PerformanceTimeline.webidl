/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// https://www.w3.org/TR/2015/WD-performance-timeline-2-20151021/
dictionary PerformanceEntryFilterOptions {
  DOMString name;
  DOMString entryType;
  DOMString initiatorType;
};

// https://w3c.github.io/performance-timeline/#performanceobservercallbackoptions-dictionary
dictionary PerformanceObserverCallbackOptions {
  unsigned long long droppedEntriesCount;
};

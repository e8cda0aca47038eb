/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

function minified(n){let s=1,i=0;for(;i<n;i++)s=3/(3/(s+1));n*=3;for(i=0;i<n;i++)s=3/(3/(s+1));return s}

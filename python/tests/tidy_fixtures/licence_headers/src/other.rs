// Copyright the authors. All rights reserved.

pub fn f() {}

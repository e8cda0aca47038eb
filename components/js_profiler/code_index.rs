/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The index of JIT code by address always has what the engine's table of code has.

use std::rc::Rc;
use std::sync::PoisonError;
use std::sync::mpsc::channel;

use crate::spidermonkey::test_context::{TestContext, on_pause};
use crate::stop::tests::EVENT_LOOPS;

/// Makes functions of many sizes, and calls them with values of several kinds until they are compiled. Then
/// a collection frees the code of two rounds in three. Each round pauses before and after the collection.
const SCRIPT: &str = "
    function made(size) {
        const adding = Array.from({ length: size }, (_, i) => `sum = sum + x.a * ${i} - x.b;`);
        return (0, eval)(`(function (x) { let sum = 0; ${adding.join(' ')} return sum; })`);
    }
    for (let round = 0; round < 12; round++) {
        let functions = [1, 3, 10, 30, 100, 300].map(made);
        const values = [{ a: 1, b: 2 }, { b: 1, a: 2 }, { c: 0, a: 1.5, b: 2 }, { a: '1', b: 2 }];
        for (let i = 0; i < 2000; i++) {
            for (const one of functions) { one(values[i & (i < 1000 ? 1 : 3)]); }
        }
        pause();
        if (round % 3 !== 0) { functions = null; }
        engine.gc();
        pause();
    }";

#[test]
fn the_index_has_all_living_code_and_nothing_else() {
    let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    let context = TestContext::new();
    let engine = Rc::new(context.engine());
    context.with_scripts(|evaluate| {
        let (seen, counts) = channel();
        let paused = Rc::clone(&engine);
        on_pause(Some(Box::new(move || {
            let _ = seen.send(paused.code_tables());
        })));
        evaluate(c"https://a.test/a.js", 1, SCRIPT);
        on_pause(None);
        let counts: Vec<_> = counts.iter().collect();
        let entries: Vec<_> = counts
            .iter()
            .map(|tables| tables.ion_entries + tables.other_entries)
            .collect();
        for tables in &counts {
            assert_eq!(
                (tables.not_indexed, tables.wrongly_indexed),
                (0, 0),
                "{tables:?}"
            );
        }
        let freed = entries.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(
            freed >= 6 && entries.iter().any(|entries| *entries > 100),
            "{entries:?}"
        );
        assert!(counts.iter().any(|tables| tables.ion_entries > 0));
    });
}

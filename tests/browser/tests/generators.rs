/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Generators and async functions.

use std::collections::BTreeSet;

use browser_tests::{Edges, Trace, visit_allowed};

#[test]
fn a_generator_is_under_the_function_that_resumes_it() {
    let trace = Trace::read(&visit_allowed("/generators.html"));
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > consumeAll, consumeByHand, resumeInTurn
        consumeAll > numbers
        numbers > perNumber
        perNumber > work
        consumeByHand > consumeOne, delegating
        consumeOne > delegating, work
        delegating > numbers, work, cleanUp
        cleanUp > work
        resumeInTurn > resumeFirst, resumeSecond, alternating
        resumeFirst > alternating
        resumeSecond > alternating
        alternating > calledByFirst, calledBySecond
        calledByFirst > work
        calledBySecond > work",
    )
    .assert_hold(&trace);
    let resumed_by = |resumer, called| -> BTreeSet<Vec<&str>> {
        [vec![
            "(anonymous)",
            "resumeInTurn",
            resumer,
            "next",
            "alternating",
            called,
        ]]
        .into()
    };
    assert_eq!(
        trace.paths_to("calledByFirst"),
        resumed_by("resumeFirst", "calledByFirst")
    );
    assert_eq!(
        trace.paths_to("calledBySecond"),
        resumed_by("resumeSecond", "calledBySecond")
    );
    let numbers = ["next", "numbers", "perNumber"];
    assert_eq!(
        trace.paths_to("perNumber"),
        [
            [&["(anonymous)", "consumeAll"][..], &numbers].concat(),
            [
                &[
                    "(anonymous)",
                    "consumeByHand",
                    "consumeOne",
                    "next",
                    "delegating"
                ][..],
                &numbers
            ]
            .concat(),
        ]
        .into()
    );
    assert_eq!(
        trace.paths_to("cleanUp"),
        [vec![
            "(anonymous)",
            "consumeByHand",
            "return",
            "delegating",
            "cleanUp"
        ]]
        .into()
    );
}

#[test]
fn an_async_function_is_under_its_caller_until_it_awaits() {
    let trace = Trace::read(&visit_allowed("/async-functions.html"));
    Edges::parse(
        "(root) > (anonymous), awaiting, outer, asyncNumbers, consumeAsync, queueWaits
        (root) > throwing, catching, reaction
        (anonymous) > outer, consumeAsync, queueWaits, catching
        outer > startAwaiting, afterInner
        startAwaiting > awaiting
        awaiting > beforeAwait, afterAwait, task, afterTask
        task > (anonymous)
        consumeAsync > asyncNumbers, perConsumed
        queueWaits > asyncNumbers
        asyncNumbers > perAsyncNumber
        catching > throwing, afterCatch, afterFinally
        beforeAwait > work
        afterAwait > work
        afterTask > work
        afterInner > work
        perAsyncNumber > work
        perConsumed > work
        reaction > work
        afterCatch > work
        afterFinally > work",
    )
    .assert_hold(&trace);
    for path in [
        &[
            "(anonymous)",
            "outer",
            "startAwaiting",
            "awaiting",
            "beforeAwait",
        ][..],
        &["awaiting", "afterAwait"],
        &["awaiting", "afterTask"],
        &["outer", "afterInner"],
        &["asyncNumbers", "perAsyncNumber"],
        &["consumeAsync", "perConsumed"],
        &["reaction"],
        &["catching", "afterCatch"],
        &["catching", "afterFinally"],
    ] {
        let function = path.last().expect("a path is not empty");
        assert_eq!(trace.paths_to(function), [path.to_vec()].into());
    }
}

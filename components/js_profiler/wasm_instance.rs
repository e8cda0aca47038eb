/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Optimised WebAssembly code that needs many registers keeps its numbers in the one of the instance, too. A walk must not
//! take such a number for an instance.

use std::thread;
use std::time::Duration;

use crate::outcome::Outcome;
use crate::sampled_thread::{Audience, StackTaker};
use crate::sampled_while_running::while_running;

/// Numbers that live through a loop: more than there are registers.
const NUMBERS: usize = 20;

/// How many samples are taken in the loop.
const SAMPLES: usize = 300;

/// A module with a function `busy(rounds)`, compiled by the optimising compiler, whose numbers are no addresses.
fn setup() -> String {
    format!(
        "const NUMBERS = {NUMBERS};
        function unsigned(number) {{
            const bytes = [];
            for (; number > 127; number >>>= 7) {{ bytes.push(number & 127 | 128); }}
            return [...bytes, number];
        }}
        function signed64(number) {{
            const bytes = [];
            for (;;) {{
                const byte = Number(BigInt.asUintN(7, number));
                number >>= 7n;
                if (number === (byte & 64 ? -1n : 0n)) {{ return [...bytes, byte]; }}
                bytes.push(byte | 128);
            }}
        }}
        const section = (id, bytes) => [id, ...unsigned(bytes.length), ...bytes];
        const numbers = Array.from({{ length: NUMBERS }}, (_, i) => i);
        const get = (i) => [0x20, i % NUMBERS + 1], set = (i) => [0x21, i % NUMBERS + 1];
        const constant = (i) => [0x42, ...signed64(0x4141414141414141n + BigInt(i) * 0x10101n)];
        const MULTIPLY = 0x7e, XOR = 0x85;
        const body = [
            1, NUMBERS, 0x7e,
            ...numbers.flatMap((i) => [...constant(i), ...set(i)]),
            0x03, 0x40,
            ...numbers.flatMap((i) => [...get(i), ...get(i + 7), MULTIPLY, ...get(i + 3), XOR, ...set(i)]),
            0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0,
            0x0b,
            ...get(0), ...numbers.slice(1).flatMap((i) => [...get(i), XOR]),
            0x0b,
        ];
        const bytes = [
            0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
            ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7e]),
            ...section(3, [1, 0]),
            ...section(7, [1, 4, 0x62, 0x75, 0x73, 0x79, 0, 0]),
            ...section(10, [1, ...unsigned(body.length), ...body]),
        ];
        const module = new WebAssembly.Module(new Uint8Array(bytes));
        const {{ busy }} = new WebAssembly.Instance(module).exports;
        busy(1);
        while (!engine.wasmHasTier2CompilationCompleted(module)) {{ busy(1000); }}"
    )
}

#[test]
fn a_number_in_the_register_of_the_instance_is_not_taken_for_one() {
    let found = while_running(&setup(), "busy(300000)", |thread, is_running| {
        let mut taker = StackTaker::new();
        let (mut inside, mut looks) = (0, 0);
        while inside < SAMPLES && looks < 20 * SAMPLES && is_running() {
            thread::sleep(Duration::from_micros(300));
            let sample = thread.look(&mut taker, &Audience::of_everything()).unwrap();
            looks += 1;
            if sample.outcome != Outcome::Stack {
                continue;
            }
            let names = sample.everything.frames.iter();
            let names: Vec<_> = names
                .map(|frame| &*sample.functions[frame.function.index()].name)
                .collect();
            if names.last() == Some(&"wasm-function[0]") {
                assert!(names.len() >= 2, "{names:?}: the script has called it");
                inside += 1;
            }
        }
        inside
    });
    assert_eq!(found, SAMPLES);
}

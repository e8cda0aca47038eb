/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What sampling costs if a sample takes no time: the kernels of `overhead` and libraries of `real`, in SpiderMonkey, on a
//! thread that gets the signals of the sampler, and whose handler does nothing. For `./mach bench floor`:
//!
//!     empty_handler PAIRS BLOCKS LIBRARY_PAIRS [NAME=SCRIPT...]
//!
//! Each SCRIPT is a file that sets `library` to an object with a `unit`, like those of `real`.
//!
//! It prints JSON of the form that tests/bench/overhead.js posts: times of runs in ms, and processor times in s. The member
//! `libraries` has the form of `kernels`.
//!
//! The signals come as in `components/js_profiler/stop/linux_timers.rs`. Another thread sets a few timers of the kernel at a
//! time, and wakes when the last one is done.

#![allow(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod interrupts;

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};
use std::{env, fs, ptr};

use mozjs::context::JSContext;
use mozjs::conversions::jsstr_to_string;
use mozjs::jsapi::OnNewGlobalHookOption;
use mozjs::jsval::{JSVal, UndefinedValue};
use mozjs::realm::AutoRealm;
use mozjs::rooted;
use mozjs::rust::wrappers2::JS_NewGlobalObject;
use mozjs::rust::{
    CompileOptionsWrapper, HandleObject, JSEngine, RealmOptions, Runtime, SIMPLE_GLOBAL_CLASS,
    evaluate_script,
};
use serde_json::{Value, json};

use self::interrupts::{Interrupts, State};

/// A script that gives the array `kernels`, of objects with a `name` and a `unit`.
const KERNELS: &str = include_str!("../kernels.js");
/// As `timeRun` of tests/bench/pairs.js, but for the clock, which is outside.
const RUN: &str = "function run(index, count) {
    const kernel = kernels[index];
    for (let i = 0; i < count; i++) {
        const result = kernel.unit();
        if (result !== (kernel.result ??= result)) {
            throw new Error(`${kernel.name} gave ${result} instead of ${kernel.result}`);
        }
    }
}";

/// A timed run of a kernel takes about as long. Same as in tests/bench/pairs.js.
const RUN_TIME: Duration = Duration::from_millis(50);
/// A timed run of a library. Same as in tests/bench/real/real.js.
const LIBRARY_RUN_TIME: Duration = Duration::from_secs(1);
const CALIBRATION_RUNS: usize = 3;
/// Of a library. Same as in tests/bench/real/real.js.
const WARM_UP_TIME: Duration = Duration::from_secs(3);
/// For how long the work is done untimed before each timed run.
const SETTLE_TIME: Duration = Duration::from_millis(100);
/// Runs of all kernels between two readings of the processor time.
const ROUNDS_PER_BLOCK: usize = 4;

const STATES: [(&str, State); 4] = [
    ("off/off", State::Off),
    ("10 ms/off", State::Signals(Duration::from_millis(10))),
    ("1 ms/off", State::Signals(Duration::from_millis(1))),
    (
        "1 ms, no signal/off",
        State::Barriers(Duration::from_millis(1)),
    ),
];

/// Evaluates scripts in one global.
struct Scripts<'a> {
    cx: &'a mut JSContext,
    global: HandleObject<'a>,
}

impl Scripts<'_> {
    fn evaluate(&mut self, script: &str) -> JSVal {
        rooted!(&in(self.cx) let mut value = UndefinedValue());
        let options = CompileOptionsWrapper::new(self.cx, c"kernels.js".to_owned(), 1);
        evaluate_script(self.cx, self.global, script, value.handle_mut(), options)
            .unwrap_or_else(|()| panic!("{script:.200} threw"));
        value.get()
    }

    fn evaluate_to_text(&mut self, script: &str) -> String {
        let text = self.evaluate(script).to_string();
        let text = ptr::NonNull::new(text).expect("the script gives a text");
        // SAFETY: nothing has been allocated since the script gave the string, so it is alive.
        unsafe { jsstr_to_string(self.cx, text) }
    }
}

/// A run calls a unit of a kernel `count` times.
struct Kernel {
    index: usize,
    name: String,
    count: usize,
    /// How many units are done before.
    settle_count: usize,
}

impl Kernel {
    /// Finds how many units make a run of `RUN_TIME`, once the engine has optimised the kernel.
    fn new(scripts: &mut Scripts, index: usize) -> Self {
        let name = scripts.evaluate_to_text(&format!("kernels[{index}].name"));
        let mut kernel = Self {
            index,
            name,
            count: 1,
            settle_count: 0,
        };
        // The first pass warms up; the second one measures.
        for _ in 0..2 {
            kernel.count = 1;
            while kernel.run(scripts) < RUN_TIME {
                kernel.count *= 2;
            }
        }
        // A run that had to wait for a processor says nothing. The quickest run did not have to wait.
        let runs = (0..CALIBRATION_RUNS).map(|_| kernel.run(scripts));
        let quickest = runs.min().expect("there is a run");
        let share = RUN_TIME.div_duration_f64(quickest);
        kernel.count = ((kernel.count as f64 * share).round() as usize).max(1);
        kernel.settle_count = kernel.in_time(SETTLE_TIME);
        kernel
    }

    /// The work of a library. `argument` is its name, and the file with its script.
    fn of_library(scripts: &mut Scripts, argument: &str) -> Self {
        let (name, file) = argument
            .split_once('=')
            .unwrap_or_else(|| panic!("{argument} is not NAME=SCRIPT"));
        let script = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        scripts.evaluate(&script);
        let entry = json!({ "name": name });
        let length = scripts
            .evaluate(&format!(
                "kernels.push({{ ...{entry}, unit: library.unit }})"
            ))
            .to_int32();
        let index = length as usize - 1;
        let start = Instant::now();
        while start.elapsed() < WARM_UP_TIME {
            scripts.evaluate(&format!("run({index}, 1)"));
        }
        let mut kernel = Self::new(scripts, index);
        kernel.count = kernel.in_time(LIBRARY_RUN_TIME);
        kernel
    }

    /// About how many units take this time, if `count` units take `RUN_TIME`.
    fn in_time(&self, time: Duration) -> usize {
        (self.count as f64 * time.div_duration_f64(RUN_TIME)).round() as usize
    }

    fn settle(&self, scripts: &mut Scripts) {
        self.run_units(scripts, self.settle_count);
    }

    fn run(&self, scripts: &mut Scripts) -> Duration {
        let start = Instant::now();
        self.run_units(scripts, self.count);
        start.elapsed()
    }

    fn run_units(&self, scripts: &mut Scripts, count: usize) {
        scripts.evaluate(&format!("run({}, {count})", self.index));
    }
}

/// The processor time of this process, in s.
fn processor_time() -> f64 {
    let mut usage = MaybeUninit::uninit();
    // SAFETY: the usage is written if the call succeeds.
    let usage = unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0);
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// What `measure` gives without interrupts and in a state. The order is that of `pair`, so that neither is always first.
fn pair_of(
    interrupts: &Interrupts,
    pair: usize,
    state: State,
    mut measure: impl FnMut() -> f64,
) -> Value {
    let mut within = |state| interrupts.within(state, &mut measure);
    let (reference, measured) = if pair.is_multiple_of(2) {
        let reference = within(State::Off);
        (reference, within(state))
    } else {
        let measured = within(state);
        (within(State::Off), measured)
    };
    json!({ "reference": reference, "measured": measured })
}

fn number(index: usize) -> usize {
    let argument = env::args().nth(index);
    argument
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| {
            panic!("empty_handler PAIRS BLOCKS LIBRARY_PAIRS: argument {index} is not a number")
        })
}

fn main() {
    let (pairs, blocks, library_pairs) = (number(1), number(2), number(3));
    let interrupts = Interrupts::new();
    let engine = JSEngine::init().expect("SpiderMonkey starts");
    let mut runtime = Runtime::new(engine.handle());
    let cx = runtime.cx();
    let hook = OnNewGlobalHookOption::FireOnNewGlobalHook;
    let options = RealmOptions::default();
    // SAFETY: the class and the options live as long as they are used.
    let new_global = |cx| unsafe {
        JS_NewGlobalObject(cx, &SIMPLE_GLOBAL_CLASS, ptr::null_mut(), hook, &*options)
    };
    rooted!(&in(cx) let global = new_global(cx));
    let mut realm = AutoRealm::new_from_handle(cx, global.handle());
    let mut scripts = Scripts {
        cx: &mut realm,
        global: global.handle(),
    };
    scripts.evaluate(KERNELS);
    scripts.evaluate(RUN);
    let mut measured = measure(&mut scripts, &interrupts, pairs, blocks);
    measured["libraries"] = env::args()
        .skip(4)
        .map(|argument| {
            let kernel = Kernel::of_library(&mut scripts, &argument);
            measure_kernels(&mut scripts, &interrupts, &[kernel], library_pairs).remove(0)
        })
        .collect();
    println!("{measured}");
}

fn measure(scripts: &mut Scripts, interrupts: &Interrupts, pairs: usize, blocks: usize) -> Value {
    let count = scripts.evaluate("kernels.length").to_int32() as usize;
    let kernels: Vec<_> = (0..count)
        .map(|index| Kernel::new(scripts, index))
        .collect();
    let timed = measure_kernels(scripts, interrupts, &kernels, pairs);
    let of_process = [STATES[0], STATES[2]];
    let mut processor = vec![Vec::new(); of_process.len()];
    for pair in 0..blocks {
        for ((_, state), times) in of_process.iter().zip(&mut processor) {
            times.push(pair_of(interrupts, pair, *state, || {
                let before = processor_time();
                for _ in 0..ROUNDS_PER_BLOCK {
                    for kernel in &kernels {
                        kernel.run(scripts);
                    }
                }
                processor_time() - before
            }));
        }
    }
    let none = json!({ "profilers": 0 });
    let comparisons =
        STATES.map(|(name, _)| json!({ "name": name, "reference": none, "measured": none }));
    json!({
        "comparisons": comparisons,
        "kernels": timed,
        "processorTime": named(&of_process, processor),
    })
}

/// The times of runs in each state, compared with runs without interrupts.
fn measure_kernels(
    scripts: &mut Scripts,
    interrupts: &Interrupts,
    kernels: &[Kernel],
    pairs: usize,
) -> Vec<Value> {
    let mut times = vec![vec![Vec::new(); STATES.len()]; kernels.len()];
    for pair in 0..pairs {
        for (kernel, times) in kernels.iter().zip(&mut times) {
            for ((_, state), times) in STATES.iter().zip(times) {
                times.push(pair_of(interrupts, pair, *state, || {
                    kernel.settle(scripts);
                    1000. * kernel.run(scripts).as_secs_f64()
                }));
            }
        }
    }
    kernels
        .iter()
        .zip(times)
        .map(|(kernel, times)| json!({ "name": kernel.name, "comparisons": named(&STATES, times) }))
        .collect()
}

fn named(states: &[(&str, State)], pairs: Vec<Vec<Value>>) -> Vec<Value> {
    let pairs = states.iter().zip(pairs);
    pairs
        .map(|((name, _), pairs)| json!({ "name": name, "pairs": pairs }))
        .collect()
}

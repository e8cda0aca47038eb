/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What sampling costs if a sample takes no time: the kernels of `overhead` and libraries of `real`, in SpiderMonkey, on a
//! thread that gets the signals of the sampler, and whose handler does nothing. For `./mach bench floor`:
//!
//!     empty_handler PAIRS BLOCKS [NAME=SCRIPT...]
//!
//! Each SCRIPT is a file that sets `library` to an object with a `unit`, like those of `real`.
//!
//! It prints JSON of the form that tests/bench/overhead.js posts: times of runs in ms, and processor times in s. The member
//! `libraries` has the form of `kernels`.
//!
//! The signals come as in `components/js_profiler`. At 1 ms another thread sets four timers of the kernel at a time, and
//! wakes when the last one is done (`stop/linux_timers.rs`). At 10 ms it wakes for each signal, sends it, and polls until it
//! is handled (`stop/linux.rs`).

#![allow(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, hint, ptr, thread};

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

/// A timed run takes about as long. Same as in tests/bench/pairs.js.
const RUN_TIME: Duration = Duration::from_millis(50);
const CALIBRATION_RUNS: usize = 3;
/// Of a library. Same as in tests/bench/real/real.js.
const WARM_UP_TIME: Duration = Duration::from_secs(3);
/// Untimed runs before each timed one.
const SETTLE_RUNS: usize = 2;
/// Runs of all kernels between two readings of the processor time.
const ROUNDS_PER_BLOCK: usize = 4;
const TIMERS: u32 = 4;

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn handle(_: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Release);
}

fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

#[derive(Clone, Copy)]
enum State {
    Off,
    At10,
    At1,
}

const STATES: [(&str, State); 3] = [
    ("off/off", State::Off),
    ("10 ms/off", State::At10),
    ("1 ms/off", State::At1),
];

/// A thread that interrupts the thread that has made it, until this is dropped.
struct Interrupts {
    ends: Arc<AtomicBool>,
    handle: Option<thread::JoinHandle<()>>,
}

impl Interrupts {
    /// `None` for no interrupts.
    fn begin(state: State) -> Option<Self> {
        let interrupt: fn(libc::pid_t, &AtomicBool) = match state {
            State::Off => return None,
            State::At10 => send_signals,
            State::At1 => set_timers,
        };
        // SAFETY: the call only returns a number.
        let busy = unsafe { libc::gettid() };
        let ends = Arc::new(AtomicBool::new(false));
        let until = ends.clone();
        let handle = thread::spawn(move || {
            // SAFETY: the call only changes how promptly this thread wakes.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
            interrupt(busy, &until);
        });
        Some(Self {
            ends,
            handle: Some(handle),
        })
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(handle) = self.handle.take() {
            handle.thread().unpark();
            handle.join().expect("the thread does not panic");
        }
    }
}

/// Waits until a time; false if the interrupts end before.
fn wait(until: Instant, ends: &AtomicBool) -> bool {
    while !ends.load(Ordering::Relaxed) {
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return true,
            left => thread::park_timeout(left),
        }
    }
    false
}

fn send_signals(busy: libc::pid_t, ends: &AtomicBool) {
    let mut due = Instant::now();
    while wait(due, ends) {
        let before = HANDLED.load(Ordering::Acquire);
        // SAFETY: the thread waits for this one before it ends.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), busy, signal()) };
        while HANDLED.load(Ordering::Acquire) == before {
            hint::spin_loop();
        }
        due += Duration::from_millis(10);
    }
}

fn set_timers(busy: libc::pid_t, ends: &AtomicBool) {
    let timers: Vec<libc::timer_t> = (0..TIMERS).map(|_| make_timer(busy)).collect();
    let mut due = Instant::now();
    loop {
        for &timer in &timers {
            due += Duration::from_millis(1);
            set_timer(timer, due.saturating_duration_since(Instant::now()));
        }
        // The sampler collects the walks half an interval after the last one.
        if !wait(due + Duration::from_micros(500), ends) {
            break;
        }
    }
    for timer in timers {
        // SAFETY: the timer is not used again.
        unsafe { libc::timer_delete(timer) };
    }
}

fn make_timer(busy: libc::pid_t) -> libc::timer_t {
    let mut timer = MaybeUninit::uninit();
    // SAFETY: a zeroed sigevent is a valid one; the timer is written if the call succeeds.
    unsafe {
        let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = busy;
        event.sigev_signo = signal();
        let made = libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, timer.as_mut_ptr());
        assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
        timer.assume_init()
    }
}

fn set_timer(timer: libc::timer_t, after: Duration) {
    // Zero would stop the timer.
    let after = after.max(Duration::from_nanos(1));
    // SAFETY: a zeroed itimerspec is a valid one; the timer exists.
    unsafe {
        let mut time: libc::itimerspec = MaybeUninit::zeroed().assume_init();
        time.it_value.tv_nsec = after.as_nanos() as libc::c_long;
        assert_eq!(libc::timer_settime(timer, 0, &time, ptr::null_mut()), 0);
    }
}

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
}

impl Kernel {
    /// Finds how many units make a run of `RUN_TIME`, once the engine has optimised the kernel.
    fn new(scripts: &mut Scripts, index: usize) -> Self {
        let name = scripts.evaluate_to_text(&format!("kernels[{index}].name"));
        let mut kernel = Self {
            index,
            name,
            count: 1,
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
        Self::new(scripts, index)
    }

    fn run(&self, scripts: &mut Scripts) -> Duration {
        let start = Instant::now();
        scripts.evaluate(&format!("run({}, {})", self.index, self.count));
        start.elapsed()
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
fn pair_of(pair: usize, state: State, mut measure: impl FnMut() -> f64) -> Value {
    let mut within = |state| {
        let _interrupts = Interrupts::begin(state);
        measure()
    };
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
        .unwrap_or_else(|| panic!("empty_handler PAIRS BLOCKS: argument {index} is not a number"))
}

fn main() {
    let (pairs, blocks) = (number(1), number(2));
    // SAFETY: the handler only changes a counter.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal(), &action, ptr::null_mut()), 0);
    }
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
    let mut measured = measure(&mut scripts, pairs, blocks);
    measured["libraries"] = env::args()
        .skip(3)
        .map(|argument| {
            let kernel = Kernel::of_library(&mut scripts, &argument);
            measure_kernels(&mut scripts, &[kernel], pairs).remove(0)
        })
        .collect();
    println!("{measured}");
}

fn measure(scripts: &mut Scripts, pairs: usize, blocks: usize) -> Value {
    let count = scripts.evaluate("kernels.length").to_int32() as usize;
    let kernels: Vec<_> = (0..count)
        .map(|index| Kernel::new(scripts, index))
        .collect();
    let timed = measure_kernels(scripts, &kernels, pairs);
    let of_process = [STATES[0], STATES[2]];
    let mut processor = vec![Vec::new(); of_process.len()];
    for pair in 0..blocks {
        for ((_, state), times) in of_process.iter().zip(&mut processor) {
            times.push(pair_of(pair, *state, || {
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
fn measure_kernels(scripts: &mut Scripts, kernels: &[Kernel], pairs: usize) -> Vec<Value> {
    let mut times = vec![vec![Vec::new(); STATES.len()]; kernels.len()];
    for pair in 0..pairs {
        for (kernel, times) in kernels.iter().zip(&mut times) {
            for ((_, state), times) in STATES.iter().zip(times) {
                times.push(pair_of(pair, *state, || {
                    for _ in 0..SETTLE_RUNS {
                        kernel.run(scripts);
                    }
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

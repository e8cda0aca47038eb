/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Mistakes on purpose, in Rust, in our C++ and in the engine. `./mach check asan-build` runs this program once for each, and a
//! sanitizer must find it. The program is linked with the engine and the glue of the browser that `./mach build --asan` makes.
//!
//! `sanitizer_faults PLACE-KIND`, such as `rust-overflow`. It ends well only if nothing is found.

// The mistakes are not possible in safe code.
#![allow(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

use std::env;
use std::ffi::c_void;
use std::hint::black_box;
use std::process::ExitCode;
use std::ptr;

use mozjs::jsapi::{JS_free, JS_malloc, OnNewGlobalHookOption};
use mozjs::jsval::UndefinedValue;
use mozjs::realm::AutoRealm;
use mozjs::rooted;
use mozjs::rust::wrappers2::{JS_EncodeStringToBuffer, JS_NewGlobalObject};
use mozjs::rust::{
    CompileOptionsWrapper, JSEngine, RealmOptions, Runtime, SIMPLE_GLOBAL_CLASS, evaluate_script,
};

/// The size of each block, in bytes.
const SIZE: usize = 64;

// See faults.cpp. The crate is linked for its glue.
use js_profiler as _;

unsafe extern "C" {
    fn strobe_fault_write_after_free();
    fn strobe_fault_overflow();
    fn strobe_fault_leak();
    fn strobe_fault_undefined(number: i32) -> i32;
}

fn main() -> ExitCode {
    let fault = env::args().nth(1).unwrap_or_default();
    match fault.as_str() {
        "rust-write-after-free" => rust_write_after_free(),
        "rust-overflow" => rust_overflow(),
        "rust-leak" => rust_leak(),
        // SAFETY: there is none, on purpose.
        "glue-write-after-free" => unsafe { strobe_fault_write_after_free() },
        // SAFETY: as above.
        "glue-overflow" => unsafe { strobe_fault_overflow() },
        // SAFETY: as above.
        "glue-leak" => unsafe { strobe_fault_leak() },
        // SAFETY: as above.
        "glue-undefined" => drop(black_box(unsafe { strobe_fault_undefined(1) })),
        "engine-write-after-free" => in_engine(&Fault::WriteAfterFree),
        "engine-overflow" => in_engine(&Fault::Overflow),
        "engine-leak" => in_engine(&Fault::Leak),
        "nothing" => in_engine(&Fault::Nothing),
        _ => {
            eprintln!("sanitizer_faults: no such fault: {fault}");
            return ExitCode::from(2);
        },
    }
    ExitCode::SUCCESS
}

fn block() -> *mut u8 {
    black_box(Box::into_raw(Box::new([1_u8; SIZE]))).cast()
}

fn free(block: *mut u8) {
    // SAFETY: the block is from block(), and is freed once.
    drop(unsafe { Box::from_raw(block.cast::<[u8; SIZE]>()) });
}

#[inline(never)]
fn rust_write_after_free() {
    let block = block();
    free(block);
    // SAFETY: there is none, on purpose.
    unsafe { block.add(8).write_volatile(0) };
}

#[inline(never)]
fn rust_overflow() {
    let block = block();
    // SAFETY: there is none, on purpose.
    unsafe { block.add(SIZE).write_volatile(0) };
    free(block);
}

#[inline(never)]
fn rust_leak() {
    black_box(block());
}

#[derive(PartialEq)]
enum Fault {
    Nothing,
    WriteAfterFree,
    Overflow,
    Leak,
}

/// The engine gives a block, and writes a string to it. Only the block's bounds or life are wrong.
///
/// A script that writes to a typed array would prove nothing: the engine makes such writes by assembly of its own, which no
/// sanitizer sees.
fn in_engine(fault: &Fault) {
    let engine = JSEngine::init().expect("nothing has used the engine before");
    let mut runtime = Runtime::new(engine.handle());
    // SAFETY: the context is this thread's, and outlives all uses.
    let raw = unsafe { runtime.cx().raw_cx() };
    // SAFETY: as above.
    let block = unsafe { JS_malloc(raw, SIZE) };
    if *fault == Fault::Leak {
        black_box(block);
        return;
    }
    if *fault == Fault::WriteAfterFree {
        // SAFETY: the block is the engine's, and is freed once.
        unsafe { JS_free(raw, block) };
    }
    let length = match fault {
        Fault::Overflow => SIZE + 1,
        _ => SIZE,
    };
    write(&mut runtime, block, length);
    if *fault != Fault::WriteAfterFree {
        // SAFETY: as above.
        unsafe { JS_free(raw, block) };
    }
}

/// Lets the engine write so many characters to a block.
fn write(runtime: &mut Runtime, block: *mut c_void, length: usize) {
    let cx = runtime.cx();
    rooted!(&in(cx) let global = unsafe {
        // SAFETY: the class and the options live as long as they are used.
        JS_NewGlobalObject(
            cx,
            &SIMPLE_GLOBAL_CLASS,
            ptr::null_mut(),
            OnNewGlobalHookOption::FireOnNewGlobalHook,
            &*RealmOptions::default(),
        )
    });
    let mut realm = AutoRealm::new_from_handle(cx, global.handle());
    let cx = &mut *realm;
    rooted!(&in(cx) let mut value = UndefinedValue());
    let options = CompileOptionsWrapper::new(cx, c"https://a.test/".to_owned(), 1);
    // Each of these characters has two bytes, of which the engine writes one by a loop of its own.
    let script = "'\u{101}'.repeat(100)";
    let made = evaluate_script(cx, global.handle(), script, value.handle_mut(), options);
    assert!(made.is_ok(), "{script} threw");
    // SAFETY: the block is there and is as long, apart from the fault.
    let written = unsafe { JS_EncodeStringToBuffer(cx, value.to_string(), block.cast(), length) };
    assert!(written, "the string was at hand");
}

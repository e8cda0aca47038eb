/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The program and the libraries that are loaded, and the tables for unwinding that compilers write into each
//! of them (`.eh_frame`).
//!
//! They are read while no thread is stopped. The walk uses them later, so no module that was read is unloaded.

use std::ffi::c_void;
use std::ops::Range;
use std::slice;

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    ParsedEhFrameHdr, UnwindSection,
};

use super::ffi::{CodeRange, strobe_call, strobe_construct, strobe_exception_handler};

type Bytes = EndianSlice<'static, LittleEndian>;

/// A program or library that is loaded.
pub struct Module {
    code: Range<usize>,
    header: ParsedEhFrameHdr<Bytes>,
    /// The entries for unwinding.
    pub frames: EhFrame<Bytes>,
    /// The addresses that pointers in the entries are relative to.
    pub bases: BaseAddresses,
}

impl Module {
    /// Finds a module's tables. `None` if it has none.
    ///
    /// # Safety
    ///
    /// `info` must be what `dl_iterate_phdr` gives for a module that stays loaded.
    unsafe fn read(info: &libc::dl_phdr_info) -> Option<Self> {
        // SAFETY: see above.
        let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let base = info.dlpi_addr as usize;
        let range = |header: &libc::Elf64_Phdr| {
            let begin = base.wrapping_add(header.p_vaddr as usize);
            begin..begin + header.p_memsz as usize
        };
        let loaded = || {
            headers
                .iter()
                .filter(|header| header.p_type == libc::PT_LOAD)
        };
        let code = loaded().filter(|header| header.p_flags & libc::PF_X != 0);
        let code = code
            .map(range)
            .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
        let header = headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        let header = range(header);
        // SAFETY: the segment is mapped as long as the module is loaded, and nobody writes to it.
        let header_bytes =
            unsafe { slice::from_raw_parts(header.start as *const u8, header.len()) };
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(header.start as u64)
            .set_text(code.start as u64);
        let parsed = EhFrameHdr::new(header_bytes, LittleEndian)
            .parse(&bases, size_of::<usize>() as u8)
            .ok()?;
        let frames = parsed.eh_frame_ptr().direct().ok()? as usize;
        // The end of the section is not known, but each entry contains its own length.
        let segment = loaded().map(range).find(|range| range.contains(&frames))?;
        // SAFETY: as above.
        let frames_bytes =
            unsafe { slice::from_raw_parts(frames as *const u8, segment.end - frames) };
        Some(Self {
            code,
            header: parsed,
            frames: EhFrame::new(frames_bytes, LittleEndian),
            bases: bases.set_eh_frame(frames as u64),
        })
    }

    /// The entry of the function that contains an address.
    pub fn function(&self, address: usize) -> Option<FrameDescriptionEntry<Bytes>> {
        let table = self.header.table()?;
        let pointer = table.lookup(address as u64, &self.bases).ok()?;
        let offset = table.pointer_to_offset(pointer).ok()?;
        let entry = self
            .frames
            .fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset)
            .ok()?;
        entry.contains(address as u64).then_some(entry)
    }
}

/// How many modules the process has loaded and unloaded. While these numbers stay the same, the modules do,
/// too.
pub fn loads() -> [u64; 2] {
    extern "C" fn take(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        loads: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: as in `Modules::read`. Each module has the numbers of the process.
        let (info, loads) = unsafe { (&*info, &mut *loads.cast::<[u64; 2]>()) };
        *loads = [info.dlpi_adds, info.dlpi_subs];
        1
    }
    let mut loads = [0; 2];
    // SAFETY: `take` has the type that is expected, and its argument is two numbers.
    unsafe { libc::dl_iterate_phdr(Some(take), (&raw mut loads).cast()) };
    loads
}

/// All modules, ordered by their addresses.
pub struct Modules {
    modules: Vec<Module>,
    /// [`loads`] before they were read.
    pub loads: [u64; 2],
    /// The code of the program or library that this crate is a part of.
    pub program: Range<usize>,
    /// The code of the engine's function that leaves frames when something throws.
    pub exception_handler: CodeRange,
    /// The code of the engine's functions that call any function, and any constructor.
    pub calls: [CodeRange; 2],
}

impl Modules {
    /// The modules that are loaded now. They will stay loaded.
    pub fn read() -> Self {
        extern "C" fn take(
            info: *mut libc::dl_phdr_info,
            _: libc::size_t,
            modules: *mut c_void,
        ) -> libc::c_int {
            // SAFETY: `dl_iterate_phdr` passes a pointer that is valid while this function runs, and the
            // pointer that it was given.
            let (info, modules) = unsafe { (&*info, &mut *modules.cast::<Vec<Module>>()) };
            // SAFETY: as above.
            if unsafe { keep_loaded(info) } {
                // SAFETY: as above, and the module stays loaded.
                modules.extend(unsafe { Module::read(info) });
            }
            0
        }
        let loads = loads();
        let mut modules: Vec<Module> = Vec::new();
        // SAFETY: `take` has the type that is expected, and its argument is a `Vec<Module>`.
        unsafe { libc::dl_iterate_phdr(Some(take), (&raw mut modules).cast()) };
        modules.sort_by_key(|module| module.code.start);
        let own = Self::read as *const () as usize;
        let program = modules
            .iter()
            .map(|module| module.code.clone())
            .find(|code| code.contains(&own));
        let mut modules = Self {
            modules,
            loads,
            program: program.unwrap_or(0..0),
            exception_handler: CodeRange::default(),
            calls: Default::default(),
        };
        // SAFETY: these functions only return an address.
        let (handler, calls) = unsafe {
            (
                strobe_exception_handler(),
                [strobe_call(), strobe_construct()],
            )
        };
        modules.exception_handler = modules.range_from(handler);
        modules.calls = calls.map(|call| modules.range_from(call));
        modules
    }

    /// The code of the function that begins at this address; empty if that is not known.
    fn range_from(&self, begin: usize) -> CodeRange {
        let end = self.end_of(begin);
        end.map_or_else(CodeRange::default, |end| CodeRange { begin, end })
    }

    /// The end of the function that begins at this address.
    pub fn end_of(&self, begin: usize) -> Option<usize> {
        let function = self.at(begin)?.function(begin)?;
        (function.initial_address() == begin as u64).then(|| function.end_address() as usize)
    }

    /// The module whose code contains an address.
    pub fn at(&self, address: usize) -> Option<&Module> {
        let after = self
            .modules
            .partition_point(|module| module.code.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        module.code.contains(&address).then_some(module)
    }
}

/// Keeps a module loaded until the process ends, because the walk may read its tables at any time. False if
/// that is not possible.
///
/// # Safety
///
/// `info` must be what `dl_iterate_phdr` gives.
unsafe fn keep_loaded(info: &libc::dl_phdr_info) -> bool {
    // SAFETY: see above. A name ends with a zero.
    let is_named = unsafe { !info.dlpi_name.is_null() && *info.dlpi_name != 0 };
    // The program itself has no name. The kernel's module has one, but no file.
    if !is_named {
        return true;
    }
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: nothing new is loaded, and the name is as above. The handle is never closed.
    let handle = unsafe { libc::dlopen(info.dlpi_name, flags) };
    // SAFETY: as above.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dlpi_name) };
    !handle.is_null() || !name.to_bytes().contains(&b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_of_this_program_has_an_entry() {
        let modules = Modules::read();
        let own = each_function_of_this_program_has_an_entry as *const () as usize;
        assert!(modules.program.contains(&own));
        let function = modules.at(own).unwrap().function(own).unwrap();
        assert_eq!(function.initial_address() as usize, own);
        assert!(function.end_address() as usize > own);
        assert!(
            modules
                .at(modules.program.end)
                .is_none_or(|module| module.code.start != modules.program.start)
        );
    }

    #[test]
    fn libraries_are_known() {
        let modules = Modules::read();
        let qsort = libc::qsort as *const () as usize;
        let module = modules.at(qsort).unwrap();
        assert_ne!(module.code, modules.program);
        assert!(module.function(qsort).is_some());
    }
}

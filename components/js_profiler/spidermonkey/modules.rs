/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The program and the libraries that are loaded, and the tables for unwinding that compilers write into each
//! of them (`.eh_frame`).
//!
//! They are read while no thread is stopped. The walk uses them later, so no module that was read is unloaded.

use std::ffi::{CStr, CString, c_void};
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use gimli::{
    BaseAddresses, CommonInformationEntry, EhFrame, EhFrameHdr, EhFrameOffset, EhHdrTableIter,
    EndianSlice, FrameDescriptionEntry, LittleEndian, ParsedEhFrameHdr, Pointer, UnwindSection,
};

use super::ffi::{CodeRange, strobe_call, strobe_construct};

/// The smallest size of a page, in bytes.
const PAGE: usize = 4096;

type Bytes = EndianSlice<'static, LittleEndian>;

/// A program or library that is loaded.
#[derive(Clone)]
pub struct Module {
    /// Where its program headers are. No two modules that stay loaded have them at the same place.
    headers: usize,
    code: Range<usize>,
    /// The table of the entries, ordered by the addresses of their functions.
    header: ParsedEhFrameHdr<Bytes>,
    /// For each block of code, how many entries the table has for functions that begin before the block. At the end, how
    /// many entries it has.
    before_block: Arc<[u32]>,
    /// The entries for unwinding.
    pub frames: EhFrame<Bytes>,
    /// The addresses that pointers in the entries are relative to.
    pub bases: BaseAddresses,
}

/// The size of a block of code, in bytes. The rows of a block are in one or two lines of the processor's cache.
pub const BLOCK: usize = 2048;

/// What many entries have in common (CIE), as it was read last: its module's headers, its offset, and itself.
#[derive(Default)]
pub struct LastCommon(Option<(usize, EhFrameOffset, CommonInformationEntry<Bytes>)>);

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
        if code.contains(&own_code()) {
            for table in [header_bytes, frames_bytes] {
                map_ahead(table);
            }
        }
        let bases = bases.set_eh_frame(frames as u64);
        Some(Self {
            headers: info.dlpi_phdr as usize,
            before_block: count_before_blocks(&parsed, &bases, &code),
            code,
            header: parsed,
            frames: EhFrame::new(frames_bytes, LittleEndian),
            bases,
        })
    }

    /// A row of the table: where the function of an entry begins, and where the entry is. `None` if there is no such
    /// row.
    fn row(&self, index: usize) -> Option<(Pointer, Pointer)> {
        self.header.table()?.iter(&self.bases).nth(index).ok()?
    }

    /// Where the function of an entry begins. `None` if the table has no such entry.
    fn begin(&self, index: usize) -> Option<u64> {
        self.row(index)?.0.direct().ok()
    }

    /// The index of the last entry whose function begins at an address of the module's code or before it.
    fn index_before(&self, address: usize) -> Option<usize> {
        let block = (address - self.code.start) / BLOCK;
        let [mut low, mut high] = [block, block + 1].map(|block| self.before_block[block] as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.begin(middle)? <= address as u64 {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low.checked_sub(1)
    }

    /// An entry of the table, and what it describes.
    fn entry(&self, index: usize, last: &mut LastCommon) -> Option<FrameDescriptionEntry<Bytes>> {
        let (_, pointer) = self.row(index)?;
        let offset = self.header.table()?.pointer_to_offset(pointer).ok()?;
        let common = |frames: &EhFrame<Bytes>, bases: &BaseAddresses, offset: EhFrameOffset| {
            if let Some((module, at, entry)) = &last.0
                && (*module, *at) == (self.headers, offset)
            {
                return Ok(entry.clone());
            }
            let entry = frames.cie_from_offset(bases, offset)?;
            last.0 = Some((self.headers, offset, entry.clone()));
            Ok(entry)
        };
        self.frames
            .fde_from_offset(&self.bases, offset, common)
            .ok()
    }

    /// The entry of the function that contains an address of the module's code.
    pub fn function(
        &self,
        address: usize,
        last: &mut LastCommon,
    ) -> Option<FrameDescriptionEntry<Bytes>> {
        let entry = self.entry(self.index_before(address)?, last)?;
        entry.contains(address as u64).then_some(entry)
    }

    /// Calls `take` with the entries of all functions in a part of the module's code, and maybe of one before it. The
    /// part begins in the code.
    pub fn functions(
        &self,
        part: Range<usize>,
        last: &mut LastCommon,
        mut take: impl FnMut(&FrameDescriptionEntry<Bytes>),
    ) {
        let mut index = self.index_before(part.start).unwrap_or(0);
        while self
            .begin(index)
            .is_some_and(|begin| begin < part.end as u64)
        {
            if let Some(entry) = self.entry(index, last) {
                take(&entry);
            }
            index += 1;
        }
    }
}

/// An address of the program or library that this crate is a part of.
fn own_code() -> usize {
    own_code as *const () as usize
}

/// Maps all pages of a table that is in a file, so that no walk waits for that, or for the disk. Older kernels cannot do it.
fn map_ahead(table: &[u8]) {
    let address = table.as_ptr().addr();
    let before = address % PAGE;
    // SAFETY: the kernel reads memory that stays mapped, and changes nothing. The page begins at most `before` bytes earlier.
    unsafe {
        libc::madvise(
            (address - before) as *mut c_void,
            before + table.len(),
            libc::MADV_POPULATE_READ,
        );
    }
}

/// [`Module::before_block`]. Reads the whole table.
fn count_before_blocks(
    header: &ParsedEhFrameHdr<Bytes>,
    bases: &BaseAddresses,
    code: &Range<usize>,
) -> Arc<[u32]> {
    let blocks: Vec<_> = code.clone().step_by(BLOCK).collect();
    let mut before = Vec::with_capacity(blocks.len() + 1);
    let mut count = 0;
    let table = header.table();
    let mut rows = table.as_ref().map(|table| table.iter(bases));
    while let Some(Ok(Some((begin, _)))) = rows.as_mut().map(EhHdrTableIter::next)
        && let Ok(begin) = begin.direct()
    {
        let rest = &blocks[before.len()..];
        let passed = rest.iter().take_while(|&&block| block as u64 <= begin);
        before.extend(passed.map(|_| count));
        count += 1;
    }
    before.resize(blocks.len() + 1, count);
    before.into()
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
    /// The index of the program's module.
    program_index: Option<usize>,
    /// [`loads`] before they were read.
    pub loads: [u64; 2],
    /// The code of the program or library that this crate is a part of.
    pub program: Range<usize>,
    /// The code of the engine's functions that call any function, and any constructor.
    pub calls: [CodeRange; 2],
}

impl Modules {
    /// The modules that are loaded now. They will stay loaded. Those that are in `before` are not read again.
    pub fn read(before: Option<&Self>) -> Self {
        let loads = loads();
        let mut modules = before.map_or_else(Vec::new, |before| before.modules.clone());
        let mut new: Vec<(_, CString)> = Vec::new();
        each_module(|info, name| {
            let mut known = modules.iter();
            if !known.any(|module| module.headers == info.dlpi_phdr as usize) {
                new.push((info.dlpi_phdr, name.to_owned()));
            }
        });
        new.retain(|(_, name)| keep_loaded(name));
        // Those that were unloaded before they could be kept are not there.
        each_module(|info, name| {
            let mut new = new.iter();
            if new.any(|(headers, of)| *headers == info.dlpi_phdr && of.as_c_str() == name) {
                // SAFETY: the module is loaded, and stays so.
                modules.extend(unsafe { Module::read(info) });
            }
        });
        modules.sort_by_key(|module| module.code.start);
        let program_index = modules
            .iter()
            .position(|module| module.code.contains(&own_code()));
        let program = program_index.map(|index| &modules[index]);
        let mut modules = Self {
            loads,
            program: program.map_or(0..0, |program| program.code.clone()),
            program_index,
            modules,
            calls: Default::default(),
        };
        // SAFETY: these functions only return an address.
        let calls = unsafe { [strobe_call(), strobe_construct()] };
        let mut last = LastCommon::default();
        modules.calls = calls.map(|begin| {
            let end = modules.end_of(begin, &mut last);
            end.map_or_else(CodeRange::default, |end| CodeRange { begin, end })
        });
        modules
    }

    /// The end of the function that begins at this address.
    pub fn end_of(&self, begin: usize, last: &mut LastCommon) -> Option<usize> {
        let function = self.at(begin)?.function(begin, last)?;
        (function.initial_address() == begin as u64).then(|| function.end_address() as usize)
    }

    /// The module whose code contains an address.
    pub fn at(&self, address: usize) -> Option<&Module> {
        // Nearly all addresses are in the program.
        if let Some(program) = self
            .program_index
            .filter(|_| self.program.contains(&address))
        {
            return Some(&self.modules[program]);
        }
        let after = self
            .modules
            .partition_point(|module| module.code.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        module.code.contains(&address).then_some(module)
    }
}

/// Calls `take` with each module that is loaded, and with its name. Meanwhile nothing may be loaded: that takes another lock of
/// the loader first, and this thread has the one that comes after it.
fn each_module<F: FnMut(&libc::dl_phdr_info, &CStr)>(mut take: F) {
    extern "C" fn pass<F: FnMut(&libc::dl_phdr_info, &CStr)>(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        take: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` passes a pointer that is valid while this function runs, and the
        // pointer that it was given.
        let (info, take) = unsafe { (&*info, &mut *take.cast::<F>()) };
        let name = match info.dlpi_name.is_null() {
            true => c"",
            // SAFETY: a name ends with a zero.
            false => unsafe { CStr::from_ptr(info.dlpi_name) },
        };
        take(info, name);
        0
    }
    // SAFETY: `pass` has the type that is expected, and its argument is an `F`.
    unsafe { libc::dl_iterate_phdr(Some(pass::<F>), (&raw mut take).cast()) };
}

/// Keeps a module loaded until the process ends, because the walk may read its tables at any time. False if
/// that is not possible.
fn keep_loaded(name: &CStr) -> bool {
    // The program itself has no name. The kernel's module has one, but no file.
    if name.is_empty() {
        return true;
    }
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: nothing new is loaded. The handle is never closed.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    !handle.is_null() || !name.to_bytes().contains(&b'/')
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;
    use std::{env, fs, process, thread};

    use super::*;

    #[test]
    fn each_function_of_this_program_has_an_entry() {
        let modules = Modules::read(None);
        let own = each_function_of_this_program_has_an_entry as *const () as usize;
        assert!(modules.program.contains(&own));
        let mut last = LastCommon::default();
        let function = modules.at(own).unwrap().function(own, &mut last).unwrap();
        assert_eq!(function.initial_address() as usize, own);
        assert!(function.end_address() as usize > own);
        assert!(
            modules
                .at(modules.program.end)
                .is_none_or(|module| module.code.start != modules.program.start)
        );
    }

    #[test]
    fn all_entries_are_found() {
        let modules = Modules::read(None);
        let own = modules
            .modules
            .iter()
            .find(|module| module.code.contains(&modules.program.start));
        let own = own.unwrap();
        let length = own.before_block.last().copied().unwrap() as usize;
        assert!(length > 1000);
        for index in 0..length {
            let begin = own.begin(index).unwrap() as usize;
            let next = own.begin(index + 1).unwrap_or(u64::MAX) as usize;
            // Of several entries for one address, the last one is found.
            if begin == next {
                continue;
            }
            for address in [begin, next - 1] {
                if own.code.contains(&address) {
                    assert_eq!(own.index_before(address), Some(index));
                }
            }
        }
        assert_eq!(own.begin(length), None);
    }

    #[test]
    fn modules_that_are_known_are_the_same_as_those_that_are_read() {
        let before = Modules::read(None);
        // SAFETY: loading the library runs nothing of it that matters here.
        let library = unsafe { libc::dlopen(c"libBrokenLocale.so.1".as_ptr(), libc::RTLD_LAZY) };
        assert!(!library.is_null());
        // Other tests may load libraries meanwhile.
        let [added, read] = [Some(&before), None].map(Modules::read);
        assert!(added.modules.len() > before.modules.len());
        for module in &added.modules {
            let mut all = read.modules.iter();
            let same = all.find(|other| other.headers == module.headers).unwrap();
            assert_eq!(same.code, module.code);
            assert_eq!(same.before_block, module.before_block);
        }
        for pair in added.modules.windows(2) {
            assert!(pair[0].code.end <= pair[1].code.start);
        }
    }

    #[test]
    fn modules_are_read_while_others_are_loaded() {
        const LIBRARIES: usize = 100;
        const LONGEST: Duration = Duration::from_secs(60);
        // SAFETY: loading the library runs nothing of it that matters here.
        let load = |name: &CStr| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) };
        assert!(!load(c"libutil.so.1").is_null());
        let mut file = None;
        each_module(|_, name| {
            let name = name.to_str().unwrap();
            if name.contains("libutil.so") {
                file = Some(name.to_owned());
            }
        });
        let library = fs::read(file.unwrap()).unwrap();
        let folder = env::temp_dir().join(format!("strobe-modules-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        let (loaded, when_loaded) = mpsc::channel();
        let (read, when_read) = mpsc::channel();
        let of = folder.clone();
        thread::spawn(move || {
            for number in 0..LIBRARIES {
                // Each is a module of its own.
                let copy = of.join(format!("{number}.so"));
                fs::write(&copy, &library).unwrap();
                let copy = CString::new(copy.to_str().unwrap()).unwrap();
                assert!(!load(&copy).is_null());
            }
            loaded.send(()).unwrap();
        });
        thread::spawn(move || {
            while when_loaded.try_recv().is_err() {
                Modules::read(None);
            }
            read.send(Modules::read(None)).unwrap();
        });
        let modules = when_read.recv_timeout(LONGEST);
        fs::remove_dir_all(&folder).unwrap();
        let modules = modules.expect("nobody waits for ever").modules;
        assert!(modules.len() > LIBRARIES, "{}", modules.len());
    }

    #[test]
    fn libraries_are_known() {
        let modules = Modules::read(None);
        let qsort = libc::qsort as *const () as usize;
        let module = modules.at(qsort).unwrap();
        assert_ne!(module.code, modules.program);
        let mut last = LastCommon::default();
        assert!(module.function(qsort, &mut last).is_some());
    }
}

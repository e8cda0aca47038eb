/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Each call pushes words that link the frames of a JIT activation:
//
//     fp + 24   callee token (frames of functions and scripts; other frames have something else there)
//     fp + 16   descriptor: what kind of frame the *caller's* is
//     fp +  8   return address into the caller's code
//     fp        the caller's frame
//
// So all older frames follow from any one frame. Whose frame the frame pointer points at follows from the code that
// runs, or from the code that a native frame returns to: see JitCodeKind. A callee token is followed only if the code
// says that the frame is a function's. As long as that frame is on the stack this does not change: a function keeps
// its script, and a script its place in the source.

#include "jit_frames.h"

#include <algorithm>

#include "cells.h"
#include "reveal.h"

#include "builtin/MapObject.h"
#include "jit/BaselineFrame.h"
#include "jit/BaselineJIT.h"
#include "jit/JSJitFrameIter.h"
#include "jit/JitFrames.h"
#include "jit/JitRuntime.h"
#include "jit/JitcodeMap.h"
#include "jit/TrampolineNatives.h"
#include "jit/VMFunctionList-inl.h"
#include "vm/JSContext.h"
#include "vm/JSFunction.h"
#include "vm/Runtime.h"
#include "wasm/WasmCode.h"
#include "wasm/WasmProcess.h"

#include "vm/JSScript-inl.h"

using namespace js;
using jit::AddressIsInExecutableMemory;
using jit::CalleeToken;
using jit::FrameDescriptor;
using jit::FrameType;
using jit::JitcodeGlobalEntry;

namespace strobe {

// Where Baseline code returns to, and what it has called from there, in the order of addresses.
struct ReturnAddresses {
  using Pointer = mozilla::Span<jit::RetAddrEntry> (jit::BaselineScript::*)();
  friend constexpr Pointer Find(ReturnAddresses);
};
template struct Reveal<ReturnAddresses, &jit::BaselineScript::retAddrEntries>;

namespace {

// Between two calls, Baseline code is taken to be at the second one. A script keeps its Baseline code while a frame
// runs it.
uint32_t OffsetInBaseline(JSScript* script, uintptr_t pc) {
  if (!pc || !script->hasBaselineScript()) {
    return NoOffset;
  }
  jit::BaselineScript* baseline = script->baselineScript();
  auto begin = reinterpret_cast<uintptr_t>(baseline->method()->raw());
  if (pc < begin || pc - begin > baseline->method()->instructionsSize()) {
    return NoOffset;
  }
  mozilla::Span<jit::RetAddrEntry> entries = (baseline->*Find(ReturnAddresses()))();
  if (entries.IsEmpty()) {
    return NoOffset;
  }
  const jit::RetAddrEntry* first = entries.data();
  const jit::RetAddrEntry* end = first + entries.Length();
  const jit::RetAddrEntry* found =
      std::lower_bound(first, end, pc - begin, [](const jit::RetAddrEntry& entry, size_t offset) {
        return entry.returnOffset().offset() < offset;
      });
  return (found == end ? end - 1 : found)->pcOffset();
}

// The public name of a built-in that JIT code calls directly as a function of the engine; null if the function does
// not stand for a built-in, or is also used for other things.
const char* NameOfVMFunction(jit::VMFunctionId id) {
  using Id = jit::VMFunctionId;
  switch (id) {
    case Id::ArrayJoin:
      return "join";
    case Id::ArraySliceDense:
      return "slice";
    case Id::MapObjectDelete:
    case Id::SetObjectDelete:
      return "delete";
    case Id::MapObjectGet:
      return "get";
    case Id::MapObjectHas:
    case Id::SetObjectHas:
      return "has";
    case Id::MapObjectSet:
    case Id::MapObjectSetFromIC:
      return "set";
    case Id::SetObjectAdd:
    case Id::SetObjectAddFromIC:
      return "add";
    case Id::StringReplace:
      return "replace";
    case Id::StringSplitString:
      return "split";
    case Id::StringToLowerCase:
      return "toLowerCase";
    case Id::StringToUpperCase:
      return "toUpperCase";
    default:
      return nullptr;
  }
}

}  // namespace

bool JitFrames::linkOf(uintptr_t fp, Link* link) const {
  if (!stack_.holdsFrame(fp)) {
    return false;
  }
  // The older frame has a higher address. That of the oldest is the frame of the stub through which C++ has entered.
  return stack_.word(fp) > fp && linkWithoutFrame(fp, stack_.word(fp), link);
}

bool JitFrames::linkWithoutFrame(uintptr_t frame, uintptr_t callerFrame, Link* link) const {
  if (!stack_.contains(frame + ReturnAddressOffset, CalleeOffset) || callerFrame <= frame) {
    return false;
  }
  link->callerFrame = callerFrame;
  link->returnAddress = stack_.word(frame + ReturnAddressOffset);
  link->callerType = FrameType(stack_.word(frame + DescriptorOffset) & FrameDescriptor::TypeMask);
  return true;
}

bool JitFrames::linkAt(const StrobeRegisters& registers, FrameEnd end, uintptr_t* frame, Link* link) const {
  if (end == FrameEnd::InBody) {
    *frame = registers.fp;
    return linkOf(*frame, link);
  }
  *frame = end == FrameEnd::Pushed ? registers.sp : registers.sp - sizeof(uintptr_t);
  return linkWithoutFrame(*frame, registers.fp, link);
}

// In the body of a function, `push fp` is a part of the code that marks a call of a native.
bool JitFrames::isPrologue(uintptr_t pc, const JitcodeGlobalEntry* entry, JitCodeKind kind) const {
  if (kind == JitCodeKind::TrampolineNative) {
    for (size_t i = 0; i < size_t(jit::TrampolineNative::Count); i++) {
      void** begin = cx_->runtime()->jitRuntime()->trampolineNativeJitEntry(jit::TrampolineNative(i));
      if (pc - reinterpret_cast<uintptr_t>(*begin) < PrologueLength) {
        return true;
      }
    }
    return false;
  }
  return !entry || entry->isBaselineInterpreter() ||
         pc - reinterpret_cast<uintptr_t>(entry->nativeStartAddr()) < PrologueLength;
}

Walked JitFrames::fromExit() {
  if (activation_->hasWasmExitFP()) {
    auto exit = reinterpret_cast<uintptr_t>(activation_->wasmExitFP());
    if (!enterStackOf(exit)) {
      return elsewhere("the engine is changing its list of stacks");
    }
    if (!stack_.contains(exit, 2 * sizeof(uintptr_t))) {
      return contradict("the exit frame of WebAssembly is not on the stack");
    }
    if (activation_->isWasmTrapping()) {
      // The frame is that of the function that trapped, which has called nothing.
      auto pc = reinterpret_cast<uintptr_t>(activation_->wasmTrapData().unwoundPC);
      return fromWasm(pc, exit, 0);
    }
    return fromWasm(stack_.word(exit + ReturnAddressOffset), stack_.word(exit), exit);
  }
  uintptr_t exit = jsExitFP();
  if (!exit) {
    return contradict("JIT code has called something without an exit frame");
  }
  emitExitFunction(exit);
  return emitFrom(exit);
}

Walked JitFrames::fromRegisters(const StrobeRegisters& registers, bool leaf, const StrobeStopped& stopped) {
  if (code_.kind(registers.pc, code_.entry(registers.pc)) == JitCodeKind::Linked) {
    // This is WebAssembly: the caller has already left other code that links its frames.
    if (!enterStackOf(registers.fp)) {
      return elsewhere("the engine is changing its list of stacks");
    }
    return leaf ? fromWasmRegisters(registers, stopped) : fromWasm(registers.pc, registers.fp, 0);
  }
  if (leaf) {
    interpreterPc_ = stopped.interpreter_pc;
    genericReturn_ = stopped.generic_return;
  }
  return inCode(registers, leaf);
}

Walked JitFrames::inCode(StrobeRegisters registers, bool leaf) {
  // The table of far calls at the end of a piece of code.
  if (leaf && IsJumpThroughTable(reinterpret_cast<const uint8_t*>(registers.pc))) {
    if (!stack_.contains(registers.sp) || !code_.isCallWithin(stack_.word(registers.sp), registers.pc)) {
      return contradict("a far call was not made by the same code");
    }
    registers.pc = stack_.word(registers.sp);
    registers.sp += sizeof(uintptr_t);
    leaf = false;
  }
  const JitcodeGlobalEntry* entry = code_.entry(registers.pc);
  JitCodeKind kind = code_.kind(registers.pc, entry);
  if (kind == JitCodeKind::NoFrame && leaveSharedStub(&registers, leaf)) {
    leaf = false;
    entry = code_.entry(registers.pc);
    kind = code_.kind(registers.pc, entry);
  }
  FrameEnd end = FrameEnd::InBody;
  if (leaf) {
    const auto* instruction = reinterpret_cast<const uint8_t*>(registers.pc);
    end = FrameEndAt(instruction);
    bool isReturn = end == FrameEnd::NoFrame && !IsPush(instruction);
    if (isReturn && kind == JitCodeKind::Function && !FollowsPop(instruction)) {
      // Baseline code has a part that it calls on its own frame, and that returns there: emitOutOfLinePostBarrierSlot.
      isReturn = false;
      end = FrameEnd::InBody;
    }
    if (end != FrameEnd::InBody && !isReturn && !isPrologue(registers.pc, entry, kind)) {
      end = FrameEnd::InBody;
    }
    if (kind == JitCodeKind::FunctionEntry && IsJumpToRegister(instruction)) {
      // The code has left its frame, to jump to the function's code.
      end = FrameEnd::NoFrame;
    }
  }
  uintptr_t frame = registers.fp;
  Link link;
  switch (kind) {
    case JitCodeKind::Function:
      if (!linkAt(registers, end, &frame, &link)) {
        return contradict("a function's frame is not on the stack");
      }
      if (end != FrameEnd::InBody) {
        return emitPhysicalFunction(frame, entry, registers.pc, leaf) == Walked::Done
                   ? emitFrom(link)
                   : Walked::Inconsistent;
      }
      if (link.callerType == FrameType::BaselineJS &&
          entry->containsPointer(reinterpret_cast<void*>(link.returnAddress)) && !isFrameOf(frame, entry)) {
        // The code is making the frame of a generator that it resumes. The generator will return to this code.
        return emitFrom(link);
      }
      if (link.callerType == FrameType::IonJS && entry->isIon() &&
          code_.isFakeReturnAddress(link.returnAddress, entry)) {
        // The code has made an exit frame, to call WebAssembly without a stub in between: GenerateDirectCallFromJit.
        return emitFrom(link);
      }
      return emitFunction(frame, registers.pc, leaf, entry) == Walked::Done ? emitFrom(link)
                                                                                               : Walked::Inconsistent;
    case JitCodeKind::IonCache: {
      if (!linkOf(frame, &link)) {
        return contradict("a function's frame is not on the stack");
      }
      if (link.callerType == FrameType::IonJS && code_.isIonCacheCall(link.returnAddress, entry->asIonIC().ionEntry())) {
        // The frame is the stub's own.
        return emitFrom(link);
      }
      return emitFunction(frame, registers.pc, false, entry) == Walked::Done
                 ? emitFrom(link)
                 : Walked::Inconsistent;
    }
    case JitCodeKind::BaselineCache:
      if (!linkOf(frame, &link)) {
        return contradict("a function's frame is not on the stack");
      }
      // The frame of a generator that is resumed has such a descriptor as well, but no cache has called it.
      if (link.callerType == FrameType::BaselineJS && code_.isBaselineCacheCall(link.returnAddress)) {
        return emitFrom(link);
      }
      return emitPhysicalFunction(frame, nullptr,
                                  writer_.wantsPosition() ? returnAddressIntoBaseline(registers) : 0) == Walked::Done
                 ? emitFrom(link)
                 : Walked::Inconsistent;
    case JitCodeKind::VMWrapper:
      if (!linkAt(registers, end, &frame, &link)) {
        return contradict("a call of the engine is not on the stack");
      }
      if (!leaf) {
        emitExitFunction(frame);
      }
      return emitFrom(link);
    case JitCodeKind::FunctionEntry:
      if (!linkAt(registers, end, &frame, &link)) {
        return contradict("a function's frame is not on the stack");
      }
      // The time that this takes is the called function's. A function that has never run may have no script yet. One that
      // the interpreter runs has a younger activation.
      if (ScriptOfCalleeToken(CalleeToken(stack_.word(frame + CalleeOffset)))) {
        emitPhysicalFunction(frame, nullptr);
      }
      return emitFrom(link);
    case JitCodeKind::GenericCall: {
      if (!linkOf(frame, &link)) {
        return contradict("a function's frame is not on the stack");
      }
      // The stub calls only natives from here, with an exit frame that the frame pointer points at meanwhile. An exit
      // frame has the number of arguments where the Ion frame has its callee.
      if (!leaf || !IsCell(stack_.word(frame + CalleeOffset))) {
        return emitFrom(link);
      }
      uintptr_t pc = returnAddressOfGenericCall(registers);
      const JitcodeGlobalEntry* caller = pc ? code_.entry(pc) : nullptr;
      Walked walked = caller && isFrameOf(frame, caller)
                          ? emitFunction(frame, pc, false, caller)
                          : emitPhysicalFunction(frame, nullptr);
      return walked == Walked::Done ? emitFrom(link) : Walked::Inconsistent;
    }
    case JitCodeKind::Bailout:
      if (leaf || !linkOf(frame, &link)) {
        return contradict("a frame is being replaced");
      }
      return emitPhysicalFunction(frame, nullptr) == Walked::Done ? emitFrom(link)
                                                                                      : Walked::Inconsistent;
    case JitCodeKind::Exception:
      // The engine uses the exit frame, too, to find the code that catches the exception.
      return leaf ? contradict("frames are being left") : fromExit();
    case JitCodeKind::TrampolineNative:
      if (!linkAt(registers, end, &frame, &link)) {
        return contradict("the frame of a trampoline is not on the stack");
      }
      emitTrampolineNative(frame);
      return emitFrom(link);
    case JitCodeKind::NoFrame:
      return contradict("code that several callers share has no frame");
    case JitCodeKind::Enter:
    case JitCodeKind::Linked:
      return contradict("a linked frame leads nowhere");
  }
  return contradict("the code is of an unknown kind");
}

// Whether code may belong to a script. Several scripts may share code.
static bool IsCodeOf(const JitcodeGlobalEntry* entry, JSScript* script) {
  if (entry->isIon()) {
    return entry->asIon().getScriptKey(0).matches(script);
  }
  return !entry->isBaseline() || entry->asBaseline().scriptKey().matches(script);
}

bool JitFrames::isFrameOf(uintptr_t fp, const JitcodeGlobalEntry* entry) const {
  JSScript* script = ScriptOfCalleeToken(CalleeToken(stack_.word(fp + CalleeOffset)));
  return script && IsCodeOf(entry, script);
}

uint32_t JitFrames::offsetAt(uintptr_t fp, JSScript* script, const JitcodeGlobalEntry* entry, uintptr_t pc,
                             bool leaf) const {
  if (!entry && pc) {
    entry = code_.entry(pc);
  }
  if (!entry) {
    return NoOffset;
  }
  if (entry->isIon()) {
    return OffsetInPhysical(entry->asIon(), reinterpret_cast<void*>(pc));
  }
  if (!entry->isBaselineInterpreter()) {
    return OffsetInBaseline(script, pc);
  }
  // The register is right where the interpreter runs; it is stored in the frame before a call.
  if (leaf) {
    uint32_t offset = OffsetIn(script, reinterpret_cast<jsbytecode*>(interpreterPc_));
    if (offset != NoOffset) {
      return offset;
    }
  }
  uintptr_t stored = fp + jit::BaselineFrame::reverseOffsetOfInterpreterPC();
  return stack_.contains(stored) ? OffsetIn(script, reinterpret_cast<jsbytecode*>(stack_.word(stored))) : NoOffset;
}

Walked JitFrames::emitPhysicalFunction(uintptr_t fp, const JitcodeGlobalEntry* entry, uintptr_t pc, bool leaf,
                                       Inlined inlined) {
  uintptr_t token = stack_.word(fp + CalleeOffset);
  JSScript* script = ScriptOfCalleeToken(CalleeToken(token));
  if (!script) {
    return contradict("a function's frame has no script");
  }
  if (entry && !IsCodeOf(entry, script)) {
    return contradict("a frame does not belong to the function whose code runs");
  }
  if (inlined == Inlined::Yes && entry->isIon()) {
    // The table counts the address at the end of a region as part of that region, as a return address is. That is
    // right for a stopped thread, too: it stops after the instruction that the processor was waiting for.
    writer_.appendInlinedFunctions(entry->asIon(), reinterpret_cast<void*>(pc), script->realm());
  }
  uint32_t offset = writer_.wantsPosition() ? offsetAt(fp, script, entry, pc, leaf) : NoOffset;
  writer_.appendScript(script, offset);
  return Walked::Done;
}

Walked JitFrames::emitFunction(uintptr_t fp, uintptr_t pc, bool leaf, const JitcodeGlobalEntry* entry) {
  if (entry && entry->isIonIC()) {
    pc = reinterpret_cast<uintptr_t>(entry->asIonIC().rejoinAddr());
    entry = &entry->asIonIC().ionEntry();
  }
  if (!entry || entry->isDummy()) {
    return contradict("a return address is not into the code of a function");
  }
  return emitPhysicalFunction(fp, entry, pc, leaf, Inlined::Yes);
}

Walked JitFrames::emitCaller(const Link& link) {
  uintptr_t fp = link.callerFrame;
  uintptr_t callee = stack_.word(fp + CalleeOffset);
  if (!work_.take(Cost::Look)) {
    return tooMuch();
  }
  const StrobeKeptFrame* same = last_.find(fp, link.returnAddress, callee);
  size_t index = writer_.length();
  if (same && writer_.appendSame(*same)) {
    last_.keep({fp, link.returnAddress, callee, uint32_t(index), same->count, same->realm});
    __builtin_prefetch(reinterpret_cast<const void*>(fp + Ahead * UsualFrame));
    return Walked::Done;
  }
  if (!prefetched_) {
    prefetchCallers(link);
    prefetched_ = Ahead;
  }
  prefetched_--;
  auto script = [&] { return reinterpret_cast<uintptr_t>(ScriptCellOf(CalleeToken(callee))); };
  CallSites::Key key = callSiteOf(link.returnAddress, callee);
  const StrobeCallSite* site = callSites_.find(key, callee, script);
  // What the Baseline interpreter executes is in each frame, and not in the return address.
  bool isSameEachTime = !key.interpreted || !writer_.wantsPosition();
  if (!work_.take(Cost::Known)) {
    return tooMuch();
  }
  StrobeKeptFrame kept = {fp, link.returnAddress, callee, 0, 0, 0};
  if (site && isSameEachTime && writer_.appendCallSite(*site, &kept)) {
    // After a minor collection, a callee that several scripts' code may have can be another function.
    if (kept.count && (!site->sweeps || !IsInNursery(CalleeToken(callee)))) {
      last_.keep(kept);
    }
    return Walked::Done;
  }
  if (!takeNew(link.returnAddress)) {
    return tooMuch();
  }
  StackWriter::Mark before = writer_.mark();
  const JitcodeGlobalEntry* entry = code_.entry(link.returnAddress);
  Walked walked = emitFunction(fp, link.returnAddress, false, entry);
  if (walked == Walked::Done && isSameEachTime) {
    StrobeCallSite found[STROBE_CALL_SITE_WAYS];
    if (writer_.describeCallSite(before, found)) {
      bool isOfOneScript = entry && (entry->isIon() || entry->isIonIC() || entry->isBaseline());
      callSites_.put(key, IsInNursery(CalleeToken(callee)) ? 0 : callee, script(), isOfOneScript, found);
    }
  }
  return walked;
}

// Only for the first frame with a return address: the code of the next one is found at once. So a deep recursion of functions
// that no walk knows, such as those that no page may see, takes as little as others.
bool JitFrames::takeNew(uintptr_t returnAddress) {
  uintptr_t& last = newReturns_[(returnAddress >> 2) % KeptNewReturns];
  if (last == returnAddress) {
    return true;
  }
  last = returnAddress;
  return work_.take(Cost::New);
}

CallSites::Key JitFrames::callSiteOf(uintptr_t returnAddress, uintptr_t callee) const {
  return {returnAddress, code_.isInInterpreter(returnAddress) ? callee : 0};
}

// After a few milliseconds of other work, the processor's caches have little of what a walk reads: the stack, callees,
// call sites and known functions. One after the other, each frame would wait for several loads from memory. No word is
// followed here: a prefetch of an address that leads nowhere does nothing.
void JitFrames::prefetchCallers(const Link& link) const {
  for (uintptr_t i = 0; i < Ahead * UsualFrame; i += CacheLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(link.callerFrame + i));
  }
  CallSites::Key keys[Ahead];
  size_t count = 0, next = last_.next();
  uintptr_t returnAddress = link.returnAddress;
  uintptr_t fp = link.callerFrame;
  for (size_t i = 0; i < Ahead && stack_.holdsFrame(fp) && stack_.word(fp) > fp; i++, fp = stack_.word(fp)) {
    uintptr_t callee = stack_.word(fp + CalleeOffset);
    if (!last_.find(fp, returnAddress, callee, &next)) {
      __builtin_prefetch(reinterpret_cast<const void*>(callee & jit::CalleeTokenMask));
      keys[count] = callSiteOf(returnAddress, callee);
      callSites_.prefetch(keys[count++]);
    }
    returnAddress = stack_.word(fp + ReturnAddressOffset);
  }
  for (size_t i = 0; i < count; i++) {
    writer_.prefetchKnown(callSites_.firstKnown(keys[i]));
  }
}

void JitFrames::noteEntry(uintptr_t fp) {
  hasEntry_ = true;
  entry_ = {stack_.word(fp + ReturnAddressOffset), fp + DescriptorOffset, stack_.word(fp)};
}

void JitFrames::emitTrampolineNative(uintptr_t fp) {
  auto token = CalleeToken(stack_.word(fp + CalleeOffset));
  if (!IsCell(uintptr_t(token)) || !jit::CalleeTokenIsFunction(token)) {
    return;
  }
  auto native = reinterpret_cast<uintptr_t>(jit::CalleeTokenToFunction(token)->native());
  if (const StrobeNative* found = NativeAt(nativeCode_, native)) {
    writer_.appendNative(*found);
  }
}

template <typename IsWanted>
uintptr_t JitFrames::findReturnAddress(uintptr_t at, const StrobeRegisters& registers, IsWanted isWanted) const {
  constexpr int MaxWords = 64;
  for (int i = 0; i < MaxWords && at < registers.fp && stack_.contains(at); i++, at += sizeof(uintptr_t)) {
    if (AddressIsInExecutableMemory(reinterpret_cast<void*>(stack_.word(at))) && isWanted(stack_.word(at))) {
      return at;
    }
  }
  return 0;
}

// The stub runs on the Ion frame. Its first instruction moves the return address into a register, where it stays.
uintptr_t JitFrames::returnAddressOfGenericCall(const StrobeRegisters& registers) const {
  uintptr_t stub = code_.genericCallStub(registers.pc);
  uintptr_t address = genericReturn_;
  if (registers.pc == stub) {
    address = stack_.contains(registers.sp) ? stack_.word(registers.sp) : 0;
  }
  return code_.isCallOf(address, stub) ? address : 0;
}

// The same for a cache that Baseline code has called.
uintptr_t JitFrames::returnAddressIntoBaseline(const StrobeRegisters& registers) const {
  uintptr_t at = findReturnAddress(registers.sp, registers, [&](uintptr_t returnAddress) {
    return code_.isBaselineCacheCall(returnAddress);
  });
  return at ? stack_.word(at) : 0;
}

// The stub has pushed registers, and does not change the frame pointer. The call before a return address shows
// whether it is a call of the stub.
bool JitFrames::leaveSharedStub(StrobeRegisters* registers, bool leaf) const {
  // A stub saves registers before it calls C++. The words that align the stack are beyond the registers, and may hold
  // an older return address.
  uintptr_t stub = code_.sharedStub(registers->pc);
  if (!stub) {
    return false;
  }
  uintptr_t at = findReturnAddress(leaf ? registers->sp : registers->sp + SavedForCall, *registers,
                                   [&](uintptr_t returnAddress) { return code_.isCallOf(returnAddress, stub); });
  if (!at) {
    return false;
  }
  registers->pc = stack_.word(at);
  registers->sp = at + sizeof(uintptr_t);
  return true;
}

void JitFrames::emitExitFunction(uintptr_t exit) {
  constexpr size_t FooterSize = jit::ExitFooterFrame::Size();
  if (!stack_.contains(exit - FooterSize, FooterSize) || !stack_.holdsFrame(exit)) {
    return;
  }
  const jit::ExitFooterFrame* footer = reinterpret_cast<jit::ExitFrameLayout*>(exit)->footer();
  if (footer->type() != jit::ExitFrameType::VMFunction) {
    return;
  }
  if (const char* name = NameOfVMFunction(footer->functionId())) {
    writer_.appendNative(name);
  }
}

Walked JitFrames::emitFrom(Link link) {
  while (!writer_.full()) {
    switch (link.callerType) {
      case FrameType::BaselineStub:
      case FrameType::IonICCall: {
        bool baseline = link.callerType == FrameType::BaselineStub;
        if (!linkOf(link.callerFrame, &link) ||
            link.callerType != (baseline ? FrameType::BaselineJS : FrameType::IonJS)) {
          return contradict("the frame of a stub has no function's frame below");
        }
        [[fallthrough]];
      }
      case FrameType::IonJS:
      case FrameType::BaselineJS: {
        if (!stack_.holdsFrame(link.callerFrame)) {
          return contradict("a function's frame is not on the stack");
        }
        if (emitCaller(link) != Walked::Done) {
          return Walked::Inconsistent;
        }
        break;
      }
      case FrameType::TrampolineNative:
        if (!stack_.holdsFrame(link.callerFrame)) {
          return contradict("the frame of a trampoline is not on the stack");
        }
        emitTrampolineNative(link.callerFrame);
        break;
      case FrameType::BaselineInterpreterEntry:
        break;
      case FrameType::WasmToJSJit: {
        uintptr_t exit = link.callerFrame;
        if (!stack_.contains(exit, 2 * sizeof(uintptr_t))) {
          return contradict("the frame that left WebAssembly is not on the stack");
        }
        // This is a loop and no recursion: the two kinds of code may call each other in turn for as many frames as
        // there are, and a signal handler has little stack.
        uintptr_t fp = stack_.word(exit);
        switch (emitWasm(stack_.word(exit + ReturnAddressOffset), &fp, exit)) {
          case WasmEnd::Done:
            return Walked::Done;
          case WasmEnd::CalledByJit:
            link.callerFrame = fp;
            break;
          case WasmEnd::Inconsistent:
            return Walked::Inconsistent;
        }
        break;
      }
      case FrameType::CppToJSJit: {
        // The stub that entered JIT code links its frame as C++ does.
        uintptr_t entry = link.callerFrame;
        if (!stack_.contains(entry, 2 * sizeof(uintptr_t))) {
          return contradict("the entry into JIT code is not on the stack");
        }
        noteEntry(entry);
        return Walked::Done;
      }
      default:
        return contradict("a frame's descriptor is invalid");
    }
    if (!linkOf(link.callerFrame, &link)) {
      return contradict("a frame is not linked to its caller");
    }
  }
  return Walked::Done;
}

}  // namespace strobe

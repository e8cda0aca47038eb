/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "jit_code.h"

#include <algorithm>

#include "builtin/MapObject.h"
#include "jit/BaselineJIT.h"
#include "jit/JitCode.h"
#include "jit/JitRuntime.h"
#include "jit/JitcodeMap.h"
#include "jit/TrampolineNatives.h"
#include "jit/VMFunctions.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"

#include "jit/VMFunctionList-inl.h"

#include "reveal.h"

using namespace js;
using jit::BaselineICFallbackCode;
using jit::IonGenericCallKind;
using jit::JitcodeGlobalEntry;
using jit::JitRuntime;
using jit::TrampolineNative;

namespace strobe {

struct Trampolines : Private<JitRuntime, WriteOnceData<jit::JitCode*>> {
  friend constexpr Pointer Find(Trampolines);
};
template struct Reveal<Trampolines, &JitRuntime::trampolineCode_>;

struct FallbackCode : Private<BaselineICFallbackCode, jit::JitCode*> {
  friend constexpr Pointer Find(FallbackCode);
};
template struct Reveal<FallbackCode, &BaselineICFallbackCode::code_>;

struct InterpreterCode : Private<jit::BaselineInterpreter, jit::JitCode*> {
  friend constexpr Pointer Find(InterpreterCode);
};
template struct Reveal<InterpreterCode, &jit::BaselineInterpreter::code_>;

namespace {

bool IsIn(const jit::JitCode* code, uintptr_t pc) {
  auto begin = reinterpret_cast<uintptr_t>(code->raw());
  return pc >= begin && pc - begin < code->instructionsSize();
}

// How many blocks of a function are kept on each side of the one that was looked for.
constexpr uintptr_t MostBlocksBeside = 64;

uintptr_t Address(jit::TrampolinePtr trampoline) { return reinterpret_cast<uintptr_t>(trampoline.value); }

}  // namespace

JitCode::JitCode(JSContext* cx, const StrobeKnownFunctions& known)
    : runtime_(cx->runtime()->jitRuntime()), blocks_(known.code_blocks), blocksLength_(known.code_blocks_length) {
  // The engine publishes the runtime's tables before they are complete.
  bool isMade = runtime_ && runtime_->hasJitcodeGlobalTable() && runtime_->*Find(Trampolines()) &&
                runtime_->baselineICFallbackCode().*Find(FallbackCode());
  // A minor collection suppresses sampling while it moves functions, and changes nothing in the tables.
  bool isMinor = cx->runtime()->heapState() == JS::HeapState::MinorCollecting;
  usable_ = isMade && (isMinor || cx->isProfilerSamplingEnabled());
  usableInHandler_ = isMade && cx->isExceptionPending();
  if (isMade) {
    removals_ = runtime_->getJitcodeGlobalTable()->removals();
    sweeps_ = runtime_->getJitcodeGlobalTable()->sweeps();
  }
}

void JitCode::noteYoungestCaller(uintptr_t pc) {
  // Finding a trampoline needs no table.
  if (usableInHandler_ && IsIn(runtime_->*Find(Trampolines()), pc) && kind(pc, nullptr) == JitCodeKind::Exception) {
    usable_ = true;
  }
}

const JitcodeGlobalEntry* JitCode::entry(uintptr_t pc) const {
  // Nothing in these is in the table.
  if (IsIn(runtime_->*Find(Trampolines()), pc) || IsIn(runtime_->baselineICFallbackCode().*Find(FallbackCode()), pc)) {
    return nullptr;
  }
  if (!blocksLength_) {
    return find(pc);
  }
  uintptr_t number = pc / STROBE_CODE_BLOCK;
  StrobeCodeBlock* first = slotsOf(number);
  for (StrobeCodeBlock* block = first; block < first + CodeBlockWays; block++) {
    if (block->number != number || !isValid(*block)) {
      continue;
    }
    block->removals = removals_;
    auto* known = reinterpret_cast<const JitcodeGlobalEntry*>(block->entry);
    if (known->containsPointer(reinterpret_cast<void*>(pc))) {
      return known;
    }
  }
  const JitcodeGlobalEntry* found = find(pc);
  if (found) {
    keep(found, number);
  }
  return found;
}

void JitCode::keep(const JitcodeGlobalEntry* entry, uintptr_t number) const {
  auto address = reinterpret_cast<uintptr_t>(entry);
  uintptr_t own = reinterpret_cast<uintptr_t>(entry->nativeStartAddr()) / STROBE_CODE_BLOCK;
  uintptr_t ownLast = (reinterpret_cast<uintptr_t>(entry->nativeEndAddr()) - 1) / STROBE_CODE_BLOCK;
  // The walk must not take longer for a very long function.
  uintptr_t begin = std::max(own, number - MostBlocksBeside);
  uintptr_t last = std::min(ownLast, number + MostBlocksBeside);
  for (uintptr_t each = begin; each <= last; each++) {
    StrobeCodeBlock* first = slotsOf(each);
    StrobeCodeBlock* same = std::find_if(first, first + CodeBlockWays, [&](const StrobeCodeBlock& block) {
      return block.number == each && block.entry == address;
    });
    if (same == first + CodeBlockWays) {
      // The older of the two is lost.
      first[1] = first[0];
      same = first;
    }
    *same = {each, address, removals_};
  }
}

bool JitCode::wasNotRemoved(uint64_t since, uintptr_t begin, uintptr_t end) const {
  const jit::JitcodeGlobalTable* table = runtime_->getJitcodeGlobalTable();
  // A free slot has a number that is never reached.
  if (since > removals_ || removals_ - since > jit::JitcodeGlobalTable::MaxRemoved) {
    return false;
  }
  for (uint64_t number = since; number < removals_; number++) {
    const jit::JitcodeGlobalTable::Removed& removed = table->removed(number);
    if (removed.begin < end && begin < removed.end) {
      return false;
    }
  }
  return true;
}

const JitcodeGlobalEntry* JitCode::find(uintptr_t pc) const {
  jit::JitcodeGlobalTable* table = runtime_->getJitcodeGlobalTable();
  const JitcodeGlobalEntry* entry = table->index().find(pc);
  if (!entry) {
    entry = table->lookup(reinterpret_cast<void*>(pc));
  }
  // An entry may outlive its code.
  return entry && entry->hasJitcode() ? entry : nullptr;
}

bool JitCode::isInInterpreter(uintptr_t pc) const {
  const jit::JitCode* interpreter = runtime_->baselineInterpreter().*Find(InterpreterCode());
  return interpreter && IsIn(interpreter, pc);
}

bool JitCode::isVMWrapper(uintptr_t pc) const {
  // The wrappers are made one after the other, and the stub `getProfilerExitFrameTail` follows them.
  return pc >= Address(runtime_->getVMWrapper(jit::VMFunctionId(0))) &&
         pc < Address(runtime_->getProfilerExitFrameTail());
}

JitCodeKind JitCode::kind(uintptr_t pc, const JitcodeGlobalEntry* entry) const {
  if (entry) {
    switch (entry->kind()) {
      case JitcodeGlobalEntry::Kind::IonIC:
        return JitCodeKind::IonCache;
      case JitcodeGlobalEntry::Kind::Dummy:
        // Functions all have entries of their own, so these entries are the ones that LookupOrCompileStub adds.
        return JitCodeKind::BaselineCache;
      default:
        return JitCodeKind::Function;
    }
  }
  const jit::JitCode* trampolines = runtime_->*Find(Trampolines());
  if (!IsIn(trampolines, pc)) {
    return IsIn(runtime_->baselineICFallbackCode().*Find(FallbackCode()), pc) ? JitCodeKind::BaselineCache
                                                                             : JitCodeKind::Linked;
  }
  if (isVMWrapper(pc)) {
    return JitCodeKind::VMWrapper;
  }
  // The trampolines in the order in which JitRuntime::generateTrampolines makes them. Each begins here, and ends
  // where the next one begins.
  const struct {
    uintptr_t begin;
    JitCodeKind kind;
  } parts[] = {
      // The code that the handlers of bailouts end with comes before the handlers.
      {reinterpret_cast<uintptr_t>(trampolines->raw()), JitCodeKind::Bailout},
      {reinterpret_cast<uintptr_t>(runtime_->enterJit()), JitCodeKind::Enter},
      {Address(runtime_->preBarrier(jit::MIRType::Value)), JitCodeKind::NoFrame},
      {Address(runtime_->lazyLinkStub()), JitCodeKind::FunctionEntry},
      {Address(runtime_->getDoubleToInt32ValueStub()), JitCodeKind::NoFrame},
      {Address(runtime_->getExceptionTail()), JitCodeKind::Exception},
      {Address(runtime_->getIonGenericCallStub(IonGenericCallKind::Call)), JitCodeKind::GenericCall},
      {reinterpret_cast<uintptr_t>(*runtime_->trampolineNativeJitEntry(TrampolineNative(0))),
       JitCodeKind::TrampolineNative},
  };
  JitCodeKind kind = JitCodeKind::NoFrame;
  for (const auto& part : parts) {
    if (pc >= part.begin) {
      kind = part.kind;
    }
  }
  return kind;
}

bool JitCode::isCallWithin(uintptr_t returnAddress, uintptr_t callee) const {
  auto areIn = [&](auto&& contains) { return contains(returnAddress - CallLength) && contains(returnAddress); };
  const JitcodeGlobalEntry* own = entry(callee);
  bool isSame =
      own ? areIn([&](uintptr_t address) { return own->containsPointer(reinterpret_cast<void*>(address)); })
          : (IsIn(runtime_->*Find(Trampolines()), callee) &&
             areIn([&](uintptr_t address) { return IsIn(runtime_->*Find(Trampolines()), address); }));
  return isSame && CalleeOfCall(returnAddress) == callee;
}

uintptr_t JitCode::sharedStub(uintptr_t pc) const {
  const uintptr_t begins[] = {
      Address(runtime_->preBarrier(jit::MIRType::Value)),      Address(runtime_->preBarrier(jit::MIRType::String)),
      Address(runtime_->preBarrier(jit::MIRType::Object)),     Address(runtime_->preBarrier(jit::MIRType::Shape)),
      Address(runtime_->preBarrier(jit::MIRType::WasmAnyRef)), Address(runtime_->getDoubleToInt32ValueStub()),
  };
  uintptr_t stub = 0;
  for (uintptr_t begin : begins) {
    if (begin <= pc && begin > stub) {
      stub = begin;
    }
  }
  return stub;
}

uintptr_t JitCode::genericCallStub(uintptr_t pc) const {
  uintptr_t call = Address(runtime_->getIonGenericCallStub(IonGenericCallKind::Call));
  uintptr_t construct = Address(runtime_->getIonGenericCallStub(IonGenericCallKind::Construct));
  auto [first, second] = std::minmax(call, construct);
  return pc >= second ? second : first;
}

bool JitCode::isCallOf(uintptr_t returnAddress, uintptr_t callee) const {
  const JitcodeGlobalEntry* caller = entry(returnAddress);
  return caller && caller->containsPointer(reinterpret_cast<void*>(returnAddress - CallLength)) &&
         CalleeOfCall(returnAddress) == callee;
}

bool JitCode::isFakeReturnAddress(uintptr_t returnAddress, const JitcodeGlobalEntry* caller) const {
  auto isOfCaller = [&](uintptr_t address) { return caller->containsPointer(reinterpret_cast<void*>(address)); };
  return isOfCaller(returnAddress) && isOfCaller(returnAddress - LongestPushOfAddress) && PushesOwnEnd(returnAddress);
}

bool JitCode::isBaselineCacheCall(uintptr_t returnAddress) const {
  const JitcodeGlobalEntry* caller = entry(returnAddress);
  bool isBaseline =
      caller && (caller->isBaseline() || caller->isBaselineInterpreter() || caller->isRealmIndependentShared());
  return isBaseline && IsBaselineCacheCall(returnAddress);
}

bool JitCode::isIonCacheCall(uintptr_t returnAddress, const jit::IonEntry& ion) const {
  if (!ion.containsPointer(reinterpret_cast<void*>(returnAddress - CallLength)) ||
      !ion.containsPointer(reinterpret_cast<void*>(returnAddress))) {
    return false;
  }
  return isVMWrapper(CalleeOfCall(returnAddress));
}

}  // namespace strobe

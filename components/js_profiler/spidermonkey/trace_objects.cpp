/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The long arrays of a trace, as objects of JavaScript. All objects with the same members have one shape, so that each
// costs an allocation and its values. Called on the context's own thread, never during a walk: it allocates, and may
// collect garbage.

#include "glue.h"

#include <string.h>

#include <bit>

#include "builtin/Array.h"
#include "gc/Allocator.h"
#include "js/Id.h"
#include "js/PropertyDescriptor.h"
#include "js/RootingAPI.h"
#include "js/String.h"
#include "js/Value.h"
#include "vm/ArrayObject.h"
#include "vm/JSContext.h"
#include "vm/PlainObject.h"
#include "vm/Shape.h"

#include "gc/ObjectKind-inl.h"
#include "vm/JSObject-inl.h"
#include "vm/NativeObject-inl.h"
#include "vm/PlainObject-inl.h"

using namespace js;

namespace {

// A plain object with the members that are in the set `present`, and room for no more. Their values are undefined.
template <size_t Members>
PlainObject* NewTemplate(JSContext* cx, const char* const (&members)[Members], uint32_t present) {
  JS::Rooted<PlainObject*> object(cx, NewPlainObjectWithAllocKind(cx, gc::GetGCObjectKind(std::popcount(present))));
  if (!object) {
    return nullptr;
  }
  for (size_t i = 0; i < Members; i++) {
    if ((present & (1u << i)) && !JS_DefineProperty(cx, object, members[i], JS::UndefinedHandleValue, JSPROP_ENUMERATE)) {
      return nullptr;
    }
  }
  return object;
}

// Adds plain objects to an array of strobe_new_table. `presentOf(row)` is the set of members that an object has.
// `valueOf(row, member)` is the value of one of these, and must not allocate.
template <size_t Members, typename PresentOf, typename ValueOf>
bool AddObjects(JSContext* cx, JSObject* table, const char* const (&members)[Members], size_t length,
                PresentOf presentOf, ValueOf valueOf) {
  JS::Rooted<ArrayObject*> array(cx, &table->as<ArrayObject>());
  uint32_t first = array->getDenseInitializedLength();
  MOZ_RELEASE_ASSERT(length <= array->length() - first);
  // By the sets of members.
  JS::RootedVector<JSObject*> templates(cx);
  if (!templates.resize(size_t(1) << Members)) {
    return false;
  }
  JS::Rooted<SharedShape*> shape(cx);
  for (size_t row = 0; row < length; row++) {
    uint32_t present = presentOf(row);
    if (!templates[present]) {
      JSObject* made = NewTemplate(cx, members, present);
      if (!made) {
        return false;
      }
      templates[present].set(made);
    }
    shape = templates[present]->as<PlainObject>().sharedShape();
    PlainObject* object = PlainObject::createWithShape(cx, shape, TenuredObject);
    if (!object) {
      return false;
    }
    // Slots are in the order in which the template's members were defined. Nothing is allocated until the object is
    // in the array.
    uint32_t slot = 0;
    for (size_t i = 0; i < Members; i++) {
      if (present & (1u << i)) {
        object->initSlot(slot++, valueOf(row, i));
      }
    }
    array->setDenseInitializedLength(first + uint32_t(row) + 1);
    array->initDenseElement(first + uint32_t(row), JS::ObjectValue(*object));
  }
  return true;
}

}  // namespace

JSObject* strobe_new_table(JSContext* cx, size_t length) {
  if (length > UINT32_MAX) {
    ReportAllocationOverflow(cx);
    return nullptr;
  }
  // The objects live until the page has sent the trace, so they do not begin in the nursery.
  return NewDenseFullyAllocatedArray(cx, uint32_t(length), TenuredObject);
}

size_t strobe_table_length(JSObject* table) { return table->as<ArrayObject>().getDenseInitializedLength(); }

bool strobe_add_samples(JSContext* cx, JSObject* table, const StrobeSampleRow* rows, size_t length,
                        const char* const* markers, size_t markers_length) {
  JS::Rooted<JSObject*> rooted(cx, table);
  JS::RootedVector<JSString*> names(cx);
  for (size_t i = 0; i < markers_length; i++) {
    JSString* name = JS_AtomizeString(cx, markers[i]);
    if (!name || !names.append(name)) {
      return false;
    }
  }
  // In the order in which Web IDL converts the members of a dictionary.
  constexpr const char* members[] = {"marker", "stackId", "timestamp"};
  auto presentOf = [&](size_t row) {
    uint32_t present = 0b100;
    present |= rows[row].marker < markers_length ? 0b001 : 0;
    present |= rows[row].stack_id != STROBE_ABSENT ? 0b010 : 0;
    return present;
  };
  auto valueOf = [&](size_t row, size_t member) {
    switch (member) {
      case 0:
        return JS::StringValue(names[rows[row].marker]);
      case 1:
        return JS::NumberValue(rows[row].stack_id);
      default:
        return JS::NumberValue(rows[row].timestamp);
    }
  };
  return AddObjects(cx, rooted, members, length, presentOf, valueOf);
}

bool strobe_add_stacks(JSContext* cx, JSObject* table, const StrobeStackRow* rows, size_t length) {
  constexpr const char* members[] = {"frameId", "parentId"};
  auto presentOf = [&](size_t row) { return rows[row].parent_id != STROBE_ABSENT ? 0b11u : 0b01u; };
  auto valueOf = [&](size_t row, size_t member) {
    return JS::NumberValue(member == 0 ? rows[row].frame_id : rows[row].parent_id);
  };
  return AddObjects(cx, table, members, length, presentOf, valueOf);
}

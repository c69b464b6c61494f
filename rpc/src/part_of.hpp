// SPDX-License-Identifier: BSD-3-Clause
// Finds a part of the context that a call, a request or the book of a peer belongs to. The function of a WorkItem, a
// WheelTimer or an na::Op gets only such an object, and must find the part from it. In a file that includes
// context_core.hpp, part_of() is inlined. Other files, none of which is on the fast path, call a function that
// context.cpp instantiates.
#pragma once

namespace cinnabar::rpc {

template <typename Part, typename Object>
[[nodiscard]] Part& part_of(const Object& object) noexcept;

template <typename Function>
struct FunctionOfPart;
template <typename PartType, typename ObjectType>
struct FunctionOfPart<void (PartType::*)(ObjectType&) noexcept> {
    using Part = PartType;
    using Object = ObjectType;
};

// A function for a WorkItem, WheelTimer or na::Op whose `user` is a call, a request or the book of a peer. Passes that
// object to `Function`, a member function of a part of its context.
template <auto Function>
inline constexpr auto bind = [](auto& from) noexcept {
    using Of = FunctionOfPart<decltype(Function)>;
    auto& object = *static_cast<typename Of::Object*>(from.user);
    (part_of<typename Of::Part>(object).*Function)(object);
};

}  // namespace cinnabar::rpc

#pragma once
/// Fields that JSON has no types for: enumerations, as words, and numbers that must be finite.

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "engine/io/json_object.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

/// `names` are in enumerator order.
template <class Enum, std::size_t N>
std::string name_of(const std::array<std::string_view, N>& names, Enum value) {
    return std::string(names.at(static_cast<std::size_t>(value)));
}

/// Reads the field if it is present; throws like JsonObject::read_choice().
template <class Enum>
void read_enum(JsonObject& object, std::string_view key, std::span<const std::string_view> names, Enum& value) {
    std::size_t index = 0;
    if (object.read_choice(key, names, index)) value = static_cast<Enum>(index);
}

/// JSON has neither infinity nor NaN, so writing one would silently lose it. Throws ConfigError naming the field.
inline double finite(std::string_view field, double value) {
    if (!std::isfinite(value)) throw ConfigError(std::string(field) + " is not a finite number and cannot be written");
    return value;
}

}  // namespace attn

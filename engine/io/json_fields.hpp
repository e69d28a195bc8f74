#pragma once
/// Fields that need more than JSON has: enumerations as words, and numbers that JSON cannot hold.

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "engine/io/json_object.hpp"
#include "engine/tensor/error.hpp"

namespace attn {

/// `names` are in the order of the enumeration.
template <class Enum, std::size_t N>
std::string name_of(const std::array<std::string_view, N>& names, Enum value) {
    return std::string(names.at(static_cast<std::size_t>(value)));
}

/// Takes the field if it is there; throws as JsonObject::read_choice() does.
template <class Enum>
void read_enum(JsonObject& object, std::string_view key, std::span<const std::string_view> names, Enum& value) {
    std::size_t index = 0;
    if (object.read_choice(key, names, index)) value = static_cast<Enum>(index);
}

/// JSON has no infinities and no NaN; writing one would lose it silently. Throws ConfigError naming the field.
inline double finite(std::string_view field, double value) {
    if (!std::isfinite(value)) throw ConfigError(std::string(field) + " is not a finite number and cannot be written");
    return value;
}

}  // namespace attn

#pragma once
/// The parts of a setup that can be asked for apart: where one of them cannot be computed, the others are shown all the same.

#include <cstdint>
#include <string>

#include "app/session/states/state.hpp"

namespace attn::app {

enum class SetupPart : std::uint8_t { Text, Masks, Softmax, Edits, Mistake, Model };
inline constexpr int kSetupParts = 6;

/// A set of parts.
struct SetupParts {
    std::uint8_t bits = 0;
    static SetupParts of(SetupPart part) { return {static_cast<std::uint8_t>(1U << static_cast<unsigned>(part))}; }
    bool has(SetupPart part) const { return (bits & of(part).bits) != 0; }
    bool any() const { return bits != 0; }
    SetupParts operator|(SetupParts other) const { return {static_cast<std::uint8_t>(bits | other.bits)}; }
    SetupParts operator&(SetupParts other) const { return {static_cast<std::uint8_t>(bits & other.bits)}; }
    bool operator==(const SetupParts&) const = default;
};

/// In which parts two setups differ; of the parameters, only as far as the setups name them.
SetupParts differing_parts(const Setup& a, const Setup& b);
/// The same for states; the moment of a training run belongs to the model.
SetupParts differing_parts(const State& a, const State& b);
/// A state with some parts of another.
State with_parts_of(const State& state, const State& other, SetupParts parts);
/// Such as "the text and the masks"; "" for none.
std::string words_for(SetupParts parts);

}  // namespace attn::app

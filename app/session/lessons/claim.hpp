#pragma once
/// What a lesson says of its numbers in words, written so that it can be checked: "{weights[0,3,16,6]} > 0.9".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/session/lessons/caption.hpp"

namespace attn::app {

enum class Relation : std::uint8_t { Equal, Unequal, Less, Greater };

struct Claim {
    Caption left, right;  ///< one quotation, or plain text
    Relation relation = Relation::Equal;
    std::string source;  ///< as written
};

/// Two sides with =, !=, < or > between spaces. Stages without a layer are those of `layer`. Throws Error saying what is wrong.
Claim parse_claim(std::string_view text, int layer);

/// Whether it is true. Both sides are taken as the caption would show them: = and != compare their text, < and > their numbers.
/// Nothing where a side cannot be quoted (yet); false for < and > where a side is no number.
std::optional<bool> holds(const Claim& claim, const Snapshot& snapshot, const TrainingReport& training);

/// The claim, and what its quotations are in a snapshot: for messages.
std::string claim_words(const Claim& claim, const Snapshot& snapshot, const TrainingReport& training);

/// See why_unquotable() of captions: of the first side that can never be quoted.
std::string why_unquotable(const Claim& claim, const Snapshot& snapshot);

}  // namespace attn::app

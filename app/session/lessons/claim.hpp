#pragma once
/// A lesson's statements about its numbers in checkable form: "{weights[0,3,16,6]} > 0.9".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/session/lessons/caption.hpp"

namespace attn::app {

enum class Relation : std::uint8_t { Equal, Unequal, Less, Greater };

struct Claim {
    Caption left, right;  ///< a single quotation, or plain text
    Relation relation = Relation::Equal;
    std::string source;  ///< as written
};

/// Two sides separated by =, !=, < or > with spaces around it. Stages without a layer refer to `layer`. Throws Error saying what is wrong.
Claim parse_claim(std::string_view text, int layer);

/// Whether the claim is true. Both sides are taken as displayed: = and != compare text, < and > compare numbers. None if a side is not
/// available (yet); false for < and > if a side is not a number.
std::optional<bool> holds(const Claim& claim, const Snapshot& snapshot, const TrainingReport& training);

/// The claim with the values of its quotations, for messages.
std::string claim_words(const Claim& claim, const Snapshot& snapshot, const TrainingReport& training);

/// As for captions; reports the first side that can never be quoted.
std::string why_unquotable(const Claim& claim, const Snapshot& snapshot);

}  // namespace attn::app

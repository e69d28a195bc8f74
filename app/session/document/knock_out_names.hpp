#pragma once
/// The names of what Knock-out measures and replaces: as they are shown, as values of an option, and in files.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/part_worth.hpp"

namespace attn::app {

/// In the order of AnswerMeasure.
inline constexpr std::array<std::string_view, 3> kMeasureNames = {"loss", "probability", "logit difference"};
/// In the order of ReplacedParts.
inline constexpr std::array<std::string_view, 5> kPartNames = {"heads", "blocks", "positions", "attention positions",
                                                               "feed-forward positions"};

/// The names as one word each: with '-' as an option has them, with '_' as a file has them.
inline std::vector<std::string> joined_names(std::span<const std::string_view> names, char by) {
    std::vector<std::string> joined(names.begin(), names.end());
    for (std::string& name : joined)
        std::replace_if(
            name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, by);
    return joined;
}

}  // namespace attn::app

#pragma once
/// Checks whether a model sees the future: changes a token and compares all earlier positions.

#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn::doctor {

/// An earlier position whose output changed.
struct Leak {
    std::int64_t position = 0;
    double change = 0;  ///< largest difference in its numbers
};

/// The earlier positions of the sequence whose output changes if the token at `position` is replaced: the logits, or the last stage of a
/// model without a head. Without a leak no bit changes. Throws Error for a position outside the text, a trace without parameters, or a
/// vocabulary of a single token.
std::vector<Leak> future_leaks(const Trace<float>& trace, std::int64_t sequence, std::int64_t position, std::stop_token stop = {});

}  // namespace attn::doctor

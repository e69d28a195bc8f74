#pragma once
/// Does a model see the future? Changes a token and looks at every earlier position.

#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/trace/trace.hpp"

namespace attn::doctor {

/// An earlier position whose output moved.
struct Leak {
    std::int64_t position = 0;
    double change = 0;  ///< largest difference among its numbers
};

/// The earlier positions of the sequence whose output moves when the token at `position` becomes another: those of the logits, or of the
/// last stage of a model without a head. Nothing moves by a single bit where nothing of the future is seen.
/// Throws Error for a place outside the text, a trace without parameters, or a vocabulary of a single token.
std::vector<Leak> future_leaks(const Trace<float>& trace, std::int64_t sequence, std::int64_t position, std::stop_token stop = {});

}  // namespace attn::doctor

#pragma once
/// Held-out sequences of a training run, with the answers of its model.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/held_out_texts.hpp"
#include "app/session/values/facet.hpp"

namespace attn::app {

/// A held-out sequence with the model's predictions.
struct HeldOutExample {
    std::vector<std::string> tokens;       ///< the correct tokens, including hidden ones
    std::vector<std::string> predicted;    ///< per token; "" if it is not predicted
    std::vector<std::int8_t> right;        ///< 1 right, 0 wrong, -1 not predicted
    std::vector<std::string> source = {};  ///< input of the encoder
};

struct HeldOutAnswers {
    std::optional<std::int64_t> step;  ///< the step of the run whose model it is
    std::vector<HeldOutExample> examples;
};

namespace facet {

/// What the state's model answers to held-out sequences of its run.
struct HeldOut {
    using Value = HeldOutAnswers;
    static constexpr FacetInfo kInfo{.pause = std::chrono::milliseconds(250)};
    std::shared_ptr<const HeldOutTexts> texts;
    ForwardSettings forward;  ///< of the run
    static Job<Value> make(const HeldOut&, Ask& ask);
    bool operator==(const HeldOut&) const = default;
};

}  // namespace facet

}  // namespace attn::app

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
    static constexpr FacetInfo kInfo{.pause = std::chrono::milliseconds(250), .runs_model = true};
    std::shared_ptr<const HeldOutTexts> texts;
    ForwardSettings forward;  ///< of the run
    static Job<Value> make(const HeldOut&, Ask& ask);
    bool operator==(const HeldOut&) const = default;
};

/// A held-out sequence of a task that nothing has been trained on yet: what is asked for counts as not right, and nothing is predicted.
/// Belongs to no state.
struct TaskExample {
    using Value = HeldOutExample;
    static constexpr FacetInfo kInfo{.failed = "there is no example: "};
    TaskSettings task;
    std::uint64_t seed = 0;
    static Job<Value> make(const TaskExample& wanted, Ask& ask);
    bool operator==(const TaskExample&) const = default;
};

}  // namespace facet

}  // namespace attn::app

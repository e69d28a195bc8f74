#pragma once
/// Mistakes that the graph of recorded code shows, confirmed by its numbers.

#include <string>
#include <vector>

#include "engine/recording/follow.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

enum class Gravity : std::uint8_t {
    Wrong,         ///< the code says so, and it has an effect
    Unusual,       ///< not what is usually written; it may be meant
    WorthKnowing,  ///< right, but it can surprise
};

struct CodeFinding {
    Gravity gravity = Gravity::Wrong;
    std::string bug;    ///< its name in the doctor's list; "" if it has none
    std::string stage;  ///< within its attention; "" if it is about all of it
    std::string line, text;
};

/// Everything found in one attention, the gravest first. `checks`: of its stages.
std::vector<CodeFinding> findings_in(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step,
                                     const std::vector<StageCheck>& checks);
/// What belongs to no single attention.
std::vector<CodeFinding> findings_around(const RecordedGraph& graph);

/// "wrong", "unusual" or "worth knowing"
std::string_view gravity_name(Gravity gravity);

}  // namespace attn::recording

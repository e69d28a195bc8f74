#pragma once
/// Recorded attentions that one of ours may be.

#include <string>

#include "engine/plan/stage.hpp"
#include "engine/recording/follow.hpp"
#include "engine/recording/recorded_step.hpp"
#include "engine/recording/recording.hpp"

namespace attn::recording {

/// Throws Error for an attention that none of ours is: other stages or operations, or made of several things.
void expect_known(const RecordedAttention& attention);
/// Which of our stages it is, of an attention that is known.
Stage role_of(const RecordedStage& stage);
/// What q, k and v of a known attention are made of: the full name of a stage. Throws Error if that is not one and the same.
std::string source_of(const RecordedAttention& attention);
/// Whether its mask hides all keys after the query; false if it hides none. Throws Error if it hides others, or that cannot be told.
bool is_causal(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step, const FindParameter& parameter);

}  // namespace attn::recording

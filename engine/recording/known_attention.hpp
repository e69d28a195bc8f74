#pragma once
/// Recorded attentions that one of ours may be.

#include <cstdint>
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
/// What the queries of a known attention are made of: the full name of a stage. Throws Error if there are several.
std::string source_of(const RecordedAttention& attention);
/// The same of its keys and values; those of self-attention are made of what the queries are made of. Throws Error if that is not one and
/// the same.
std::string memory_of(const RecordedAttention& attention);
/// Whether numbers are added to the scores of keys that are seen, as ALiBi does. Throws Error if that cannot be told.
bool is_biased(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step, const FindParameter& parameter);
/// What a mask hides.
struct MaskForm {
    bool causal = false;                ///< the keys after the query
    std::int64_t window = 0;            ///< keys as far from the query as this, or farther; 0: none, as far as the recorded text shows
    std::vector<std::int64_t> lengths;  ///< [B] of each text, where its padding begins, which it hides; empty: it hides none
    bool operator==(const MaskForm&) const = default;
};
/// Throws Error if it hides others, or that cannot be told.
MaskForm mask_of(const RecordedGraph& graph, const RecordedAttention& attention, const RecordedStep& step, const FindParameter& parameter);

}  // namespace attn::recording

#pragma once
/// What the numbers of a position depend on: whether a text can be computed some positions at a time, and whether a prefix of it keeps its
/// numbers when the rest changes.

#include <cstdint>

#include "engine/plan/config.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/trace.hpp"

namespace attn {

/// Whether the batch is a single text without padding and segments.
bool is_one_text(const TokenBatch& tokens);

/// Whether rows do not depend on the text's length, so that the layers of a pass can be computed some positions at a time: one text, a
/// decoder-only model, and no dropout, position buckets, edits that copy another row, or mistakes that mix positions.
bool can_compute_in_rows(const Config& config, const TokenBatch& tokens, const ForwardSettings& settings);
/// The same for the layers of a trace or an outline.
template <class Scalar>
bool can_compute_in_rows(const Trace<Scalar>& trace) {
    return can_compute_in_rows(trace.config, trace.tokens, trace.settings);
}

/// Whether a prefix keeps its numbers whatever follows, so that they can be kept: true for a decoder-only model under the causal mask
/// alone, without mistakes, edits, dropout or T5's position buckets. The lengths must have the same_frequencies().
bool prefix_stays(const Config& config, const ForwardSettings& settings);
/// Whether texts of two lengths, 0 included, are rotated alike. LongRope and dynamic scaling use other frequencies for long texts.
bool same_frequencies(const Plan& plan, std::int64_t before, std::int64_t after);

}  // namespace attn

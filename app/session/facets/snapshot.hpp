#pragma once
/// A state computed: its trace, or an outline or a part of that, and what names the axes. Immutable, shared by pointer.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/document/field.hpp"
#include "app/session/states/shared_words.hpp"
#include "app/session/states/state.hpp"
#include "app/session/states/token.hpp"
#include "engine/trace/head_scores.hpp"
#include "engine/trace/stage_range.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

struct Snapshot {
    std::uint64_t serial = 0;                       ///< counts the traces computed; numbers of equal serial and stage are equal
    StateRef state;                                 ///< what `trace` is of; null before the first
    std::shared_ptr<const Trace<float>> trace;      ///< null before the first
    std::uint64_t run = 0;                          ///< whose parameters `trace` has; 0: freshly drawn
    std::optional<std::int64_t> trained_step;       ///< the moment of `run` that `trace` is of
    std::vector<StageRange> ranges;                 ///< of every stage of `trace` and more of its part, over all heads; none of an outline
    std::vector<HeadScore> head_scores;             ///< of every head of `trace`, also of those it does not hold
    std::vector<std::vector<Token>> tokens;         ///< [B][T]
    std::vector<std::vector<Token>> source_tokens;  ///< of the encoder's text; empty without one
    SharedWords vocabulary;                         ///< text of every id
    double whole_mib = 0;                           ///< what every stage and the parameters take, whether they are all held or not
    double compute_ms = 0;                          ///< wall time of the forward pass
    // Of the shown state alone:
    std::string problem;  ///< why the newest document could not be computed, "" when it could; this is then the last good state
    Field problem_field = Field::None;  ///< the setting that `problem` is about, None when it is about no single one
};

}  // namespace attn::app

#pragma once
/// A computed state: its trace (whole, an outline, or part of one) and the names along its axes. Immutable, shared by pointer.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/document/field.hpp"
#include "app/session/states/shared_words.hpp"
#include "app/session/states/state.hpp"
#include "app/session/states/token.hpp"
#include "app/session/values/facet.hpp"
#include "engine/trace/head_score.hpp"
#include "engine/trace/stage_range.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

struct Snapshot {
    std::uint64_t serial = 0;                       ///< unique per computed trace; equal serials and stages mean equal numbers
    StateRef state;                                 ///< the state that `trace` belongs to; null before the first
    std::shared_ptr<const Trace<float>> trace;      ///< null before the first
    std::uint64_t run = 0;                          ///< the run whose parameters `trace` uses; 0: initial parameters
    std::optional<std::int64_t> trained_step;       ///< the step of `run` at which they were taken
    std::vector<StageRange> ranges;                 ///< of every stage that was computed, over all heads; empty for an outline
    std::vector<HeadScore> head_scores;             ///< for every head of `trace`, including those it does not hold
    std::vector<std::vector<Token>> tokens;         ///< [B][T]
    std::vector<std::vector<Token>> source_tokens;  ///< the encoder's text; empty without an encoder
    std::vector<std::int64_t> left_out{};           ///< [B] tokens before them that the model has no room for; empty: none
    /// [B,T], see asked_positions(): 1 where the next token counts in a loss. Empty: everywhere.
    std::vector<std::uint8_t> asked;
    std::vector<std::string> edits_in_vain;  ///< for every edit of `trace` why it changes nothing, "" if it does
    SharedWords vocabulary;                  ///< text of every id
    double whole_mib = 0;                    ///< memory of all stages and the parameters, whether held or not
    double budget_mib = 0;                   ///< the memory budget it was computed under, which also holds for its files
    double compute_ms = 0;                   ///< wall time of the forward pass
    /// Whether every stage is held, as of a small model. Of a large one, stages are computed where they are looked at.
    bool is_whole() const { return trace->whole(); }
    /// The texts that a stack reads.
    const std::vector<std::vector<Token>>& texts_of(Stack stack) const { return stack == Stack::Encoder ? source_tokens : tokens; }

    // Only for the shown state:
    std::string problem;                ///< why the newest document could not be computed, "" if it was; this is then the last valid state
    Field problem_field = Field::None;  ///< the setting that `problem` refers to; None if no single one
};

/// The beginning of a large model's pass, or a whole pass.
struct BegunPass {
    Snapshot snapshot;     ///< its outline may lack layers; see is_complete()
    bool attended = true;  ///< as in OutlineLimits
    double mib = 0;        ///< memory of the complete pass
};

namespace facet {

/// The forward pass with every stage recorded (an outline for large models), plus the names along its axes.
struct Trace {
    using Value = Snapshot;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .comes_by_itself = true};
    static Job<Value> make(const Trace&, Ask& ask);
    bool operator==(const Trace&) const = default;
};

/// The beginning of Trace for a large model: with the outline up to the part that contains `before`, which can then be looked at while the
/// layers behind are computed. For a small model, all of it.
struct Beginning {
    using Value = BegunPass;
    static constexpr FacetInfo kInfo{.lane = Lane::Prompt, .comes_by_itself = true, .is_idle_kept = false};
    StageId before;
    static Job<Value> make(const Beginning&, Ask& ask);
    bool operator==(const Beginning&) const = default;
};

}  // namespace facet

/// Whether it is the pass of a state, or the beginning of it.
inline bool is_pass(const Facet& facet) { return facet.as<facet::Trace>() != nullptr || facet.as<facet::Beginning>() != nullptr; }

}  // namespace attn::app

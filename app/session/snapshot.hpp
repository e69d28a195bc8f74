#pragma once
/// What the workers have computed so far: immutable, shared by pointer, newest wins.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/doctor_report.hpp"
#include "app/session/document.hpp"
#include "app/session/readings.hpp"
#include "engine/model/gradient_trace.hpp"
#include "engine/reference/verification.hpp"
#include "engine/trace/head_scores.hpp"
#include "engine/trace/stage_range.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

/// The setting that a problem is about, so that its message can stand beside the control.
enum class Field : std::uint8_t {
    None,
    Texts,
    SourceTexts,
    DModel,
    Heads,
    HeadSize,
    Layers,
    FeedForward,
    ContextLength,
    LayerNormEps,
    Window,
    Prefix,
    Block,
    Painted,
    Temperature,
    AttentionDropout,
    ResidualDropout,
    EmbeddingDropout,
};

struct Token {
    std::string text;  ///< as typed; shown escaped by widgets
    std::int32_t id = 0;
    bool padding = false;
    bool unknown = false;
};

/// What the model writes on after the first sequence.
struct Sample {
    std::optional<std::int64_t> trained_step;  ///< the moment that wrote it; while a run is followed some steps before the trace's
    std::string text;                          ///< the continuation alone
    std::vector<Token> tokens;
};

struct Snapshot {
    std::uint64_t serial = 0;                   ///< grows with every new trace; numbers of equal serial and stage are equal
    std::shared_ptr<const Document> document;   ///< what `trace` was computed from (the last good one)
    std::shared_ptr<const Trace<float>> trace;  ///< null until the first result
    std::uint64_t run = 0;                      ///< whose parameters `trace` has; 0: freshly drawn
    std::optional<std::int64_t> trained_step;   ///< the moment of `run` that `trace` is of: the kept one nearest to that asked for
    /// The first sequence written on as `document->sampling` says, for causal models with a head. It follows shortly after `trace`.
    std::shared_ptr<const Sample> sample;
    /// The same parameters and text without masks or dropout and at temperature 1, for before/after. It follows shortly after `trace`
    /// (null until then) and stays null for traces beyond kBaselineLimitMiB.
    std::shared_ptr<const Trace<float>> unmasked;
    /// The same parameters, text, masks and dropout without what was changed on purpose: the edits. It follows shortly after `trace`; null
    /// until then, while nothing is changed and for traces beyond kBaselineLimitMiB.
    std::shared_ptr<const Trace<float>> plain;
    /// What `trace` would be without its mistake; null until it is there, without a mistake, and beyond kBaselineLimitMiB.
    std::shared_ptr<const Trace<float>> correct;
    bool mistake_is_idle = false;  ///< `correct` is there, and number by number what `trace` is
    /// What every number of `trace` does to the loss of predicting the next token. It follows shortly after `trace`; null until then,
    /// for models without a head and for traces beyond kBaselineLimitMiB.
    std::shared_ptr<const GradientTrace<float>> gradients;
    /// What is read off the whole of `trace`. It follows shortly after; null until then. While a run is followed it may be of a trace
    /// before this one.
    std::shared_ptr<const Readings> readings;
    std::uint64_t read_serial = 0;  ///< of the trace that `readings` is of
    /// The same of `plain`, `unmasked` and `correct`; each null until it is there.
    std::shared_ptr<const Readings> plain_readings, unmasked_readings, correct_readings;
    std::vector<StageRange> ranges;                               ///< of every stage of `trace`, in its order
    std::vector<HeadScore> head_scores;                           ///< of every head of `trace`
    std::vector<std::vector<Token>> tokens;                       ///< [B][T]
    std::vector<std::vector<Token>> source_tokens;                ///< of the encoder's text; empty without one
    std::vector<std::string> vocabulary;                          ///< text of every id
    std::shared_ptr<const reference::Verification> verification;  ///< of `trace`; null until it is done
    std::shared_ptr<const DoctorReport> doctor;                   ///< of `trace`; null until it is done, and beyond kBaselineLimitMiB
    double compute_ms = 0;                                        ///< wall time of the forward pass
    std::string problem;  ///< why the newest document could not be computed, "" when it could; `trace` is then the last good one
    std::shared_ptr<const Document> problem_document;  ///< what `problem` is about
    Field problem_field = Field::None;                 ///< the setting that `problem` is about, None when it is about no single one
};

}  // namespace attn::app

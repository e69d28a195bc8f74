#pragma once
/// Turns the user's settings into the engine's input: vocabulary, token ids and derived model sizes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/document/document.hpp"
#include "app/session/document/field.hpp"
#include "app/session/document/memory_budget.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/shared_words.hpp"
#include "app/session/states/token.hpp"
#include "engine/plan/config.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::app {

/// The most that the texts that only contribute symbols to the vocabulary may hold together.
inline constexpr std::size_t kVocabularyTextLimitBytes = 1 << 20;

/// Sizes in MiB, in floating point so that none overflows.
struct TraceSize {
    double weights = 0;     ///< all parameters
    double parameters = 0;  ///< those held in memory: all, or none if they are read from a file
    double whole = 0;       ///< every stage
    double outline = 0;     ///< the residual stream, and keys and values if `attended` (see engine/model/outline.hpp)
    double part = 0;        ///< the largest part that is recomputed at once
    bool attended = true;   ///< keys and values are small enough to be held
};

/// A lower bound for a float trace of `sequences` sequences. `source_positions` is 0 without an encoder. `in_rows`: parts are computed a
/// few positions at a time (see can_compute_in_rows()), so that their attention maps need not be held.
TraceSize trace_size(const Config& config, double sequences, double positions, double source_positions, bool in_rows = false);

/// Up to this size, parameters included, every stage is recorded and verified. Above it, recomputing what is looked at is faster.
inline constexpr double kWholeTraceMiB = 96;

struct Prepared {
    Config config;  ///< with vocab_size and context_length filled in
    TokenBatch tokens;
    TokenBatch source;                             ///< encoder input of an encoder-decoder; otherwise empty
    std::vector<std::vector<Token>> chips;         ///< [B][T], the displayed tokens of `tokens`
    std::vector<std::vector<Token>> source_chips;  ///< the displayed tokens of `source`
    std::vector<std::int64_t> left_out{};          ///< see Snapshot::left_out
    SharedWords vocabulary;                        ///< text of every id
    TraceSize size;                                ///< memory that its numbers take
    bool whole = true;                             ///< small enough to record every stage; otherwise only an outline is kept
};

/// Throws DocumentError if the texts exceed kTextLimitBytes or the vocabulary texts kVocabularyTextLimitBytes.
void expect_short_texts(const Setup& setup);

/// Throws DocumentError for text that is empty, longer than the context, or too large for even an outline in `room_mib`, and for an invalid
/// configuration. Nothing large is allocated before the sizes are checked. `kept` caches the tokenizer between calls.
Prepared prepare(const Setup& setup, double room_mib = default_memory_budget_mib(), KeptTokenizer* kept = nullptr);

/// Whether prepare() accepts the setup.
bool can_prepare(const Setup& setup, double room_mib);

/// The text of every id. Throws DocumentError as prepare() does.
SharedWords vocabulary_of(const Setup& setup);

/// With which a trained model computes the setup: without the places for new words that the texts leave empty. `prepared`: the
/// configuration that prepare() gives. Throws DocumentError if the settings are not those of the model.
std::shared_ptr<const Parameters<float>> parameters_for(const Setup& setup, const Config& prepared,
                                                        const std::shared_ptr<const Parameters<float>>& trained);

/// Throws DocumentError as prepare(), and if a part of the model, with its attention maps, exceeds `room_mib`, because every stage of a
/// part is held while one of them is written. `only`: the part with this stage, if there is such a stage.
void expect_room_for_parts(const Setup& setup, double room_mib, const std::optional<StageId>& only = {});

/// The most memory, in MiB, that may be held for the keys and values of all layers: negligible compared with the model's parameters. A
/// part's attention maps, and its other stages, may take as much each, but no more than 64 MiB.
double most_beside_model_mib(double parameters_mib);

/// Throws DocumentError if `mib` exceeds `room_mib`.
void expect_room(double mib, double room_mib);

/// The setting that makes `config` invalid: the first one whose repair alone makes it valid. None if it is valid.
Field field_at_fault(const Config& config);
/// The first forward-pass setting that is out of range; None if all are in range.
Field field_at_fault(const ForwardSettings& settings);

}  // namespace attn::app

#pragma once
/// From what the user set to what the engine is given: vocabulary, token ids, the derived sizes of the model.

#include <cstddef>
#include <cstdint>
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

namespace attn::app {

/// What texts may hold together that only give their symbols to the vocabulary.
inline constexpr std::size_t kVocabularyTextLimitBytes = 1 << 20;

/// MiB, counted in floating point so that no size overflows.
struct TraceSize {
    double parameters = 0;
    double whole = 0;      ///< every stage
    double outline = 0;    ///< the residual stream, and keys and values if `attended` (see engine/model/outline.hpp)
    double part = 0;       ///< the largest part of the model that is computed again at a time
    bool attended = true;  ///< keys and values are few enough to be held
};

/// Of a float trace of `sequences` sequences, at least. `source_positions` is 0 without an encoder. `in_rows`: a part is computed some
/// positions at a time (see can_compute_in_rows()), and its attention maps need not be held.
TraceSize trace_size(const Config& config, double sequences, double positions, double source_positions, bool in_rows = false);

/// Up to this size, with the parameters, every stage is recorded, checked and gone back through: more takes longer than to compute again
/// what somebody looks at.
inline constexpr double kWholeTraceMiB = 96;

struct Prepared {
    Config config;  ///< with vocab_size and context_length filled in
    TokenBatch tokens;
    TokenBatch source;                             ///< what the encoder of an encoder-decoder reads; empty for every other model
    std::vector<std::vector<Token>> chips;         ///< [B][T], what the ids of `tokens` stand for
    std::vector<std::vector<Token>> source_chips;  ///< the same of `source`
    SharedWords vocabulary;                        ///< text of every id
    TraceSize size;                                ///< what its numbers take
    bool whole = true;                             ///< few enough to record all of them; else an outline, and what is looked at
};

/// Throws DocumentError for texts beyond kTextLimitBytes, or such texts beyond theirs.
void expect_bearable_texts(const Setup& setup);

/// Throws DocumentError for text that is empty, longer than the context or too large for even an outline in `room_mib`, and for a
/// configuration that cannot work; nothing large is allocated before the sizes are known to be bearable. `kept` is for whoever prepares one
/// setup after the other.
Prepared prepare(const Setup& setup, double room_mib = default_memory_budget_mib(), KeptTokenizer* kept = nullptr);

/// The text of every id of a tokenizer of ours. Throws DocumentError as prepare() does.
SharedWords vocabulary_of(const Setup& setup);

/// Throws DocumentError where numbers of `mib` find no room.
void expect_room(double mib, double room_mib);

/// The setting that makes `config` invalid: the first whose repair alone makes it valid. None when it is valid.
Field field_at_fault(const Config& config);
/// The first setting of a forward pass that is out of range, None when all are in it.
Field field_at_fault(const ForwardSettings& settings);

}  // namespace attn::app

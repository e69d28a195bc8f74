#pragma once
/// A state names everything its numbers follow from: whose parameters, what they are applied to, and what is changed on the way.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/session/states/opened_model.hpp"
#include "app/session/states/shipped_model.hpp"
#include "engine/plan/config.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

using attn::TokenizerKind;

/// Tokens behind one of the texts whose ids stand as they were written, however the tokenizer would cut them as text.
struct Written {
    std::int64_t sequence = 0;  ///< of the batch
    std::vector<std::int32_t> ids;
    bool operator==(const Written&) const = default;
};

/// What a model is applied to and how: all of a state but its parameters.
struct Setup {
    std::vector<std::string> texts{""};     ///< sequences of the batch, at least one
    Written written;                        ///< behind one of `texts`
    std::vector<std::string> source_texts;  ///< what the encoder of an encoder-decoder reads, one for each of `texts`; else empty
    ForwardSettings forward;
    /// A published model, whose own configuration and tokenizer apply; null: the fields below say what the model is.
    std::shared_ptr<const OpenedModel> model;
    /// A trained model of the program itself, whose parameters apply; null: the parameters are drawn. The fields below are the model's.
    std::shared_ptr<const ShippedModel> shipped;
    TokenizerKind tokenizer = TokenizerKind::Word;
    bool special_tokens = true;  ///< ids 0 and 1 are "<pad>" and "<unk>"; off: ids begin with the first symbol
    /// Texts whose symbols make up the vocabulary, before those of `texts` themselves; a preset keeps its own text here so that ids
    /// stay put while the user types.
    std::vector<std::string> vocabulary_texts;
    /// The fixed vocabulary of a trained model, text of every id; other symbols are refused. Empty: made from the texts.
    std::vector<std::string> vocabulary;
    /// vocab_size is derived from the texts whatever it says here; context_length 0 is derived too, any other is the user's limit.
    Config config{.context_length = 0};
    bool operator==(const Setup&) const = default;
};

/// The parameters of the setup's published or shipped model, or drawn from the configuration's seed where there is none.
struct Drawn {
    bool operator==(const Drawn&) const = default;
};

/// Parameters that a training run of this session had after `step` steps.
struct MomentOfRun {
    std::uint64_t run = 0;  ///< counted from 1; 0: of a run that is gone, known from a file
    std::int64_t step = 0;
    std::shared_ptr<const Parameters<float>> parameters;  ///< null when they are gone
    bool operator==(const MomentOfRun& other) const { return run == other.run && step == other.step; }
};

using Source = std::variant<Drawn, MomentOfRun>;

/// A plain value, cheap to copy. Equal states have equal numbers.
struct State {
    std::shared_ptr<const Setup> setup;  ///< never null
    Source source;
    bool operator==(const State& other) const { return source == other.source && (setup == other.setup || *setup == *other.setup); }
};

/// One object for every state in use: they are told apart by their addresses.
using StateRef = std::shared_ptr<const State>;

/// Null for freshly drawn parameters.
inline const MomentOfRun* moment_of(const State& state) { return std::get_if<MomentOfRun>(&state.source); }

/// `newer` is `older` with the parameters of another moment of the same run.
bool same_but_for_moment(const State& older, const State& newer);

/// What every answer of an encoder-decoder begins with, as it is typed; "": an opened model puts a token of its own before it.
std::string answer_beginning(const Setup& setup);

// The states that a state is compared with; none where that would be the state itself.

/// Without what was changed by hand: the edits.
std::optional<State> without_edits(const State& state);
/// Without masks, dropout, edits and mistakes, at temperature 1. A state that has none of them is its own.
State without_masks(const State& state);
/// Computed right where a mistake is made on purpose.
std::optional<State> without_mistake(const State& state);

/// Gives the same object for equal states as long as any of them is in use. One thread.
class StateTable {
public:
    StateRef find(State state);

private:
    std::vector<std::weak_ptr<const State>> known_;
};

/// What is shown, and what it can be compared with; null where there is no such state.
struct States {
    StateRef shown, unedited, unmasked, correct, other_moment, pinned_a, pinned_b;
};

}  // namespace attn::app

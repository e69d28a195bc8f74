#pragma once
/// A state identifies everything its numbers depend on: the parameters, their inputs, and all interventions.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/session/states/opened_model.hpp"
#include "app/session/states/opened_recording.hpp"
#include "app/session/states/shipped_model.hpp"
#include "engine/plan/config.hpp"
#include "engine/tasks/task_settings.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/trace/structure.hpp"

namespace attn::app {

using attn::TokenizerKind;

/// Generated tokens appended to one of the texts, kept as ids: re-tokenizing them as text could give other ids.
struct Written {
    std::int64_t sequence = 0;  ///< index in the batch
    std::vector<std::int32_t> ids;
    bool operator==(const Written&) const = default;
};

/// Everything in a state except the parameters: the inputs and how the model is applied to them.
struct Setup {
    std::vector<std::string> texts{""};     ///< the sequences of the batch, at least one
    Written written;                        ///< appended to one of `texts`
    std::vector<std::string> source_texts;  ///< encoder inputs of an encoder-decoder, one per text; otherwise empty
    ForwardSettings forward;
    /// A published model, with its own configuration and tokenizer. Null: the fields below define the model.
    ModelRef model;
    /// An embedded trained model, whose parameters are used; the fields below describe it. Null: parameters are initialised at random.
    std::shared_ptr<const ShippedModel> shipped;
    TokenizerKind tokenizer = TokenizerKind::Word;
    bool special_tokens = true;  ///< ids 0 and 1 are "<pad>" and "<unk>"; if false, ids start at the first symbol
    /// Texts whose symbols enter the vocabulary before those of `texts`. A preset keeps its own texts here so that ids do not shift while
    /// the user types.
    std::vector<std::string> vocabulary_texts;
    /// The fixed vocabulary of a trained model (text of every id); other symbols are rejected. Empty: derived from the texts.
    std::vector<std::string> vocabulary;
    /// vocab_size is always derived from the texts; context_length is derived if 0, otherwise it is the user's limit.
    Config config{.context_length = 0};
    bool operator==(const Setup&) const = default;
};

/// Which text of a state: of the model, or for an encoder-decoder of its decoder or encoder.
struct TextOfState {
    std::int64_t sequence = 0;
    bool source = false;  ///< the encoder's
    bool operator==(const TextOfState&) const = default;
};

/// The parameters of the setup's published or embedded model; without one, random parameters from the configuration's seed.
struct Drawn {
    bool operator==(const Drawn&) const = default;
};

/// The parameters of a training run of this session after `step` steps. The run and the step determine the rest.
struct MomentOfRun {
    std::uint64_t run = 0;  ///< counted from 1; 0: a run known only from a file
    std::int64_t step = 0;
    std::shared_ptr<const Parameters<float>> parameters;  ///< null if no longer available
    std::optional<TaskKind> task{};                       ///< of the run; none if it is not known
    bool operator==(const MomentOfRun& other) const { return run == other.run && step == other.step; }
};

using Source = std::variant<Drawn, MomentOfRun, RecordedNumbers>;

/// A plain value, cheap to copy. Equal states have equal numbers.
struct State {
    std::shared_ptr<const Setup> setup;  ///< never null
    Source source;
    bool operator==(const State& other) const { return source == other.source && (setup == other.setup || *setup == *other.setup); }
};

/// A state in use, interned by StateTable: equal states share one object and can be compared by address.
using StateRef = std::shared_ptr<const State>;

/// Null unless the parameters come from a training run.
inline const MomentOfRun* moment_of(const State& state) { return std::get_if<MomentOfRun>(&state.source); }

/// Null unless the numbers were recorded in other code.
inline const RecordedNumbers* recorded_in(const State& state) { return std::get_if<RecordedNumbers>(&state.source); }

/// Whether the states differ only in the moment of the same training run.
bool same_but_for_moment(const State& older, const State& newer);

// States to compare a state with; none if that would be the state itself.

/// Without edits made by hand.
std::optional<State> without_edits(const State& state);
/// Without masks and dropout, at temperature 1; equal to `state` if it has none of these. Edits and mistakes stay.
State without_masks(const State& state);
ForwardSettings without_masks(ForwardSettings forward);
/// Without the deliberate mistake.
std::optional<State> without_mistake(const State& state);

/// Interns states: equal states share one object as long as any reference to it is alive. Not thread-safe.
class StateTable {
public:
    StateRef find(State state);

private:
    std::vector<std::weak_ptr<const State>> known_;
};

/// The shown state and the states it can be compared with; null where there is none.
struct States {
    StateRef shown, unedited, unmasked, correct, other_moment, pinned_a, pinned_b;
};

}  // namespace attn::app

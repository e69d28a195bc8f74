#pragma once
/// The state of the knock-out view.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/states/state.hpp"
#include "engine/trace/part_worth.hpp"

namespace attn::app {

/// What is typed in a list of tokens, and what was found for it.
struct TokenSearch {
    std::string text, listed_for;
    std::vector<std::int32_t> listed{};  ///< what is listed: while a search runs, what was listed before
    std::ptrdiff_t chosen = 0;           ///< the line that Enter takes
    bool entered = false;                ///< Enter was pressed; takes effect once the search is done
};

/// A chosen token and its text in the vocabulary it was chosen from.
struct NamedToken {
    std::int32_t id = 0;
    std::string text;
};

struct KnockOutState {
    AnswerMeasure measure = AnswerMeasure::Loss;
    std::optional<std::int32_t> against{};    ///< of a logit difference: the chosen other token; none: the likeliest other answer
    std::optional<NamedToken> against_was{};  ///< the same as last seen, to notice another vocabulary
    ReplacedParts parts = ReplacedParts::Heads;
    std::optional<std::int64_t> from{};  ///< the text to take their numbers from; none: they become zero
    /// Set while an opened position is shown in another view: that position, and the one that was selected before, which the question is
    /// about.
    struct Opened {
        std::int64_t position;
        std::optional<std::int64_t> before;
    };
    std::optional<Opened> opened{};
    KnockOutQuestion last_question{};  ///< what `last` answers
    StateRef last_state{};             ///< of what it is
    /// When the current question's progress was first seen, in seconds of ImGui's clock.
    struct Began {
        KnockOutQuestion question;
        StateRef state;
        double at = 0;
        std::size_t done = 0;
    };
    std::optional<Began> began{};
    TokenSearch search;                    ///< of the list that is open
    bool stopped = false;                  ///< cancelled by the user: do not measure until requested again
    std::shared_ptr<const KnockOut> last;  ///< last result, shown until a new one is ready
};

}  // namespace attn::app

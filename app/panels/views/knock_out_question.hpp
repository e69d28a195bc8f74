#pragma once
/// What the knock-out view measures, and its words for it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

/// The question for the shown selection: the loss, or what is asked of the selected token at the selected position; and what replaces the
/// parts. While the other token of a logit difference is not known yet, the question is about the probability.
KnockOutQuestion knock_out_question(const PanelContext& context);

/// To be called in every frame: in another vocabulary, the other token that was chosen has another id, or none and is forgotten.
void keep_up_with_vocabulary(PanelContext& context);

/// The text taken from if the chosen one is shown itself, or none was chosen yet.
std::int64_t text_beside_shown(const PanelContext& context);

/// Why there is nothing to measure, one sentence; "" if there is.
std::string why_not_measured(const PanelContext& context, const KnockOutQuestion& question);

/// The position asked about: the selected one or, in an encoder, that of a hidden word.
struct AskedPlace {
    std::int64_t sequence = 0, position = 0;
    /// The text's own token there: the one that follows, or of an encoder the one that stands there; none where the text does not say.
    std::optional<std::int32_t> written{};
};
/// None for an empty text.
std::optional<AskedPlace> asked_place(const Snapshot& snapshot, const ViewState& view);

/// The text's own token, or the likeliest where the text does not say; none for an empty text.
std::optional<std::int32_t> own_answer(const PanelContext& context);
/// The likeliest tokens at the question's place. Empty while they are being computed.
std::vector<std::int32_t> likely_answers(const PanelContext& context, const KnockOutQuestion& question);
/// The tokens whose logit may be subtracted from that of the question's place: what the other text of a patch says or would say there, then
/// what else is likely here. Empty while that is being computed.
std::vector<std::int32_t> other_answers(const PanelContext& context, const KnockOutQuestion& question);

/// The question, such as "probability of ‘sat’ after position 6 ‘cat’"; of a logit difference, "‘sat’ − ‘ran’ after …".
std::string question_words(const PanelContext& context, const KnockOutQuestion& question);
/// What the picture shows, its colours, and how texts of different lengths are matched.
std::string measured_words(const Structure& structure, const KnockOutQuestion& question);
/// The measure with nothing replaced, and in a patch what else there is to know: that of the other text, or why nothing changes.
std::string measured_whole(const PanelContext& context, const KnockOutQuestion& question, const KnockOut& result);

}  // namespace attn::app

#pragma once
/// Text generation actions shared by several panels.

#include <string>

#include "app/panels/kit/panel_context.hpp"
#include "app/session/values/next_words.hpp"

namespace attn::app {

/// Whether the shown model predicts next tokens and so can generate text.
bool can_write(const PanelContext& context);
/// Whether the model can write once its causal mask is on.
bool could_write(const PanelContext& context);
/// Why a model that could write predicts no next word; "" if it does.
std::string_view no_next_word(const PanelContext& context);
/// Whether the row of the text has room to say so. Otherwise the line with the eye does.
bool row_says_no_next_word(const PanelContext& context);
/// The candidates after the shown sequence, with the document's sampling settings.
Answer<facet::NextWords> next_words_of(const PanelContext& context);

/// The candidates to show: those of the shown text or, while these are computed, the last ones of the same model.
struct ShownNextWords {
    std::shared_ptr<const NextWords> words;  ///< null: none yet, or a problem
    bool changed = false;                    ///< they are of the text before a change, to be shown faded
    bool act = true;                         ///< a click may write one: they are of the end of the document's text
    std::string problem;
};
ShownNextWords shown_next_words(PanelContext& context);

/// The document's branches if they belong to the current sequence and its shown text, otherwise none.
const Writing& shown_writing(const PanelContext& context);

/// Why the shown text cannot be continued: it fills the model's context, or another one is asked for that cannot be read. A sentence; ""
/// if there is room.
std::string no_room_to_write(const PanelContext& context);
void write_on(PanelContext& context);
void stop_writing(PanelContext& context);
/// Starts or stops generation.
void toggle_writing(PanelContext& context);
/// Generates again from the same moment with the next seed.
void write_otherwise(PanelContext& context);
/// Whether the shown text of an encoder-decoder is more than the beginning common to all answers.
bool can_answer_from_start(const PanelContext& context);
/// Keeps the source and lets the model generate its answer from the beginning.
void answer_from_start(PanelContext& context);
/// Whether this token ends a text of the opened model.
bool ends_text(const PanelContext& context, std::int32_t id);
/// Appends a token to the shown text, starting a branch if another one already follows.
void write_word(PanelContext& context, const NextWord& word);
/// Pins another branch as A, cut to the length of the shown text if it is longer, and compares with it.
void compare_with_branch(PanelContext& context, std::int64_t end);

/// Such as "top-k 5".
std::string cut_name(Cut cut, const SamplingSettings& sampling);
/// A sentence saying why a token is truncated.
std::string cut_words(Cut cut, const SamplingSettings& sampling);
/// Such as "0.0423"; small numbers in scientific notation.
std::string share_words(double share);
std::string percent_words(double chance);

/// The sampler's sliders.
void draw_sampler_settings(PanelContext& context);
/// What is set of them: "temperature 1.00, top-k 5".
std::string sampling_words(const SamplingSettings& sampling);

}  // namespace attn::app

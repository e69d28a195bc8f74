#pragma once
/// Writing on, as several panels offer it.

#include <string>

#include "app/panels/panel_context.hpp"
#include "app/session/facets/next_words.hpp"

namespace attn::app {

/// The shown model says what may come next, and so can write.
bool can_write(const PanelContext& context);
/// What may come next after the shown sequence, with the document's sampler.
Answer<facet::NextWords> next_words_of(const PanelContext& context);

/// The document's branches where they are of the sequence that is looked at; else none.
const Writing& shown_writing(const PanelContext& context);

void write_on(PanelContext& context);
void stop_writing(PanelContext& context);
/// Writes on, or stops.
void toggle_writing(PanelContext& context);
/// The same moment with the next seed.
void write_otherwise(PanelContext& context);
/// The shown text of an encoder-decoder begins with more than what every answer begins with.
bool can_answer_from_start(const PanelContext& context);
/// Leaves the source as it is, and lets the model answer it from what every answer begins with.
void answer_from_start(PanelContext& context);
/// The opened model's text ends with this token.
bool ends_text(const PanelContext& context, std::int32_t id);
/// Puts a word behind what is shown, as a branch where something else follows already.
void write_word(PanelContext& context, const NextWord& word);
/// Keeps another branch as A, as long as what is shown where it is long enough, and compares with it.
void compare_with_branch(PanelContext& context, std::int64_t end);

/// "top-k 5".
std::string cut_name(Cut cut, const SamplingSettings& sampling);
/// One sentence saying why it cuts.
std::string cut_words(Cut cut, const SamplingSettings& sampling);
/// "0.0423"; of unlikely words in powers of ten.
std::string share_words(double share);
std::string percent_words(double chance);

/// The settings' section.
void draw_sampler_settings(PanelContext& context);
std::string sampler_value(const PanelContext& context);

}  // namespace attn::app

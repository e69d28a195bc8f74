#pragma once
/// The texts as the text row has them: which is shown, and what can be done with them.

#include <cstddef>
#include <string>
#include <vector>

#include "app/panels/kit/panel_context.hpp"

namespace attn::app {

struct Preset;

bool has_source(const PanelContext& context);
bool shows_source(const PanelContext& context);
/// Those of the side that is shown, as typed.
const std::vector<std::string>& shown_texts(const PanelContext& context);
std::size_t shown_index(const PanelContext& context);
/// Including generated text.
std::vector<std::string> shown_whole_texts(const PanelContext& context);

/// The example, if it has several sentences.
const Preset* preset_with_sentences(const Document& document);
/// Shows the next or previous of an example's sentences, as far as there are any; false if the text is not one of them.
bool step_sentence(PanelContext& context, int direction);
/// Opens the editor for the shown sequence.
void start_text_edit(PanelContext& context);

/// Turns to another text of the batch. A cell that is only padding there gives way to the last token.
void show_text(PanelContext& context, std::size_t text);
/// More texts are not shown together.
inline constexpr std::size_t kMostTexts = 16;
/// Adds a copy of a text, in an encoder-decoder with its source, shows it, and puts the cursor behind it; `type_over`: what is typed
/// replaces the copy.
void add_text(PanelContext& context, std::size_t text, bool type_over = false);
/// Removes a text, with the edits that belong to it or take from it, and shows the one before it, or the new first one.
void remove_text(PanelContext& context, std::size_t text);

}  // namespace attn::app

#include "app/panels/kit/texts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/look.hpp"
#include "app/session/document/presets.hpp"
#include "engine/explain/edit_list.hpp"

namespace attn::app {

bool has_source(const PanelContext& context) { return !context.document.source_texts.empty(); }
bool shows_source(const PanelContext& context) { return has_source(context) && context.view.text_row.source; }
const std::vector<std::string>& shown_texts(const PanelContext& context) {
    return shows_source(context) ? context.document.source_texts : context.document.texts;
}

std::size_t shown_index(const PanelContext& context) {
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(context.view.next_batch.value_or(context.view.batch), 0, std::ssize(shown_texts(context)) - 1));
}

std::vector<std::string> shown_whole_texts(const PanelContext& context) {
    return shows_source(context) ? context.document.source_texts : whole_texts(context.document);
}

const Preset* preset_with_sentences(const Document& document) {
    const Preset* preset = preset_of(document);
    return preset != nullptr && preset->sentences.size() > 1 ? preset : nullptr;
}

bool step_sentence(PanelContext& context, int direction) {
    const Preset* preset = preset_with_sentences(context.document);
    const PresetSentence* sentence = preset == nullptr ? nullptr : shown_sentence(context.document);
    if (sentence == nullptr || shown_texts(context).size() != 1) return false;
    const std::ptrdiff_t next = sentence - preset->sentences.data() + direction;
    if (next >= 0 && next < std::ssize(preset->sentences)) open_example(context, *preset, static_cast<std::size_t>(next));
    return true;
}

void start_text_edit(PanelContext& context) {
    const std::string text = shown_whole_texts(context)[shown_index(context)];
    begin_text_edit(context.view.text_row.edit, text);
    context.view.text_row.edit.most_bytes = text.size() + (kTextLimitBytes - std::min(kTextLimitBytes, text_bytes(context.document)));
}

void show_text(PanelContext& context, std::size_t text) {
    ViewState& view = context.view;
    view.batch = static_cast<std::int64_t>(text);
    view.next_batch.reset();
    if (!context.ready() || has_source(context)) return;  // a source is another text, with other places
    const std::vector<std::int64_t>& lengths = context.structure().tokens.lengths;
    if (text >= lengths.size()) return;
    for (const Axis axis : {Axis::T, Axis::S})
        if (const auto index = view.locked.on(axis); index && *index >= lengths[text])
            view.locked.set(axis, std::max<std::int64_t>(lengths[text] - 1, 0));
}

void add_text(PanelContext& context, std::size_t text, bool type_over) {
    command::SetTexts change{whole_texts(context.document), context.document.source_texts};
    change.texts.push_back(change.texts.at(text));
    if (!change.source_texts.empty()) change.source_texts.push_back(change.source_texts.at(text));
    context.view.next_batch = std::ssize(change.texts) - 1;
    context.view.text_row.added = context.view.panes.only_centre ? 0 : change.texts.size();
    context.view.text_row.type_over_added = type_over;
    context.commands.push_back({std::move(change), ""});
}

void remove_text(PanelContext& context, std::size_t text) {
    const auto index = static_cast<std::int64_t>(text);
    command::SetTexts change{whole_texts(context.document), context.document.source_texts};
    change.texts.erase(change.texts.begin() + index);
    if (!change.source_texts.empty()) change.source_texts.erase(change.source_texts.begin() + index);
    ForwardSettings forward = context.document.forward;
    forward.edits = without_text(std::move(forward.edits), index);
    const std::string one_step = gesture_name(context, "remove text");
    ++context.view.gesture;
    context.commands.push_back({std::move(change), one_step});
    if (forward != context.document.forward) context.commands.push_back({command::SetForward{std::move(forward)}, one_step});
    for (std::optional<std::int64_t>* other : {&context.view.knock_out.from, &context.view.compare.batch}) {
        if (*other == index) other->reset();
        else if (*other && **other > index) --**other;
    }
    context.view.next_batch = std::max<std::int64_t>(index - 1, 0);
}

}  // namespace attn::app

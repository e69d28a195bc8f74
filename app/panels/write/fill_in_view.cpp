#include "app/panels/write/fill_in_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/write/candidate_list.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/states/hidden_words.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/next_words.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kWordHeight = 32, kWordPadding = 8, kBetweenWords = 5;
/// The most words shown as buttons; others can be hidden by typing the mask.
constexpr std::size_t kMostWords = 400;

std::size_t shown_text(const PanelContext& context) {
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(context.view.batch, 0, static_cast<std::int64_t>(context.document.texts.size()) - 1));
}

/// A text that cannot be read has no words to hide: those of the text shown instead stay, without effect.
bool words_act(const PanelContext& context) { return context.snapshot.problem.empty() || shows_asked_text(context); }

const std::string& words_from(const PanelContext& context) {
    const std::vector<std::string>& texts = words_act(context) ? context.document.texts : context.snapshot.state->setup->texts;
    return texts[std::min(shown_text(context), texts.size() - 1)];
}

void set_text(PanelContext& context, std::string text) {
    std::vector<std::string> texts = context.document.texts;
    texts[shown_text(context)] = std::move(text);
    emit_texts(context, std::move(texts), false, "");
}

/// Positions of the mask tokens in the shown text, as computed. Any id may be one, since nothing says which.
std::vector<std::int64_t> hidden_positions(const Snapshot& snapshot, const ViewState& view) {
    std::vector<std::int64_t> positions;
    const auto& sequences = snapshot.tokens;
    if (snapshot.state == nullptr || sequences.empty()) return positions;
    const TextConventions& conventions = conventions_of(*snapshot.state->setup);
    const auto& tokens = sequences[static_cast<std::size_t>(std::clamp<std::int64_t>(view.batch, 0, std::ssize(sequences) - 1))];
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (!tokens[i].padding && (conventions.ids || tokens[i].text == conventions.mask))
            positions.push_back(static_cast<std::int64_t>(i));
    return positions;
}

/// A word that was just hidden is the one to fill in.
void select_hidden_word(PanelContext& context) {
    auto& just_hidden = context.view.fill_in.just_hidden;
    if (just_hidden && just_hidden->text != context.document.texts[shown_text(context)]) just_hidden.reset();
    if (!just_hidden || !context.up_to_date) return;
    const std::size_t mask = std::exchange(just_hidden, {})->mask;
    const std::vector<std::int64_t> hidden = hidden_positions(context.snapshot, context.view);
    if (mask < hidden.size()) context.view.locked.set(Axis::T, hidden[mask]);
}

/// The words of the shown text.
std::span<const TextWord> text_words(PanelContext& context, const TextConventions& conventions) {
    FillInState::Words& words = context.view.fill_in.words;
    const std::string& text = words_from(context);
    if (words.text == text && words.mask == conventions.mask && words.model.lock() == context.document.model.shared()) return words.found;
    words = {text, conventions.mask, context.document.model.shared(), words_of(text, conventions.mask, conventions.specials)};
    if (conventions.ids)
        for (TextWord& word : words.found) word.hidden = true;
    return words.found;
}

std::string what_it_does(const PanelContext& context, const TextConventions& conventions) {
    const std::string reads = "This model does not continue a text: it reads all of it at once, from both sides, ";
    if (!context.structure().config.lm_head)
        return reads + "and gives every token a vector. It has no output head, so it predicts nothing.";
    if (conventions.ids)
        return reads + "and predicts every token. Without a tokenizer, nothing says which id hides one. Click an id to see what the model "
                       "would put there, then a suggestion to put it there.";
    if (conventions.mask.empty()) return reads + "and predicts every token. Its tokenizer has no mask token to hide one with.";
    return reads +
           fmt::format("and fills in words hidden by {}. Click a word to hide it, then a suggestion to put it there.", conventions.mask);
}

/// Draws the words of the text as buttons: a click hides a word, or selects one that is hidden.
void draw_text_words(PanelContext& context, const TextConventions& conventions, std::optional<std::int64_t> shown,
                     const std::vector<std::int64_t>& hidden) {
    const Fonts& fonts = context.theme.fonts;
    const Palette& colors = context.theme.colors;
    const std::string& text = words_from(context);
    const std::span<const TextWord> words = text_words(context, conventions);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, between = context.px(kBetweenWords);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float x = 0, y = 0;
    const auto advance = [&](float wide) {
        if (x > 0 && x + wide > width) {
            x = 0;
            y += context.px(kWordHeight) + between;
        }
    };
    // Punctuation cannot be hidden.
    const auto write_between = [&](std::size_t begin, std::size_t end) {
        std::string_view rest = std::string_view(text).substr(begin, end - begin);
        while (!rest.empty() && is_space_byte(rest.front())) rest.remove_prefix(1);
        while (!rest.empty() && is_space_byte(rest.back())) rest.remove_suffix(1);
        if (rest.empty()) return;
        const std::string written = elide(fonts.mono_body, visible_text(rest, true), width);
        const float wide = text_width(fonts.mono_body, written);
        advance(wide);
        draw_text_in(list, fonts.mono_body, {at.x + x, at.y + y}, {at.x + x + wide, at.y + y + context.px(kWordHeight)}, {0, 0.5F},
                     colors.muted, written);
        x += wide + between;
    };
    std::size_t masks = 0, written_to = 0;
    for (std::size_t i = 0; i < std::min(words.size(), kMostWords); ++i) {
        const TextWord& word = words[i];
        write_between(written_to, word.begin);
        written_to = word.end;
        const std::string shown_word = visible_text(std::string_view(text).substr(word.begin, word.end - word.begin), true);
        const float wide = std::min(text_width(fonts.mono_body, shown_word) + 2 * context.px(kWordPadding), width);
        advance(wide);
        // The document may already contain a mask that the snapshot does not.
        const std::optional<std::int64_t> position = word.hidden && masks < hidden.size() ? std::optional(hidden[masks]) : std::nullopt;
        if (word.hidden) ++masks;
        const bool looked_at = position && position == shown;
        ImGui::PushID(static_cast<int>(i));
        const std::string_view tooltip = conventions.ids      ? "Click: see what the model would put there."
                                         : word.hidden        ? "A hidden word. Click: see what the model would put there."
                                         : word.special       ? "A special token of the model. It cannot be hidden."
                                         : words_act(context) ? "Click: hide this word."
                                                              : "A word of the text that is shown; the one asked for cannot be read.";
        const Item item = item_at(context.ui(), "##word", {at.x + x, at.y + y}, {wide, context.px(kWordHeight)}, {.tooltip = tooltip});
        ImGui::PopID();
        const bool takes_click = item.hovered && !word.special;
        list.AddRectFilled(item.min, item.max, takes_click || word.hidden ? colors.raised : colors.pane, context.px(6));
        list.AddRect(item.min, item.max,
                     looked_at     ? colors.chosen
                     : takes_click ? colors.accent
                                   : colors.line,
                     context.px(6), 0, context.px(looked_at ? 2.5F : 1));
        draw_text_in(list, fonts.mono_body, item.min, item.max, {0.5F, 0.5F},
                     conventions.ids ? colors.text
                     : word.hidden   ? colors.accent
                     : word.special  ? colors.muted
                                     : colors.text,
                     elide(fonts.mono_body, shown_word, wide - context.px(6)));
        draw_focus_ring(context.ui(), item, context.px(6));
        if (item.pressed && position) context.view.locked.set(Axis::T, *position);
        if (item.pressed && !word.hidden && !word.special && words_act(context)) {
            context.view.fill_in.just_hidden = {with_hidden(text, word, conventions.mask), masks};
            set_text(context, context.view.fill_in.just_hidden->text);
        }
        x += wide + between;
    }
    if (words.size() <= kMostWords) write_between(written_to, text.size());
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({width, y + context.px(kWordHeight) + context.px(14)});
}

/// The text that is asked for with `piece` in place of one that can be filled in.
std::string filled_in(PanelContext& context, const TextConventions& conventions, std::size_t which, const std::string& piece) {
    const std::string& text = context.document.texts[shown_text(context)];
    if (!conventions.ids) return with_filled_in(text, conventions.mask, which, piece);
    const std::span<const TextWord> words = text_words(context, conventions);
    return which < words.size() ? with_hidden(text, words[which], piece) : text;
}

/// Draws the model's candidates for a hidden word.
void draw_proposals(PanelContext& context, const TextConventions& conventions, std::int64_t position, std::size_t which) {
    const auto& [colors, fonts, scale] = context.theme;
    section_heading(context.ui(), fmt::format("What fits at position {}", position));
    const auto words = context.ask_latest(facet::NextWords{context.view.batch, {}, position});
    if (!words) return paragraph(context.ui(), fonts.label, colors.muted, words.problem.empty() ? "Computing …" : words.problem);
    WordList list;
    list.drawn = false;
    list.click = [&](const NextWord&) {
        return std::string(conventions.ids ? "Click: put it there." : "Click: put it in place of the hidden word.");
    };
    list.choose = [&](const NextWord& word) {
        if (!context.up_to_date || !words_act(context)) return;  // of the text before the last change
        set_text(context, filled_in(context, conventions, which, word.text));
    };
    draw_words(context, *words, list);
}

}  // namespace

bool reads_both_ways(const PanelContext& context) {
    return context.ready() && context.structure().config.architecture == Architecture::Encoder;
}

std::optional<std::int64_t> hidden_position(const Snapshot& snapshot, const ViewState& view) {
    const std::vector<std::int64_t> hidden = hidden_positions(snapshot, view);
    if (hidden.empty() || !snapshot.trace->config.lm_head) return std::nullopt;
    const std::optional<std::int64_t> query = view.locked.on(Axis::T);
    return query && std::find(hidden.begin(), hidden.end(), *query) != hidden.end() ? *query : hidden.front();
}

void draw_fill_in_view(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const TextConventions& conventions = conventions_of(context.document);
    draw_text(*ImGui::GetWindowDrawList(), fonts.heading, ImGui::GetCursorScreenPos(), colors.text, "Fill in");
    gap(context.ui(), 44);
    paragraph(context.ui(), fonts.body, colors.muted, what_it_does(context, conventions));
    gap(context.ui(), 14);
    if (!context.structure().config.lm_head || (conventions.mask.empty() && !conventions.ids)) {
        if (button(context.ui(), "Step through it",
                   {.look = ButtonLook::Accent, .width = 150, .notes = {.tooltip = "The Step view: every number on the way."}}))
            context.view.view = View::Step;
        return;
    }
    select_hidden_word(context);
    const std::vector<std::int64_t> hidden = hidden_positions(context.snapshot, context.view);
    const std::optional<std::int64_t> shown = hidden_position(context.snapshot, context.view);
    draw_text_words(context, conventions, shown, hidden);
    if (shown)
        draw_proposals(context, conventions, *shown,
                       static_cast<std::size_t>(std::find(hidden.begin(), hidden.end(), *shown) - hidden.begin()));
    else paragraph(context.ui(), fonts.label, colors.faint, "Nothing is hidden yet.");
}

}  // namespace attn::app

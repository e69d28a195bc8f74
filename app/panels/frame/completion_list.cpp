#include "app/panels/frame/completion_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "app/panels/kit/lower_case.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/new_words.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/value_bar.hpp"

namespace attn::app {
namespace {

constexpr float kListWide = 264, kListRow = 28, kListEdge = 6;

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80U) != 0; }
bool in_word(char c) { return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '\'' || c == '-'; }

/// The space that a taken word brought gives way to a full stop or the like.
void close_up_to_word(CompletionState& state, TextEdit& edit) {
    if (!state.space_at || edit.caret < *state.space_at + 2) return;
    const std::size_t space = *std::exchange(state.space_at, {});
    const std::string_view after = std::string_view(edit.field).substr(std::min(space, edit.field.size()));
    if (after.size() == 2 && after[0] == ' ' && std::string_view(".,;:!?").find(after[1]) != std::string_view::npos)
        edit.change = FieldChange{space, space + 2, std::string(1, after[1])};
}

/// Finds the word whose last letter was just typed.
void follow_typing(CompletionState& state, const TextEdit& edit, bool changed) {
    const std::string& field = edit.field;
    const std::size_t caret = std::min(edit.caret, field.size());
    if (!changed) {
        if (caret != state.from + state.typed.size()) state.typed.clear();
        return;
    }
    std::size_t from = caret;
    while (from > 0 && in_word(field[from - 1])) --from;
    while (from < caret && !begins_word(field[from])) ++from;
    if (state.closed_at != from) state.closed_at.reset();
    const bool at_end = caret == field.size() || !in_word(field[caret]);
    state.typed = at_end && !state.closed_at ? field.substr(from, caret - from) : "";
    state.before = edit.stand_ins.from_field(field.substr(0, from));
    state.from = from;
    state.chosen = -1;
}

/// The last list that became known, as far as it still fits.
std::vector<Completion> listed_completions(PanelContext& context) {
    CompletionState& state = context.view.text_row.completions;
    if (state.typed.empty()) return {};
    const TextOfState text{static_cast<std::int64_t>(shown_index(context)), shows_source(context)};
    if (const auto answer = context.ask(facet::Completions{text, state.before, state.typed})) state.last = answer.value;
    std::vector<Completion> lines = state.last == nullptr ? std::vector<Completion>() : state.last->best;
    std::erase_if(lines, [&](const Completion& one) {
        return one.word == state.typed || !lower_case(one.word).starts_with(lower_case(state.typed));
    });
    return lines;
}

/// With the space after it, so that one can type on.
void take_word(PanelContext& context, const std::string& word) {
    CompletionState& state = context.view.text_row.completions;
    TextEdit& edit = context.view.text_row.edit;
    const std::size_t end = state.from + state.typed.size();
    const bool at_end = end >= edit.field.size();
    edit.change = FieldChange{state.from, end, edit.stand_ins.to_field(word) + (at_end ? " " : "")};
    if (at_end) state.space_at = state.from + edit.change->with.size() - 1;
    state.closed_at = state.from;
    state.typed.clear();
}

/// Ends the editing: the sheet needs the keyboard.
void open_sheet_for_word(PanelContext& context) {
    TextRowState& row = context.view.text_row;
    row.sheet.place = WordSheetPlace{row.edit.text, row.completions.from, row.completions.from + row.completions.typed.size()};
    row.sheet.open = true;
    row.edit.editing = false;
    row.completions.typed.clear();
    ++context.view.gesture;
    stop_typing();
}

void take_line(PanelContext& context, const std::vector<Completion>& lines, int line) {
    if (line < static_cast<int>(lines.size())) take_word(context, lines[static_cast<std::size_t>(line)].word);
    else open_sheet_for_word(context);
}

/// A word with its chance as a faint bar behind it, or the last line. Acts when the button goes down: the field has lost the keyboard.
bool draw_list_line(PanelContext& context, const Box& box, bool chosen, const Completion* word) {
    const auto& [colors, fonts, scale] = context.theme;
    const bool hovered = ImGui::IsMouseHoveringRect(box.min, box.max, false);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (chosen || hovered)
        list.AddRectFilled(box.min, box.max, chosen ? with_alpha(colors.accent, 0.18F) : with_alpha(colors.text, 0.06F), context.px(4));
    const ImVec2 left{box.min.x + context.px(10), box.min.y}, right{box.max.x - context.px(10), box.max.y};
    if (word == nullptr) {
        const std::size_t known = known_words(context.document).size();
        draw_text_in(list, fonts.label, left, right, {0, 0.5F}, colors.accent, fmt::format("all {} words …", known));
    } else {
        if (word->chance)
            value_bar(list, {box.min.x, box.min.y + context.px(2)}, {box.max.x, box.max.y - context.px(2)}, *word->chance,
                      with_alpha(colors.accent, 0.16F), context.px(4));
        draw_text_in(list, fonts.mono_body, left, right, {0, 0.5F}, colors.text, elide(fonts.mono_body, word->word, context.px(180)));
        if (word->chance) draw_text_in(list, fonts.mono_small, left, right, {1, 0.5F}, colors.muted, percent_words(*word->chance));
    }
    return hovered && ImGui::IsMouseClicked(0);
}

/// Draws the list in front of everything else. Returns the line that was clicked, -1 for none.
int draw_list_window(PanelContext& context, const std::vector<Completion>& lines, ImVec2 at) {
    CompletionState& state = context.view.text_row.completions;
    const int count = static_cast<int>(lines.size()) + 1;
    const float row = context.px(kListRow), edge = context.px(kListEdge);
    state.box = {at, {at.x + context.px(kListWide), at.y + row * static_cast<float>(count) + 2 * edge}};
    ImGui::SetNextWindowPos(at);
    ImGui::SetNextWindowSize({state.box.width(), state.box.height()});
    ImGui::PushStyleColor(ImGuiCol_WindowBg, context.theme.colors.pane);
    ImGui::PushStyleColor(ImGuiCol_Border, context.theme.colors.accent);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, context.px(6));
    ImGui::Begin("##completions", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoFocusOnAppearing);
    ImGui::PopStyleVar();
    ImGui::PopStyleColor(2);
    int clicked = -1;
    for (int i = 0; i < count; ++i) {
        const float y = at.y + edge + row * static_cast<float>(i);
        const Box box{{at.x + edge, y}, {state.box.max.x - edge, y + row}};
        const Completion* const word = i + 1 < count ? &lines[static_cast<std::size_t>(i)] : nullptr;
        if (draw_list_line(context, box, state.chosen == i, word)) clicked = i;
    }
    ImGui::End();
    return clicked;
}

}  // namespace

bool knows_words(const PanelContext& context) { return !known_words(context.document).empty(); }

void draw_completions(PanelContext& context, const TextEditResult& typed, const Box& field) {
    TextRowState& row = context.view.text_row;
    CompletionState& state = row.completions;
    if (typed.changed) close_up_to_word(state, row.edit);
    follow_typing(state, row.edit, typed.changed);
    if (typed.closes_list) {
        state.closed_at = state.from;
        state.typed.clear();
    }
    row.edit.list = {};
    if (!row.edit.editing || !knows_words(context)) state.typed.clear();
    const std::vector<Completion> lines = listed_completions(context);
    if (lines.empty()) return;
    const int last = static_cast<int>(lines.size());
    state.chosen = std::clamp(state.chosen + typed.moved, -1, last);
    if (typed.tab || typed.takes) return take_line(context, lines, std::max(state.chosen, 0));
    const float word_at = text_width(context.theme.fonts.mono_body, row.edit.field.substr(0, state.from)) - row.edit.scrolled;
    const float x =
        std::clamp(field.min.x + context.px(2) + word_at, field.min.x, std::max(field.max.x - context.px(kListWide), field.min.x));
    if (const int clicked = draw_list_window(context, lines, {x, field.max.y + context.px(3)}); clicked >= 0)
        return take_line(context, lines, clicked);
    row.edit.list = {true, state.chosen >= 0, ImGui::IsMouseHoveringRect(state.box.min, state.box.max, false)};
}

}  // namespace attn::app

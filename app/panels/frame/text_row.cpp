#include "app/panels/frame/text_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/frame/completion_list.hpp"
#include "app/panels/frame/frame_layout.hpp"
#include "app/panels/frame/next_words.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/settings/dropout_chip.hpp"
#include "app/panels/settings/edit_chip.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/session/document/presets.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/hatching.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/letters.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kChipHeight = 38, kRowButton = 36, kRowGap = 8, kSideName = 58;
constexpr float kBothFrom = 900;  // height of the window in logical pixels

void replace_text(PanelContext& context, std::string text) {
    std::vector<std::string> texts = shown_whole_texts(context);
    texts[shown_index(context)] = std::move(text);
    emit_texts(context, std::move(texts), shows_source(context), "text");
}

/// The menu items for a preset's sentences, if it has several.
void draw_sentences(PanelContext& context, const Preset& preset, const PresetSentence* shown) {
    for (const PresetSentence& sentence : preset.sentences)
        if (menu_item(context.ui(), sentence.title, &sentence == shown, sentence.look_at))
            open_example(context, preset, static_cast<std::size_t>(&sentence - preset.sentences.data()));
    separator(context.ui());
}

/// The menu of the example's sentences and of the texts shown together, with adding and removing.
void draw_texts_menu(PanelContext& context, ImVec2 at) {
    const auto& texts = shown_texts(context);
    const Preset* preset = preset_with_sentences(context.document);
    const PresetSentence* sentence = preset == nullptr ? nullptr : shown_sentence(context.document);
    const std::string place = texts.size() > 1 ? fmt::format("Text {} of {}. ", shown_index(context) + 1, texts.size())
                              : sentence != nullptr
                                  ? fmt::format("Sentence {} of {}. ", sentence - preset->sentences.data() + 1, preset->sentences.size())
                                  : std::string();
    ImGui::SetCursorScreenPos(at);
    if (!begin_menu_icon(context.ui(), "##sequences", Icon::Down, "", kRowButton,
                         {.tooltip = place + "Examples and texts: the keys “,” and “.” go to the previous and the next one.",
                          .words = "Examples and texts"}))
        return;
    if (preset != nullptr) draw_sentences(context, *preset, sentence);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        ImGui::PushID(static_cast<int>(i));
        const std::string text = texts[i].empty() ? "(empty)" : elide_shown(context.theme.fonts.body, texts[i], context.px(320), true);
        if (menu_item(context.ui(), text, i == shown_index(context))) show_text(context, i);
        ImGui::PopID();
    }
    separator(context.ui());
    if (texts.size() < kMostTexts &&
        menu_item(context.ui(), texts.size() == 1 ? "add a second text" : "add a text", false, "starts as a copy of this one"))
        add_text(context, shown_index(context));
    if (texts.size() > 1 && menu_item(context.ui(), "remove this text")) remove_text(context, shown_index(context));
    end_menu_button();
}

/// How many tokens at the beginning of the shown text the model has no room for.
std::int64_t left_out(const PanelContext& context, bool source) {
    const std::vector<std::int64_t>& all = context.snapshot.left_out;
    return source || shown_index(context) >= all.size() ? 0 : all[shown_index(context)];
}

/// Says in the editor what the model reads of a text that is too long for it. Returns the width used at the right of `end`.
float draw_what_is_read(const PanelContext& context, ImVec2 end) {
    const std::int64_t before = left_out(context, shows_source(context));
    if (before == 0) return 0;
    const auto& [colors, fonts, scale] = context.theme;
    const std::int64_t read = context.structure().tokens.lengths.at(shown_index(context));
    const std::string last = read == 1 ? "the last" : fmt::format("the last {}", read);
    const std::string words = fmt::format("reads {} of {} {}s", last, read + before, token_noun(context.snapshot));
    const float width = text_width(fonts.label, words);
    draw_text_in(*ImGui::GetWindowDrawList(), fonts.label, {end.x - width, end.y}, {end.x, end.y + context.px(kChipHeight)}, {0, 0.5F},
                 colors.chosen_text, words);
    return width + context.px(kRowGap);
}

/// The words that are not read, before the chips of those that are. Returns the width used.
float draw_left_out(PanelContext& context, bool source, ImVec2 at) {
    const std::int64_t before = left_out(context, source);
    if (before == 0) return 0;
    const auto& [colors, fonts, scale] = context.theme;
    const bool one = before == 1;
    const std::string words = fmt::format("{} {}{} not read", before, token_noun(context.snapshot), one ? "" : "s");
    const Item item =
        item_at(context.ui(), "##left_out", at, {text_width(fonts.label, words) + context.px(20), context.px(kChipHeight)},
                {.tooltip = fmt::format("{} not read: the text is longer than the model's context.", one ? "This is" : "These are")});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(item.min, item.max, colors.pane, context.px(6));
    draw_hatching(list, context.theme, item.min, item.max);
    list.AddRect(item.min, item.max, colors.line, context.px(6));
    draw_text_in(list, fonts.label, item.min, item.max, {0.5F, 0.5F}, colors.muted, words);
    draw_focus_ring(context.ui(), item, context.px(6));
    return item.width() + context.px(kRowGap);
}

void draw_editor(PanelContext& context, float width) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    width -= draw_what_is_read(context, {at.x + width, at.y});
    const TextEditResult result = text_edit(context.ui(), "##text_edit", context.view.text_row.edit, width);
    if (result.too_long)
        context.commands.push_back(
            {command::TellFile{fmt::format("Too long: the texts of a document hold at most {} KiB.", kTextLimitBytes >> 10), true,
                               NoticeOf::Document},
             ""});
    if (result.changed || result.cancelled) replace_text(context, context.view.text_row.edit.text);
    draw_completions(context, result, {at, {at.x + width, at.y + context.px(kChipHeight)}});
    if (!result.committed && !result.cancelled) return;
    ++context.view.gesture;
    if (context.view.files.notices.shows_error()) context.commands.push_back({command::EndNotice{NoticeOf::Document}, ""});
}

/// Where nothing could be computed because of a text, there are no chips to click: the field stays open until the text is repaired.
void keep_unread_text_open(PanelContext& context) {
    ViewState& view = context.view;
    const Field field = context.snapshot.problem_field;
    const bool unread = !context.ready() && (field == Field::Texts || field == Field::SourceTexts);
    const bool begins = unread && !view.text_row.unread;
    if (begins) view.text_row.source = has_source(context) && field == Field::SourceTexts;
    const bool in_use = view.text_row.edit.editing && (view.text_row.edit.focus || ImGui::GetIO().WantTextInput);
    if (in_use && !begins) return;
    if (!unread && view.text_row.unread) view.text_row.edit.editing = false;
    view.text_row.unread = unread;
    if (!unread) return;
    start_text_edit(context);
    view.text_row.edit.focus = begins;
}

/// Chips of the text before the last change fade with the picture.
void fade_chips(const PanelContext& context, ImVec2 at, float width) {
    if (!fades_now(context)) return;
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y - context.px(6)}, {at.x + width, at.y + context.px(kChipHeight + 6)},
                                              with_alpha(context.theme.colors.window, 0.6F));
}

/// The document's text where it cannot be read, at the right of the chips that are shown instead, unless it is in the field. Returns the
/// width used of `room`.
float draw_unread_text(PanelContext& context, float right, float y, float room) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::optional<UnreadText> unread = unread_text(context, {shown_index(context), shows_source(context)});
    if (!unread) return 0;
    context.view.drawn.unread_text = true;
    const bool in_editor =
        context.view.text_row.edit.editing && unread->source == shows_source(context) && unread->index == shown_index(context);
    if (in_editor) return 0;
    const std::vector<std::string> texts = unread->source ? context.document.source_texts : whole_texts(context.document);
    constexpr std::string_view kLabel = "not read:";
    const float padding = context.px(10), words_from = padding + text_width(fonts.label, kLabel) + context.px(8);
    const std::string words = elide_shown(fonts.mono_body, texts.at(unread->index), room - words_from - padding, true);
    const float width = std::min(words_from + text_width(fonts.mono_body, words) + padding, room);
    const Item item =
        item_at(context.ui(), "##unread", {right - width, y}, {width, context.px(kChipHeight)},
                {.tooltip = context.snapshot.problem + ". The chips, the maps and the next words are those of the text before. "
                                                       "Click to mend it."});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(item.min, item.max, with_alpha(colors.bad, item.hovered ? 0.22F : 0.14F), context.px(6));
    list.AddRect(item.min, item.max, colors.bad, context.px(6));
    draw_text_in(list, fonts.label, {item.min.x + padding, item.min.y}, item.max, {0, 0.5F}, colors.bad, kLabel);
    draw_text_in(list, fonts.mono_body, {item.min.x + words_from, item.min.y}, item.max, {0, 0.5F}, colors.text, words);
    draw_focus_ring(context.ui(), item, context.px(6));
    if (item.pressed) {
        context.view.text_row.source = unread->source;
        if (unread->index != shown_index(context)) context.view.next_batch = static_cast<std::int64_t>(unread->index);
        start_text_edit(context);
    }
    return width;
}

void edit_side(PanelContext& context, bool source) {
    context.view.text_row.source = source;
    start_text_edit(context);
}

void draw_chips(PanelContext& context, bool source, float width) {
    const auto& sequences = source ? context.snapshot.source_tokens : context.snapshot.tokens;
    if (sequences.empty()) return;
    // The text that the maps show, also while another is awaited or cannot be read.
    const auto shown = static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch, 0, std::ssize(sequences) - 1));
    const auto& tokens = sequences[shown];
    context.view.drawn.chips = {context.snapshot.state, shown, source};
    // Queries or keys of the shown stage may refer to the other text.
    const auto mark = [&](const AxisSelection& selection, Axis axis) {
        return &tokens_of(context, context.view.stage, axis) == &sequences ? static_cast<int>(selection.on(axis).value_or(-1)) : -1;
    };
    ViewState& view = context.view;
    ChipOptions options;
    options.marks = {mark(view.locked, Axis::T), mark(view.locked, Axis::S), mark(view.hover_shown, Axis::T),
                     mark(view.hover_shown, Axis::S)};
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ChipResult result = token_chips(context.ui(), source ? "##source_chips" : "##chips", tokens, width, options);
    if (result.clicked >= 0) {
        view.locked.set(Axis::T, result.clicked);
        view.train.query = result.clicked;
    }
    if (result.right_clicked >= 0) view.locked.set(Axis::S, result.right_clicked);
    if (result.background_clicked) edit_side(context, source);
    fade_chips(context, at, width);
    // Right-to-left text is not reordered, because ids and positions run from left to right.
    const float hint_x = at.x + result.width + context.px(14);
    constexpr std::string_view kTurned = "right-to-left text, in reading order";
    if (has_right_to_left((source ? context.document.source_texts : context.document.texts)[shown_index(context)]) &&
        hint_x + text_width(context.theme.fonts.label, kTurned) < at.x + width)
        draw_text_in(*ImGui::GetWindowDrawList(), context.theme.fonts.label, {hint_x, at.y}, {at.x + width, at.y + context.px(kChipHeight)},
                     {0, 0.5F}, context.theme.colors.faint, kTurned);
}

/// Draws the switch between the encoder's and the decoder's text; returns the width used.
float draw_sides(PanelContext& context, ImVec2 at) {
    if (!has_source(context)) return 0;
    static constexpr std::array<std::string_view, 2> kSides = {"source", "target"};
    int side = context.view.text_row.source ? 0 : 1;
    ImGui::SetCursorScreenPos(at);
    if (segmented(context.ui(), "##side", kSides, side, segmented_width(context.ui(), kSides),
                  {.tooltip = "The encoder reads the source, the decoder the target."})) {
        context.view.text_row.source = side == 0;
        context.view.text_row.edit.editing = false;
    }
    return segmented_width(context.ui(), kSides) + context.px(14);
}

/// The name of a side before its row, where both have one. Returns the width used.
float draw_side_name(const PanelContext& context, bool source, ImVec2 at) {
    const auto& [colors, fonts, scale] = context.theme;
    draw_text_in(*ImGui::GetWindowDrawList(), fonts.label, at, {at.x + context.px(kSideName), at.y + context.px(kChipHeight)}, {0, 0.5F},
                 source ? colors.axis(Axis::S) : colors.muted, source ? "source" : "target");
    return context.px(kSideName);
}

/// The pencil at the right end of a row; that of the source, where both texts have one, has a name of its own.
void draw_pencil(PanelContext& context, bool source, bool of_pair, ImVec2 at) {
    const bool editing = context.view.text_row.edit.editing && shows_source(context) == source;
    ImGui::SetCursorScreenPos(at);
    if (button(context.ui(), of_pair && source ? "##edit_source" : "##edit_text",
               {.look = ButtonLook::Flat,
                .width = kRowButton,
                .icon = Icon::Pencil,
                .active = editing,
                .notes = {.tooltip = of_pair && source ? "Type a source of your own." : "Type a text of your own (T).",
                          .words = of_pair && source ? "Edit the source" : "Edit the text"}}))
        edit_side(context, source);
}

/// The chips of a side or, while it is edited, its field.
void draw_words_or_editor(PanelContext& context, bool source, ImVec2 at, float width) {
    ImGui::SetCursorScreenPos(at);
    if (context.view.text_row.edit.editing && shows_source(context) == source) return draw_editor(context, width);
    const float before = draw_left_out(context, source, at);
    ImGui::SetCursorScreenPos({at.x + before, at.y});
    draw_chips(context, source, width - before);
}

/// The source's row above the target's, with its pencil above that one's.
void draw_source_row(PanelContext& context, ImVec2 origin, float pencil) {
    const float top = origin.y + context.px(kFrameGap), chip_y = top + context.px((kTextRow - kChipHeight) / 2);
    const float left = origin.x + draw_side_name(context, true, {origin.x, chip_y});
    draw_pencil(context, true, true, {pencil, top + context.px((kTextRow - 30) / 2)});
    draw_words_or_editor(context, true, {left, chip_y}, pencil - context.px(kRowGap) - left);
}

/// The chips that say what is unlike the plain state, from right to left; each may take only part of the row. Returns where they begin.
float draw_state_chips(PanelContext& context, float left, float right, float y) {
    const auto put = [&](float width) {
        if (width > 0) right -= width + context.px(kRowGap);
    };
    put(draw_comparison(context, right, y, (right - left) * 0.5F));
    put(draw_edit_chip(context, right, y, (right - left) * 0.3F));
    put(draw_dropout_chip(context, right, y, (right - left) * 0.3F));
    if (context.view.view != View::Train) put(draw_run_chip(context, right, y, (right - left) * 0.45F));
    return right;
}

}  // namespace

bool shows_both_texts(const PanelContext& context) {
    return has_source(context) && context.view.view != View::Train && ImGui::GetIO().DisplaySize.y >= context.px(kBothFrom);
}

void draw_text_row(PanelContext& context) {
    const std::size_t expected = std::exchange(context.view.text_row.added, 0);
    if (expected > 0 && expected == context.document.texts.size()) {
        start_text_edit(context);
        context.view.text_row.edit.select_all = context.view.text_row.type_over_added;
    }
    keep_unread_text_open(context);
    const bool both = shows_both_texts(context);
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float top = origin.y + context.px(kFrameGap + (both ? kSecondRow : 0)), chip_y = top + context.px((kTextRow - kChipHeight) / 2),
                button_y = top + context.px((kTextRow - 30) / 2);
    float left = origin.x, right = draw_next_words(context, origin.x + ImGui::GetContentRegionAvail().x, top);
    left += both ? draw_side_name(context, false, {left, chip_y}) : draw_sides(context, {left, top + context.px(6)});
    // The buttons have the same place whatever the text is.
    const auto button_from_right = [&] { return ImVec2(right -= context.px(kRowButton), button_y); };
    draw_texts_menu(context, button_from_right());
    right -= context.px(kRowGap);
    const ImVec2 pencil = button_from_right();
    const bool source = shows_source(context) && !both;
    if (!context.document.recorded) draw_pencil(context, source, both, pencil);
    if (both) draw_source_row(context, origin, pencil.x);
    right = draw_state_chips(context, left, right - context.px(kRowGap), top + context.px(6));
    if (both || !context.view.text_row.edit.editing)
        if (const float unread = draw_unread_text(context, right, chip_y, (right - left) * 0.5F); unread > 0)
            right -= unread + context.px(kRowGap);
    draw_words_or_editor(context, source, {left, chip_y}, right - left);
}

}  // namespace attn::app

#include "app/panels/frame/text_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/frame/frame_layout.hpp"
#include "app/panels/frame/next_words.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/labels.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/settings/edit_chip.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/session/document/presets.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/letters.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kChipHeight = 38, kRowButton = 36, kRowGap = 8;

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
        if (menu_item(context.ui(), text, i == shown_index(context)))
            context.view.batch = static_cast<std::int64_t>(i), context.view.next_batch.reset();
        ImGui::PopID();
    }
    separator(context.ui());
    if (texts.size() < kMostTexts &&
        menu_item(context.ui(), texts.size() == 1 ? "add a second text" : "add a text", false, "starts as a copy of this one"))
        add_text(context, shown_index(context));
    if (texts.size() > 1 && menu_item(context.ui(), "remove this text")) remove_text(context, shown_index(context));
    end_menu_button();
}

void draw_editor(PanelContext& context, float width) {
    const TextEditResult result = text_edit(context.ui(), "##text_edit", context.view.text_row.edit, width);
    if (result.too_long)
        context.commands.push_back(
            {command::TellFile{fmt::format("Too long: the texts of a document hold at most {} KiB.", kTextLimitBytes >> 10), true,
                               NoticeOf::Document},
             ""});
    if (result.changed || result.cancelled) replace_text(context, context.view.text_row.edit.text);
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

/// The document's text where it cannot be read, at the right of the chips that are shown instead. Returns the width used of `room`.
float draw_unread_text(PanelContext& context, float right, float y, float room) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::optional<UnreadText> unread = unread_text(context, {shown_index(context), shows_source(context)});
    if (!unread) return 0;
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
    context.view.drawn.unread_text = true;
    if (item.pressed) {
        context.view.text_row.source = unread->source;
        if (unread->index != shown_index(context)) context.view.next_batch = static_cast<std::int64_t>(unread->index);
        start_text_edit(context);
    }
    return width;
}

void draw_chips(PanelContext& context, float width) {
    const auto& sequences = shows_source(context) ? context.snapshot.source_tokens : context.snapshot.tokens;
    if (sequences.empty()) return;
    // The text that the maps show, also while another is awaited or cannot be read.
    const auto shown = static_cast<std::size_t>(std::clamp<std::int64_t>(context.view.batch, 0, std::ssize(sequences) - 1));
    const auto& tokens = sequences[shown];
    context.view.drawn.chips = {context.snapshot.state, shown, shows_source(context)};
    // Queries or keys of the shown stage may refer to the other text.
    const auto mark = [&](const AxisSelection& selection, Axis axis) {
        return &tokens_of(context, context.view.stage, axis) == &sequences ? static_cast<int>(selection.on(axis).value_or(-1)) : -1;
    };
    ViewState& view = context.view;
    ChipOptions options;
    options.marks = {mark(view.locked, Axis::T), mark(view.locked, Axis::S), mark(view.hover_shown, Axis::T),
                     mark(view.hover_shown, Axis::S)};
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const ChipResult result = token_chips(context.ui(), "##chips", tokens, width, options);
    if (result.clicked >= 0) {
        view.locked.set(Axis::T, result.clicked);
        view.train.query = result.clicked;
    }
    if (result.right_clicked >= 0) view.locked.set(Axis::S, result.right_clicked);
    if (result.background_clicked) start_text_edit(context);
    fade_chips(context, at, width);
    // Right-to-left text is not reordered, because ids and positions run from left to right.
    const float hint_x = at.x + result.width + context.px(14);
    constexpr std::string_view kTurned = "right-to-left text, in reading order";
    if (has_right_to_left(shown_texts(context)[shown_index(context)]) &&
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

/// The chips that say what is unlike the plain state, from right to left; each may take only part of the row. Returns where they begin.
float draw_state_chips(PanelContext& context, float left, float right, float y) {
    const auto put = [&](float width) {
        if (width > 0) right -= width + context.px(kRowGap);
    };
    put(draw_comparison(context, right, y, (right - left) * 0.5F));
    put(draw_edit_chip(context, right, y, (right - left) * 0.3F));
    if (context.view.view != View::Train) put(draw_small_transport(context, right, y - context.px(1), (right - left) * 0.45F));
    return right;
}

}  // namespace

void draw_text_row(PanelContext& context) {
    const Ui ui = context.ui();
    const std::size_t expected = std::exchange(context.view.text_row.added, 0);
    if (expected > 0 && expected == context.document.texts.size()) start_text_edit(context);
    keep_unread_text_open(context);
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float top = origin.y + context.px(kFrameGap), chip_y = top + context.px((kTextRow - kChipHeight) / 2),
                button_y = top + context.px((kTextRow - 30) / 2);
    float left = origin.x, right = draw_next_words(context, origin.x + ImGui::GetContentRegionAvail().x, top);
    left += draw_sides(context, {left, top + context.px(6)});
    // The buttons have the same place whatever the text is.
    const auto button_from_right = [&] { return ImVec2(right -= context.px(kRowButton), button_y); };
    draw_texts_menu(context, button_from_right());
    right -= context.px(kRowGap);
    ImGui::SetCursorScreenPos(button_from_right());
    if (button(ui, "##edit_text",
               {.look = ButtonLook::Flat,
                .width = kRowButton,
                .icon = Icon::Pencil,
                .active = context.view.text_row.edit.editing,
                .notes = {.tooltip = "Type a text of your own (T).", .words = "Edit the text"}}))
        start_text_edit(context);
    right = draw_state_chips(context, left, right - context.px(kRowGap), top + context.px(6));
    if (!context.view.text_row.edit.editing)
        if (const float unread = draw_unread_text(context, right, chip_y, (right - left) * 0.5F); unread > 0)
            right -= unread + context.px(kRowGap);
    ImGui::SetCursorScreenPos({left, chip_y});
    if (context.view.text_row.edit.editing) draw_editor(context, right - left);
    else draw_chips(context, right - left);
}

}  // namespace attn::app

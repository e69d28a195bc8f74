#include "app/panels/settings/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/edit/edit_list.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/lower_case.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/section.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/settings/mistakes.hpp"
#include "app/panels/settings/model_settings.hpp"
#include "app/panels/settings/opened_model_settings.hpp"
#include "app/panels/settings/recording_settings.hpp"
#include "app/panels/settings/setting_parts.hpp"
#include "app/panels/settings/setting_values.hpp"
#include "app/panels/settings/tokenizer_settings.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kCardHeight = 132, kCardWithModel = 160, kCardSentence = 36;

/// Settings of the computation; the weights of two files are compared without one.
bool shows_activations(const PanelContext& context) { return context.view.view != View::Precision; }

bool shows_writing(const PanelContext& context) { return context.view.view == View::Write && can_write(context); }

bool shows_lines(const PanelContext& context) { return context.view.view == View::Lines; }

bool shows_many_heads(const PanelContext& context) {
    return context.view.view == View::Heads || context.view.view == View::Grid || context.view.view == View::Doctor;
}

/// Layer and head are chosen below the picture, while the stages are shown there.
bool has_something_to_choose(const PanelContext& context) {
    const View view = context.view.view;
    const bool of_one_layer = view == View::Step || view == View::Heads || view == View::Lines;
    return view == View::Heads || view == View::Grid || view == View::Totals ||
           (of_one_layer && !context.view.panes.strip && !shows_token_path(context));
}

/// Whether the view shows attention weights of many heads, which can be measured in several ways.
bool shows_weights_of_heads(const PanelContext& context) { return shows_many_heads(context) && has_head_mean(context.view.heads.stage); }

bool can_be_compared(const PanelContext& context) { return context.view.view != View::KnockOut && context.view.view != View::Precision; }

/// A published model's tokenizer and parts cannot be changed; a recording has none.
bool model_is_ours(const PanelContext& context) { return context.document.model == nullptr && !context.document.recorded; }
bool is_recorded(const PanelContext& context) { return context.document.recorded.has_value(); }

/// Masks and mistakes change what a model computes, not what was recorded.
bool can_be_changed(const PanelContext& context) { return shows_activations(context) && !is_recorded(context); }

bool model_is_opened(const PanelContext& context) { return context.document.model != nullptr; }

/// Where the tokenizer is not the subject, its section is folded and further down.
bool has_tokenizer_aside(const PanelContext& context) { return model_is_opened(context) && !shows_token_path(context); }

/// Where a section stands: among all settings, in the short pane, or in both.
enum class Stands : std::uint8_t { All, Short, Both };

struct SettingSection {
    const char* name;   ///< in the settings file
    const char* title;  ///< on screen
    const char* words;  ///< keywords for the search
    Stands stands;
    LessonControl control;
    bool (*belongs)(const PanelContext&);
    std::string (*value)(const PanelContext&);
    void (*draw)(PanelContext&);
    std::optional<SetupPart> part{};  ///< of the setup, that it sets
};

/// What is changed on purpose, for the short pane: numbers, and a mistake.
std::string what_if_value(const PanelContext& context) {
    const std::size_t edits = context.document.forward.edits.size();
    std::string value = edits == 0 ? "" : fmt::format("{} change{}", edits, edits == 1 ? "" : "s");
    if (context.document.forward.mistaken()) value += (value.empty() ? "" : ", ") + mistake_value(context);
    return value.empty() ? "nothing changed" : value;
}

void draw_what_if(PanelContext& context) {
    draw_edit_list(context);
    if (is_recorded(context)) return;
    gap(context.ui(), 10);
    section_heading(context.ui(), "Break it on purpose");
    draw_mistake_settings(context);
}

constexpr const char* kTokenizerWords = "kind pieces vocabulary merges added tokens second beside BPE WordPiece Unigram";

constexpr std::array<SettingSection, 19> kSections = {{
    {"recording", "Recording", "step attention findings your own code folder newest", Stands::Both, LessonControl::Model, is_recorded,
     recording_value, draw_recording},
    {"tokenizer", "Tokenizer", kTokenizerWords, Stands::Both, LessonControl::Tokens, shows_token_path, tokenizer_value,
     draw_tokenizer_facts},
    {"sampler", "Sampler", "write on sampling temperature top-k top-p min-p tokens seed", Stands::Both, LessonControl::Shown, shows_writing,
     sampler_value, draw_sampler_settings},
    {"shown", "Shown", "stage layer head up to", Stands::Both, LessonControl::Shown, has_something_to_choose, shown_value, draw_shown},
    {"lines", "Lines", "min weight least threshold all layers", Stands::Both, LessonControl::Shown, shows_lines, lines_value,
     draw_lines_settings},
    {"heads", "Find heads", "previous token first token same token after a repeat induction pattern sorted sink alignment", Stands::Both,
     LessonControl::Heads, shows_many_heads, find_heads_value, draw_find_heads},
    {"measure", "Measure", "weights leave out first key sink times value norm length", Stands::Both, LessonControl::Shown,
     shows_weights_of_heads, measure_value, draw_measure},
    {"masks", "Masks", "causal padding", Stands::Both, LessonControl::Masks, can_be_changed, masks_value, draw_masks, SetupPart::Masks},
    {"other masks", "Other masks", "window sliding prefix block paint clear mask", Stands::All, LessonControl::Masks, can_be_changed,
     other_masks_value, draw_other_masks, SetupPart::Masks},
    {"what if", "What if …", "", Stands::Short, LessonControl::Edits, shows_activations, what_if_value, draw_what_if, SetupPart::Edits},
    {"compare", "Compare", "with unmasked unedited correct pin this state again step layer head text difference in place", Stands::Both,
     LessonControl::Compare, can_be_compared, compare_value, draw_compare_settings},
    {"softmax", "Softmax", "temperature dropout seed", Stands::Both, LessonControl::Softmax, can_be_changed, softmax_value, draw_softmax,
     SetupPart::Softmax},
    {"edits", "Changes", "edits changed numbers clear all compare", Stands::All, LessonControl::Edits, shows_activations, edits_value,
     draw_edit_list, SetupPart::Edits},
    {"model", "Model", "layers heads K/V kv key/value key value heads grouped query multi-query GQA MQA d_model d_head width memory",
     Stands::Both, LessonControl::Model, model_is_ours, model_value, draw_model_settings, SetupPart::Model},
    {"model", "Model", "folder family layers heads d_model d_head d_ff context vocabulary memory", Stands::Both, LessonControl::Model,
     model_is_opened, model_value, draw_opened_model, SetupPart::Model},
    {"tokenizer aside", "Tokenizer", kTokenizerWords, Stands::All, LessonControl::Tokens, has_tokenizer_aside, tokenizer_value,
     draw_tokenizer_facts},
    {"tokens", "Tokens", "tokenizer character word byte vocabulary", Stands::All, LessonControl::Tokens, model_is_ours, tokens_value,
     draw_tokenizer, SetupPart::Model},
    {"parts", "Parts",
     "of the model positions none learned sine rotary base norm pre post kind of norm LayerNorm RMSNorm final norm W_O output projection "
     "residual "
     "Q, K, V bias feed-forward layer plain gated gate SwiGLU GeGLU activation ReLU GELU tanh SiLU feed-forward bias output head tied head "
     "seed",
     Stands::All, LessonControl::Parts, model_is_ours, parts_value, draw_part_settings, SetupPart::Model},
    {"mistakes", "Break it on purpose", "mistake wrong bug", Stands::All, LessonControl::Mistakes, can_be_changed, mistake_value,
     draw_mistake_settings, SetupPart::Mistake},
}};

/// Adds the titles of all mistakes, which are defined elsewhere.
std::string words_of(const SettingSection& section) {
    std::string words = std::string(section.title) + " " + section.words;
    if (section.control == LessonControl::Mistakes)
        for (const MistakeInfo& info : mistakes()) words += " " + std::string(info.title);
    return lower_case(words);
}

bool is_listed(const PanelContext& context, const SettingSection& section) {
    if (section.stands == Stands::Short || !section.belongs(context) || !context.view.lesson.shows(section.control)) return false;
    return words_of(section).find(lower_case(context.view.settings.search.text)) != std::string::npos;
}

void draw_search(PanelContext& context) {
    const Ui ui = context.ui();
    SettingsSearch& search = context.view.settings.search;
    const bool searching = !search.text.empty();
    if (search.focus) focus_next_field();
    const float room = ImGui::GetContentRegionAvail().x / context.theme.scale;
    text_field(ui, "##settings_search", search.text, "Search settings  /", searching ? room - 38 : -1,
               {.tooltip = "Finds settings by name, including folded ones (/)."});
    if (ImGui::IsItemActive()) search.focus = false;
    if (searching) {
        ImGui::SameLine(0, context.px(6));
        if (button(ui, "##clear_search",
                   {.look = ButtonLook::Flat, .width = 32, .icon = Icon::Close, .notes = {.tooltip = "Shows all settings."}}))
            search.text.clear();
    }
    gap(ui, 6);
}

void hold_section(const PanelContext& context, const char* name, float top) {
    const HeldSection& held = context.view.settings.held;
    if (held.name == name && context.now < held.until && top != held.top) ImGui::SetScrollY(ImGui::GetScrollY() + top - held.top);
}

/// Keeps the section between `top` and the cursor in place after a click on it, until the user scrolls.
void hold_if_clicked(PanelContext& context, const char* name, float top) {
    constexpr double kSeconds = 0.5;
    HeldSection& held = context.view.settings.held;
    const ImGuiIO& io = ImGui::GetIO();
    if (io.MouseWheel != 0) held = {};
    const bool clicked = ImGui::IsMouseClicked(0) || ImGui::IsMouseReleased(0);
    const bool here = io.MousePos.y >= top && io.MousePos.y < ImGui::GetCursorScreenPos().y;
    if (clicked && here && ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
        held = {name, top, context.now + kSeconds};
}

/// Scrolls to a section that was just opened so low in the pane that it would show nothing else of it.
void reveal_opened(PanelContext& context, const char* name, bool was_open) {
    constexpr float kLeast = 90;
    if (was_open || context.view.settings.folded.contains(name)) return;
    const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowHeight();
    if (ImGui::GetCursorScreenPos().y + context.px(kLeast) < bottom) return;
    context.view.panes.reveal = name;
    context.view.settings.held = {};
}

/// Says beside settings that the picture is without them, as it cannot be computed with them.
void note_section(PanelContext& context, SetupPart part, bool open, bool refused) {
    DrawnParts& drawn = context.view.drawn;
    drawn.settings = drawn.settings | SetupParts::of(part);
    if (!refused) return;
    drawn.marked = drawn.marked | SetupParts::of(part);
    if (open) paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.chosen_text, "Asked for, but not in the picture.");
}

/// How a section is drawn: with its summary at the right of its title or below it, or always open.
enum class SectionLook : std::uint8_t { Right, Below, Open };

void draw_section(PanelContext& context, const SettingSection& section, bool first, SectionLook look) {
    const Ui ui = context.ui();
    const bool always_open = look == SectionLook::Open;
    const float top = ImGui::GetCursorScreenPos().y;
    hold_section(context, section.name, top);
    if (context.view.panes.reveal == section.name) {
        ImGui::SetScrollHereY(0);
        context.view.panes.reveal = {};
    }
    // Tight spacing, so that all headings are visible.
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, context.px(1)});
    if (!first) separator(ui, 5);
    if (always_open) section_heading(ui, section.title);
    const bool was_open = !context.view.settings.folded.contains(section.name);
    const bool refused = section.part && parts_refused(context).has(*section.part);
    const bool open = always_open || open_section(context, section.name, section.title,
                                                  refused ? "not in the picture" : section.value(context), {}, look == SectionLook::Below);
    ImGui::PopStyleVar();
    if (section.part) note_section(context, *section.part, open, refused);
    if (open) section.draw(context);
    hold_if_clicked(context, section.name, top);
    reveal_opened(context, section.name, was_open);
}

/// What the card at the bottom of the pane offers: the tour until it has been taken or the card closed, and a model of one's own until one
/// has been opened.
struct Offers {
    bool tour = false, model = false;
};

Offers offers_of(const PanelContext& context) {
    const bool tour = !context.view.toured;
    return {tour, tour && context.document.model == nullptr && context.files.recent_models.empty()};
}

/// Whether the view has a blue button of its own: there is one on a screen.
bool has_main_button(View view) { return view == View::Write || view == View::KnockOut || view == View::Precision || view == View::Train; }

void draw_card(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const ImVec2 corner = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    ImGui::GetWindowDrawList()->AddRectFilled(corner, {corner.x + size.x, corner.y + size.y}, colors.raised, context.px(8));
    ImGui::SetCursorScreenPos({corner.x + size.x - context.px(30), corner.y + context.px(4)});
    if (button(ui, "##close_card",
               {.look = ButtonLook::Flat,
                .width = 26,
                .height = 26,
                .icon = Icon::Close,
                .notes = {.tooltip = "Closes this card. The tour stays under Lessons."}}))
        context.view.toured = true;
    ImGui::SetCursorScreenPos({corner.x + context.px(12), corner.y + context.px(12)});
    ImGui::BeginGroup();
    const float inside = size.x / scale - 24;
    text_line(ui, fonts.strong, colors.text, "New here?");
    if (!is_low_window(context)) paragraph(ui, fonts.label, colors.muted, "Five minutes, one head, every step by hand.", inside);
    gap(ui, 4);
    if (button(ui, "Take the tour",
               {.look = has_main_button(context.view.view) ? ButtonLook::Plain : ButtonLook::Accent,
                .width = inside,
                .height = 34,
                .notes = {.tooltip = "From a trained model through its masks to watching one learn. Esc leaves it."}}))
        open_tour(context);
    if (offers_of(context).model && link(ui, "or open your own model", opened_models(context))) begin_open_model(context);
    ImGui::EndGroup();
}

/// After a change of the search, scrolls to the first control found by its name, unless a section of that name is at the top.
void reveal_found(PanelContext& context, bool found_section) {
    SettingsSearch& search = context.view.settings.search;
    if (std::exchange(search.revealed, search.text) == search.text || search.text.empty() || found_section) return;
    const ImGuiWindow& window = *ImGui::GetCurrentWindow();
    const std::string sought = lower_case(search.text);
    const auto& drawn = context.view.focus.drawn();
    const auto found = std::find_if(drawn.begin(), drawn.end(), [&](const FocusStop& stop) {
        return stop.window == window.Name && lower_case(stop.words).find(sought) != std::string::npos;
    });
    if (found == drawn.end() || (found->top >= window.InnerRect.Min.y && found->bottom <= window.InnerRect.Max.y)) return;
    ImGui::SetScrollFromPosY((found->top + found->bottom) / 2 - window.Pos.y, 0.5F);
}

/// Frames every control that has the searched words in its name.
void mark_found(const PanelContext& context) {
    const std::string sought = lower_case(context.view.settings.search.text);
    if (sought.empty()) return;
    const std::string_view window = ImGui::GetCurrentWindow()->Name;
    const float edge = context.px(3);
    for (const FocusStop& stop : context.view.focus.drawn())
        if (stop.window == window && lower_case(stop.words).find(sought) != std::string::npos)
            ImGui::GetWindowDrawList()->AddRect({stop.left - edge, stop.top - edge}, {stop.right + edge, stop.bottom + edge},
                                                context.theme.colors.chosen, context.px(5), 0, context.px(1.5F));
}

/// The sections of all settings, or those that a lesson shows.
void draw_all_sections(PanelContext& context) {
    const LessonView& lesson = context.view.lesson;
    // A lesson that hides sections has chosen the rest to be visible.
    const bool chosen = lesson.open() && !lesson.shown().look.controls.all(), searching = !context.view.settings.search.text.empty();
    bool first = true, found_section = false;
    for (const SettingSection& section : kSections) {
        if (!is_listed(context, section)) continue;
        draw_section(context, section, first, chosen || searching ? SectionLook::Open : SectionLook::Right);
        if (first) found_section = lower_case(section.title).find(lower_case(context.view.settings.search.text)) != std::string::npos;
        first = false;
    }
    reveal_found(context, found_section);
    mark_found(context);
    if (first && searching)
        paragraph(context.ui(), context.theme.fonts.label, context.theme.colors.faint,
                  "No setting of this name. Ctrl+K searches everything.");
}

/// A line under the switches while a mask of another kind is on.
void draw_other_masks_line(PanelContext& context) {
    const std::string value = other_masks_value(context);
    if (value == "none") return;
    if (link(context.ui(), fmt::format("Other masks: {}##other_masks", value).c_str(), "Opens their settings."))
        open_settings_section(context.view, "other masks");
}

void draw_short_sections(PanelContext& context) {
    bool first = true;
    for (const SettingSection& section : kSections) {
        if (section.stands == Stands::All || !section.belongs(context)) continue;
        const bool masks = section.control == LessonControl::Masks;
        draw_section(context, section, first, masks ? SectionLook::Open : SectionLook::Below);
        if (masks) draw_other_masks_line(context);
        first = false;
    }
    if (!first) separator(context.ui(), 9);
    if (link(context.ui(), "All settings", "Every setting, with a search (/).")) context.view.panes.left_open = true;
    const ImVec2 at = ImGui::GetItemRectMin();
    draw_key_cap(context.ui(), *ImGui::GetWindowDrawList(),
                 {at.x + ImGui::GetContentRegionAvail().x - key_cap_width(context.ui(), "/"), at.y - context.px(2)}, "/");
}

/// A view that has the section; none if no view of this model has it.
std::optional<View> view_with(const PanelContext& context, const SettingSection& section) {
    const std::string_view name = section.name;
    if (name == "sampler") return could_write(context) ? std::optional(View::Write) : std::nullopt;
    if (name == "lines") return View::Lines;
    if (name == "heads" || name == "measure" || name == "shown") return View::Heads;
    return section.belongs(context) ? std::optional(View::Step) : std::nullopt;
}

}  // namespace

std::vector<ListedSection> listed_sections(const PanelContext& context, bool of_all_views) {
    std::vector<ListedSection> listed;
    for (const SettingSection& section : kSections) {
        if (section.stands == Stands::Short || !context.view.lesson.shows(section.control)) continue;
        const std::optional<View> view =
            context.view.view == View::Train || !section.belongs(context) ? view_with(context, section) : std::optional<View>();
        if (view ? of_all_views : section.belongs(context)) listed.push_back({section.name, section.title, section.words, view});
    }
    return listed;
}

void draw_settings(PanelContext& context) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (context.view.lesson.open()) return draw_scrolled_column(context, "##sections", room.y, draw_all_sections);
    const Offers offers = offers_of(context);
    if (!offers.tour) return draw_scrolled_column(context, "##sections", room.y, draw_short_sections);
    // The card stays at the bottom while the sections scroll.
    const float card = context.px((offers.model ? kCardWithModel : kCardHeight) - (is_low_window(context) ? kCardSentence : 0));
    draw_scrolled_column(context, "##sections", room.y - card - ImGui::GetStyle().ItemSpacing.y, draw_short_sections);
    const Scrolled fixed(context.ui(), "##card", {room.x, card},
                         {.flags = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse, .padded = false, .fades = false});
    draw_card(context);
}

void draw_all_settings(PanelContext& context) {
    const Ui ui = context.ui();
    if (!context.view.lesson.open()) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        const float width = ImGui::GetContentRegionAvail().x;
        text_line(ui, context.theme.fonts.title, context.theme.colors.text, "All settings");
        ImGui::SetCursorScreenPos({at.x + width - context.px(28), at.y - context.px(4)});
        if (button(ui, "##close_settings",
                   {.look = ButtonLook::Flat, .width = 28, .icon = Icon::Close, .notes = {.tooltip = "Closes them (Esc)."}}))
            context.view.panes.left_open = false;
        ImGui::SetCursorScreenPos({at.x, at.y + context.px(32)});
        draw_search(context);
    }
    draw_scrolled_column(context, "##all_sections", ImGui::GetContentRegionAvail().y, draw_all_sections);
}

}  // namespace attn::app

#include "app/panels/settings/settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/edit/edit_list.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/section.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/settings/mistakes.hpp"
#include "app/panels/settings/model_settings.hpp"
#include "app/panels/settings/opened_model_settings.hpp"
#include "app/panels/settings/setting_parts.hpp"
#include "app/panels/settings/setting_values.hpp"
#include "app/panels/settings/tokenizer_settings.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kOfferButton = 34;

/// Settings of the computation; the weights of two files are compared without one.
bool shows_activations(const PanelContext& context) { return context.view.view != View::Precision; }

/// Views of all layers and heads, and of how texts become pieces, only offer a choice of text, and only in a batch.
bool has_something_to_choose(const PanelContext& context) {
    const View view = context.view.view;
    const bool of_all = view == View::Lens || view == View::KnockOut || view == View::Write || view == View::Precision;
    return !(of_all || shows_token_path(context)) || (context.ready() && batch_size(context.structure()) > 1);
}

bool shows_writing(const PanelContext& context) { return context.view.view == View::Write && can_write(context); }

bool shows_lines(const PanelContext& context) { return context.view.view == View::Lines; }

/// Views with their own settings collapse the masks initially, so that everything fits without scrolling.
bool has_own_settings(const PanelContext& context) { return shows_writing(context) || shows_lines(context); }
bool has_masks_first(const PanelContext& context) { return shows_activations(context) && !has_own_settings(context); }

bool shows_many_heads(const PanelContext& context) {
    return context.view.view == View::Heads || context.view.view == View::Grid || context.view.view == View::Doctor;
}

/// Whether the view shows attention weights of many heads, which can be measured in several ways.
bool shows_weights_of_heads(const PanelContext& context) { return shows_many_heads(context) && has_head_mean(context.view.heads.stage); }

bool can_be_compared(const PanelContext& context) { return context.view.view != View::KnockOut && context.view.view != View::Precision; }

/// A published model's tokenizer and parts cannot be changed.
bool model_is_ours(const PanelContext& context) { return context.document.model == nullptr; }
bool model_is_opened(const PanelContext& context) { return context.document.model != nullptr; }

/// Where the tokenizer is not the subject, its section is folded and further down.
bool has_tokenizer_aside(const PanelContext& context) { return model_is_opened(context) && !shows_token_path(context); }

struct SettingSection {
    const char* name;   ///< in the settings file
    const char* title;  ///< on screen
    const char* words;  ///< keywords for the search
    LessonControl control;
    bool (*belongs)(const PanelContext&);
    std::string (*value)(const PanelContext&);
    void (*draw)(PanelContext&);
    std::optional<SetupPart> part{};  ///< of the setup, that it sets
};

constexpr const char* kTokenizerWords = "kind pieces vocabulary merges added tokens second beside BPE WordPiece Unigram";

constexpr std::array<SettingSection, 18> kSections = {{
    {"tokenizer", "Tokenizer", kTokenizerWords, LessonControl::Tokens, shows_token_path, tokenizer_value, draw_tokenizer_facts},
    {"sampler", "Sampler", "write on temperature top-k top-p min-p tokens seed", LessonControl::Shown, shows_writing, sampler_value,
     draw_sampler_settings},
    {"shown", "Shown", "stage layer head text sequence up to", LessonControl::Shown, has_something_to_choose, shown_value, draw_shown},
    {"lines", "Lines", "min weight least threshold all layers", LessonControl::Shown, shows_lines, lines_value, draw_lines_settings},
    {"heads", "Find heads", "previous token first token same token after a repeat induction pattern sorted sink alignment",
     LessonControl::Heads, shows_many_heads, find_heads_value, draw_find_heads},
    {"measure", "Weights", "leave out first key sink times value norm length", LessonControl::Shown, shows_weights_of_heads, measure_value,
     draw_measure},
    {"masks", "Masks", "causal padding", LessonControl::Masks, has_masks_first, masks_value, draw_masks, SetupPart::Masks},
    {"masks aside", "Masks", "causal padding", LessonControl::Masks, has_own_settings, masks_value, draw_masks, SetupPart::Masks},
    {"other masks", "Other masks", "window sliding prefix block paint clear mask", LessonControl::Masks, shows_activations,
     other_masks_value, draw_other_masks, SetupPart::Masks},
    {"softmax", "Softmax", "temperature dropout seed", LessonControl::Softmax, shows_activations, softmax_value, draw_softmax,
     SetupPart::Softmax},
    {"edits", "Edits", "changed numbers clear all compare", LessonControl::Edits, shows_activations, edits_value, draw_edit_list,
     SetupPart::Edits},
    {"compare", "Compare with", "unmasked unedited correct pin this state again step layer head text difference in place",
     LessonControl::Compare, can_be_compared, compare_value, draw_compare_settings},
    {"model", "Model", "layers heads K/V kv key/value key value heads grouped query multi-query GQA MQA d_model d_head width memory",
     LessonControl::Model, model_is_ours, model_value, draw_model_settings, SetupPart::Model},
    {"model", "Model", "folder family layers heads d_model d_head d_ff context vocabulary memory", LessonControl::Model, model_is_opened,
     model_value, draw_opened_model, SetupPart::Model},
    {"tokenizer aside", "Tokenizer", kTokenizerWords, LessonControl::Tokens, has_tokenizer_aside, tokenizer_value, draw_tokenizer_facts},
    {"tokens", "Tokens", "tokenizer character word byte vocabulary", LessonControl::Tokens, model_is_ours, tokens_value, draw_tokenizer,
     SetupPart::Model},
    {"parts", "Parts",
     "of the model positions none learned sine rotary base norm pre post kind of norm LayerNorm RMSNorm final norm W_O output projection "
     "residual "
     "Q, K, V bias feed-forward layer plain gated gate SwiGLU GeGLU activation ReLU GELU tanh SiLU feed-forward bias output head tied head "
     "seed",
     LessonControl::Parts, model_is_ours, parts_value, draw_part_settings, SetupPart::Model},
    {"mistakes", "Break it on purpose", "mistake wrong bug", LessonControl::Mistakes, shows_activations, mistake_value,
     draw_mistake_settings, SetupPart::Mistake},
}};

std::string lower_case(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

/// Adds the titles of all mistakes, which are defined elsewhere.
std::string words_of(const SettingSection& section) {
    std::string words = std::string(section.title) + " " + section.words;
    if (section.control == LessonControl::Mistakes)
        for (const MistakeInfo& info : mistakes()) words += " " + std::string(info.title);
    return lower_case(words);
}

bool is_listed(const PanelContext& context, const SettingSection& section) {
    if (!section.belongs(context) || !context.view.lesson.shows(section.control)) return false;
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
    gap(ui, 10);
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

void draw_section(PanelContext& context, const SettingSection& section, bool first, bool always_open) {
    const Ui ui = context.ui();
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
    const bool open =
        always_open || open_section(context, section.name, section.title, refused ? "not in the picture" : section.value(context));
    ImGui::PopStyleVar();
    if (section.part) note_section(context, *section.part, open, refused);
    if (open) section.draw(context);
    hold_if_clicked(context, section.name, top);
    reveal_opened(context, section.name, was_open);
}

/// What is offered at the bottom of the pane: the tour until it has been completed, and a model of one's own until one has been opened.
struct Offers {
    bool tour = false, model = false;
    int count() const { return (tour ? 1 : 0) + (model ? 1 : 0); }
};

Offers offers_of(const PanelContext& context) {
    return {!context.view.toured, context.document.model == nullptr && context.files.recent_models.empty()};
}

void draw_offers(PanelContext& context, const Offers& offers) {
    if (offers.tour && button(context.ui(), "Take the tour · 5 minutes",
                              {.look = ButtonLook::Accent,
                               .width = -1,
                               .height = kOfferButton,
                               .notes = {.tooltip = "From a trained model through its masks to watching one learn. Esc leaves it."}}))
        open_tour(context);
    if (offers.model &&
        button(context.ui(), "Open a model of your own…", {.width = -1, .height = kOfferButton, .notes = {.tooltip = kListedModels}}))
        begin_open_model(context);
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

void draw_sections(PanelContext& context) {
    const Ui ui = context.ui();
    const LessonView& lesson = context.view.lesson;
    // A lesson that hides sections has chosen the rest to be visible.
    const bool chosen = lesson.open() && !lesson.shown().look.controls.all(), searching = !context.view.settings.search.text.empty();
    if (!chosen) draw_search(context);
    bool first = true, found_section = false;
    for (const SettingSection& section : kSections) {
        if (!is_listed(context, section)) continue;
        draw_section(context, section, first, chosen || searching);
        if (first) found_section = lower_case(section.title).find(lower_case(context.view.settings.search.text)) != std::string::npos;
        first = false;
    }
    reveal_found(context, found_section);
    if (first) paragraph(ui, context.theme.fonts.label, context.theme.colors.faint, "No setting of this name. Ctrl+K searches everything.");
}

}  // namespace

std::vector<ListedSection> listed_sections(const PanelContext& context) {
    std::vector<ListedSection> listed;
    for (const SettingSection& section : kSections)
        if (section.belongs(context) && context.view.lesson.shows(section.control))
            listed.push_back({section.name, section.title, section.words});
    return listed;
}

void draw_settings(PanelContext& context) {
    const Offers offers = offers_of(context);
    if (offers.count() == 0 || context.view.lesson.open()) return draw_sections(context);
    // The buttons stay at the bottom while the sections scroll. The scrollbar goes into the pane's margin, so that the sections keep their
    // width.
    ImGuiStorage& memory = *ImGui::GetStateStorage();
    const ImGuiID scrolls = ImGui::GetID("scrolls");
    const ImGuiStyle& style = ImGui::GetStyle();
    const float width = ImGui::GetContentRegionAvail().x + (memory.GetBool(scrolls) ? style.ScrollbarSize : 0);
    const float foot = static_cast<float>(offers.count()) * (context.px(kOfferButton) + style.ItemSpacing.y);
    ImGui::BeginChild("##sections", {width, ImGui::GetContentRegionAvail().y - foot}, false, ImGuiWindowFlags_NoNav);
    draw_sections(context);
    memory.SetBool(scrolls, ImGui::GetScrollMaxY() > 0);
    fade_scrolled_edges(context.ui());
    ImGui::EndChild();
    draw_offers(context, offers);
}

}  // namespace attn::app

#include "app/panels/frame/top_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/values/verification.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"
#include "engine/reference/verification.hpp"

namespace attn::app {
namespace {

constexpr float kBarHeight = 48;
constexpr const char* kVerified = "verified";
constexpr float kButtons = 4, kButton = 38;  ///< at the right: their number and distance
constexpr float kSpot = 52;                  ///< width of the badge without text
constexpr float kMenus = 176;                ///< from the left edge of the lessons' menu to the tabs

void place(float x, float y) { ImGui::SetCursorScreenPos({x, y}); }

float draw_name(const PanelContext& context, ImVec2 origin) {
    const auto& [colors, fonts, scale] = context.theme;
    draw_text_in(*ImGui::GetWindowDrawList(), fonts.title, origin, {origin.x + context.px(120), origin.y + context.px(kBarHeight)},
                 {0, 0.5F}, colors.text, "attnscope");
    return text_width(fonts.title, "attnscope");
}

std::string origin_text(const WeightsOrigin& origin) {
    return origin.parameters.empty() ? origin.text : origin.text + ", " + origin.parameters;
}

/// Says whether the model has been trained, in as much detail as fits; returns the width used.
float draw_origin(PanelContext& context, ImVec2 at, float room) {
    const auto& [colors, fonts, scale] = context.theme;
    const WeightsOrigin origin = weights_origin(context.document);
    const auto width_of = [&context](const std::string& text) { return text_width(context.theme.fonts.label, text) + context.px(26); };
    std::string text = origin_text(origin);
    if (width_of(text) > room) text = origin.text;
    if (width_of(text) > room) text.clear();
    place(at.x, at.y + context.px(12));
    const std::string tooltip =
        origin.missing   ? "The training run of this document was not found, so nothing can be computed: open its folder."
        : origin.learned ? context.document.model ? "Weights from a file. If they were trained, what the heads do means something."
                                                  : "This model was trained: what its heads do means something."
                         : "This model has random weights: it shows the arithmetic, but its patterns and predictions "
                           "mean nothing. The example “stories” is a trained model.";
    const Item item = begin_item(context.ui(), "##origin", {text.empty() ? context.px(14) : width_of(text), context.px(24)},
                                 {.tooltip = text.empty() ? origin_text(origin) + ". " + tooltip : tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color ink = origin.learned ? colors.good : colors.muted;
    if (!text.empty()) list.AddRect(item.min, item.max, origin.learned ? colors.good : colors.line, context.px(12));
    const float middle = (item.min.y + item.max.y) / 2;
    if (origin.learned) list.AddCircleFilled({item.min.x + context.px(10), middle}, context.px(3.5F), ink);
    else list.AddCircle({item.min.x + context.px(10), middle}, context.px(3.5F), ink, 0, context.px(1.5F));
    if (!text.empty()) draw_text_in(list, fonts.label, {item.min.x + context.px(18), item.min.y}, item.max, {0, 0.5F}, ink, text);
    return item.width();
}

/// "Stories, trained · 0.2 M parameters"
std::string menu_words(const Preset& preset) {
    constexpr std::string_view kTrained = "trained";
    std::string origin = origin_text(weights_origin(preset.document));
    if (const std::string said = std::string(kTrained) + ", "; preset.title.ends_with(kTrained) && origin.starts_with(said))
        origin.erase(0, said.size());
    return fmt::format("{} · {}", preset.title, origin);
}

/// The name shown for the model; a document that is not from an example has that of its file.
std::string shown_model_name(const PanelContext& context) {
    if (context.document.trained) return "training run";
    if (context.document.model) return visible_text(context.document.model->name());
    if (!context.document.preset.empty()) return context.document.preset;
    return context.files.document.empty() ? "presets" : visible_text(context.files.document.filename().string());
}

void draw_preset_menu(PanelContext& context, ImVec2 at, float logical_width) {
    place(at.x, at.y + context.px(9));
    std::string shown = shown_model_name(context);
    const std::string tooltip =
        context.document.model ? shown + "\nWorked examples, and models of your own." : "Worked examples, and models of your own.";
    // A model's own name matters more than its organisation's.
    constexpr float kArrow = 40;
    const std::size_t slash = shown.rfind('/');
    if (slash != std::string::npos && text_width(context.theme.fonts.body, shown) > context.px(logical_width - kArrow))
        shown.erase(0, slash + 1);
    constexpr std::string_view kGguf = ".gguf";
    if (shown.ends_with(kGguf) && text_width(context.theme.fonts.body, shown) > context.px(logical_width - kArrow))
        shown.resize(shown.size() - kGguf.size());
    // Files of one model differ at the end of their names.
    if (context.document.model) shown = elide_shown_middle(context.theme.fonts.body, "", shown, context.px(logical_width - kArrow), true);
    if (!begin_menu_button(context.ui(), "##presets", shown, logical_width, {.tooltip = tooltip})) return;
    if (menu_item(context.ui(), "Open a model…", false, kListedModels)) begin_open_model(context);
    separator(context.ui());
    for (const Preset& preset : presets())
        if (menu_item(context.ui(), menu_words(preset), preset.name == context.document.preset, preset.document.look_at))
            open_example(context, preset, 0);
    end_menu_button();
}

struct Badge {
    Color spot;
    std::string text, detail, tooltip;
};

/// The verification to show: of the whole trace, or for a large model of the current part.
facet::Verification checked_now(const PanelContext& context) {
    if (context.snapshot.is_whole() || !context.has_stage(context.view.stage)) return {};
    const Plan& plan = *context.structure().plan;
    return {plan.nodes()[plan.part_around(context.view.stage).first].id};
}

std::string part_words(const StageId& id) {
    return id.layer >= 0 ? fmt::format("layer {}", id.layer) : stage_kind(id.stage) == StageKind::Embedding ? "embedding" : "output";
}

/// A line for each of the stages with the largest errors.
std::string largest_errors(const reference::Verification& verification) {
    constexpr std::size_t kListed = 12;
    const std::vector<std::size_t>& largest = verification.largest;
    std::string lines;
    for (std::size_t i = 0; i < std::min(largest.size(), kListed); ++i) {
        const reference::StageError& stage = verification.stages[largest[i]];
        lines += fmt::format("{}  {}\n", tensor_name(stage.id), format_scientific(stage.max_abs));
    }
    if (largest.size() > kListed) lines += fmt::format("{} other stages have smaller ones.", largest.size() - kListed);
    return lines;
}

Badge badge_of(const PanelContext& context) {
    const Palette& colors = context.theme.colors;
    if (!context.ready())
        return {colors.faint, context.snapshot.problem.empty() ? context.computing("computing") : "nothing computed", "", ""};
    if (!context.up_to_date)
        return {colors.chosen, context.computing("computing"), "",
                context.outdated ? "What is shown belongs to the text and settings before the last change."
                                 : "What is shown is computed; the layers behind it are not yet."};
    const auto verification = context.ask(checked_now(context));
    if (!verification.problem.empty()) return {colors.bad, "not verified", "", verification.problem};
    if (!verification && context.inquiry.waits())
        return {colors.faint, part_words(context.view.stage) + " not checked", "",
                "Checking a model and a text of this size takes a while; with --check, render waits for it."};
    if (!verification) return {colors.faint, "checking", "", "The trace is being recomputed with plain loops in double precision."};
    if (const reference::StageError* failure = verification->first_failure())
        return {colors.bad, fmt::format("{} is wrong", tensor_name(failure->id)), "error " + format_scientific(failure->max_abs),
                "The fast engine and the reference disagree on this stage: do not trust its numbers."};
    const bool whole = context.snapshot.is_whole();
    const std::string part = whole ? "" : part_words(context.view.stage);
    std::string table =
        fmt::format("{} was recomputed with plain loops in double precision. Allowed: 2e-5 + 1e-4 of the value. {}Largest "
                    "errors:\n",
                    whole ? "Every stage" : fmt::format("Every stage of {}{}", context.view.stage.layer >= 0 ? "" : "the ", part),
                    whole ? "" : "In a model this large, only the part on screen is checked, starting from its recorded input. ");
    table += largest_errors(*verification);
    // A green badge beside a warning would suggest that all is well.
    if (const SetupParts refused = parts_refused(context); refused.any())
        return {colors.chosen, "differs", "",
                "What is shown is verified, but it is not what is asked for: " + context.snapshot.problem + ".\n" + table};
    if (context.structure().settings.mistaken())
        return {colors.bad, "broken on purpose", "",
                "These numbers contain the deliberate mistake; the reference makes it too, and agrees.\n" + table};
    if (const reference::StageError* stage = verification->first_nan())
        return {colors.bad, "NaN", "first in " + tensor_name(stage->id),
                "The fast engine and the reference agree, but where they do, some numbers are NaN.\n" + table};
    return {colors.good, whole ? kVerified : fmt::format("{} {}", part, kVerified), "max error " + format_scientific(verification->max_abs),
            table};
}

/// From the right edge: help, theme, redo and undo. Returns where they begin.
float draw_buttons(PanelContext& context, float right, float top) {
    const Ui ui = context.ui();
    float x = right;
    const auto right_button = [&](const char* label, Icon icon, std::string_view tooltip, bool enabled = true) {
        x -= context.px(kButton);
        place(x, top + context.px(9));
        return button(
            ui, label,
            {.look = ButtonLook::Flat, .width = 32, .icon = icon, .notes = {.tooltip = tooltip, .disabled = enabled ? "" : tooltip}});
    };
    if (right_button("##help", Icon::Help, "Keys and hints (?)")) context.view.help = !context.view.help;
    if (right_button("##theme", context.view.dark ? Icon::Sun : Icon::Moon, context.view.dark ? "Light theme (L)" : "Dark theme (L)"))
        context.view.dark = !context.view.dark;
    const auto of = [](std::string_view part) { return part.empty() ? std::string() : fmt::format(" {}", part); };
    if (right_button("##redo", Icon::Redo, fmt::format("Redo{} (Ctrl+Y)", of(context.redone_part)), context.can_redo))
        context.commands.push_back({command::Redo{}, ""});
    if (right_button("##undo", Icon::Undo, fmt::format("Undo{} (Ctrl+Z)", of(context.undone_part)), context.can_undo))
        context.commands.push_back({command::Undo{}, ""});
    return x;
}

/// The badge that says whether the numbers are verified, before `right`. On a narrow window its number is dropped, then its text, then the
/// badge, before it overlaps what ends at `left`.
void draw_badge(PanelContext& context, float left, float right, float top) {
    Badge badge = badge_of(context);
    context.view.drawn.verified = badge.spot == context.theme.colors.good;
    const auto badge_width = [&] {
        return context.px(40) + text_width(context.theme.fonts.label, badge.text) +
               text_width(context.theme.fonts.mono_small, badge.detail);
    };
    const float room = right - context.px(12) - left;
    if (badge_width() > room) badge.detail.clear();
    if (badge_width() > room && badge.text.ends_with(kVerified)) badge.text = kVerified;
    if (badge_width() > room) badge.text.clear();
    place(right - badge_width() - context.px(6), top + context.px(9));
    if (badge_width() <= room) status_badge(context.ui(), "##verified", badge.spot, badge.text, badge.detail, badge.tooltip);
}

}  // namespace

void draw_top_bar(PanelContext& context) {
    const Ui ui = context.ui();
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    // On a very narrow window the program's name is dropped; the title bar has it.
    const float name_width = width < context.px(1240) ? 0 : draw_name(context, origin) + context.px(24);
    const float menu_x = origin.x + name_width;
    // On a narrow window the preset's name is shortened before the tabs reach the badge.
    const float presets_width = width < context.px(1400) ? 112 : 176;
    draw_preset_menu(context, {menu_x, origin.y}, presets_width);
    std::vector<std::string_view> titles;
    std::vector<std::string> words;
    for (const ViewInfo& info : views()) {
        titles.push_back(info.title);
        words.push_back(fmt::format("{} Key: {}", info.shows, static_cast<char>(std::toupper(static_cast<unsigned char>(info.key)))));
    }
    const std::vector<std::string_view> tooltips(words.begin(), words.end());
    int view = static_cast<int>(context.view.view);
    const float tabs_end = origin.x + width - context.px(kButtons * kButton + kSpot), all_tabs = tabs_width(ui, titles);
    // The origin's words give way before any tab does.
    const float origin_x = menu_x + context.px(presets_width + 8), spare = tabs_end - all_tabs - context.px(kMenus + 8) - origin_x;
    const float menus_x = origin_x +
                          draw_origin(context, {origin_x, origin.y}, std::min(spare, context.px(width < context.px(1900) ? 128 : 240))) +
                          context.px(8);
    draw_lesson_menu(context, {menus_x, origin.y + context.px(9)});
    place(menus_x + context.px(100), origin.y + context.px(9));
    draw_file_menu(context);
    const float tabs_left = std::max(origin.x + (width - all_tabs) / 2, menus_x + context.px(kMenus));
    const float tabs_room = tabs_end - tabs_left;
    const float tabs_right = tabs_left + std::max(std::min(all_tabs, tabs_room), least_tabs_width(ui, titles, view));
    place(tabs_left, origin.y);
    if (tabs(ui, "##views", titles, view, kBarHeight, tooltips, tabs_room, static_cast<std::size_t>(View::Train)))
        context.view.view = static_cast<View>(view);

    draw_badge(context, tabs_right, draw_buttons(context, origin.x + width, origin.y), origin.y);
    ImGui::GetWindowDrawList()->AddLine({0, origin.y + context.px(kBarHeight) - 1},
                                        {origin.x + width + context.px(18), origin.y + context.px(kBarHeight) - 1},
                                        context.theme.colors.line);
}

}  // namespace attn::app

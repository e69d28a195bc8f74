#include "app/panels/frame/top_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

#include "app/panels/files/files.hpp"
#include "app/panels/files/model_list.hpp"
#include "app/panels/frame/frame_layout.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/views/dump_findings.hpp"
#include "app/session/document/new_words.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/weights_origin.hpp"
#include "app/session/values/recording_report.hpp"
#include "app/session/values/verification.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/shown_text.hpp"
#include "app/widgets/text.hpp"
#include "engine/reference/verification.hpp"

namespace attn::app {
namespace {

constexpr const char* kVerified = "verified";
/// In logical pixels. Nothing here depends on how long a name is. Where the program's name has no room, all after it moves to the left.
constexpr float kName = 20, kModel = 128, kModelWidth = 124, kOrigin = 262, kOriginWidth = 132, kFile = 402, kLessons = 474, kTabs = 584,
                kWithoutName = 112;
constexpr float kBarButton = 38, kVerifiedWidth = 130, kVerifiedNarrow = 76;
/// Widths of the window from which each has a place of its own in the bar; before that it is in the menu More.
constexpr float kNameFrom = 1300, kAllTabsFrom = 1180, kLessonsFrom = 1060, kWideFrom = 1000, kFileFrom = 880;

constexpr std::array kInBar = {View::Step, View::Heads, View::Lines, View::Write, View::Train};
constexpr std::array kInNarrowBar = {View::Step, View::Heads, View::Train};

float window_width(const PanelContext& context) { return ImGui::GetIO().DisplaySize.x / context.theme.scale; }

std::span<const View> tabs_in_bar(const PanelContext& context) {
    if (window_width(context) < kAllTabsFrom) return kInNarrowBar;
    return kInBar;
}

/// The tab that stands for a view: all heads of all layers are a page of Heads.
View tab_of(View view) { return view == View::Grid ? View::Heads : view; }

/// Puts the cursor at a place in the bar, so that something of this height is in its middle.
void place(const PanelContext& context, float x, float height = 30) {
    const ImVec2 corner = ImGui::GetWindowPos();
    ImGui::SetCursorScreenPos({corner.x + context.px(x), corner.y + context.px((kTopBar - height) / 2)});
}

std::string origin_text(const WeightsOrigin& origin) {
    return origin.parameters.empty() ? origin.text : origin.text + ", " + origin.parameters;
}

/// Says whether the model has been trained: always in words, in a place of its own.
void draw_origin(PanelContext& context, float x) {
    const auto& [colors, fonts, scale] = context.theme;
    const WeightsOrigin origin = weights_origin(context.document);
    place(context, x, 24);
    const std::string tooltip =
        context.document.recorded ? "What your own code computed, read from a recording: nothing here is computed by a model."
        : origin.missing          ? "The training run of this document was not found, so nothing can be computed: open its folder."
        : origin.learned          ? context.document.model ? "Weights from a file. If they were trained, what the heads do means something."
                                                           : "This model was trained: what its heads do means something."
                                  : "This model has random weights: it shows the arithmetic, but its patterns and predictions "
                                    "mean nothing. The example “stories” is a trained model.";
    const float dot = context.px(18), most = context.px(kOriginWidth);
    const std::string text = elide(fonts.label, origin.text, most - dot - context.px(8));
    const Item item = begin_item(context.ui(), "##origin", {dot + text_width(fonts.label, text) + context.px(8), context.px(24)},
                                 {.tooltip = origin_text(origin) + ". " + tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color ink = origin.learned ? colors.good : colors.muted;
    list.AddRect(item.min, item.max, origin.learned ? colors.good : colors.line, context.px(12));
    const float middle = (item.min.y + item.max.y) / 2;
    if (origin.learned) list.AddCircleFilled({item.min.x + context.px(10), middle}, context.px(3.5F), ink);
    else list.AddCircle({item.min.x + context.px(10), middle}, context.px(3.5F), ink, 0, context.px(1.5F));
    draw_text_in(list, fonts.label, {item.min.x + dot, item.min.y}, item.max, {0, 0.5F}, ink, text);
}

/// "Stories, trained · 0.2 M parameters · reads any word"
std::string menu_words(const Preset& preset) {
    constexpr std::string_view kTrained = "trained";
    std::string origin = origin_text(weights_origin(preset.document));
    if (const std::string said = std::string(kTrained) + ", "; preset.title.ends_with(kTrained) && origin.starts_with(said))
        origin.erase(0, said.size());
    return fmt::format("{} · {} · {}", preset.title, origin, reading_words(preset.document));
}

/// Of every example; made once, because they do not change.
const std::vector<std::string>& all_menu_words() {
    static const std::vector<std::string> kWords = [] {
        std::vector<std::string> words;
        for (const Preset& preset : presets()) words.push_back(menu_words(preset));
        return words;
    }();
    return kWords;
}

/// The name shown for the model; a document that is not from an example has that of its file.
std::string shown_model_name(const PanelContext& context) {
    if (context.document.recorded) return visible_text(context.document.recorded->recording->name());
    if (context.document.trained) return "training run";
    if (context.document.model) return visible_text(context.document.model->name());
    if (!context.document.preset.empty()) return context.document.preset;
    return context.files.document.empty() ? "presets" : visible_text(context.files.document.filename().string());
}

void draw_preset_menu(PanelContext& context, float x) {
    place(context, x);
    std::string shown = shown_model_name(context);
    const std::string tooltip =
        context.document.model ? shown + "\nWorked examples, and models of your own." : "Worked examples, and models of your own.";
    // A model's own name matters more than its organisation's.
    constexpr float kArrow = 40;
    const std::size_t slash = shown.rfind('/');
    if (slash != std::string::npos && text_width(context.theme.fonts.body, shown) > context.px(kModelWidth - kArrow))
        shown.erase(0, slash + 1);
    constexpr std::string_view kGguf = ".gguf";
    if (shown.ends_with(kGguf) && text_width(context.theme.fonts.body, shown) > context.px(kModelWidth - kArrow))
        shown.resize(shown.size() - kGguf.size());
    // Files of one model differ at the end of their names.
    if (context.document.model) shown = elide_shown_middle(context.theme.fonts.body, "", shown, context.px(kModelWidth - kArrow), true);
    if (!begin_menu_button(context.ui(), "##presets", shown, kModelWidth, {.tooltip = tooltip})) return;
    if (menu_item(context.ui(), "Open a model…", false, opened_models(context))) begin_open_model(context);
    separator(context.ui());
    for (std::size_t i = 0; i < presets().size(); ++i) {
        const Preset& preset = presets()[i];
        if (menu_item(context.ui(), all_menu_words()[i], preset.name == context.document.preset, preset.document.look_at))
            open_example(context, preset, 0);
    }
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

/// The first finding that is a mistake of the code; null if there is none.
const recording::CodeFinding* mistake_in(const RecordingReport& report) {
    const auto is_wrong = [](const recording::CodeFinding& finding) { return finding.gravity == recording::Gravity::Wrong; };
    const auto found_in = [&](const std::vector<recording::CodeFinding>& findings) {
        const auto found = std::find_if(findings.begin(), findings.end(), is_wrong);
        return found == findings.end() ? nullptr : &*found;
    };
    for (const RecordingReport::Attention& attention : report.attentions)
        if (const auto* found = found_in(attention.findings)) return found;
    return found_in(report.around);
}

/// Of a recording: whether each stage follows from those before it, and whether its code has a mistake.
Badge badge_of_recording(const PanelContext& context, const reference::Verification& verification) {
    const Palette& colors = context.theme.colors;
    if (const reference::StageError* failure = verification.first_failure())
        return {colors.bad, fmt::format("{} differs", stage_name(failure->id)), "",
                fmt::format("{}{}. Rounding alone cannot explain that.", tensor_name(failure->id), failure->problem)};
    const auto report = context.ask(facet::RecordingReport{});
    if (const recording::CodeFinding* mistake = report ? mistake_in(*report) : nullptr)
        return {colors.bad, "mistake found", "", mistake->text + " Check my code lists what was found."};
    const std::size_t all = context.structure().plan->nodes().size(), followed = verification.stages.size();
    const std::vector<Edit>& edits = context.structure().settings.edits;
    const bool is_edited = std::any_of(edits.begin(), edits.end(), [](const Edit& edit) { return edit.on; });
    if (followed == 0) return {colors.faint, "as recorded", "", "Nothing tells how your code made these numbers."};
    return {colors.good, "follows", fmt::format("{} of {} stages", followed, all),
            fmt::format("{} of {} stages were computed again from the stages before them, in double precision, and agree but for what "
                        "rounding can do. The others were not recorded, or it is not known how your code made them.{}",
                        followed, all, is_edited ? " That is said of what was recorded, without your edits." : "")};
}

Badge badge_of(const PanelContext& context) {
    const Palette& colors = context.theme.colors;
    if (is_about_dump(context))
        return {colors.faint, "opened file", "", "What is said here is about the opened file, not about what the other views show."};
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
    if (context.document.recorded) return badge_of_recording(context, *verification);
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
        return {colors.chosen, refused.has(SetupPart::Text) ? "earlier text" : "earlier settings", "",
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

/// Light or dark, and the size of everything.
void draw_appearance(PanelContext& context) {
    const Ui ui = context.ui();
    ViewState& view = context.view;
    if (menu_item(ui, "Light theme", !view.dark, {}, "L")) view.dark = false;
    if (menu_item(ui, "Dark theme", view.dark, {}, "L")) view.dark = true;
    separator(ui);
    const auto size = [&](std::string_view name, double zoom, std::string_view keys) {
        if (menu_item(ui, name, false, {}, keys, true)) view.ui_zoom = std::clamp(zoom, 0.5, 4.0);
    };
    size("Everything larger", view.ui_zoom * 1.1, "Ctrl + +");
    size("Everything smaller", view.ui_zoom / 1.1, "Ctrl + −");
    size(fmt::format("Usual size (now {:.0f} %)", 100 * view.ui_zoom), 1, "Ctrl + 0");
}

/// From the right edge: help, appearance, redo and undo, which appear once there is something to undo; their places stay empty before.
/// Returns where they begin, in logical pixels.
float draw_buttons(PanelContext& context) {
    const Ui ui = context.ui();
    const float width = window_width(context);
    float x = width - kFrameMargin + (kBarButton - 32) / 2;
    const auto right_button = [&](const char* label, Icon icon, std::string_view tooltip) {
        place(context, x);
        return button(ui, label, {.look = ButtonLook::Flat, .width = 32, .icon = icon, .notes = {.tooltip = tooltip}});
    };
    if (width >= kFileFrom) {
        x -= kBarButton;
        if (right_button("##help", Icon::Help, "Keys and hints (?)")) context.view.help = !context.view.help;
        x -= kBarButton;
        place(context, x);
        if (begin_menu_icon(ui, "##appearance", Icon::None, "Aa", 32, {.tooltip = "Light or dark, and the size of everything."})) {
            draw_appearance(context);
            end_menu_button();
        }
    }
    const auto of = [](std::string_view part) { return part.empty() ? std::string() : fmt::format(" {}", part); };
    x -= kBarButton;
    if (context.can_redo && right_button("##redo", Icon::Redo, fmt::format("Redo{} (Ctrl+Y)", of(context.redone_part))))
        context.commands.push_back({command::Redo{}, ""});
    x -= kBarButton;
    if (context.can_undo && right_button("##undo", Icon::Undo, fmt::format("Undo{} (Ctrl+Z)", of(context.undone_part))))
        context.commands.push_back({command::Undo{}, ""});
    return x;
}

/// The badge that says whether the numbers are verified, in the place before the buttons. Where that is narrow, its number is dropped, then
/// its text.
void draw_badge(PanelContext& context, float right) {
    Badge badge = badge_of(context);
    const Fonts& fonts = context.theme.fonts;
    context.view.drawn.verified = badge.spot == context.theme.colors.good;
    const bool narrow = window_width(context) < kWideFrom;
    const float place_width = narrow ? kVerifiedNarrow : kVerifiedWidth, room = context.px(place_width - 24);
    // A tooltip has the number; in the bar it would only fit at times.
    if (!badge.detail.empty()) badge.tooltip = badge.detail + "\n" + badge.tooltip;
    if (badge.text.ends_with(kVerified) && text_width(fonts.label, badge.text) > room) badge.text = kVerified;
    if (text_width(fonts.label, badge.text) > room) {
        badge.tooltip = badge.text + "\n" + badge.tooltip;
        badge.text = elide(fonts.label, badge.text, room);
    }
    place(context, right - place_width);
    status_badge(context.ui(), "##verified", badge.spot, badge.text, "", badge.tooltip);
}

std::string view_tooltip(const ViewInfo& info) {
    return fmt::format("{} Key: {}", info.shows, static_cast<char>(std::toupper(static_cast<unsigned char>(info.key))));
}

/// The views without a tab, and what a narrow window has no room for.
void draw_more_items(PanelContext& context, std::span<const View> in_bar) {
    const Ui ui = context.ui();
    const float width = window_width(context);
    for (const ViewInfo& info : views()) {
        const View tab = tab_of(info.view);
        if (tab != info.view || std::find(in_bar.begin(), in_bar.end(), tab) != in_bar.end()) continue;
        const std::string key(1, static_cast<char>(std::toupper(static_cast<unsigned char>(info.key))));
        if (menu_item(ui, info.title, context.view.view == info.view, info.shows, key)) context.view.view = info.view;
    }
    if (width < kFileFrom) {
        separator(ui);
        draw_file_items(context);
        separator(ui);
        draw_appearance(context);
        if (menu_item(ui, "Keys and hints", false, {}, "?")) context.view.help = true;
    }
    if (width < kLessonsFrom) {
        separator(ui);
        draw_lesson_items(context);
    }
}

/// As much of a view's title as fits: "Lens: guess per layer", "Lens". Its tooltip says the rest.
std::string title_that_fits(const PanelContext& context, std::string_view title, float room) {
    const auto fits = [&](std::string_view words) { return text_width(context.theme.fonts.strong, words) <= room; };
    for (const std::string_view ends : {": ", " (", " "})
        if (!fits(title)) title = title.substr(0, title.find(ends));
    return elide(context.theme.fonts.strong, title, room);
}

/// The tabs, always in the same places. A view from the menu More has its name there while it is shown.
void draw_tabs(PanelContext& context, float x, float right) {
    const Ui ui = context.ui();
    const std::span<const View> in_bar = tabs_in_bar(context);
    ViewState& view = context.view;
    const View shown = tab_of(view.view);
    for (const View one : in_bar) {
        const ViewInfo& info = view_info(one);
        place(context, x, kTopBar);
        if (tab(ui, info.title, shown == one, kTopBar, view_tooltip(info)) && shown != one) view.view = one;
        x += tab_width(ui, info.title) / context.theme.scale;
    }
    const bool from_menu = std::find(in_bar.begin(), in_bar.end(), shown) == in_bar.end();
    const std::string_view title = view_info(shown).title;
    constexpr float kMoreWidth = 80;
    // Beside the menu if there is room, otherwise in its place.
    const bool beside = from_menu && x + kMoreWidth + tab_width(ui, title) / context.theme.scale <= right;
    place(context, x, kTopBar);
    const std::string more =
        from_menu && !beside ? title_that_fits(context, title, context.px(std::max(right - x - 50, 60.F))) : std::string("More");
    if (begin_menu_tab(ui, "##more", more, from_menu && !beside, kTopBar,
                       {.tooltip = "More views, and what a narrow window has no room for."})) {
        draw_more_items(context, in_bar);
        end_menu_button();
    }
    if (!beside) return;
    place(context, x + kMoreWidth, kTopBar);
    tab(ui, title, true, kTopBar, view_tooltip(view_info(shown)));
}

}  // namespace

void draw_top_bar(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 corner = ImGui::GetWindowPos();
    const float width = window_width(context), shift = width < kNameFrom ? kWithoutName : 0;
    if (shift == 0)
        draw_text_in(*ImGui::GetWindowDrawList(), fonts.title, {corner.x + context.px(kName), corner.y},
                     {corner.x + context.px(kModel), corner.y + context.px(kTopBar)}, {0, 0.5F}, colors.text, "attnscope");
    draw_preset_menu(context, kModel - shift);
    draw_origin(context, kOrigin - shift);
    float tabs_from = kTabs - shift;
    if (width >= kFileFrom) {
        place(context, kFile - shift);
        draw_file_menu(context);
    } else {
        tabs_from -= kLessons - kFile;
    }
    if (width >= kLessonsFrom) {
        place(context, kLessons - shift);
        draw_lesson_menu(context);
    } else {
        tabs_from -= kTabs - kLessons;
    }
    const float buttons = draw_buttons(context);
    draw_badge(context, buttons);
    draw_tabs(context, tabs_from, buttons - (width < kWideFrom ? kVerifiedNarrow : kVerifiedWidth) - 8);
    ImGui::GetWindowDrawList()->AddLine({corner.x, corner.y + context.px(kTopBar) - 1},
                                        {corner.x + ImGui::GetWindowWidth(), corner.y + context.px(kTopBar) - 1}, colors.line);
}

}  // namespace attn::app
